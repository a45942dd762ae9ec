// Package claimtest makes claims for tests of the packages above state.
package claimtest

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// Service returns the ServiceObject of statetest.Service.
func Service(id lease.ID, name, endpoint, protocol string, port int64, asked string, granted ...string) state.ServiceObject {
	return state.ServiceObjectOf(statetest.Service(id, name, endpoint, protocol, port, asked, granted...))
}

// HostClaim returns a lease's claim on a host, with the mark of a run unless it is empty.
func HostClaim(host string, id lease.ID, run string) *state.Claim {
	part := state.HostWant{Host: host, Service: "web", Port: 80}.Hold(id).Parts[0]
	part.Run = run
	return &state.Claim{Kind: state.Host, Thing: host, Owner: id.Owner, Created: statetest.Minute(1), Parts: []state.Part{part}}
}

// AddressClaim returns a lease's claim on an address for an endpoint.
func AddressClaim(address, endpoint string, id lease.ID, ports ...state.PortWant) *state.Claim {
	key := lease.SharingKey(id.Owner, endpoint)
	hold := state.EndpointWant{SharingKey: key, Ports: ports}.Hold(id, netip.MustParseAddr(address))
	return &state.Claim{
		Kind: state.Address, Thing: address, Owner: id.Owner, SharingKey: key, Created: statetest.Minute(1), Parts: hold.Parts,
	}
}

// HTTPS returns the port 443 of a lease's service web.
func HTTPS() state.PortWant {
	return state.PortWant{Protocol: lease.TCP, ExternalPort: 443, Service: "web", Port: 8443}
}

// Now is the time from which ends count that are told as a span.
var Now = statetest.Minute(60)

// WordLease parses a lease: A/2 is the second deployment of owner A, A/2/3 its group 3, A/2/3/4 order 4 of the group. A/2@q is at
// another provider, A/2@ an order.
func WordLease(t testing.TB, text string) lease.ID {
	t.Helper()
	text, provider, elsewhere := strings.Cut(text, "@")
	if !elsewhere {
		provider = "akash1p"
	}
	words := strings.Split(text, "/")
	id := lease.ID{Owner: wordOwner(words[0]), GSeq: 1, OSeq: 1, Provider: provider}
	for i, word := range words[1:] {
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil || i > 2 {
			t.Fatalf("%q is no lease", text)
		}
		switch i {
		case 0:
			id.DSeq = n
		case 1:
			id.GSeq = uint32(n)
		case 2:
			id.OSeq = uint32(n)
		}
	}
	return id
}

func wordOwner(letter string) string { return "akash1" + strings.ToLower(letter) }

// Short replaces the leases of owners A, B and C, and their namespaces, by the short form of WordLease, and keys by those of WordKey.
func Short(text string) string { return short.Replace(text) }

var short = func() *strings.Replacer {
	var leases, groups, owners []string
	for _, owner := range []string{"A", "B", "C"} {
		for dseq := range uint64(4) {
			for gseq := range uint32(2) {
				for oseq := range uint32(2) {
					id := lease.ID{Owner: wordOwner(owner), DSeq: dseq + 1, GSeq: gseq + 1, OSeq: oseq + 1, Provider: "akash1p"}
					name := fmt.Sprintf("%s/%d", owner, id.DSeq)
					if gseq+oseq > 0 {
						name += fmt.Sprintf("/%d", id.GSeq)
					}
					if groups = append(groups, id.Group().String(), name); oseq > 0 {
						name += fmt.Sprintf("/%d", id.OSeq)
					}
					leases = append(leases, id.String(), name, id.Namespace(), "ns("+name+")")
				}
			}
		}
		owners = append(owners, wordOwner(owner), owner)
	}
	for _, path := range []string{"/", "/v1", "/v2", "/v3"} {
		owners = append(owners, state.RouteKey(path), path)
	}
	owners = append(owners, state.WholeAddress, "any")
	return strings.NewReplacer(append(append(leases, groups...), owners...)...)
}()

// WordKey parses the key of a part: a path, 443/tcp, any, or the key itself.
func WordKey(text string) string {
	port, protocol, isPort := strings.Cut(text, "/")
	switch n, err := strconv.ParseUint(port, 10, 16); {
	case text == "any":
		return state.WholeAddress
	case isPort && err == nil:
		return state.PortKey(lease.Protocol(strings.ToUpper(protocol)), uint16(n))
	case strings.HasPrefix(text, "/"):
		return state.RouteKey(text)
	}
	return text
}

// WordPart parses a part: KEY LEASE [SERVICE:PORT] [run=N] [minute=N] [expires=-5m] [from=LEASE] [bound] [applied]. It expires at the
// minute, or that long after Now.
func WordPart(t testing.TB, text string) state.Part {
	t.Helper()
	words := strings.Fields(text)
	p := state.Part{Key: WordKey(words[0]), Lease: WordLease(t, words[1])}
	if strings.HasPrefix(words[0], "/") {
		p.Path = words[0]
	}
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		service, port, isBackend := strings.Cut(word, ":")
		switch {
		case name == "run":
			p.Run = value
		case name == "minute":
			p.Expires = wordMinute(t, value).Format(time.RFC3339)
		case name == "expires":
			after, err := time.ParseDuration(value)
			if p.Expires = Now.Add(after).Format(time.RFC3339); err != nil {
				p.Expires = value
			}
		case name == "from" && value == "junk":
			p.From = value
		case name == "from":
			p.From = WordLease(t, value).Group().String()
		case word == "bound":
			p.Bound = true
		case word == "applied":
			p.Applied = true
		case isBackend:
			n, _ := strconv.ParseUint(port, 10, 16)
			p.Service, p.Port = service, uint16(n)
		default:
			t.Fatalf("%q says %q of a part", text, word)
		}
	}
	return p
}

func wordMinute(t testing.TB, text string) time.Time {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return statetest.Minute(n)
}

// WordClaim parses a claim: KIND THING OWNER [FLAG...]: PART, PART; waits PART. An address names its endpoint, as in
// 203.0.113.7@public. The flags are going, unreadable, uid=U and minute=N, the minute of its creation. The owner "-" is none. It
// returns nil for "none", or nothing.
func WordClaim(t testing.TB, text string) *state.Claim {
	t.Helper()
	if text = strings.TrimSpace(text); text == "none" || text == "" {
		return nil
	}
	head, rest, _ := strings.Cut(text+" ", ": ")
	words := strings.Fields(head)
	if len(words) < 3 {
		t.Fatalf("%q is no claim", text)
	}
	c := &state.Claim{Kind: state.Kind(words[0]), Thing: words[1], Created: statetest.Minute(1)}
	if words[2] != "-" {
		c.Owner = wordOwner(words[2])
	}
	if thing, endpoint, named := strings.Cut(words[1], "@"); named {
		c.Thing, c.SharingKey = thing, lease.SharingKey(c.Owner, endpoint)
		if c.Kind == state.Endpoint {
			c.Thing = c.SharingKey
		}
	}
	for _, word := range words[3:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "going":
			c.Deleting = true
		case "unreadable":
			c.Unreadable = "it cannot be read"
		case "uid":
			c.UID = types.UID(value)
		case "minute":
			c.Created = wordMinute(t, value)
		default:
			t.Fatalf("%q says %q of a claim", text, word)
		}
	}
	held, waits, _ := strings.Cut(rest, "; waits ")
	for part := range strings.SplitSeq(held, ",") {
		if strings.TrimSpace(part) != "" {
			c.Parts = append(c.Parts, WordPart(t, part))
		}
	}
	for part := range strings.SplitSeq(waits, ",") {
		if strings.TrimSpace(part) != "" {
			c.Waits = append(c.Waits, WordPart(t, part).Wait("d", nil))
		}
	}
	return c
}

// WordOrder parses the reservation of an order of A: DSEQ [going] [keep=FINALIZER] [unreadable] [bound={…}] [pending={…}]. Its parts are
// JSON, and end at a minute.
func WordOrder(t testing.TB, text string) *reserved.Claim {
	t.Helper()
	words := strings.Fields(text)
	dseq, err := strconv.ParseUint(words[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	c := &reserved.Claim{Order: lease.Order{Owner: "akash1a", DSeq: dseq, GSeq: 1, OSeq: 1}, Created: statetest.Minute(1)}
	c.ObjectName = fmt.Sprintf("rs--%d", dseq)
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		part := &reserved.Part{}
		switch name {
		case "going":
			c.Deleting = true
			continue
		case "keep":
			c.Finalizers = append(c.Finalizers, value)
			continue
		case "unreadable":
			c.Unreadable = "no JSON"
			continue
		case "bound":
			c.Bound = part
		case "pending":
			c.Pending = part
		}
		if err := yaml.Unmarshal([]byte(value), part); err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		if minute, err := strconv.Atoi(part.Expires); err == nil {
			part.Expires = statetest.Minute(minute).Format(time.RFC3339)
		}
	}
	return c
}
