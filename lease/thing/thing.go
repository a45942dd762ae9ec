// Package thing parses and prints the names of things: hosts, addresses, IP endpoints, leases and orders, as users type
// them on the command line. Every printed name can be used as an argument.
package thing

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Kind is the kind of a thing.
type Kind string

// The kinds, as they precede the slash and the name.
const (
	Host     Kind = "host"
	Address  Kind = "address"
	Endpoint Kind = "endpoint"
	Lease    Kind = "lease"
	Order    Kind = "order"
)

// Thing is a parsed name.
type Thing struct {
	Kind Kind
	// Host is a host or a wildcard, in lower case and without a trailing dot; Path is a path of it, or empty for the
	// host itself.
	Host, Path string
	Addr       netip.Addr
	// Endpoint is the name of an IP endpoint. It is also set for a host without dots, which may be an endpoint's name.
	Endpoint string
	// Group is the deployment group of a lease; ID is the lease's full ID, or the zero ID if it was not given.
	Group lease.Group
	ID    lease.ID
	// Order is an order that has reserved resources.
	Order lease.Order
}

// prefixes maps the words before the slash, in lower case, to kinds. Like kubectl, Parse also accepts plurals and upper case.
var prefixes = map[string]Kind{
	"host": Host, "wildcard": Host, "address": Address, "ip": Address, "endpoint": Endpoint, "lease": Lease, "order": Order,
	"hosts": Host, "wildcards": Host, "addresses": Address, "ips": Address, "endpoints": Endpoint, "leases": Lease,
	"orders": Order,
}

// others are words that this program prints before names that are not things.
var others = []string{
	"pool", "dns", "problem", "ingress", "httproute", "tlsroute", "route", "service", "namespace", "providerhost",
	"providerleasedip", "ipaddresspool", "l2advertisement", "bgpadvertisement", "dnsrecord", "dnsendpoint",
}

// Parse reads a name:
//
// \thost/shop.example.com  shop.example.com  shop.example.com/api  *.example.com  https://shop.example.com/api
// \taddress/203.0.113.7  ip/203.0.113.7  203.0.113.7  2001:db8::7
// \tendpoint/public  (a word without dots may be a host or an endpoint)
// \tlease/OWNER/DSEQ/GSEQ  OWNER/DSEQ/GSEQ  OWNER/DSEQ/GSEQ/OSEQ  OWNER/DSEQ/GSEQ/OSEQ/PROVIDER
// \torder/OWNER/DSEQ/GSEQ/OSEQ  (without "order/" it is the name of a lease)
//
// The error says what to type instead.
func Parse(text string) (Thing, error) {
	if prefix, rest, found := strings.Cut(text, "/"); found {
		prefix = strings.ToLower(prefix)
		if kind, known := prefixes[prefix]; known {
			return parseKind(kind, rest)
		}
		if slices.Contains(others, prefix) {
			return Thing{}, fmt.Errorf("%q is not a host, address, endpoint or lease; %s", lease.Clip(text), instead(prefix, rest))
		}
	}
	owner, _, _ := strings.Cut(text, "/")
	switch {
	case text == "":
		return Thing{}, fmt.Errorf("the name is empty")
	case strings.Contains(text, "://"):
		return parseURL(text)
	case strings.HasPrefix(owner, "akash1") && lease.CheckAddress(owner) == nil:
		return parseLease(text)
	case isNumber(text):
		return Thing{}, fmt.Errorf("%q is a number; a lease is named OWNER/DSEQ/GSEQ", lease.Clip(text))
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return parseAddress(text)
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return Thing{}, fmt.Errorf("%q is a range of addresses; name one of them, such as %s", text, prefix.Addr())
	}
	if host := withoutPort(text); host != "" {
		return Thing{}, fmt.Errorf("%q says more than a name; type %s", lease.Clip(text), host)
	}
	t, err := parseHost(text)
	if err == nil && t.Path == "" && !strings.Contains(t.Host, ".") && lease.CheckEndpointName(t.Host) == nil {
		t.Endpoint = t.Host
	}
	return t, err
}

// TrimKind returns a name without the optional prefix of the kind.
func TrimKind(text string, kind Kind) string {
	if prefix, rest, found := strings.Cut(text, "/"); found && prefixes[strings.ToLower(prefix)] == kind {
		return rest
	}
	return text
}

// instead returns what to type instead of a name that is not of a thing.
func instead(prefix, name string) string {
	last := name[strings.LastIndexByte(name, '/')+1:]
	switch prefix {
	case "problem":
		return fmt.Sprintf("\"kubectl akash-net repair %s\" fixes a problem", lease.Clip(name))
	case "pool":
		return "\"kubectl akash-net state pools\" shows the pools"
	case "dns":
		return "\"kubectl akash-net state dns\" shows the DNS records"
	case "ingress", "httproute", "tlsroute", "route", "providerhost":
		if lease.CheckHost(last) == nil {
			return "type host/" + last
		}
	}
	return "it is an object, which \"kubectl get\" shows"
}

// ParseLease reads the name of a lease, OWNER/DSEQ/GSEQ[/OSEQ[/PROVIDER]], with or without "lease/".
func ParseLease(text string) (Thing, error) { return parseKind(Lease, TrimKind(text, Lease)) }

// ParseOrder reads the name of an order, OWNER/DSEQ/GSEQ/OSEQ, with or without "order/".
func ParseOrder(text string) (lease.Order, error) {
	t, err := parseKind(Order, TrimKind(text, Order))
	return t.Order, err
}

func parseKind(kind Kind, name string) (Thing, error) {
	switch kind {
	case Address:
		return parseAddress(name)
	case Lease:
		return parseLease(name)
	case Order:
		o, err := lease.ParseOrder(name)
		if err != nil {
			return Thing{}, err
		}
		if err := o.Group().CheckWallet(); err != nil {
			return Thing{}, fmt.Errorf("order %q: %w", lease.Clip(name), err)
		}
		return Thing{Kind: Order, Order: o}, nil
	case Endpoint:
		if err := lease.CheckEndpointName(name); err != nil {
			return Thing{}, err
		}
		return Thing{Kind: Endpoint, Endpoint: name}, nil
	}
	return parseHost(name)
}

func parseHost(text string) (Thing, error) {
	host, path, _ := strings.Cut(text, "/")
	t := Thing{Kind: Host, Host: strings.ToLower(strings.TrimSuffix(host, "."))}
	if err := lease.CheckHostOrWildcard(t.Host); err != nil {
		return Thing{}, err
	}
	if path != "" {
		t.Path = "/" + path
		if err := lease.CheckRoute(t.Host, t.Path); err != nil {
			return Thing{}, err
		}
	}
	return t, nil
}

// parseURL reads a URL copied from a browser. It must have nothing but a host and a path.
func parseURL(text string) (Thing, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return Thing{}, fmt.Errorf("%q is not the URL of a host; type the host, such as shop.example.com", lease.Clip(text))
	}
	parse := parseHost
	if _, err := netip.ParseAddr(u.Hostname()); err == nil && strings.Trim(u.EscapedPath(), "/") == "" {
		parse = parseAddress
	}
	t, err := parse(u.Hostname() + strings.TrimSuffix(u.EscapedPath(), "/"))
	if err != nil {
		return Thing{}, err
	}
	if u.Port() != "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return Thing{}, fmt.Errorf("%q says more than a host and a path; type %s", lease.Clip(text), t.Name())
	}
	return t, nil
}

// withoutPort returns the host or the address of a text with a port or in brackets, as clients write them. It returns "" for
// any other text.
func withoutPort(text string) string {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"), ""
	}
	host = strings.ToLower(host)
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.WithZone("").Unmap().String()
	}
	if port != "" && isNumber(port) && lease.CheckHost(host) == nil {
		return host
	}
	return ""
}

func parseAddress(text string) (Thing, error) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return Thing{}, fmt.Errorf("%q is not an address", lease.Clip(text))
	}
	if a.Zone() != "" {
		return Thing{}, fmt.Errorf("%q has a zone; type %s", lease.Clip(text), a.WithZone("").Unmap())
	}
	return Thing{Kind: Address, Addr: a.Unmap()}, nil
}

func parseLease(text string) (Thing, error) {
	switch strings.Count(text, "/") {
	case 0:
		if text == "" {
			return Thing{}, fmt.Errorf("the name is empty; a lease is named OWNER/DSEQ/GSEQ")
		}
		if lease.CheckAddress(text) != nil {
			return Thing{}, fmt.Errorf("%q is no lease; a lease is named OWNER/DSEQ/GSEQ", lease.Clip(text))
		}
		return Thing{}, fmt.Errorf("%q is an owner; a lease is named OWNER/DSEQ/GSEQ, and \"kubectl akash-net state leases -l "+
			"%s=%s\" lists the owner's",
			lease.Clip(text), lease.LabelOwner, lease.Clip(text))
	case 1:
		return Thing{}, fmt.Errorf("%q is a deployment; a lease is named OWNER/DSEQ/GSEQ, such as %s/1", lease.Clip(text),
			lease.Clip(text))
	}
	g, err := lease.ParseGroup(text)
	if err != nil {
		return Thing{}, err
	}
	t := Thing{Kind: Lease, Group: g}
	check := g.CheckWallet
	if id, err := lease.ParseID(text); err == nil {
		t.ID, check = id, id.CheckWallets
	}
	if err := check(); err != nil {
		return Thing{}, fmt.Errorf("lease %q: %w", lease.Clip(text), err)
	}
	return t, nil
}

func isNumber(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// Name returns the name without the kind.
func (t Thing) Name() string {
	switch t.Kind {
	case Address:
		return t.Addr.String()
	case Endpoint:
		return t.Endpoint
	case Lease:
		if t.ID != (lease.ID{}) {
			return t.ID.String()
		}
		return t.Group.String()
	case Order:
		return t.Order.String()
	}
	return lease.HostPath(t.Host, t.Path)
}

// String returns the printed form: kind, slash, name.
func (t Thing) String() string { return string(t.Kind) + "/" + t.Name() }

// Print returns the name of an object or thing for messages and -o name. It prints wildcards as hosts, and kind "thing"
// for a name as the user typed it.
func Print(kind, name string) string {
	switch kind {
	case "wildcard":
		kind = string(Host)
	case "thing":
		if t, err := Parse(name); err == nil {
			return t.String()
		}
	}
	return kind + "/" + name
}
