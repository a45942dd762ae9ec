package state_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
	. "github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	. "github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// What a claim is, and what its parts say: testdata/claims.txt.
//
//	name, key    the name of the claim on a thing, the key of a part; and what they are read as
//	is           what an object of a name, a label, an endpoint, a version and one more annotation is a claim on
//	value        what the value of a part's annotation says, on the host a.example.com of owner A
//	write        what a group applies to hold its parts of a claim, or to have none
//	ask          what there is to know of a claim
//	says         whether two claims say the same of who holds what
//	refused      whether the provider lets the holders of a claim have it
func TestClaimTable(t *testing.T) {
	table(t, "claims.txt", map[string]func(*testing.T, string) string{
		"name": nameInWords,
		"address": func(_ *testing.T, line string) string {
			if a, ok := ParseAddressName(line); ok {
				return a.String()
			}
			return "none"
		},
		"key": keyInWords, "is": isInWords, "value": valueInWords, "write": writeInWords, "ask": askInWords, "refused": refusedInWords,
		"says": func(t *testing.T, line string) string {
			f := fields(line, 2)
			a, b := WordClaim(t, f[0]), WordClaim(t, f[1])
			if a.SaysAs(b) != b.SaysAs(a) {
				t.Errorf("%s: it depends on which is asked", line)
			}
			return fmt.Sprint(a.SaysAs(b))
		},
		"wait": func(t *testing.T, line string) string {
			c := WordClaim(t, line)
			return each(c.Waits, func(w Part) string { return sayPart(w) + " " + c.Withholder(w) })
		},
	})
}

// nameInWords prints the name of the claim on a thing, and what a claim of that name is read as.
func nameInWords(t *testing.T, line string) string {
	c := WordClaim(t, line+" A:")
	meta := &metav1.ObjectMeta{Name: c.Name(), Labels: map[string]string{LabelOwner: c.Owner}, Annotations: map[string]string{AnnotationLedger: LedgerVersion, AnnotationSharingKey: c.SharingKey}}
	read, ok := ReadClaim(meta)
	if !ok || read.Kind != c.Kind || read.Thing != c.Thing || read.Unreadable != "" || read.Addr() != c.Addr() {
		return fmt.Sprintf("%s, which is read as %s", c.Name(), sayClaim(&read))
	}
	text := c.Name()
	if over := WildcardOver(c.Thing); over != "" && !c.Kind.HasPorts() {
		text += " below " + over
	}
	return text
}

// keyInWords prints the key of a part, and what it is read as.
func keyInWords(_ *testing.T, line string) string {
	key := WordKey(line)
	p := Part{Key: key}
	protocol, port := p.ProtocolPort()
	text := strings.NewReplacer("net.akash.network", "NET").Replace(key)
	if protocol != "" {
		text += fmt.Sprintf(" is %s %d, shown as %s", protocol, port, p.PortText())
	} else if key == WholeAddress {
		text = "any, shown as " + p.PortText()
	}
	if other := OtherProtocol(key); other != "" {
		text += ", beside " + strings.TrimPrefix(other, PortPrefix)
	}
	return text
}

// isInWords: NAME LABEL ENDPOINT VERSION [KEY VALUE], with "-" for a missing one; LEASE in the value is replaced by a lease of the
// owner.
func isInWords(t *testing.T, line string) string {
	words := append(strings.SplitN(line, " ", 6), "", "")
	meta := &metav1.ObjectMeta{Name: words[0], Labels: map[string]string{LabelOwner: "akash1a"}, Annotations: map[string]string{}}
	if words[1] != "-" {
		meta.Labels[LabelKind] = words[1]
	}
	if words[2] != "-" {
		meta.Annotations[AnnotationSharingKey] = words[2]
	}
	if words[3] != "-" {
		meta.Annotations[AnnotationLedger] = words[3]
	}
	if key := words[4]; key != "" {
		if wait, isWait := strings.CutPrefix(key, "wait:"); isWait {
			key = WaitPrefix + wait
		}
		meta.Annotations[WordKey(key)] = strings.NewReplacer("LEASE2", WordLease(t, "A/2").String(), "LEASE", WordLease(t, "A/1").String(), "OTHER", WordLease(t, "B/1").String()).Replace(words[5])
	}
	c, ok := ReadClaim(meta)
	if !ok {
		return "no claim"
	}
	text := sayClaim(&c)
	if c.Name() != words[0] {
		text += ", and calls itself " + c.Name()
	}
	return text
}

// valueInWords reads "KEY VALUE".
func valueInWords(t *testing.T, line string) string {
	of := "a.example.com host"
	if strings.HasPrefix(WordKey(strings.Fields(line)[0]), PortPrefix) {
		of = "ip--203-0-113-7 address"
	}
	return isInWords(t, of+" - v1 "+line)
}

// writeInWords: "LEASE [withdraws] of CLAIM".
func writeInWords(t *testing.T, line string) string {
	head, text, _ := strings.Cut(line, " of ")
	words := strings.Fields(head)
	c := WordClaim(t, text)
	ac := c.Configuration("ledger", c.Entries(WordLease(t, words[0]).Group()))
	if len(words) > 1 {
		ac = c.Withdrawal("ledger")
	}
	body, err := json.Marshal(ac)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`"apiVersion":"coordination.k8s.io/v1","kind":"Lease",`, "", "net.akash.network", "NET", `\"`, `'`).Replace(Short(string(body)))
}

// askInWords prints what the methods of a claim return.
func askInWords(t *testing.T, line string) string {
	c := WordClaim(t, line)
	var said []string
	groups := func(what string, of []lease.Group) {
		if len(of) > 0 {
			said = append(said, what+" "+strings.ReplaceAll(each(of, lease.Group.String), ";", " and"))
		}
	}
	groups("held by", c.Groups())
	if writers := c.Writers(); len(writers) > len(c.Groups()) {
		groups("written by", writers)
	}
	groups("served for another by", c.Formers())
	for _, g := range c.Formers() {
		if parts := c.FormerOf(g); len(parts) != 1 {
			said = append(said, fmt.Sprintf("%d parts by %s", len(parts), g))
		}
	}
	for word, is := range map[string]bool{"marked": c.Marked(), "ended": c.Ended(Now), "bound": c.Bound(), "really held": c.Held(), "one expired": slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Ended(Now) })} {
		if is {
			said = append(said, word)
		}
	}
	slices.Sort(said)
	if holders := Holders(c); holders != c.Owner {
		said = append(said, "in words: "+holders)
	}
	return strings.Join(said, "; ")
}

// refusedInWords: CLAIM | a word for each of the provider's rules.
func refusedInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	cfg := config.Default()
	for word := range strings.FieldsSeq(f[1]) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "blocked":
			cfg.Hosts.Blocked = append(cfg.Hosts.Blocked, value)
		case "denied":
			cfg.Hosts.DeniedDomains = append(cfg.Hosts.DeniedDomains, value)
		case "allowed":
			cfg.Hosts.AllowedDomains = append(cfg.Hosts.AllowedDomains, value)
		case "static":
			cfg.Ingress.StaticHosts, cfg.Ingress.Domain = true, value
		case "generated":
			cfg.Hosts.Generated = value
		}
	}
	text := strings.NewReplacer("STATIC", WordLease(t, "A/1").StaticHost("web", "p.example"), "GENERATED", hosttemplate.Host(WordLease(t, "A/1"), cmp.Or(cfg.Hosts.Generated, "x.example"), "web", 443)).Replace(f[0])
	return cmp.Or(WordClaim(t, text).Refused(cfg), "-")
}

// stored returns the object in the API server after each deployment group has applied its entries with its own field
// manager.
func stored(c *Claim, writers ...lease.Group) *metav1.ObjectMeta {
	meta := &metav1.ObjectMeta{
		Name: c.Name(), UID: c.UID, ResourceVersion: c.ResourceVersion, CreationTimestamp: metav1.NewTime(c.Created),
		Labels: map[string]string{}, Annotations: map[string]string{}, Finalizers: c.Finalizers,
	}
	for _, g := range writers {
		ac := c.Configuration("akash-net", c.Entries(g))
		for key, value := range ac.Labels {
			meta.Labels[key] = value
		}
		for key, value := range ac.Annotations {
			meta.Annotations[key] = value
		}
		meta.ManagedFields = append(meta.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: g.FieldManager(), Operation: metav1.ManagedFieldsOperationApply, Time: &metav1.Time{Time: c.Updated},
		})
	}
	return meta
}

// Reading what the ledger writes returns the same claim, with its parts sorted by their keys. Only the marks, the holders and the
// object count for what it says.
func TestClaimsAreReadAsTheyAreWritten(t *testing.T) {
	byKey := cmpopts.SortSlices(func(a, b Part) bool { return a.Key < b.Key })
	rapid.Check(t, func(t *rapid.T) {
		want := drawClaim(t)
		meta := stored(want, want.Writers()...)
		got, ok := ReadClaim(meta)
		if diff := gocmp.Diff(want, &got, byKey, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Part{}, "LeaseText")); !ok || diff != "" {
			t.Fatalf("read: %t (-written +read):\n%s", ok, diff)
		}
		if errs := validation.IsDNS1123Subdomain(meta.Name); len(errs) > 0 {
			t.Errorf("%s: %v", meta.Name, errs)
		}
		for key, value := range meta.Annotations {
			if errs := validation.IsQualifiedName(key); len(errs) > 0 {
				t.Errorf("%s: %v", key, errs)
			}
			if part := want.Part(key); part != nil && part.HTTP == nil && !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' || c == '\\' }) {
				if _, ok := ReadWritten(value); !ok {
					t.Errorf("%s is not read as what this program has written", value)
				}
			}
			if strings.HasPrefix(key, PortPrefix) && key != WholeAddress {
				if protocol, port := (Part{Key: key}).ProtocolPort(); PortKey(protocol, port) != key {
					t.Errorf("%s is read as port %d of %s (%s)", key, port, protocol, value)
				}
			}
		}
		if !slices.IsSortedFunc(got.Parts, func(a, b Part) int { return cmp.Compare(a.Key, b.Key) }) || slices.ContainsFunc(got.Parts, func(p Part) bool { return got.Part(p.Key) == nil }) {
			t.Errorf("the parts are %+v", got.Parts)
		}
		again, _ := ReadClaim(meta)
		again.ResourceVersion, again.Updated, again.Waits = "8", again.Updated.Add(time.Minute), nil
		for i := range again.Parts {
			again.Parts[i].LeaseText = "x"
		}
		if !got.SaysAs(&again) {
			t.Error("read twice, it is two claims")
		}
	})
	if none := (*Claim)(nil); none.Part("/") != nil || none.SaysAs(&Claim{}) || !none.SaysAs(nil) {
		t.Error("no claim has a part, or says what a claim says")
	}
}

// Each thing has exactly one name, and each name exactly one thing: otherwise two owners could hold one thing.
func TestNamesTellThings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAddr.Draw(t, "address")
		if got, ok := ParseAddressName(AddressName(a)); !ok || got != a {
			t.Errorf("%s is named %s, which is %s (%t)", a, AddressName(a), got, ok)
		}
		host := drawHost.Draw(t, "host")
		if lease.CheckRoute(host, "/") != nil {
			return // nobody can claim it
		}
		meta := &metav1.ObjectMeta{Name: HostName(host), Annotations: map[string]string{AnnotationLedger: LedgerVersion}}
		if got, _ := ReadClaim(meta); got.Thing != host || got.Unreadable != "" || got.Name() != meta.Name || (got.Kind == Wildcard) != strings.HasPrefix(host, "*.") {
			t.Errorf("%s is named %s, which is %s %s %s", host, meta.Name, got.Kind, got.Thing, got.Unreadable)
		}
	})
}

// Of two faults the same one is told each time.
func TestTheSameFaultIsTold(t *testing.T) {
	for range 20 {
		c, _ := ReadClaim(&metav1.ObjectMeta{Name: "a.example.com", Labels: map[string]string{LabelOwner: statetest.Bob},
			Annotations: map[string]string{AnnotationLedger: "v1", RouteKey("/"): `{"lease":"` + statetest.Shop.String() + `"}`, WholeAddress: "broken", RouteKey("/a"): "broken"}})
		if want := "annotation " + RouteKey("/") + " names an owner who is not the claim's"; c.Unreadable != want {
			t.Fatalf("%q, want %q", c.Unreadable, want)
		}
	}
}

// Reading an arbitrary object never panics. The name of the claim is the object's, and a readable claim is written
// again as it was.
func FuzzReadClaim(f *testing.F) {
	id := statetest.Shop.String()
	f.Add("a.example.com", "host", statetest.Alice, "v1", "", RouteKey("/"), `{"lease":"`+id+`","path":"/","service":"web","port":80}`)
	f.Add("wc--any.example.com", "wildcard", statetest.Alice, "v1", "", RouteKey("/"), `{"lease":"`+id+`","bound":true,"run":"x","expires":"2026-11-18T09:00:00Z"}`)
	f.Add("ip--203-0-113-7", "address", statetest.Alice, "v1", "k", PortKey(lease.TCP, 443), `{"lease":"`+id+`","from":"`+id+`"}`)
	f.Add(EndpointName("k"), "endpoint", statetest.Alice, "v1", "k", WholeAddress, `{"lease":"`+id+`"}`)
	f.Add("ip--203-0-113-7", "wildcard", statetest.Alice, "v2", "k", WaitPrefix+"x", `{"lease":"`+id+`","for":"x","http":{"maxBodySize":-1}}`)
	f.Add("203.0.113.7", "address", statetest.Bob, "v1", "203.0.113.7", PortPrefix+"tcp-443", `{"lease":"`+id+`","lease":"`+id+`"}`)
	f.Add("wc--any.example.com", "", statetest.Alice, "v1", "k", RouteKey("/"), `{"lease":"`+id+`"}`)
	f.Add("ep--x", "", "", "v1", "ep--x", PortPrefix, `[]`)
	for _, value := range []string{`{,"lease":"x"}`, `{"lease":"x",}`, `{"lease":"x"},`, `{"port":080}`, `{"port":}`, `{"port":70000}`, `{"path":"\x01"}`, `{"path":"\u002f"}`,
		`{"run":"x","path":"/"}`, `{"path":"/","path":"/"}`, `{"bound":true,"bound":true}`, `{"bound":false}`, `{"lease":"x`, `{"service":"ä"}`, `{}`, `}`, `{"for":"x","lease":"y","path":"/"}`} {
		f.Add("a.example.com", "host", statetest.Alice, "v1", "", RouteKey("/"), value)
	}
	f.Fuzz(func(t *testing.T, name, kind, owner, version, sharingKey, key, value string) {
		if name == "" {
			return // no object is without one
		}
		if written, ok := ReadWritten(value); ok {
			if strict, err := ReadStrictly(key, value); err != nil || strict != written {
				t.Errorf("%s is read as %+v, and as %+v, %v", value, written, strict, err)
			}
		}
		meta := &metav1.ObjectMeta{Name: name, Labels: map[string]string{LabelKind: kind, LabelOwner: owner},
			Annotations: map[string]string{AnnotationLedger: version, AnnotationSharingKey: sharingKey, key: value}}
		c, ok := ReadClaim(meta)
		if !ok {
			t.Fatalf("%+v is no claim", meta)
		}
		if c.Name() != name && validation.IsDNS1123Subdomain(name) == nil {
			t.Errorf("%s calls itself %s", name, c.Name())
		}
		uses := []Use{{Kind: "service", Namespace: "n", Name: "x"}}
		_ = Judge{Group: statetest.Shop.Group(), Now: statetest.Minute(1)}.Decide(Hold{}, key, &c, uses)
		_, _ = Served{Group: statetest.Shop.Group(), Key: key}.Standing(&c, &c)
		_, _, _, _ = c.Ended(statetest.Minute(1)), c.Formers(), c.Squatters(uses), c.Groups()
		if c.Unreadable != "" || len(c.Parts)+len(c.Waits) == 0 {
			return
		}
		again, _ := ReadClaim(stored(&c, c.Writers()...))
		if diff := gocmp.Diff(&c, &again, cmpopts.IgnoreFields(Claim{}, "Unmanaged", "Updated", "Created")); diff != "" {
			t.Errorf("written again (-read +again):\n%s", diff)
		}
	})
}

// Unmanaged leaves out groups whose field managers own parts of the claim.
func TestUnmanagedGroups(t *testing.T) {
	c := WordClaim(t, "host a.example.com A: / A/1, /v1 A/2, /v2 A/2, /v3 A/3")
	meta := stored(c, c.Writers()...)
	one, two := WordLease(t, "A/1").Group(), WordLease(t, "A/2").Group()
	meta.ManagedFields = slices.DeleteFunc(meta.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == one.FieldManager() || m.Manager == two.FieldManager()
	})
	read, _ := ReadClaim(meta)
	if slices.SortFunc(read.Unmanaged, lease.Group.Compare); !slices.Equal(read.Unmanaged, []lease.Group{one, two}) {
		t.Errorf("without the managers of two groups these are unmanaged: %v", read.Unmanaged)
	}
	if read, _ := ReadClaim(stored(c, c.Writers()...)); len(read.Unmanaged) > 0 {
		t.Errorf("of what was applied these are unmanaged: %v", read.Unmanaged)
	}
}

// A claim that is being deleted has its finalizers; its last write is the latest of its managers'.
func TestMomentsOfAClaim(t *testing.T) {
	c := WordClaim(t, "host a.example.com A: / A/1")
	meta := stored(c, c.Writers()...)
	at := func(minutes int) *metav1.Time {
		return &metav1.Time{Time: c.Created.Add(time.Duration(minutes) * time.Minute)}
	}
	meta.ManagedFields[0].Time = at(3)
	meta.ManagedFields = append(meta.ManagedFields, metav1.ManagedFieldsEntry{Manager: "other", Time: at(7)}, metav1.ManagedFieldsEntry{Manager: "third", Time: at(5)})
	read, _ := ReadClaim(meta)
	if read.Deleting || read.Kept() != "its finalizers " || read.Updated != at(7).Time || read.Created != c.Created {
		t.Errorf("it is read as %+v", read)
	}
	meta.DeletionTimestamp, meta.Finalizers, meta.ManagedFields = at(9), []string{"a/b", "c"}, nil
	read, _ = ReadClaim(meta)
	if !read.Deleting || read.Kept() != "its finalizers a/b, c" || read.Updated != c.Created {
		t.Errorf("it is being deleted, and read as %+v", read)
	}
	meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "clock", Time: at(-5)}}
	if read, _ = ReadClaim(meta); read.Updated != c.Created {
		t.Errorf("it was written at %s, before it was made", read.Updated)
	}
}

// Every run takes its claims in this order: addresses, endpoints, hosts, wildcards, each by name.
func TestOrderOfHolds(t *testing.T) {
	var claims []*Claim
	for _, text := range []string{
		"address 10.0.0.1@x", "address 10.0.0.10@a", "address 10.0.0.2@x", "address 2001:db8::2@x", "address 2001:db8:0:1::1@x", "endpoint a@a", "host a.example.com", "host b.example.com", "wildcard *.a.com", "wildcard *.b.com",
	} {
		claims = append(claims, WordClaim(t, text+" A:"))
	}
	for shift := range claims {
		mixed := slices.Concat(claims[shift:], claims[:shift])
		var holds []Hold
		for _, c := range mixed {
			holds = append(holds, Hold{Kind: c.Kind, Thing: c.Thing, SharingKey: c.SharingKey})
		}
		slices.SortFunc(holds, Hold.Compare)
		slices.SortFunc(mixed, (*Claim).Compare)
		for i, c := range claims {
			if holds[i].Name() != c.Name() || mixed[i] != c {
				t.Fatalf("%s and %s come in place of %s", holds[i].Name(), mixed[i].Name(), c.Name())
			}
		}
	}
}

// Names that look alike are different claims.
func TestNamesOfAddressesAreUnique(t *testing.T) {
	names := map[string]netip.Addr{}
	for _, first := range []string{"0.0.0.0", "203.0.113.250", "::", "2001:db8::ff00", "::ffff:ffff:fff0", "1::", "1:0:0:1::"} {
		for a, n := netip.MustParseAddr(first), 0; n < 300; a, n = a.Next(), n+1 {
			if other, taken := names[AddressName(a)]; taken && other != a {
				t.Fatalf("%s and %s are both named %s", a, other, AddressName(a))
			}
			names[AddressName(a)] = a
		}
	}
}
