package dnsproof

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/util/validation"
)

// SystemConfig is the file with a Unix system's name servers.
const SystemConfig = "/etc/resolv.conf"

// maxServers is the number of name servers that a resolver uses (MAXNS in resolv.conf(5)).
const maxServers = 3

// ParseServer parses a name server, HOST[:PORT], and returns HOST:PORT. HOST is a name or an IP address; an IPv6 address
// with a port needs brackets. The default port is 53.
func ParseServer(text string) (string, error) {
	host, port := text, "53"
	bracketed := strings.HasPrefix(text, "[")
	switch a, ok := parseAddress(text); {
	case ok:
		return net.JoinHostPort(a.String(), port), nil
	case bracketed && strings.HasSuffix(text, "]"):
		host = text[1 : len(text)-1]
	case strings.Contains(text, ":"):
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", fmt.Errorf("%q is not of the form HOST[:PORT]", text)
		}
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port != strconv.FormatUint(n, 10) {
		return "", fmt.Errorf("%q: the port must be a number from 1 to 65535", text)
	}
	switch a, ok := parseAddress(host); {
	case ok && a.Is6() == bracketed:
		return net.JoinHostPort(a.String(), port), nil
	case ok || bracketed:
		return "", fmt.Errorf("%q: brackets belong around an IPv6 address, and only there", text)
	}
	host = strings.ToLower(host)
	if len(validation.IsDNS1123Subdomain(host)) > 0 || endsInNumber(host) {
		return "", fmt.Errorf("%q: %q is neither an address nor a host name", text, host)
	}
	return net.JoinHostPort(host, port), nil
}

// parseAddress parses an IP address. It rejects the zone of an IPv6 address if it cannot be the name of a network interface,
// because the rest of the text would be ambiguous.
func parseAddress(text string) (a netip.Addr, ok bool) {
	a, err := netip.ParseAddr(text)
	isSeparator := func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("[]:%/", c) }
	if err != nil || strings.ContainsFunc(a.Zone(), isSeparator) {
		return netip.Addr{}, false
	}
	return a, true
}

// endsInNumber reports whether the last label is a number. No top-level domain is, so the host is a mistyped IPv4 address.
func endsInNumber(host string) bool {
	_, err := strconv.ParseUint(host[strings.LastIndexByte(host, '.')+1:], 10, 64)
	return err == nil
}

// SystemServers returns the first name servers in a resolv.conf, as HOST:PORT.
func SystemServers(path string) ([]string, error) {
	known, err := dns.ClientConfigFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("the system's name servers are not known: %w", err)
	}
	var servers []string
	for _, text := range known.Servers {
		if a, ok := parseAddress(text); ok {
			servers = append(servers, net.JoinHostPort(a.String(), known.Port))
		}
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("%s names no name server", path)
	}
	return slices.Clip(servers[:min(len(servers), maxServers)]), nil
}
