package commands

import (
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/state"
)

// What is held for a bid becomes the lease's without being let go.
func TestHoldBecomesClaim(t *testing.T) {
	t.Parallel()
	host, id := "bid."+newDomain(), leaseOf(newOwner(), 1)
	mustRun(t, 0, "reserve", "--lease", id.String(), host, "--expires", "10m")
	hold := claim(t, host)
	if hold.Parts[0].Expires == "" || hold.Marked() {
		t.Fatalf("no hold: %+v", hold)
	}
	mustRun(t, 4, "reserve", "--lease", leaseOf(newOwner(), 9).String(), host)
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 80, host)))
	c := claim(t, host)
	if c.UID != hold.UID || c.Parts[0].Expires != "" || c.Marked() {
		t.Errorf("the hold did not become the claim: %+v\nit was %+v", c, hold)
	}
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	host, id := "bid."+newDomain(), leaseOf(newOwner(), 1)
	ends := func(expires string) (time.Time, *state.Claim) {
		mustRun(t, 0, "reserve", "--lease", id.String(), host, "--expires", expires)
		c := claim(t, host)
		at, err := time.Parse(time.RFC3339, c.Parts[0].Expires)
		if err != nil {
			t.Fatal(err)
		}
		return at, c
	}
	short, first := ends("5m")
	long, second := ends("1h")
	if d := long.Sub(short); d < 50*time.Minute || first.UID != second.UID {
		t.Errorf("renewed by %v; uid %s, then %s", d, first.UID, second.UID)
	}
}

// What is held for good does not come to end because somebody asks for a hold.
func TestClaimDoesNotBecomeHold(t *testing.T) {
	t.Parallel()
	host, id := "own."+newDomain(), leaseOf(newOwner(), 1)
	mustRun(t, 0, "reserve", "--lease", id.String(), host)
	other := "new." + host
	mustRun(t, 1, "reserve", "--lease", id.String(), host, other, "--prune=false", "--expires", "5m").
		Says(t, "holds host/"+host+" for good", "Nothing was changed; leave out --expires")
	if c := claim(t, host); c.Parts[0].Expires != "" || c.Marked() {
		t.Errorf("the claim ends: %+v", c)
	}
	mustRun(t, 0, "check", "--lease", leaseOf(newOwner(), 2).String(), other).Prints(t, "host/"+other+" free")
}

// A hold that has ended is whoever's comes next; until then it is its holder's.
func TestHoldEnds(t *testing.T) {
	t.Parallel()
	host, id, next := "bid."+newDomain(), leaseOf(newOwner(), 1), leaseOf(newOwner(), 9)
	mustRun(t, 0, "reserve", "--lease", id.String(), host, "--expires", "1s")
	mustRun(t, 4, "reserve", "--lease", next.String(), host)
	pass(t, host)
	mustRun(t, 0, "explain", host).Prints(t, "ended at", "whoever comes next may take it")
	mustRun(t, 0, "reserve", "--lease", next.String(), host)
	held(t, host, "9 /")
}

// Within one owner, a hold that has ended makes way too, and what stands beside it stays.
func TestHoldOfOnePathEnds(t *testing.T) {
	t.Parallel()
	host, owner := "api."+newDomain(), newOwner()
	passed := before(t, time.Minute)
	plant(t, state.HostWant{Host: host, Path: "/v1"}.Hold(leaseOf(owner, 1)), func(p *state.Part) { p.Expires = passed })
	mustRun(t, 0, "reserve", "--lease", leaseOf(owner, 2).String(), host+"/v2")
	mustRun(t, 0, "reserve", "--lease", leaseOf(owner, 3).String(), host+"/v1")
	held(t, host, "2 /v2", "3 /v1")
}

// A run that lifts a hold and then fails gives the hold back as it was.
func TestRollbackGivesHoldBack(t *testing.T) {
	t.Parallel()
	domain, id, thief := newDomain(), leaseOf(newOwner(), 1), leaseOf(newOwner(), 9)
	first, last := "a."+domain, "z."+domain
	mustRun(t, 0, "reserve", "--lease", id.String(), first, "--expires", "10m")
	was := claim(t, first)
	stolen := false
	p := startProxy(t, func(write string) bool {
		if strings.HasSuffix(write, "leases/"+first) && !stolen {
			stolen = true
			plant(t, state.HostWant{Host: last}.Hold(thief), func(*state.Part) {})
		}
		return false
	})
	r := runAs(t.Context(), p.kubeconfig, "apply", "-f", define(t, id, web("web", 80, first, last)))
	if r.Code != 4 || !stolen {
		t.Fatalf("want exit code 4: %s", r)
	}
	is := claim(t, first)
	if is == nil || is.UID != was.UID || is.Parts[0].Expires != was.Parts[0].Expires || is.Marked() {
		t.Errorf("the hold is %+v, it was %+v", is, was)
	}
}
