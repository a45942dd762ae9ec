package diagnose

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// explain explains a typed thing, or a lease of WordLease, with the book computed from the same objects.
func (f *facts) explain(t *testing.T, text string) Explanation {
	t.Helper()
	named, err := thing.Parse(text)
	if strings.HasPrefix(text, "A/") || strings.HasPrefix(text, "B/") {
		named, err = thing.Thing{Kind: thing.Lease, Group: claimtest.WordLease(t, text).Group()}, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Contents.Claims, f.Contents.Now, f.Pools = f.Claims, f.Now, f.Contents.Pools
	f.View.Records = f.Records
	for _, o := range f.Objects {
		of := state.Labelled{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Lease: o.Lease, HasLease: o.HasLease, Owner: o.Lease.Owner, Since: o.Since}
		if o.Kind == kinds.ProviderLeasedIP.Singular {
			f.Contents.Ports = append(f.Contents.Ports, state.PortObject{Labelled: of, SharingKey: o.SharingKey, Protocol: o.Port.Protocol, Port: o.Port.ExternalPort, Service: o.Port.Service})
		}
		for _, u := range o.Uses {
			if u.Host != "" {
				h := state.HostObject{Labelled: of, Host: u.Host, PathHash: lease.PathHash(u.Path), Redirect: u.Redirect, Whole: true, Service: u.Service, Port: u.Port}
				for _, r := range o.Reports {
					h.Unaccepted, f.Reports[u.Host] = r.String(), append(f.Reports[u.Host], r)
				}
				f.Contents.Hosts = append(f.Contents.Hosts, h)
			}
		}
	}
	f.Book = view.NewBook(f.Config, f.Contents, append(slices.Clone(view.Holdings), view.SubjectEndpoints)...)
	return f.Explain(named)
}

func newExplained(t *testing.T) *facts {
	f := newFacts(t)
	f.Reports, f.Unrecorded = map[string][]state.Report{}, map[string]string{}
	f.Contents.Backends.ResetServices(true)
	f.answers(statetest.Shop, "web", lease.TCP, 80, 2, 2)
	return f
}

// answers adds a Service with a port, and endpoints of which some are ready.
func (f *facts) answers(id lease.ID, service string, protocol lease.Protocol, port uint16, ready, total int) {
	meta := metav1.ObjectMeta{Namespace: id.Namespace(), Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}}
	o := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: int32(port), Protocol: corev1.Protocol(protocol)}}}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{}}}
	for i := range total {
		isReady := i < ready
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprint("10.0.0.", i)}, Conditions: discoveryv1.EndpointConditions{Ready: &isReady},
		})
	}
	f.Contents.Backends.AddService(o)
	f.Contents.Backends.AddSlice(slice)
}

// The explanations of hosts, paths, addresses, endpoints and leases in each state (testdata/explain.txt).
func TestExplain(t *testing.T) {
	stranger := state.Use{Kind: "service", Namespace: "default", Name: "game", Address: netip.MustParseAddr(atIP)}
	squat := func(f *facts) { f.AddressUses[stranger.Address] = append(f.AddressUses[stranger.Address], stranger) }
	ofNode := func(f *facts) {
		f.NodeUses = []state.Use{{Kind: "node", Name: "g1", Address: stranger.Address}, {Kind: "node", Name: "g2", Address: netip.MustParseAddr("203.0.113.1")}}
	}
	wait := func(f *facts, id lease.ID) {
		c := f.Claims[len(f.Claims)-1]
		w := c.Parts[0]
		w.Lease = id
		c.Waits = append(c.Waits, w.Wait("d", nil))
	}
	serves := func(f *facts) { f.holds(statetest.Shop, atHost); f.routes("ingress", statetest.Shop, atHost) }
	granted := func(f *facts) { f.leases(statetest.Shop, atIP); f.asks(statetest.Shop, atIP, atIP) }
	wildcard := func(f *facts, id lease.ID) {
		f.holds(id, "*.example.com", func(p *state.Part) { p.Bound = true }).Kind = state.Wildcard
	}
	from := func(p *state.Part) { p.From = sibling.Group().String() }
	var out strings.Builder
	for _, tt := range []struct {
		name, thing string
		made        func(f *facts)
	}{
		{"a host that is free", atHost, func(*facts) {}},
		{"a host that no lease can take", atHost, func(f *facts) { f.Config.Hosts.Blocked = []string{atHost} }},
		{"a host that is live", atHost, serves},
		{"a host whose backend is not there", atHost, func(f *facts) { serves(f); f.Contents.Backends.ResetServices(true) }},
		{"a host whose backend lacks the port", atHost, func(f *facts) { serves(f); f.answers(statetest.Shop, "web", lease.TCP, 8080, 2, 2) }},
		{"a host of which no pod is ready", atHost, func(f *facts) {
			serves(f)
			f.Contents.Backends.ResetSlices(true)
			f.answers(statetest.Shop, "web", lease.TCP, 80, 0, 2)
		}},
		{"a host of which one pod is ready", atHost, func(f *facts) {
			serves(f)
			f.Contents.Backends.ResetSlices(true)
			f.answers(statetest.Shop, "web", lease.TCP, 80, 1, 2)
		}},
		{"a host without pods", atHost, func(f *facts) { serves(f); f.Contents.Backends.ResetSlices(true) }},
		{"a host whose endpoints may not be listed", atHost, func(f *facts) { serves(f); f.Contents.Backends.ResetSlices(false) }},
		{"a host whose Ingress no controller serves", atHost, func(f *facts) {
			serves(f)
			f.Unserved = map[string]string{statetest.Shop.Namespace() + "/" + atHost: "no controller has written an address into the status of Ingress n/x"}
		}},
		{"a host that leads elsewhere", atHost, func(f *facts) {
			f.holds(statetest.Shop, atHost)
			f.routes("ingress", statetest.Shop, atHost, backendIs("old"))
		}},
		{"a host whose route a controller refuses", atHost, func(f *facts) {
			f.holds(statetest.Shop, atHost)
			f.routes("httproute", statetest.Shop, atHost).Reports = []state.Report{{Route: "httproute n/x", By: "gateway/one", Verdict: state.RouteRefused, Reason: "NotAllowed", Message: "by listeners"}}
		}},
		{"a host with a stale report", atHost, func(f *facts) {
			serves(f)
			f.Reports[atHost] = []state.Report{{Route: "httproute n/x", By: "gateway/old", Verdict: state.RouteAccepted, Stale: "the Gateway is gone"}}
		}},
		{"a host that is reserved", atHost, func(f *facts) { f.holds(statetest.Shop, atHost) }},
		{"a host at a port that is not routed", atHost, func(f *facts) { f.holds(statetest.Shop, atHost, func(p *state.Part) { p.Port = 8080 }) }},
		{"a host that is held until then", atHost, func(f *facts) { f.holds(statetest.Shop, atHost, ends(20)) }},
		{"a host whose hold is over", atHost, func(f *facts) { f.holds(statetest.Shop, atHost, ends(1)) }},
		{"a host that a run has", atHost, func(f *facts) { f.holds(statetest.Shop, atHost, marked) }},
		{"a host that is handed on", atHost, func(f *facts) { f.holds(statetest.Shop, atHost, from); f.routes("ingress", sibling, atHost) }},
		{"a host for which a sibling waits", atHost, func(f *facts) { serves(f); wait(f, sibling) }},
		{"a host whose claim cannot be read", atHost, func(f *facts) { f.holds(statetest.Shop, atHost).Unreadable = "annotation x is not JSON" }},
		{"a host whose claim is kept", atHost, func(f *facts) { c := f.holds(statetest.Shop, atHost); c.Deleting, c.Finalizers = true, []string{"a/b"} }},
		{"a host without a claim, of a lease", atHost, func(f *facts) { f.routes("ingress", statetest.Shop, atHost) }},
		{"a host without a claim, of a stranger", atHost, func(f *facts) {
			f.Uses[atHost] = []state.Use{{Kind: "ingress", Namespace: "default", Name: "by-hand", Host: atHost, Path: "/", Since: statetest.Minute(3)}}
		}},
		{"a host below a wildcard", atHost, func(f *facts) { wildcard(f, statetest.Blog) }},
		{"a host below a wildcard that is served without a claim", atHost, func(f *facts) { f.routes("ingress", statetest.Blog, "*.example.com") }},
		{"a wildcard that the provider does not allow", "*.example.com", func(*facts) {}},
		{"a wildcard over a host that is held", "*.example.com", func(f *facts) { f.Config.Hosts.Wildcards = true; f.holds(statetest.Shop, atHost) }},
		{"a wildcard over hosts of two owners", "*.example.com", func(f *facts) {
			f.Config.Hosts.Wildcards = true
			f.holds(statetest.Shop, atHost)
			f.holds(statetest.Blog, "blog.example.com")
			f.holds(statetest.Blog, "a.blog.example.com")
		}},
		{"a path that is held", atHost + "/v1", func(f *facts) {
			c := f.holds(statetest.Shop, atHost)
			c.Parts = append(c.Parts, state.Part{Key: state.RouteKey("/v1"), Path: "/v1", Lease: sibling, Service: "api", Port: 80})
		}},
		{"a path of a host that another holds", atHost + "/v1", serves},
		{"a path of a host that is free", atHost + "/v1", func(*facts) {}},
		{"an address that is free", atIP, func(*facts) {}},
		{"an address that no pool has yet", atIP, func(f *facts) { f.Contents.Pools = nil }},
		{"an address of nobody's ranges", "198.51.100.1", func(*facts) {}},
		{"an address in the pool of before", atIP, func(f *facts) { f.Contents.Pools[0].Name = "akash-net-203-0-113-0-31" }},
		{"an address that is live", atIP, granted},
		{"an address whose workload is not there", atIP, func(f *facts) { granted(f); f.Contents.Backends.ResetSlices(true) }},
		{"an address that is pending", atIP, func(f *facts) { f.leases(statetest.Shop, atIP); f.asks(statetest.Shop, atIP) }},
		{"an IPv6 address beside an IPv4 address that is live", "2001:db8::1", func(f *facts) {
			granted(f)
			f.leases(statetest.Shop, "2001:db8::1")
			f.asks(statetest.Shop, "2001:db8::1")
			second := &f.Contents.Services[len(f.Contents.Services)-1]
			second.Name += lease.SecondFamilySuffix
			f.answers(statetest.Shop, second.Name, lease.TCP, 443, 2, 2)
		}},
		{"an address for which another was granted", atIP, func(f *facts) { f.leases(statetest.Shop, atIP); f.asks(statetest.Shop, atIP, "203.0.113.2") }},
		{"an address that is reserved", atIP, func(f *facts) { f.leases(statetest.Shop, atIP) }},
		{"an address that is handed on", atIP, func(f *facts) { f.leases(statetest.Shop, atIP, from); f.asks(sibling, atIP, atIP) }},
		{"an address of which a sibling waits for a port", atIP, func(f *facts) { granted(f); wait(f, sibling) }},
		{"an address that a stranger uses", atIP, func(f *facts) { granted(f); squat(f) }},
		{"an address that only a stranger uses", atIP, squat},
		{"an address of a node", atIP, ofNode},
		{"an address of a node that a lease has", atIP, func(f *facts) { granted(f); ofNode(f) }},
		{"an address of a node of nobody's ranges", "198.51.100.1", func(f *facts) { ofNode(f); f.NodeUses[0].Address = netip.MustParseAddr("198.51.100.1") }},
		{"an endpoint", "endpoint/public", func(f *facts) { granted(f); f.leases(statetest.Blog, "203.0.113.1") }},
		{"a word that is an endpoint", "public", granted},
		{"an endpoint of nobody", "endpoint/none", granted},
		{"an endpoint whose addresses MetalLB chooses", "endpoint/public", func(f *facts) { pooled(f); f.endpoint(statetest.Shop); f.asks(statetest.Shop, "", "198.51.100.1") }},
		{"such an endpoint without an address yet", "endpoint/public", func(f *facts) { pooled(f); f.endpoint(statetest.Shop); wait(f, sibling) }},
		{"a lease that holds nothing", statetest.Shop.Group().String(), func(*facts) {}},
		{"a lease with one of each", statetest.Shop.Group().String(), func(f *facts) {
			serves(f)
			f.leases(statetest.Shop, atIP)
			f.asks(statetest.Shop, atIP)
			f.holds(statetest.Shop, "reserved.example.com")
			f.holds(statetest.Shop, "handed.example.com", from)
			f.routes("ingress", sibling, "handed.example.com")
			f.holds(statetest.Shop, "over.example.com", ends(1))
			f.holds(statetest.Shop, "running.example.com", marked)
			f.holds(sibling, "withheld.example.com")
			wait(f, statetest.Shop)
			f.routes("ingress", statetest.Shop, "unclaimed.example.com")
			f.holds(statetest.Shop, "going.example.com").Deleting = true
			f.leases(statetest.Shop, "203.0.113.1").Unreadable = "annotation x is not JSON"
		}},
	} {
		f := newExplained(t)
		tt.made(f)
		x := f.explain(t, tt.thing)
		fmt.Fprintf(&out, "# %s\n%s", tt.name, x.Summary)
		if x.Missing {
			out.WriteString(" (missing)")
		}
		for _, line := range slices.Concat(x.Facts, prefixed("-> ", x.Next)) {
			out.WriteString("\n  " + line)
		}
		out.WriteString("\n\n")
		if x.Subject != strings.TrimPrefix(tt.thing, "endpoint/") {
			t.Errorf("%s: the subject of %s is %s", tt.name, tt.thing, x.Subject)
		}
	}
	golden(t, "explain", inShort.Replace(out.String()))
}

func prefixed(prefix string, lines []string) (out []string) {
	for _, line := range lines {
		out = append(out, prefix+line)
	}
	return out
}
