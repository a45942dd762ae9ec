package diagnose

import (
	"cmp"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a text with testdata/NAME.txt.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name + ".txt"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}

// sibling is another deployment of the owner of statetest.Shop.
var sibling = func() lease.ID {
	id := statetest.Shop
	id.DSeq++
	return id
}()

// inShort replaces the lease statetest.Shop by SHOP, its deployment group by shop, its namespace by shop-ns, and so on,
// and the keys of parts by the parts.
var inShort = func() *strings.Replacer {
	var pairs []string
	for _, x := range []struct {
		id   lease.ID
		name string
	}{{statetest.Shop, "shop"}, {sibling, "sibling"}, {statetest.Blog, "blog"}} {
		pairs = append(pairs, x.id.String(), strings.ToUpper(x.name), x.id.Group().String(), x.name, x.id.Namespace(), x.name+"-ns")
	}
	pairs = append(pairs, statetest.Alice, "alice", statetest.Bob, "bob", state.RouteKey("/"), "/", state.RouteKey("/v1"), "/v1", state.PortPrefix, "", state.EndpointName(publicKey), "ep--PUBLIC")
	return strings.NewReplacer(pairs...)
}()

const (
	atHost = "shop.example.com"
	atIP   = "203.0.113.0"
)

var publicKey = lease.SharingKey(statetest.Alice, "public")

// facts are a ledger and a cluster ten minutes after the start. The ranges are 203.0.113.0/30; a run counts as crashed
// after two minutes.
type facts struct{ ProblemFacts }

func newFacts(t testing.TB) *facts {
	return &facts{ProblemFacts{
		View: &View{Config: statetest.Config(t, config.ModeRange, "203.0.113.0/30"), Now: statetest.Minute(10),
			Uses: map[string][]state.Use{}, AddressUses: map[netip.Addr][]state.Use{}},
		Contents:   view.Contents{Pools: []state.PoolObject{poolOf("akash-net-203-0-113-0-30", true, "203.0.113.0/30")}},
		Namespaces: map[string]bool{statetest.Shop.Namespace(): true, sibling.Namespace(): true, statetest.Blog.Namespace(): true}, CrashedAfter: 2 * time.Minute,
	}}
}

// find returns the problems, with the book computed from the same objects.
func (f *facts) find() []state.Problem {
	f.Contents.Claims, f.Contents.Now = f.Claims, f.Now
	f.Book = view.NewBook(f.Config, f.Contents, view.SubjectPools)
	if f.Runs == nil && slices.ContainsFunc(f.Claims, (*state.Claim).Marked) {
		f.Runs = []*state.Announcement{announced("n0nce", 0)}
	}
	return Problems(f.ProblemFacts)
}

// announced returns the announcement of a running command for the lease, begun in minute 0 and renewed in the given
// minute.
func announced(nonce string, minute int) *state.Announcement {
	return &state.Announcement{
		Nonce: nonce, Groups: []lease.Group{statetest.Shop.Group()}, By: "ann@laptop", Begun: statetest.Minute(0),
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

// holds adds a claim of the lease on the host. changes apply to its part.
func (f *facts) holds(id lease.ID, host string, part ...func(*state.Part)) *state.Claim {
	return f.claims(claimtest.HostClaim(host, id, ""), part)
}

// leases adds a claim of the lease on the address, for port 443 of its endpoint "public".
func (f *facts) leases(id lease.ID, address string, part ...func(*state.Part)) *state.Claim {
	return f.claims(claimtest.AddressClaim(address, "public", id, claimtest.HTTPS()), part)
}

func (f *facts) claims(c *state.Claim, part []func(*state.Part)) *state.Claim {
	for _, change := range part {
		change(&c.Parts[0])
	}
	if c.Updated = c.Created; c.Marked() {
		c.AtWork = announced("n0nce", 0).Stands(f.Now)
	}
	f.Claims = append(f.Claims, c)
	return c
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

func ends(minute int) func(*state.Part) {
	return func(p *state.Part) { p.Expires = statetest.Minute(minute).Format(time.RFC3339) }
}

func marked(p *state.Part)     { p.Run = "n0nce" }
func wasApplied(p *state.Part) { p.Applied = true }

// transferredFrom makes a part one that a lease has transferred and is still to serve.
func transferredFrom(id lease.ID) func(*state.Part) {
	return func(p *state.Part) { p.From = id.Group().String() }
}

func backendIs(service string) func(*state.Use) { return func(u *state.Use) { u.Service = service } }

// told prints a problem: its message, its plan, its command and its repair.
func told(p state.Problem) string {
	text := fmt.Sprintf("%s %s: %s\n  mend: %s\n", p.Name(), cmp.Or(p.Lease, "-"), p.Message, p.Plan)
	switch {
	case p.Sound:
		text += "  sound: " + p.Command + "\n"
	case p.Manual:
		text += "  manual: " + p.Command + "\n"
	}
	if by := toldMend(p.Mend); by != "" {
		text += "  by: " + by + "\n"
	}
	return inShort.Replace(text)
}

// isDefinition reports whether the repair applies a definition.
func isDefinition(m state.Mend) bool {
	switch m.(type) {
	case state.ApplyDefinition, state.MoveRoutes:
		return true
	}
	return false
}

// toldMend prints a repair and its fields that are set.
func toldMend(m state.Mend) string {
	if m == nil {
		return ""
	}
	v := reflect.ValueOf(m)
	return strings.Join(append([]string{v.Type().Name()}, toldFields(v)...), "; ")
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
		case state.Part:
			text += fmt.Sprintf(" %s=%s:%d", x.Key, x.Service, x.Port)
		case state.ClaimParts:
			text += " " + strings.Join(toldFields(v.Field(i)), ", ")
		case state.Hold:
			text += " " + x.Name()
			for _, p := range x.Parts {
				text += fmt.Sprintf(" %s=%s:%d", p.Key, p.Service, p.Port)
			}
		case []state.LeaveParts:
			for _, leave := range x {
				text += " (" + toldMend(leave) + ")"
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

// Every kind of problem is found, with its message and its repair (testdata/problems.txt), and not found in a variant
// that differs in one respect.
func TestEveryKindOfProblem(t *testing.T) {
	unseen := slices.Clone(state.ProblemKinds)
	var out strings.Builder
	for _, tt := range slices.Concat(claimProblems, hostProblems, portProblems, poolProblems, keptProblems, workloadProblems) {
		t.Run(tt.kind+"/"+tt.name, func(t *testing.T) {
			of := func(p state.Problem) bool { return p.Problem == tt.kind }
			f := newFacts(t)
			tt.made(f)
			found := f.find()
			if !slices.ContainsFunc(found, of) {
				t.Errorf("found %+v", found)
			}
			fmt.Fprintf(&out, "# %s\n", tt.name)
			for _, p := range found {
				out.WriteString(told(p))
			}
			out.WriteString("\n")
			if len(tt.beside) == 0 {
				t.Error("there is no case beside it")
			}
			for name, change := range tt.beside {
				f := newFacts(t)
				tt.made(f)
				change(f)
				if found := f.find(); slices.ContainsFunc(found, of) {
					t.Errorf("beside it, %s: found %+v", name, found)
				}
			}
		})
		unseen = slices.DeleteFunc(unseen, func(kind string) bool { return kind == tt.kind })
	}
	if len(unseen) > 0 {
		t.Errorf("no case makes %q", unseen)
	}
	golden(t, "problems", out.String())
}

// aProblem is one way in which a problem arises, and variants in which it does not. Each changes the facts of the case.
type aProblem struct {
	kind, name string
	made       func(f *facts)
	beside     map[string]func(f *facts)
}
