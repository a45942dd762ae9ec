package diagnose

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// pooled sets pool mode.
func pooled(f *facts) {
	f.Config.IP.Mode, f.Config.IP.Pool = config.ModePool, "public"
	f.Contents.Pools = nil
}

// endpoint adds the claim on the endpoint "public".
func (f *facts) endpoint(id lease.ID, part ...func(*state.Part)) *state.Claim {
	h := state.EndpointWant{SharingKey: publicKey, Ports: []state.PortWant{claimtest.HTTPS()}}.EndpointHold(id)
	c := h.Claim()
	c.Parts, c.Created = h.Parts, statetest.Minute(1)
	return f.claims(c, part)
}

var portProblems = []aProblem{
	{state.WrongWallet, "a port of an owner with a typing error", func(f *facts) {
		f.leases(statetest.Shop, atIP)
		f.asks(statetest.Shop, atIP, atIP)
		f.declares(statetest.Shop).WrongWallet = "owner: it is none"
	}, beside("the owner is right", func(f *facts) { f.Objects[1].WrongWallet = "" })},
	{state.WrongWallet, "one that somebody else wrote", func(f *facts) {
		o := f.declares(statetest.Shop)
		o.WrongWallet, o.Ours = "owner: it is none", false
	}, beside("the owner is right", func(f *facts) { f.Objects[0].WrongWallet = "" })},
	{state.NodeAddress, "a range has the address of a node", func(f *facts) {
		f.NodeUses = []state.Use{{Kind: "node", Name: "g1", Address: netip.MustParseAddr("203.0.113.1")}}
	}, besides{
		"its address is outside": func(f *facts) { f.NodeUses[0].Address = netip.MustParseAddr("203.0.113.9") },
		"MetalLB chooses":        pooled,
		"nodes may not be read":  func(f *facts) { f.NodeUses = nil },
	}},
	{state.CrashedRun, "where MetalLB chooses, a run took over a port, and Akash's operator serves it for the former holder", func(f *facts) {
		pooled(f)
		f.endpoint(statetest.Shop, marked, func(p *state.Part) { p.From = sibling.Group().String() })
		f.declares(statetest.Shop)
		byAkash(f.asks(sibling, "", atIP))
	}, beside("it ended", func(f *facts) { f.Claims[0].Parts[0].Run = "" })},
	{state.UnclaimedAddress, "a Service has an address that nobody has claimed", func(f *facts) { f.asks(statetest.Shop, atIP, atIP) }, besides{
		"its lease has claimed it":                 func(f *facts) { f.leases(statetest.Shop, atIP) },
		"another has":                              func(f *facts) { f.leases(statetest.Blog, atIP) },
		"MetalLB chooses, and the port is claimed": func(f *facts) { pooled(f); f.endpoint(statetest.Shop) },
	}},
	{state.UnclaimedAddress, "where MetalLB chooses, a port that nobody has claimed", func(f *facts) { pooled(f); f.asks(statetest.Shop, "", atIP); f.declares(statetest.Shop) }, besides{
		"it is claimed":             func(f *facts) { f.endpoint(statetest.Shop) },
		"on an address from before": func(f *facts) { f.leases(statetest.Shop, atIP) },
		"the claim cannot be read":  func(f *facts) { f.endpoint(statetest.Shop).Unreadable = "x" },
	}},
	{state.StrayRoute, "where MetalLB chooses, a Service for another's port", func(f *facts) { pooled(f); f.endpoint(sibling); f.asks(statetest.Shop, "", atIP) }, besides{
		"it serves until the next apply": func(f *facts) { f.Claims[0].Parts[0].From = statetest.Shop.Group().String() },
	}},
	{state.StrayRoute, "where MetalLB chooses, a ProviderLeasedIP of nothing", func(f *facts) { pooled(f); f.declares(statetest.Shop) }, besides{
		"a Service serves it":      func(f *facts) { f.asks(statetest.Shop, "") },
		"the claim cannot be read": func(f *facts) { f.endpoint(statetest.Shop).Unreadable = "x" },
	}},
	{state.StrayRoute, "a Service has another owner's address", func(f *facts) { f.leases(statetest.Blog, atIP); f.asks(statetest.Shop, atIP) },
		beside("it is its own", func(f *facts) { f.Claims = nil; f.leases(statetest.Shop, atIP) })},
	{state.StrayRoute, "a ProviderLeasedIP of nothing", func(f *facts) { f.declares(statetest.Shop) }, besides{
		"the claim cannot be read": func(f *facts) { f.leases(statetest.Shop, atIP).Unreadable = "x" },
		"its port is claimed":      func(f *facts) { f.leases(statetest.Shop, atIP) },
		"a Service serves it":      func(f *facts) { f.asks(statetest.Shop, atIP) },
		"the port was transferred": func(f *facts) { f.leases(sibling, atIP, transferredFrom(statetest.Shop)) },
	}},
	{state.StrayRoute, "Akash's provider has moved a port to a sibling", func(f *facts) {
		f.leases(statetest.Shop, atIP)
		byAkash(f.declares(sibling)).MovedFrom = []lease.Group{statetest.Shop.Group()}
	}, beside("the claim has followed", func(f *facts) { f.Claims[0].Parts[0].Lease = sibling })},
	{state.NotServed, "a ProviderLeasedIP stands alone", func(f *facts) { f.leases(statetest.Shop, atIP); f.declares(statetest.Shop) }, besides{
		"a Service serves it":      func(f *facts) { f.asks(statetest.Shop, atIP, atIP) },
		"it was made of late":      func(f *facts) { f.Objects[0].Since = statetest.Minute(9) },
		"the claim cannot be read": func(f *facts) { f.Claims[0].Unreadable = "x" },
	}},
	{state.NotServed, "a ProviderLeasedIP stands alone, and its port was transferred", func(f *facts) {
		f.leases(sibling, atIP, transferredFrom(statetest.Shop))
		f.declares(statetest.Shop)
	}, besides{
		"a Service serves it":      func(f *facts) { f.asks(statetest.Shop, atIP, atIP) },
		"one of the holder's does": func(f *facts) { f.asks(sibling, atIP, atIP) },
		"it was made of late":      func(f *facts) { f.Objects[0].Since = statetest.Minute(9) },
		"a run has it":             func(f *facts) { marked(&f.Claims[0].Parts[0]) },
	}},
	{state.NotServed, "where MetalLB chooses, a ProviderLeasedIP stands alone, and its port was transferred", func(f *facts) {
		pooled(f)
		transferredFrom(statetest.Shop)(&f.endpoint(sibling).Parts[0])
		f.declares(statetest.Shop)
	}, beside("a Service serves it", func(f *facts) { f.asks(statetest.Shop, "", atIP) })},
	{state.NotServed, "where MetalLB chooses, a ProviderLeasedIP stands alone", func(f *facts) { pooled(f); f.endpoint(statetest.Shop); f.declares(statetest.Shop) },
		beside("a Service serves it", func(f *facts) { f.asks(statetest.Shop, "", atIP) })},
	{state.NotServed, "where MetalLB chooses, Akash's provider declares the other protocol of the port for a sibling", func(f *facts) {
		pooled(f)
		f.endpoint(statetest.Shop)
		f.declares(statetest.Shop)
		o := byAkash(f.declares(sibling))
		o.Port.Protocol, o.Name = lease.UDP, lease.LeasedIPName(o.SharingKey, lease.UDP, 443)
	}, beside("a Service serves it", func(f *facts) { f.asks(statetest.Shop, "", atIP) })},
	{state.NotDeclared, "a Service of ours, and its ProviderLeasedIP is gone", func(f *facts) { f.leases(statetest.Shop, atIP); f.asks(statetest.Shop, atIP, atIP).ByOperators = true },
		beside("it is there", func(f *facts) { f.declares(statetest.Shop) })},
	{state.NotDeclared, "a Service that the operator left, of a claim", func(f *facts) { f.leases(statetest.Shop, atIP); byAkash(f.asks(statetest.Shop, atIP, atIP)) },
		beside("its ProviderLeasedIP is there", func(f *facts) { byAkash(f.declares(statetest.Shop)) })},
	{state.NotDeclared, "a Service that the operator left, of nobody", func(f *facts) { byAkash(f.asks(statetest.Shop, atIP, atIP)) },
		beside("the claim cannot be read", func(f *facts) { f.leases(statetest.Shop, atIP).Unreadable = "x" })},
	{state.RouteDiffers, "a Service of Akash's operator leads elsewhere", func(f *facts) {
		f.leases(statetest.Shop, atIP)
		byAkash(f.declares(statetest.Shop))
		byAkash(f.asks(statetest.Shop, atIP, atIP)).Port.Port = 9
	}, besides{
		"it has caught up":                func(f *facts) { f.Claims[0].Parts[0].Port = 9 },
		"Akash's provider declares it so": func(f *facts) { f.Objects[0].Port.Port = 9 },
	}},
	{state.StrayRoute, "where MetalLB chooses, the operator has left the former lease's Service beside the holder's", func(f *facts) {
		pooled(f)
		f.endpoint(sibling)
		f.declares(sibling)
		byAkash(f.asks(sibling, "", atIP))
		byAkash(f.asks(statetest.Shop, "", "203.0.113.1")).Since = statetest.Minute(9)
	}, beside("it is gone", func(f *facts) { f.Objects = f.Objects[:2] })},
	{state.StrayRoute, "where MetalLB chooses, the same until the next apply of the new lease", func(f *facts) {
		pooled(f)
		transferredFrom(statetest.Shop)(&f.endpoint(sibling).Parts[0])
		f.declares(sibling)
		byAkash(f.asks(sibling, "", atIP))
		byAkash(f.asks(statetest.Shop, "", "203.0.113.1"))
	}, beside("the holder has no Service yet", func(f *facts) { f.Contents.Services = f.Contents.Services[1:] })},
	{state.SharingKeyMismatch, "a Service asks with another sharing key", func(f *facts) {
		f.leases(statetest.Shop, atIP)
		o := f.asks(statetest.Shop, atIP)
		o.SharingKey, o.Uses[0].SharingKey, f.Contents.Services[0].SharingKey = "x", "x", "x"
	}, beside("with the claim's", func(f *facts) { f.Claims[0].SharingKey = "x" })},
	{state.GrantDiffers, "a Service of ours asks for another address than is claimed", func(f *facts) { f.leases(statetest.Shop, atIP); f.asks(statetest.Shop, "203.0.113.1") }, besides{
		"it asks for the claimed one":    func(f *facts) { f.Claims[0].Thing = "203.0.113.1" },
		"its port is claimed there too":  func(f *facts) { f.leases(statetest.Shop, "203.0.113.1") },
		"a run is about to move it":      func(f *facts) { marked(&f.Claims[0].Parts[0]) },
		"the claim is of another family": func(f *facts) { f.Claims[0].Thing = "2001:db8::1" },
		"another lease has the port":     func(f *facts) { f.Claims[0].Parts[0].Lease = sibling },
	}},
	{state.GrantDiffers, "a Service that is not ours asks for another address", func(f *facts) { f.leases(statetest.Shop, atIP); byAkash(f.asks(statetest.Shop, "203.0.113.1")) },
		beside("it asks for the claimed one", func(f *facts) { f.Claims[0].Thing = "203.0.113.1" })},
	{state.GrantDiffers, "MetalLB has granted another address", func(f *facts) { f.leases(statetest.Shop, atIP); f.asks(statetest.Shop, atIP, "203.0.113.2") }, besides{
		"it granted the claimed one":  func(f *facts) { f.Contents.Services[0].Granted[0] = netip.MustParseAddr(atIP) },
		"it granted the other family": func(f *facts) { f.Contents.Services[0].Granted[0] = netip.MustParseAddr("2001:db8::1") },
		"it granted nothing yet":      func(f *facts) { f.Contents.Services[0].Granted = nil },
	}},
	{state.AsksForNothing, "a Service of ours asks for no address", func(f *facts) { f.leases(statetest.Shop, atIP); f.asks(statetest.Shop, "", "203.0.113.2") }, besides{
		"it asks for one":          func(f *facts) { f.Objects[0].Uses[0].Granted = false },
		"its port is not claimed":  func(f *facts) { f.Claims = nil },
		"another lease has it":     func(f *facts) { f.Claims[0].Parts[0].Lease = sibling },
		"a run has it":             func(f *facts) { marked(&f.Claims[0].Parts[0]) },
		"MetalLB chooses":          pooled,
		"it is a ProviderLeasedIP": func(f *facts) { f.Objects[0].Kind = kinds.ProviderLeasedIP.Singular },
	}},
	{state.AsksForNothing, "a Service of IPv6, of two addresses", func(f *facts) {
		f.leases(statetest.Shop, "2001:db8::1")
		f.leases(statetest.Shop, atIP)
		f.asks(statetest.Shop, "").Name += secondFamily
	}, beside("one claim is going, the other unreadable", func(f *facts) { f.Claims[0].Deleting, f.Claims[1].Unreadable = true, "x" })},
	{state.AsksForNothing, "a Service of one of two addresses of a family", func(f *facts) {
		f.leases(statetest.Shop, "203.0.113.1")
		f.leases(statetest.Shop, atIP)
		f.asks(statetest.Shop, "")
	}, beside("both are marked", func(f *facts) { marked(&f.Claims[0].Parts[0]); marked(&f.Claims[1].Parts[0]) })},
	{state.AddressSquatted, "a stranger's Service asks for a claimed address", func(f *facts) {
		f.leases(statetest.Shop, atIP)
		a := netip.MustParseAddr(atIP)
		f.AddressUses[a] = append(f.AddressUses[a], state.Use{Kind: "service", Namespace: "default", Name: "game", Address: a, UID: "x"})
	}, besides{
		"the claim is free":     func(f *facts) { f.Claims[0].Parts = nil },
		"nobody has claimed it": func(f *facts) { f.Claims = nil },
		"it is going":           func(f *facts) { f.Claims[0].Deleting = true },
		"it is the holder's": func(f *facts) {
			u := &f.AddressUses[f.Claims[0].Addr()][0]
			u.HasLease, u.Lease, u.Namespace = true, statetest.Shop, statetest.Shop.Namespace()
		},
		"this program wrote it": func(f *facts) { f.object("service", statetest.Blog, "game").UID = "x" },
		"it uses another":       func(f *facts) { f.Claims[0].Thing = "203.0.113.1" },
	}},
	{state.AddressSquatted, "a Service of ours has an unclaimed address with the sharing key of another owner", func(f *facts) {
		f.asks(statetest.Blog, atIP).Uses[0].SharingKey = lease.SharingKey(statetest.Alice, "public")
	}, beside("the key is its owner's", func(f *facts) { f.Objects[0].Uses[0].SharingKey = lease.SharingKey(statetest.Bob, "public") })},
	{state.AddressSquatted, "a Service of ours has a claimed address in spec.externalIPs", func(f *facts) {
		f.leases(statetest.Shop, atIP)
		a := netip.MustParseAddr(atIP)
		f.AddressUses[a] = append(f.AddressUses[a], state.Use{Kind: "service", Namespace: "default", Name: "game", Address: a, UID: "x", External: true})
		f.object("service", statetest.Blog, "game").UID = "x"
	}, beside("it only asks for it", func(f *facts) { f.AddressUses[f.Claims[0].Addr()][0].External = false })},
}

var poolProblems = []aProblem{
	{state.AddressWithoutPool, "no pool has an address of ip.ranges", func(f *facts) { f.leases(statetest.Shop, atIP); f.asks(statetest.Shop, atIP); f.Contents.Pools = nil }, besides{
		"a pool has it":         func(f *facts) { f.Contents.Pools = []state.PoolObject{poolOf("admin", false, atIP+"/32")} },
		"nobody asks for it":    func(f *facts) { f.Contents.Services = nil },
		"another port is asked": func(f *facts) { f.Contents.Services[0].Port = 22 },
		"it is going":           func(f *facts) { f.Claims[0].Deleting = true },
	}},
	{state.AddressWithoutPool, "no pool has an address of nobody's ranges", func(f *facts) { f.leases(statetest.Shop, "198.51.100.1"); f.asks(statetest.Shop, "198.51.100.1") },
		beside("MetalLB chooses", pooled)},
	{state.PoolOverlap, "a pool of ours and an administrator's", func(f *facts) {
		f.Contents.Pools = append(f.Contents.Pools, poolOf("admin", false, "203.0.113.2/31"))
	},
		beside("they share nothing", func(f *facts) { f.Contents.Pools[1].Ranges = poolOf("", false, "198.51.100.0/31").Ranges })},
	{state.PoolOverlap, "two pools of administrators", func(f *facts) {
		f.Contents.Pools = []state.PoolObject{poolOf("a", false, "198.51.100.0/31", "203.0.113.0/31"), poolOf("b", false, "203.0.113.0/30", "198.51.100.1/32")}
	}, beside("there is one", func(f *facts) { f.Contents.Pools = f.Contents.Pools[:1] })},
	{state.PoolDiffers, "a pool of ours lacks addresses of ip.ranges", func(f *facts) { f.Contents.Pools[0].Ranges = poolOf("", true, "203.0.113.0/31").Ranges }, besides{
		"another has them": func(f *facts) {
			f.Contents.Pools = append(f.Contents.Pools, poolOf("admin", false, "203.0.113.2/31"))
		},
		"the pool is not ours":  func(f *facts) { f.Contents.Pools[0].Ours = false },
		"each has its own pool": func(f *facts) { f.Config.IP.Mode = config.ModeDedicated },
		"MetalLB chooses":       func(f *facts) { f.Config.IP.Mode = config.ModePool },
	}},
	{state.PoolDiffers, "a pool of ours has addresses that are not configured", func(f *facts) { f.Contents.Pools[0].Ranges = poolOf("", true, "203.0.113.0-203.0.113.4").Ranges }, besides{
		"they are in use": func(f *facts) { f.leases(statetest.Shop, "203.0.113.4") },
		"it has only such": func(f *facts) {
			f.Contents.Pools[0] = poolOf("akash-net-198-51-100-0-30", true, "198.51.100.0/30")
		},
		"an administrator's has them": func(f *facts) {
			f.Contents.Pools = append(f.Contents.Pools, poolOf("admin", false, "203.0.113.4/32"))
		},
	}},
	{state.PoolExhausted, "all addresses are in use", func(f *facts) {
		for _, a := range []string{"203.0.113.0", "203.0.113.1", "203.0.113.2", "203.0.113.3"} {
			f.leases(statetest.Shop, a)
		}
	}, besides{
		"one is free":                        func(f *facts) { f.Claims = f.Claims[1:] },
		"it is no pool of ours that is full": func(f *facts) { f.Config.IP.Mode = config.ModePool },
	}},
	{state.PoolExhausted, "all addresses are claimed, and one hold is over", func(f *facts) {
		for _, a := range []string{"203.0.113.0", "203.0.113.1", "203.0.113.2"} {
			f.leases(statetest.Shop, a)
		}
		f.leases(statetest.Shop, "203.0.113.3", ends(1))
	}, beside("one is free", func(f *facts) { f.Claims = f.Claims[1:] })},
	{state.PoolExhausted, "all addresses are claimed, and one port's hold is over", func(f *facts) {
		pooled(f)
		f.Contents.Pools = []state.PoolObject{poolOf("admin", false, atIP+"/32")}
		c := f.leases(statetest.Shop, atIP, ends(1))
		c.Parts = append(c.Parts, state.Part{Key: state.PortKey(lease.UDP, 53), Lease: statetest.Shop})
	}, beside("there are two", func(f *facts) { f.Contents.Pools = []state.PoolObject{poolOf("admin", false, atIP+"/31")} })},
	{state.PoolExhausted, "an administrator's pool is full", func(f *facts) {
		pooled(f)
		f.Contents.Pools = []state.PoolObject{poolOf("admin", false, atIP+"/32")}
		f.leases(statetest.Shop, atIP)
	}, beside("it is ours, of one address", func(f *facts) { f.Contents.Pools[0].Ours = true })},
}

// Objects that an operator left for two ports of an endpoint are two problems with one name, so that one repair deletes
// both.
func TestEachServiceThatIsLeftIsSaid(t *testing.T) {
	f := newFacts(t)
	pooled(f)
	c := f.endpoint(statetest.Shop)
	more := c.Parts[0]
	more.Key, more.Port = state.PortKey(lease.UDP, 7002), 9000
	c.Parts = append(c.Parts, more)
	byAkash(f.asks(sibling, "", atIP))
	late := byAkash(f.asks(sibling, "", atIP))
	late.Name, late.UID = "game-ip-7002-udp", "late"
	late.Port.Protocol, late.Port.ExternalPort = lease.UDP, 7002
	var rejected []string
	for _, x := range f.find() {
		if x.Problem == state.StrayRoute {
			reject, _ := x.Mend.(state.RejectObjects)
			for _, o := range reject.Reject {
				rejected = append(rejected, reject.Undeclared+" "+o.Name)
			}
		}
	}
	want := []string{publicKey + "-tcp-443 web-ip-443-tcp", publicKey + "-udp-7002 game-ip-7002-udp"}
	slices.Sort(rejected)
	if !slices.Equal(rejected, want) {
		t.Errorf("want %q, got %q", want, rejected)
	}
}
