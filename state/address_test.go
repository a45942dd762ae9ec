package state

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// addressUse is a use of an address by a Service with the sharing key of the lease's endpoint "public".
func addressUse(id lease.ID, address string, granted bool) Use {
	return Use{Kind: "service", Name: "web", Address: netip.MustParseAddr(address), Granted: granted, SharingKey: lease.SharingKey(id.Owner, "public"), Lease: id, HasLease: true}
}

func addressSet(addresses ...string) map[netip.Addr]bool {
	set := map[netip.Addr]bool{}
	for _, a := range addresses {
		set[netip.MustParseAddr(a)] = true
	}
	return set
}

// An endpoint gets the address that its key already has, else one that it was granted, else the lowest free one. The
// ranges are 203.0.113.0/30 without .1, and 2001:db8::/126; the endpoint is "public" of alice.
func TestNextAddress(t *testing.T) {
	claimed := func(id lease.ID, address string, change ...func(*Claim)) *Claim {
		c := bookAddressClaim(address, "public", id, bookHTTPS())
		for _, f := range change {
			f(c)
		}
		return c
	}
	later := func(c *Claim) { c.Created = statetest.Minute(9) }
	going := func(c *Claim) { c.Deleting = true }
	other := func(c *Claim) { c.SharingKey = lease.SharingKey(statetest.Alice, "other") }
	stolen := func(c *Claim) { c.Owner = statetest.Bob }
	unreadable := func(c *Claim) { c.Unreadable = "x" }
	for name, tc := range map[string]struct {
		claims []*Claim
		uses   []Use
		skip   map[netip.Addr]bool
		family config.Family
		want   string
	}{
		"the lowest":                              {want: "203.0.113.0"},
		"the lowest of IPv6":                      {family: config.IPv6, want: "2001:db8::"},
		"what is excluded is passed over":         {claims: []*Claim{claimed(statetest.Blog, "203.0.113.0")}, want: "203.0.113.2"},
		"its own":                                 {claims: []*Claim{claimed(statetest.Shop, "203.0.113.3")}, want: "203.0.113.3"},
		"its own, outside the ranges":             {claims: []*Claim{claimed(statetest.Shop, "198.51.100.1")}, want: "198.51.100.1"},
		"its own, the older":                      {claims: []*Claim{claimed(statetest.Shop, "203.0.113.0", later), claimed(statetest.Shop, "203.0.113.3")}, want: "203.0.113.3"},
		"its own of two as old, by name":          {claims: []*Claim{claimed(statetest.Shop, "203.0.113.3"), claimed(statetest.Shop, "203.0.113.2")}, want: "203.0.113.2"},
		"its own is of the other family":          {claims: []*Claim{claimed(statetest.Shop, "203.0.113.3")}, family: config.IPv6, want: "2001:db8::"},
		"its own was lost":                        {claims: []*Claim{claimed(statetest.Shop, "203.0.113.3")}, skip: addressSet("203.0.113.3"), want: "203.0.113.0"},
		"its own is going":                        {claims: []*Claim{claimed(statetest.Shop, "203.0.113.0", going)}, want: "203.0.113.2"},
		"one of another endpoint of the owner":    {claims: []*Claim{claimed(statetest.Shop, "203.0.113.0", other)}, want: "203.0.113.2"},
		"one of another owner with its key":       {claims: []*Claim{claimed(statetest.Shop, "203.0.113.0", stolen)}, want: "203.0.113.2"},
		"one of nobody that can be read":          {claims: []*Claim{claimed(statetest.Blog, "203.0.113.0", unreadable)}, want: "203.0.113.2"},
		"granted to its key":                      {uses: []Use{addressUse(statetest.Shop, "203.0.113.3", true)}, want: "203.0.113.3"},
		"granted, and its key has a claim":        {claims: []*Claim{claimed(statetest.Shop, "203.0.113.2")}, uses: []Use{addressUse(statetest.Shop, "203.0.113.3", true)}, want: "203.0.113.2"},
		"granted outside the ranges":              {uses: []Use{addressUse(statetest.Shop, "198.51.100.1", true)}, want: "203.0.113.0"},
		"granted what is excluded":                {uses: []Use{addressUse(statetest.Shop, "203.0.113.1", true)}, want: "203.0.113.0"},
		"granted what another has claimed":        {claims: []*Claim{claimed(statetest.Blog, "203.0.113.3")}, uses: []Use{addressUse(statetest.Shop, "203.0.113.3", true)}, want: "203.0.113.0"},
		"granted to another too":                  {uses: []Use{addressUse(statetest.Shop, "203.0.113.3", true), addressUse(statetest.Blog, "203.0.113.3", true)}, want: "203.0.113.0"},
		"granted, and lost":                       {uses: []Use{addressUse(statetest.Shop, "203.0.113.3", true)}, skip: addressSet("203.0.113.3"), want: "203.0.113.0"},
		"only asked for":                          {uses: []Use{addressUse(statetest.Shop, "203.0.113.3", false)}, want: "203.0.113.0"},
		"what another asks for is not free":       {uses: []Use{addressUse(statetest.Blog, "203.0.113.0", false)}, want: "203.0.113.2"},
		"what another was granted is not free":    {uses: []Use{addressUse(statetest.Blog, "203.0.113.0", true)}, want: "203.0.113.2"},
		"none is left":                            {claims: []*Claim{claimed(statetest.Blog, "203.0.113.0"), claimed(statetest.Blog, "203.0.113.2")}, skip: addressSet("203.0.113.3")},
		"a claim on a host is none on an address": {claims: []*Claim{bookHostClaim("a.example.com", statetest.Blog, "")}, want: "203.0.113.0"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := statetest.Config(t, config.ModeRange, "203.0.113.0/30", "!203.0.113.1/32", "2001:db8::/126")
			family := config.IPv4
			if tc.family != "" {
				family = tc.family
			}
			a, ok := NewAddresses(tc.claims, tc.uses).Next(statetest.Alice, lease.SharingKey(statetest.Alice, "public"), family, cfg.IP.Ranges, tc.skip)
			if ok != (tc.want != "") || ok && a.String() != tc.want {
				t.Errorf("it is %s (%t), want %q", a, ok, tc.want)
			}
		})
	}
}

// Foreign lists the uses with another sharing key, whatever lease their Services belong to.
func TestAddressesInUse(t *testing.T) {
	claim := bookAddressClaim("203.0.113.7", "public", statetest.Shop, bookHTTPS())
	known := NewAddresses([]*Claim{claim, bookHostClaim("a.example.com", statetest.Shop, "")}, []Use{
		addressUse(statetest.Shop, "203.0.113.7", true), addressUse(statetest.Blog, "203.0.113.7", true), addressUse(statetest.Blog, "203.0.113.2", true), addressUse(statetest.Blog, "203.0.113.3", false),
	})
	p := known
	if diff := cmp.Diff([]netip.Addr{netip.MustParseAddr("203.0.113.2"), netip.MustParseAddr("203.0.113.7")}, p.InUse(), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("in use (-want +got):\n%s", diff)
	}
	a := claim.Addr()
	if known.claims[a] != claim || len(known.claims) != 1 || len(p.Uses(a)) != 2 {
		t.Errorf("the claims of addresses are %v; %s is used by %v", known.claims, a, p.Uses(a))
	}
	if foreign := p.Foreign(a, claim.SharingKey); len(foreign) != 1 || foreign[0].SharingKey != lease.SharingKey(statetest.Bob, "public") || foreign[0].HasLease {
		t.Errorf("foreign are %+v", foreign)
	}
}

// The leases of a run share addresses only by sharing key, in whatever order they ask: no address goes to two keys or
// to a key that did not name it, and an address is refused only if all are taken.
func TestPicker(t *testing.T) {
	cfg := statetest.Config(t, config.ModeRange, "203.0.113.0/29")
	keys := []string{"a-ip-x", "a-ip-y", "b-ip-x", "c-ip-x"}
	rapid.Check(t, func(t *rapid.T) {
		p, lost, has := NewPicker(NewAddresses(nil, nil)), addressSet(), map[string]netip.Addr{}
		if named := netip.MustParseAddr("203.0.113.1"); rapid.Bool().Draw(t, "named") {
			p.Name(Request{Endpoints: []EndpointWant{{SharingKey: keys[0], Addresses: []netip.Addr{named}}}})
			has[keys[0]] = named
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			a, anew, ok := p.Next("a", key, config.IPv4, cfg.IP.Ranges, lost)
			taken := slices.ContainsFunc(keys, func(other string) bool { return other != key && has[other] == a })
			switch {
			case !ok && len(lost)+len(has) < 8:
				t.Fatalf("%s gets none, and there are some: %v lost, %v taken", key, lost, has)
			case ok && (taken || lost[a] || has[key].IsValid() && has[key] != a):
				t.Fatalf("%s gets %s: %v lost, %v taken", key, a, lost, has)
			case anew != (ok && !has[key].IsValid()):
				t.Fatalf("%s gets %s, picked anew: %v; %v are taken", key, a, anew, has)
			case ok:
				has[key] = a
			}
		}
	})
}
