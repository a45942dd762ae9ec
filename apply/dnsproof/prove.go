// Package dnsproof checks in DNS whether a tenant controls a host name: a TXT record names the tenant, or a CNAME points
// into the provider's ingress domain.
package dnsproof

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ChallengeLabel is the label of a host's TXT record: _akash-challenge.HOST.
const ChallengeLabel = "_akash-challenge"

// maxName is the maximum length of a DNS name without its final dot (RFC 1035, 3.1).
const maxName = 253

// Prover queries name servers for proofs. It is safe for concurrent use.
type Prover struct {
	// Servers are addresses of the form HOST:PORT. Prove asks them in this order until one answers.
	Servers []string
	// Domain is the provider's ingress domain. If it is empty, no CNAME proves a host.
	Domain string
	// Timeout limits all queries for one host.
	Timeout time.Duration
}

// Unproved is the error for a host that DNS does not prove to be its owner's.
type Unproved struct {
	Host, Owner string
	// Asked are the queries in order, with their answers.
	Asked []Exchange
	// Note explains why the answers do not suffice, if they do not show it themselves.
	Note string
	// Records are lines of a zone file. Each of them alone would prove the host.
	Records []string
}

// Exchange is one query to one name server.
type Exchange struct {
	Server     string
	Type, Name string
	// Answer describes the reply or the failure.
	Answer string
}

func (e *Unproved) Error() string {
	var parts []string
	for _, x := range e.Asked {
		parts = append(parts, x.String())
	}
	if e.Note != "" {
		parts = append(parts, e.Note)
	}
	return strings.Join(parts, "; ")
}

func (x Exchange) String() string {
	return fmt.Sprintf("%s %s at %s: %s", x.Type, x.Name, x.Server, x.Answer)
}

// Prove returns the record that proves a host or a wildcard to be the owner's. The error is an *Unproved or that of the
// context.
//
// A TXT record at the host's challenge name with the owner's address proves the host. A CNAME from the host into the
// provider's ingress domain proves it too, unless a TXT record names another owner or the TXT query failed. A host in the
// provider's own domain needs a TXT record, because its CNAME is the provider's.
func (p *Prover) Prove(ctx context.Context, owner, host string) (how string, err error) {
	base := strings.TrimPrefix(host, "*.")
	isProvidersOwn := p.Domain != "" && isWithin(base, p.Domain)
	bounded, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	l := &lookup{servers: slices.Clone(p.Servers), timeout: p.Timeout / time.Duration(rounds*max(len(p.Servers), 1))}
	challenge := ChallengeLabel + "." + base
	unproved := &Unproved{Host: host, Owner: owner}
	if len(challenge) <= maxName {
		unproved.Records = append(unproved.Records, fmt.Sprintf("%s. TXT %q", challenge, owner))
		how, unproved.Note = l.byTXT(bounded, owner, challenge)
	} else {
		unproved.Note = challenge + " would be longer than a name in DNS can be"
	}
	if how == "" && p.Domain != "" && !isProvidersOwn && !l.decided {
		unproved.Records = append(unproved.Records, fmt.Sprintf("%s. CNAME %s.", host, p.Domain))
		how = l.byCNAME(bounded, host, p.Domain)
	}
	if how != "" {
		return how, nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	unproved.Asked = l.asked
	return "", unproved
}

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
