package state

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

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
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

// sibling is another deployment of the owner of bookShop.
var sibling = func() lease.ID {
	id := bookShop
	id.DSeq++
	return id
}()

// inShort writes SHOP for the lease bookShop, shop for its deployment group, shop-ns for its namespace, and so on,
// and parts by what they are for their keys.
var inShort = func() *strings.Replacer {
	var pairs []string
	for _, x := range []struct {
		id   lease.ID
		name string
	}{{bookShop, "shop"}, {sibling, "sibling"}, {bookBlog, "blog"}} {
		pairs = append(pairs, x.id.String(), strings.ToUpper(x.name), x.id.Group().String(), x.name, x.id.Namespace(), x.name+"-ns")
	}
	pairs = append(pairs, bookAlice, "alice", bookBob, "bob", RouteKey("/"), "/", RouteKey("/v1"), "/v1", portPrefix, "", EndpointName(publicKey), "ep--PUBLIC")
	return strings.NewReplacer(pairs...)
}()

const (
	atHost = "shop.example.com"
	atIP   = "203.0.113.0"
)

var publicKey = lease.SharingKey(bookAlice, "public")

// facts are a ledger and a cluster of plain objects, ten minutes after the start. The ranges are 203.0.113.0/30;
// a run counts as crashed after two minutes.
type facts struct{ ProblemFacts }

func newFacts(t testing.TB) *facts {
	return &facts{ProblemFacts{
		View: &View{Config: bookConfig(t, config.ModeRange, "203.0.113.0/30"), Now: bookMinute(10),
			Uses: map[string][]Use{}, AddressUses: map[netip.Addr][]Use{}},
		Contents:   Contents{Pools: []PoolObject{poolOf("akash-net-203-0-113-0-30", true, "203.0.113.0/30")}},
		Namespaces: map[string]bool{bookShop.Namespace(): true, sibling.Namespace(): true, bookBlog.Namespace(): true}, CrashedAfter: 2 * time.Minute,
	}}
}

// find are the problems, with the book as it is computed from the same objects.
func (f *facts) find() []Problem {
	f.Contents.Claims, f.Contents.Now = f.Claims, f.Now
	f.Book = NewBook(f.Config, f.Contents, SubjectPools)
	return Problems(f.ProblemFacts)
}

func poolOf(name string, ours bool, ranges ...string) PoolObject {
	p := PoolObject{Name: name, Ours: ours, Texts: ranges, Ref: ObjectRef{Kind: "ipaddresspool", Namespace: "metallb-system", Name: name}}
	for _, text := range ranges {
		r, err := config.ParseRange(text)
		if err != nil {
			panic(err)
		}
		p.Ranges = append(p.Ranges, r)
	}
	return p
}

// holds adds a claim of the lease on the host; part changes its part.
func (f *facts) holds(id lease.ID, host string, part ...func(*Part)) *Claim {
	return f.claims(bookHostClaim(host, id, ""), part)
}

// leases adds a claim of the lease on the address, for port 443 of its endpoint "public".
func (f *facts) leases(id lease.ID, address string, part ...func(*Part)) *Claim {
	return f.claims(bookAddressClaim(address, "public", id, bookHTTPS()), part)
}

func (f *facts) claims(c *Claim, part []func(*Part)) *Claim {
	for _, change := range part {
		change(&c.Parts[0])
	}
	c.Updated = c.Created
	f.Claims = append(f.Claims, c)
	return c
}

// object adds an object of ours for the lease, as it is labelled and written in minute 3.
func (f *facts) object(kind string, id lease.ID, name string) *OwnObject {
	f.Objects = append(f.Objects, OwnObject{
		ObjectRef: ObjectRef{Kind: kind, Namespace: id.Namespace(), Name: name, UID: kind + id.String() + name},
		Ownership: Ownership{Lease: id, HasLease: true, Labelled: true, Ours: true},
		Since:     bookMinute(3), Written: bookMinute(3), Definition: "d",
	})
	return &f.Objects[len(f.Objects)-1]
}

// routes adds an object of the lease that serves or stands for the host, with the claim's backend; change
// changes what it says.
func (f *facts) routes(kind string, id lease.ID, host string, change ...func(*Use)) *OwnObject {
	o := f.object(kind, id, host)
	u := Use{Kind: kind, Namespace: o.Namespace, Name: host, Host: host, Path: "/", Lease: id, HasLease: true, Labelled: true, Service: "web", Port: 80, Since: o.Since, UID: types.UID(o.UID)}
	for _, c := range change {
		c(&u)
	}
	o.Uses = []Use{u}
	f.Uses[host] = append(f.Uses[host], u)
	return o
}

// asks adds a Service of the lease for port 443 of its endpoint "public" that asks for an address, and has some.
func (f *facts) asks(id lease.ID, asked string, granted ...string) *OwnObject {
	o := f.object("service", id, "web-ip-443-tcp")
	s := bookService(id, o.Name, "public", "TCP", 443, asked, granted...)
	f.Contents.Services = append(f.Contents.Services, s)
	o.SharingKey, o.Port = s.SharingKey, PortWant{Protocol: lease.TCP, ExternalPort: 443, Service: "web", Port: 8443}
	for i, text := range append([]string{asked}, granted...) {
		if text != "" {
			u := Use{Kind: "service", Namespace: o.Namespace, Name: o.Name, Address: netip.MustParseAddr(text), SharingKey: s.SharingKey, Lease: id, HasLease: true, Labelled: true, UID: types.UID(o.UID), Granted: i > 0}
			o.Uses = append(o.Uses, u)
			f.AddressUses[u.Address] = append(f.AddressUses[u.Address], u)
		}
	}
	return o
}

// declares adds the ProviderLeasedIP of the same port.
func (f *facts) declares(id lease.ID) *OwnObject {
	o := f.object(providerLeasedIP, id, lease.LeasedIPName(lease.SharingKey(id.Owner, "public"), lease.TCP, 443))
	o.SharingKey, o.Port = lease.SharingKey(id.Owner, "public"), PortWant{Protocol: lease.TCP, ExternalPort: 443, Service: "web"}
	return o
}

// byAkash makes an object one that Akash's provider or its operator wrote, and this program did not.
func byAkash(o *OwnObject) *OwnObject {
	o.Ours, o.Shared, o.Written, o.Definition, o.ByOperators = false, true, time.Time{}, "", o.Kind != providerHost && o.Kind != providerLeasedIP
	return o
}

func ends(minute int) func(*Part) {
	return func(p *Part) { p.Expires = bookMinute(minute).Format(time.RFC3339) }
}

func marked(p *Part)     { p.Run = "n0nce" }
func wasApplied(p *Part) { p.Applied = true }

func backendIs(service string) func(*Use) { return func(u *Use) { u.Service = service } }

// told is a problem line by line: what it is, what mends it, how that is asked for, and with what it is done.
func told(p Problem) string {
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

// toldMend are the fields of a mend that say anything.
func toldMend(m Mend) string {
	var out []string
	v := reflect.ValueOf(m)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		text := v.Type().Field(i).Name
		switch x := v.Field(i).Interface().(type) {
		case bool:
		case *Claim:
			text += " " + x.Name()
		case *Hold:
			text += " " + x.Name()
			for _, p := range x.Parts {
				text += fmt.Sprintf(" %s=%s:%d", p.Key, p.Service, p.Port)
			}
		case Part:
			text += fmt.Sprintf(" %s=%s:%d", x.Key, x.Service, x.Port)
		case []Mend:
			for _, also := range x {
				text += " (" + toldMend(also) + ")"
			}
		case []config.Range:
			text += " " + metalLB(x)
		default:
			text += fmt.Sprintf(" %v", x)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// Every kind of problem is found, with its message and its mend (testdata/problems.txt), and is not found in the
// case beside it, which differs in one respect.
func TestEveryKindOfProblem(t *testing.T) {
	unseen := slices.Clone(ProblemKinds)
	var out strings.Builder
	for _, tt := range slices.Concat(claimProblems, hostProblems, portProblems, poolProblems) {
		t.Run(tt.kind+"/"+tt.name, func(t *testing.T) {
			of := func(p Problem) bool { return p.Problem == tt.kind }
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

// aProblem is one way in which a problem comes about, and the cases beside it in which it does not: each changes
// the facts of the case.
type aProblem struct {
	kind, name string
	made       func(f *facts)
	beside     map[string]func(f *facts)
}
