package state

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

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

// byKey compares parts in any order.
var byKey = cmpopts.SortSlices(func(a, b Part) bool { return a.Key < b.Key })

// Reading what the ledger writes returns the same claim.
func TestClaimsAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawClaim(t)
		meta := stored(want, want.Writers()...)
		got, ok := ReadClaim(meta)
		if diff := cmp.Diff(want, &got, byKey, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Part{}, "LeaseText")); !ok || diff != "" {
			t.Fatalf("read: %t (-written +read):\n%s", ok, diff)
		}
		if errs := validation.IsDNS1123Subdomain(meta.Name); len(errs) > 0 {
			t.Errorf("%s: %v", meta.Name, errs)
		}
		for key, value := range meta.Annotations {
			if errs := validation.IsQualifiedName(key); len(errs) > 0 {
				t.Errorf("%s: %v", key, errs)
			}
			if strings.HasPrefix(key, PortPrefix) && key != WholeAddress {
				if protocol, port := (Part{Key: key}).ProtocolPort(); PortKey(protocol, port) != key {
					t.Errorf("%s is read as port %d of %s (%s)", key, port, protocol, value)
				}
			}
		}
		again, _ := ReadClaim(meta)
		if !got.SaysAs(&again) {
			t.Error("read twice, it is two claims")
		}
	})
}

// A configuration is pinned to what was read. That of a new claim is not pinned, and a withdrawal names no part.
func TestConfigurationPins(t *testing.T) {
	c := bookHostClaim("a.example.com", statetest.Shop, "")
	if ac := c.Configuration("ns", c.Parts); ac.UID != nil || ac.ResourceVersion != nil || *ac.Namespace != "ns" || *ac.Spec.HolderIdentity != statetest.Alice {
		t.Errorf("a new claim: %+v", ac)
	}
	c.UID, c.ResourceVersion = "u", "7"
	if ac := c.Configuration("ns", c.Parts); *ac.UID != "u" || *ac.ResourceVersion != "7" || len(ac.Annotations) != 2 {
		t.Errorf("a claim that was read: %+v", ac)
	}
	if ac := c.Withdrawal("ns"); *ac.UID != "u" || *ac.ResourceVersion != "7" || len(ac.Annotations)+len(ac.Labels) > 0 || ac.Spec != nil {
		t.Errorf("a withdrawal: %+v", ac)
	}
}

// Each thing has exactly one name, and each name exactly one thing: otherwise two owners could hold one thing.
func TestNamesTellThings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAddr.Draw(t, "address")
		if got, ok := parseAddressName(AddressName(a)); !ok || got != a {
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
	for _, name := range []string{
		"203-0-113-7", "ip--203-0-113", "ip--203-0-113-07", "ip--203.0.113.7", "ip--2001-db8-0-0-0-0-0-7", "ip--2001-0DB8-0000-0000-0000-0000-0000-0007",
		"ip--203-0-113-256", "ip--", "ip--0000-0000-0000-0000-0000-ffff-203.0.113.7", "ip--0000-0000-0000-0000-0000-ffff-cb00-7107", "ip--invalid IP",
	} {
		if a, ok := parseAddressName(name); ok {
			t.Errorf("%s is read as %s", name, a)
		}
	}
	if one, two := EndpointName("akash1a-ip-public"), EndpointName("akash1b-ip-public"); one == two {
		t.Errorf("two endpoints are named %s", one)
	}
}

// A claim whose name and label disagree is unreadable, and is not the claim on the thing of another name.
func TestMisnamedClaims(t *testing.T) {
	key := lease.SharingKey(statetest.Alice, "public")
	for name, tc := range map[string]struct {
		label      Kind
		sharingKey string
		kind       Kind
		thing, why string
	}{
		"ip--203-0-113-7":      {Address, key, Address, "203.0.113.7", ""},
		EndpointName(key):      {Endpoint, key, Endpoint, key, ""},
		"wc--any.example.com":  {Wildcard, "", Wildcard, "*.example.com", ""},
		"a.example.com":        {Host, "", Host, "a.example.com", ""},
		"no-label.example.com": {"", "", Host, "no-label.example.com", ""},
		"203.0.113.7":          {Address, key, Host, "203.0.113.7", "kind address"},
		"ip--0000-0000-0000-0000-0000-ffff-cb00-7107": {Address, key, Host, "ip--0000-0000-0000-0000-0000-ffff-cb00-7107", "kind address"},
		"ip--203-0-113":             {Address, key, Host, "ip--203-0-113", "kind address"},
		EndpointName(key + "x"):     {Endpoint, key, Host, EndpointName(key + "x"), "its name is not that of its sharing key"},
		"ep--x":                     {"", "ep--x", Host, "ep--x", "its name is not that of its sharing key"},
		"endpoint.example.com":      {Endpoint, "endpoint.example.com", Host, "endpoint.example.com", "kind endpoint"},
		"no-wildcard.example.com":   {Wildcard, "", Host, "no-wildcard.example.com", "kind wildcard"},
		"ip--203-0-113-8":           {Host, key, Address, "203.0.113.8", "kind host"},
		"wc--any.www.example.com":   {Address, "", Wildcard, "*.www.example.com", "kind address"},
		"of-the-future.example.com": {"gateway", "", Host, "of-the-future.example.com", "kind gateway"},
	} {
		c, ok := ReadClaim(&metav1.ObjectMeta{
			Name: name, Labels: map[string]string{LabelKind: string(tc.label)}, Annotations: map[string]string{AnnotationLedger: "v1", AnnotationSharingKey: tc.sharingKey},
		})
		if !ok || c.Kind != tc.kind || c.Thing != tc.thing || (c.Unreadable == "") != (tc.why == "") || !strings.Contains(c.Unreadable, tc.why) {
			t.Errorf("%s, labelled %q: %s %s, %q", name, tc.label, c.Kind, c.Thing, c.Unreadable)
		}
		if c.Name() != name {
			t.Errorf("%s, labelled %q, calls itself %s", name, tc.label, c.Name())
		}
	}
}

// ReadClaim skips other objects, does not trust other versions, and reports the same one of two faults each time.
func TestClaimsThatAreNotTrusted(t *testing.T) {
	if c, ok := ReadClaim(&metav1.ObjectMeta{Name: "leader", Annotations: map[string]string{"a": "b"}}); ok {
		t.Errorf("another program's lease is read as %+v", c)
	}
	for _, version := range []string{"", "v2"} {
		c, ok := ReadClaim(&metav1.ObjectMeta{Name: "a.example.com", Labels: map[string]string{LabelKind: "host"}, Annotations: map[string]string{AnnotationLedger: version}})
		if !ok || !strings.Contains(c.Unreadable, "it was written for version \""+version+"\"") {
			t.Errorf("version %q: %q", version, c.Unreadable)
		}
	}
	part := bookHostClaim("a.example.com", statetest.Shop, "").Parts[0]
	for range 20 {
		c, _ := ReadClaim(&metav1.ObjectMeta{Name: "a.example.com", Labels: map[string]string{LabelOwner: statetest.Bob},
			Annotations: map[string]string{AnnotationLedger: "v1", part.Key: part.value(), WholeAddress: "broken", RouteKey("/a"): "broken"}})
		if want := "annotation " + part.Key + " names an owner who is not the claim's"; c.Unreadable != want {
			t.Fatalf("%q, want %q", c.Unreadable, want)
		}
	}
}

// SaysAs compares what two readings say about the holders of parts.
func TestSaysAs(t *testing.T) {
	read := func(change func(c *Claim)) *Claim {
		c := bookHostClaim("a.example.com", statetest.Shop, "")
		c.UID = "u"
		change(c)
		return c
	}
	as := func(c *Claim) {}
	for name, tc := range map[string]struct {
		change func(c *Claim)
		want   bool
	}{
		"the same":          {as, true},
		"written since":     {func(c *Claim) { c.ResourceVersion, c.Updated, c.Parts[0].LeaseText = "8", statetest.Minute(9), "x" }, true},
		"someone waits":     {func(c *Claim) { c.Waits = append(c.Waits, c.Parts[0].Wait("", nil)) }, true},
		"another object":    {func(c *Claim) { c.UID = "v" }, false},
		"another owner":     {func(c *Claim) { c.Owner = statetest.Bob }, false},
		"another endpoint":  {func(c *Claim) { c.SharingKey = "x" }, false},
		"going":             {func(c *Claim) { c.Deleting = true }, false},
		"unreadable":        {func(c *Claim) { c.Unreadable = "x" }, false},
		"another holder":    {func(c *Claim) { c.Parts[0].Lease.DSeq++ }, false},
		"another backend":   {func(c *Claim) { c.Parts[0].Port++ }, false},
		"marked":            {func(c *Claim) { c.Parts[0].Run = "n" }, false},
		"given up":          {func(c *Claim) { c.Parts = nil }, false},
		"another part more": {func(c *Claim) { c.Parts = append(c.Parts, Part{}) }, false},
	} {
		if got := read(as).SaysAs(read(tc.change)); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
	if none := (*Claim)(nil); none.SaysAs(read(as)) || read(as).SaysAs(none) || !none.SaysAs(nil) {
		t.Error("no claim and a claim say the same")
	}
}

// Claim methods select parts by holder. A claim has ended if all its parts have.
func TestPartsOfAClaim(t *testing.T) {
	sibling := statetest.Shop
	sibling.DSeq++
	c := bookHostClaim("a.example.com", sibling, "")
	own := Part{Key: RouteKey("/v1"), Lease: statetest.Shop, Run: "n", Expires: statetest.Minute(1).Format(time.RFC3339)}
	c.Parts, c.Waits = append(c.Parts, own), []Part{c.Parts[0].Wait("d", nil), bookHostClaim("a.example.com", statetest.Shop, "").Parts[0].Wait("d", nil)}
	if got := c.Groups(); !reflect.DeepEqual(got, []lease.Group{statetest.Shop.Group(), sibling.Group()}) {
		t.Errorf("the groups are %v", got)
	}
	if got := c.Entries(statetest.Shop.Group()); len(got) != 2 || got[0] != own || got[1].For != RouteKey("/") || got[1].Key == c.Waits[0].Key || got[1].Definition != "d" {
		t.Errorf("what %v has written is %+v", statetest.Shop, got)
	}
	if wait := own.Wait("d", nil); wait.Run+wait.Expires != "" {
		t.Errorf("a wait has a mark or an end: %+v", wait)
	}
	c.Waits[0].Lease = statetest.Blog
	if got := c.Writers(); len(got) != 3 || got[2] != statetest.Blog.Group() {
		t.Errorf("the writers are %v", got)
	}
	late := statetest.Minute(1).Add(Margin)
	if c.Ended(late.Add(time.Second)) || !c.Marked() || c.Bound() {
		t.Error("a claim of which a part is held for good has ended, or the mark of a part is overlooked")
	}
	c.Parts = c.Parts[1:]
	if c.Ended(late) || !c.Ended(late.Add(time.Second)) || (&Claim{}).Ended(late.Add(time.Hour)) {
		t.Errorf("a hold of %s does not end then, by clocks that differ by %s", own.Expires, Margin)
	}
	for key, want := range map[string]string{PortKey(lease.TCP, 443): "443/tcp", PortKey(lease.UDP, 53): "53/udp", WholeAddress: "(no port yet)"} {
		if got := (Part{Key: key}).PortText(); got != want {
			t.Errorf("%s is shown as %s", key, got)
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
	f.Add("ip--203-0-113-7", "wildcard", statetest.Alice, "v2", "k", waitPrefix+"x", `{"lease":"`+id+`","for":"x","http":{"maxBodySize":-1}}`)
	f.Add("203.0.113.7", "address", statetest.Bob, "v1", "203.0.113.7", PortPrefix+"tcp-443", `{"lease":"`+id+`","lease":"`+id+`"}`)
	f.Add("wc--any.example.com", "", statetest.Alice, "v1", "k", RouteKey("/"), `{"lease":"`+id+`"}`)
	f.Add("ep--x", "", "", "v1", "ep--x", PortPrefix, `[]`)
	f.Fuzz(func(t *testing.T, name, kind, owner, version, sharingKey, key, value string) {
		if name == "" {
			return // no object is without one
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
		if diff := cmp.Diff(&c, &again, cmpopts.IgnoreFields(Claim{}, "Unmanaged", "Updated", "Created")); diff != "" {
			t.Errorf("written again (-read +again):\n%s", diff)
		}
	})
}

// A wildcard is pending for a minute. One that is pending for years keeps nobody waiting, and one that is bound is held
// until its end.
func TestAPendingWildcardEndsSoon(t *testing.T) {
	now := statetest.Minute(0)
	for end, over := range map[time.Duration]bool{-time.Minute: true, time.Minute: false, time.Minute + Margin: false, 2 * time.Minute: true, 100 * 365 * 24 * time.Hour: true} {
		p := Part{Key: "/", Expires: now.Add(end).Format(time.RFC3339)}
		pending, host := Claim{Kind: Wildcard, Parts: []Part{p}}, Claim{Kind: Host, Parts: []Part{p}}
		p.Bound = true
		bound := Claim{Kind: Wildcard, Parts: []Part{p}}
		if past := end < 0; pending.Ended(now) != over || host.Ended(now) != past || bound.Ended(now) != past {
			t.Errorf("an end in %s: pending %t, host %t, bound %t", end, pending.Ended(now), host.Ended(now), bound.Ended(now))
		}
	}
}
