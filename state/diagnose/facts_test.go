package diagnose

import (
	"cmp"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// The leases A/1 and B/1 of the tables, and A/2, another deployment of the former's owner.
var (
	shop    = lease.ID{Owner: "akash1a", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1p"}
	sibling = lease.ID{Owner: "akash1a", DSeq: 2, GSeq: 1, OSeq: 1, Provider: "akash1p"}
	blog    = lease.ID{Owner: "akash1b", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1p"}
)

const atHost = "shop.example.com"

// facts are a ledger and a cluster ten minutes after the start. The ranges are 203.0.113.0/30; a run counts as crashed
// after two minutes.
type facts struct{ Facts }

func newFacts(t testing.TB) *facts {
	return &facts{Facts{
		Config: statetest.Config(t, config.ModeRange, "203.0.113.0/30"), Now: statetest.Minute(10),
		Uses: map[string][]state.Use{}, AddressUses: map[netip.Addr][]state.Use{},
		Contents:   view.Contents{Pools: []state.PoolObject{poolOf("akash-net-203-0-113-0-30", true, "203.0.113.0/30")}},
		Namespaces: map[string]bool{shop.Namespace(): true, sibling.Namespace(): true, blog.Namespace(): true}, CrashedAfter: 2 * time.Minute,
	}}
}

// find returns the problems, with the book computed from the same objects.
func (f *facts) find() []state.Problem {
	f.Contents.Now = f.Now
	f.Book = view.NewBook(f.Config, f.Contents, view.SubjectPools)
	if f.Runs == nil && slices.ContainsFunc(f.Contents.Claims, (*state.Claim).Marked) {
		f.Runs = []*state.Announcement{announced("n0nce", 0)}
	}
	return Problems(f.Facts)
}

// announced returns the announcement of a running command for the lease, begun in minute 0 and renewed in the given
// minute.
func announced(nonce string, minute int) *state.Announcement {
	return &state.Announcement{
		Nonce: nonce, Groups: []lease.Group{shop.Group()}, By: "ann@laptop", Begun: statetest.Minute(0),
		Renewed: statetest.Minute(minute), Lasts: 15 * time.Second, Phase: state.Active,
	}
}

func poolOf(name string, ours bool, ranges ...string) state.PoolObject {
	p := state.PoolObject{Name: name, Ours: ours, Texts: ranges, Ref: state.ObjectRef{Kind: "ipaddresspool", Namespace: "metallb-system", Name: name}}
	for _, text := range ranges {
		r, err := config.ParseRange(text)
		if err != nil {
			panic(err)
		}
		p.Ranges = append(p.Ranges, r)
	}
	return p
}

// object adds an object of this program for the lease, labelled and written in minute 3.
func (f *facts) object(kind string, id lease.ID, name string) *state.OwnObject {
	f.Objects = append(f.Objects, state.OwnObject{
		ObjectRef: state.ObjectRef{Kind: kind, Namespace: id.Namespace(), Name: name, UID: kind + id.String() + name},
		Ownership: state.Ownership{Lease: id, HasLease: true, Labelled: true, Ours: true},
		Since:     statetest.Minute(3), Written: statetest.Minute(3), Definition: "d",
	})
	return &f.Objects[len(f.Objects)-1]
}

// routes adds an object of the lease that serves or declares the host, with the claim's backend.
func (f *facts) routes(kind string, id lease.ID, host string, change ...func(*state.Use)) *state.OwnObject {
	o := f.object(kind, id, host)
	u := state.Use{Kind: kind, Namespace: o.Namespace, Name: host, Host: host, Path: "/", Lease: id, HasLease: true, Labelled: true, Service: "web", Port: 80, Since: o.Since, UID: types.UID(o.UID)}
	for _, c := range change {
		c(&u)
	}
	o.Uses = []state.Use{u}
	f.Uses[host] = append(f.Uses[host], u)
	return o
}

// asks adds a Service of the lease for port 443 of its endpoint "public" that asks for an address and was granted some.
func (f *facts) asks(id lease.ID, asked string, granted ...string) *state.OwnObject {
	o := f.object("service", id, "web-ip-443-tcp")
	s := claimtest.Service(id, o.Name, "public", "TCP", 443, asked, granted...)
	f.Contents.Services = append(f.Contents.Services, s)
	f.answers(id, o.Name, lease.TCP, 443, 2, 2)
	o.SharingKey, o.Port = s.SharingKey, state.PortWant{Protocol: lease.TCP, ExternalPort: 443, Service: "web", Port: 8443}
	for i, text := range append([]string{asked}, granted...) {
		if text != "" {
			u := state.Use{Kind: "service", Namespace: o.Namespace, Name: o.Name, Address: netip.MustParseAddr(text), SharingKey: s.SharingKey, Lease: id, HasLease: true, Labelled: true, UID: types.UID(o.UID), Granted: i > 0}
			o.Uses = append(o.Uses, u)
			f.AddressUses[u.Address] = append(f.AddressUses[u.Address], u)
		}
	}
	return o
}

// declares adds the ProviderLeasedIP of the same port.
func (f *facts) declares(id lease.ID) *state.OwnObject {
	o := f.object(kinds.ProviderLeasedIP.Singular, id, lease.LeasedIPName(lease.SharingKey(id.Owner, "public"), lease.TCP, 443))
	o.SharingKey, o.Port = lease.SharingKey(id.Owner, "public"), state.PortWant{Protocol: lease.TCP, ExternalPort: 443, Service: "web", Port: 8443}
	return o
}

// byAkash makes an object one that Akash's provider or its operator wrote.
func byAkash(o *state.OwnObject) *state.OwnObject {
	o.Ours, o.Shared, o.Written, o.Definition, o.ByOperators = false, true, time.Time{}, "", o.Kind != kinds.ProviderHost.Singular && o.Kind != kinds.ProviderLeasedIP.Singular
	return o
}

// told prints a problem: its message, its plan, its command and its repair.
func told(p state.Problem) string {
	text := fmt.Sprintf("%s %s: %s\n  mend: %s\n", p.Name(), cmp.Or(p.Lease, "-"), p.Message, p.Plan)
	switch {
	case p.Sound:
		text += "  sound: " + p.Command + "\n"
	case p.Manual:
		text += "  manual: " + p.Command + "\n"
	}
	if by := toldFix(p.Fix); by != "" {
		text += "  by: " + by + "\n"
	}
	return text
}

// toldFix prints a repair and its fields that are set.
func toldFix(f *state.Fix) string {
	if f == nil {
		return ""
	}
	return strings.Join(append([]string{string(f.Do)}, toldFields(reflect.ValueOf(*f))[1:]...), "; ")
}

// toldFields are the fields of a struct that are not zero.
func toldFields(v reflect.Value) (out []string) {
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		text := v.Type().Field(i).Name
		switch x := v.Field(i).Interface().(type) {
		case bool:
		case *state.Claim:
			text += " " + x.Name()
		case []state.ObjectRef:
			for _, o := range x {
				if text += " " + o.String(); o.ResourceVersion != "" {
					text += fmt.Sprintf(" uid=%s version=%s", o.UID, o.ResourceVersion)
				}
			}
		case state.Part:
			text += fmt.Sprintf(" %s=%s:%d", x.Key, x.Service, x.Port)
		case state.ClaimParts:
			text += " " + strings.Join(toldFields(v.Field(i)), ", ")
		case state.Hold:
			text += " " + x.Name()
			for _, p := range x.Parts {
				text += fmt.Sprintf(" %s=%s:%d", p.Key, p.Service, p.Port)
			}
		case []*state.Fix:
			for _, each := range x {
				text += " (" + toldFix(each) + ")"
			}
		case []config.Range:
			text += " " + metalLB(x)
		default:
			text += fmt.Sprintf(" %v", x)
		}
		out = append(out, text)
	}
	return out
}

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
	f.Contents.Now = f.Now
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
	return NewWorld(f.Facts).Explain(named)
}

func newExplained(t *testing.T) *facts {
	f := newFacts(t)
	f.Reports, f.Unrecorded = map[string][]state.Report{}, map[string]string{}
	f.Contents.Backends.ResetServices(true)
	f.answers(shop, "web", lease.TCP, 80, 2, 2)
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

func prefixed(prefix string, lines []string) (out []string) {
	for _, line := range lines {
		out = append(out, prefix+line)
	}
	return out
}

// recorded adds a DNS record of the lease with the value 192.0.2.1, which should have another value.
func (f *facts) recorded(want string) {
	f.Config.DNS.Form = config.DNSEndpoint
	a := func(value string) []dns.Record {
		return []dns.Record{{Name: atHost, Type: dns.A, Values: []string{value}}}
	}
	o := view.RecordObject{Labelled: state.Labelled{Kind: "dnsendpoint", Namespace: shop.Namespace(), Name: atHost, Lease: shop, HasLease: true}, Host: atHost, Records: a("192.0.2.1")}
	f.Records = []OwnRecord{{Ref: state.ObjectRef{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}, Object: o, Want: a(want), Known: true}}
}

// reserves adds a reservation of the order of shop.
func (f *facts) reserves(name string) {
	f.Contents.Reservations = append(f.Contents.Reservations, &reserved.Claim{
		Order: shop.Order(), ObjectName: name, Bound: &reserved.Part{Asked: "a"}, Created: statetest.Minute(1)})
}

// keeps adds a kept definition of a lease: hosts and paths of one service, and port 443 of the endpoint "public". The
// lease's objects were rendered from it; the run with the marks wrote it in minute 2.
func (f *facts) keeps(id lease.ID, hosts ...string) *KeptDefinition {
	def := &lease.Definition{Lease: id, Hash: "d", Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{Port: 8443, As: 443, Protocol: lease.TCP, Global: true, IP: "public"}}}}}
	for _, host := range hosts {
		h, path, below := strings.Cut(host, "/")
		if below {
			path = "/" + path
		}
		def.Services[0].Expose = append(def.Services[0].Expose, lease.Expose{Port: 80, Protocol: lease.TCP, Global: true, Path: path, Hosts: []lease.Host{{Name: h}}})
	}
	f.Definitions = append(f.Definitions, KeptDefinition{ObjectRef: state.ObjectRef{Kind: "lease", Name: "df--" + id.Group().String(), UID: "df"}, Def: def, Run: "n0nce", Written: statetest.Minute(2)})
	return &f.Definitions[len(f.Definitions)-1]
}

// runs adds what this program runs for a lease, written in minute 3.
func (f *facts) runs(id lease.ID) {
	f.Manifests = append(f.Manifests, deployed.Manifest{Group: id.Group(), Namespace: id.Namespace(), Written: statetest.Minute(3)})
}

func kindsOf(found []state.Problem) (kinds []string) {
	for _, x := range found {
		kinds = append(kinds, x.Problem)
	}
	return kinds
}
