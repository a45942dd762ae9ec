package state

import (
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// What a lease may do with a thing, row by row of the table in docs/ledger.md.
func TestDecide(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	id := func(owner string, dseq uint64) lease.ID {
		return lease.ID{Owner: owner, DSeq: dseq, GSeq: 1, OSeq: 1, Provider: "akash1provider"}
	}
	mine, sibling, other := id("akash1mine", 7), id("akash1mine", 8), id("akash1other", 9)
	anotherOrder := mine
	anotherOrder.OSeq = 2
	tcp, udp, root := PortKey(lease.TCP, 53), PortKey(lease.UDP, 53), RouteKey("/")

	part := func(key string, of lease.ID, with ...func(*Part)) Part {
		p := Part{Key: key, Lease: of, Service: "web", Port: 80}
		for _, f := range with {
			f(&p)
		}
		return p
	}
	marked := func(p *Part) { p.Run = "n" }
	applied := func(p *Part) { p.Applied = true }
	expires := func(after time.Duration) func(*Part) {
		return func(p *Part) { p.Expires = now.Add(after).Format(time.RFC3339) }
	}
	claim := func(parts ...Part) *Claim {
		return &Claim{Kind: Host, Thing: "shop.example.com", Owner: parts[0].Lease.Owner, Parts: parts}
	}
	endpoint := func(parts ...Part) *Claim {
		return &Claim{Kind: Endpoint, Thing: "key", SharingKey: "key", Owner: parts[0].Lease.Owner, Parts: parts}
	}
	deleting := func(c *Claim) *Claim { c.Deleting = true; return c }
	unreadable := func(c *Claim) *Claim { c.Unreadable = "its kind is unknown"; return c }
	many := func(groups, each int) *Claim {
		var parts []Part
		for g := range groups {
			for k := range each {
				parts = append(parts, part(RouteKey(time.Duration(g*each+k).String()), id("akash1mine", uint64(100+g))))
			}
		}
		return claim(parts...)
	}
	use := func(of lease.ID, labelled bool) Use {
		return Use{Kind: "Ingress", Namespace: "ns", Name: "x", Lease: of, HasLease: of.Owner != "", Labelled: labelled}
	}

	tests := []struct {
		name    string
		claim   *Claim
		uses    []Use
		key     string // the default is the root path
		adopt   bool
		onePort bool
		want    Verdict
		by      lease.ID
		object  string
		running bool
	}{
		{name: "nobody has it", want: Free},
		{name: "this deployment has it", claim: claim(part(root, mine)), want: Mine},
		{name: "another order of this deployment has it", claim: claim(part(root, anotherOrder)), want: Mine},
		{name: "this deployment has another path", claim: claim(part(RouteKey("/v2"), mine)), want: Free},
		{name: "another deployment of the owner has it", claim: claim(part(root, sibling)), want: Withheld, by: sibling},
		{name: "another deployment of the owner has another path", claim: claim(part(RouteKey("/v2"), sibling)), want: Free},
		{name: "another owner has it", claim: claim(part(root, other)), want: Held, by: other},
		{name: "another owner has another path", claim: claim(part(RouteKey("/v2"), other)), want: Held, by: other},
		{name: "a run of another owner has just taken it", claim: claim(part(root, other, marked)), want: Held, by: other, running: true},
		{name: "a run of the owner has just taken it", claim: claim(part(root, sibling, marked)), want: Withheld, by: sibling, running: true},
		{name: "a run of the owner has just taken another path", claim: claim(part(RouteKey("/v2"), sibling, marked), part(root, sibling)), want: Withheld, by: sibling},
		{name: "it is being deleted", claim: deleting(claim(part(root, other))), want: Going, by: other},
		{name: "it is being deleted, and was this deployment's", claim: deleting(claim(part(root, mine))), want: Going, by: mine},
		{name: "another owner's hold has ended", claim: claim(part(root, other, expires(-time.Minute))), want: Expired, by: other},
		{name: "another owner's hold has ended within the margin of clocks", claim: claim(part(root, other, expires(-Margin))), want: Held, by: other},
		{name: "one of another owner's holds has ended", claim: claim(part(root, other, expires(-time.Minute)), part(RouteKey("/v2"), other)), want: Held, by: other},
		{name: "the owner's hold has ended", claim: claim(part(root, sibling, expires(-time.Minute))), want: Expired, by: sibling},
		{name: "this deployment's hold has ended", claim: claim(part(root, mine, expires(-time.Minute))), want: Mine},
		{name: "it cannot be read", claim: unreadable(claim(part(root, mine))), want: Held, by: mine},
		{name: "it cannot be read, and has ended", claim: unreadable(claim(part(root, other, expires(-time.Minute)))), want: Held, by: other},
		{name: "it has as many deployments as one may have", claim: many(MaxGroups, 1), want: Held, by: id("akash1mine", 100)},
		{name: "it has one deployment less", claim: many(MaxGroups-1, 1), want: Free},
		{name: "it has as many parts as one may have", claim: many(5, MaxParts/5), want: Held, by: id("akash1mine", 100)},

		{name: "another owner's route uses it", uses: []Use{use(other, true)}, want: Held, by: other, object: "Ingress ns/x"},
		{name: "a route of nobody uses it", uses: []Use{use(lease.ID{}, false)}, want: Held, object: "Ingress ns/x"},
		{name: "a route of the owner uses it", uses: []Use{use(sibling, true)}, want: Withheld, by: sibling, object: "Ingress ns/x"},
		{name: "a route of the owner is taken over", uses: []Use{use(sibling, true)}, adopt: true, want: Free},
		{name: "another owner's route is not taken over", uses: []Use{use(other, true)}, adopt: true, want: Held, by: other, object: "Ingress ns/x"},
		{name: "this deployment's route uses it", uses: []Use{use(mine, true)}, want: Free},
		{name: "a route that its namespace shows to be this deployment's", uses: []Use{use(mine, false)}, want: Held, by: mine, object: "Ingress ns/x"},
		{name: "the same, taken over", uses: []Use{use(mine, false)}, adopt: true, want: Free},
		{name: "another owner's route beside one of the owner", uses: []Use{use(sibling, true), use(other, true)}, want: Held, by: other, object: "Ingress ns/x"},
		{name: "another owner's route beside its claim", claim: claim(part(root, mine)), uses: []Use{use(other, true)}, want: Mine},

		{name: "a sibling has the other protocol", claim: endpoint(part(tcp, sibling)), key: udp, want: Free},
		{name: "beside the IP operator it is the same port", claim: endpoint(part(tcp, sibling)), key: udp, onePort: true, want: Withheld, by: sibling},
		{name: "whichever it is", claim: endpoint(part(udp, sibling)), key: tcp, onePort: true, want: Withheld, by: sibling},
		{name: "another port is another", claim: endpoint(part(PortKey(lease.TCP, 54), sibling)), key: udp, onePort: true, want: Free},
		{name: "a run has just taken the other protocol", claim: endpoint(part(tcp, sibling, marked)), key: udp, onePort: true, want: Withheld, by: sibling, running: true},
		{name: "the hold of the other protocol has ended", claim: endpoint(part(tcp, sibling, expires(-time.Minute))), key: udp, onePort: true, want: Expired, by: sibling},
		{name: "this deployment may have both", claim: endpoint(part(tcp, mine)), key: udp, onePort: true, want: Free},
		{name: "both are reserved, the sibling's is applied", claim: endpoint(part(tcp, sibling, applied), part(udp, mine)), key: udp, onePort: true, want: Withheld, by: sibling},
		{name: "both are reserved, this one is applied", claim: endpoint(part(tcp, sibling, applied), part(udp, mine, applied)), key: udp, onePort: true, want: Mine},
		{name: "both are reserved, neither is applied", claim: endpoint(part(tcp, sibling), part(udp, mine)), key: udp, onePort: true, want: Mine},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			key, want := root, Hold{Kind: Host, Thing: "shop.example.com", Parts: []Part{part(root, mine)}}
			if test.key != "" {
				key, want = test.key, Hold{Kind: Endpoint, Thing: "key", SharingKey: "key", Parts: []Part{part(test.key, mine)}}
			}
			got := Judge{Group: mine.Group(), Now: now, Adopt: test.adopt, OnePort: test.onePort}.Decide(want, key, test.claim, test.uses)
			if got.Verdict != test.want {
				t.Errorf("the verdict is %d, want %d", got.Verdict, test.want)
			}
			if got.By.Lease != test.by || got.By.Object != test.object || got.By.Running != test.running {
				t.Errorf("it is held by %+v, want %v by object %q, running %t", got.By, test.by, test.object, test.running)
			}
		})
	}
}

// An address belongs to its IP endpoint as soon as somebody depends on it.
func TestDecideSharingKey(t *testing.T) {
	mine := lease.ID{Owner: "akash1mine", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1provider"}
	sibling := mine
	sibling.DSeq = 8
	key := PortKey(lease.TCP, 443)
	for name, test := range map[string]struct {
		parts []Part
		want  Verdict
	}{
		"reserved by this deployment, without a port": {[]Part{{Key: WholeAddress, Lease: mine}}, Free},
		"reserved by a sibling, without a port":       {[]Part{{Key: WholeAddress, Lease: sibling}}, Held},
		"a port of this deployment":                   {[]Part{{Key: PortKey(lease.TCP, 22), Lease: mine}}, Held},
	} {
		claim := &Claim{Kind: Address, Thing: "203.0.113.7", Owner: mine.Owner, SharingKey: "one", Parts: test.parts}
		got := Judge{Group: mine.Group()}.Decide(Hold{Kind: Address, Thing: "203.0.113.7", SharingKey: "two"}, key, claim, nil)
		if got.Verdict != test.want || test.want == Held && got.By.Reason == "" {
			t.Errorf("%s: the verdict is %d by %+v, want %d", name, got.Verdict, got.By, test.want)
		}
	}
}
