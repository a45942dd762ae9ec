package commands

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// plant writes a claim as a run does that then crashes, with parts as they are given.
func plant(t *testing.T, hold state.Hold, edit func(*state.Part)) *state.Claim {
	t.Helper()
	for i := range hold.Parts {
		p := &hold.Parts[i]
		if edit(p); p.Run != "" {
			p.Run = crashed(t, p.Lease.Group())
		}
	}
	body, err := json.Marshal(hold.Claim().Configuration(ledger, hold.Parts))
	if err != nil {
		t.Fatal(err)
	}
	options := metav1.PatchOptions{FieldManager: hold.Parts[0].Lease.Group().FieldManager()}
	if _, err := harness.Objects.Resource(claims).Namespace(ledger).Patch(t.Context(), hold.Name(), types.ApplyPatchType, body, options); err != nil {
		t.Fatal(err)
	}
	return claim(t, hold.Name())
}

// crashed announces a command for a deployment group that has said nothing for a minute; it returns its nonce.
func crashed(t *testing.T, g lease.Group) (nonce string) {
	t.Helper()
	nonce = strings.ToLower(rand.Text()[:13])
	announce(t, g, nonce, time.Minute)
	return nonce
}

// announce announces a command for deployment groups that has said nothing for some time.
func announce(t *testing.T, g lease.Group, nonce string, silent time.Duration, more ...lease.Group) {
	t.Helper()
	then := harness.ServerTime(t).Add(-silent)
	a := state.Announcement{
		Nonce: nonce, Groups: append([]lease.Group{g}, more...), By: "ann@laptop", Version: "v1", Begun: then, Renewed: then, Lasts: time.Second, Phase: state.Active,
	}
	body, err := json.Marshal(a.Configuration(ledger))
	if err != nil {
		t.Fatal(err)
	}
	options := metav1.PatchOptions{FieldManager: lease.FieldManager}
	if _, err := harness.Objects.Resource(claims).Namespace(ledger).Patch(t.Context(), a.Name(), types.ApplyPatchType, body, options); err != nil {
		t.Fatal(err)
	}
}

// before is a moment that has passed, by the API server's clock.
func before(t *testing.T, d time.Duration) string {
	t.Helper()
	return harness.ServerTime(t).Add(-d).UTC().Format(time.RFC3339)
}

func TestWildcards(t *testing.T) {
	t.Parallel()
	config := configure(t, "hosts: {wildcards: true}")
	reserve := func(t *testing.T, code int, owner string, dseq uint64, things ...string) result {
		t.Helper()
		return mustRun(t, code, append([]string{"reserve", "--prune=false", "--config", config, "--lease", leaseOf(owner, dseq).String()}, things...)...)
	}
	t.Run("covers one label and never the apex", func(t *testing.T) {
		domain, owner, other := newDomain(), newOwner(), newOwner()
		reserve(t, 0, owner, 1, "*."+domain)
		reserve(t, 4, other, 9, "a."+domain).Says(t, "*."+domain)
		held(t, "a."+domain)
		reserve(t, 0, other, 9, "b.a."+domain)
		reserve(t, 0, other, 9, domain)
		if c := claim(t, "wc--any."+domain); !c.Bound() || c.Marked() || c.Parts[0].Expires != "" {
			t.Errorf("the wildcard is not bound for good: %+v", c)
		}
	})
	t.Run("is refused above another owner's host", func(t *testing.T) {
		domain, owner, other := newDomain(), newOwner(), newOwner()
		reserve(t, 0, other, 9, "a."+domain)
		reserve(t, 4, owner, 1, "*."+domain).Says(t, "a."+domain, other)
		held(t, "wc--any."+domain)
		mustRun(t, 0, "release", leaseOf(other, 9).String())
		reserve(t, 0, owner, 1, "*."+domain)
	})
	t.Run("of the same owner goes with hosts below it", func(t *testing.T) {
		domain, owner := newDomain(), newOwner()
		reserve(t, 0, owner, 1, "a."+domain)
		reserve(t, 0, owner, 2, "*."+domain)
		reserve(t, 0, owner, 3, "b."+domain)
		held(t, "a."+domain, "1 /")
		held(t, "b."+domain, "3 /")
		held(t, "wc--any."+domain, "2 /")
	})
	t.Run("is one claim", func(t *testing.T) {
		domain, owner := newDomain(), newOwner()
		reserve(t, 0, owner, 1, "*."+domain)
		reserve(t, 4, newOwner(), 9, "*."+domain).Says(t, owner)
		reserve(t, 0, owner, 2, "*."+domain).Prints(t, "host/*."+domain+" withheld")
		mustRun(t, 0, "release", "--config", config, leaseOf(owner, 1).String(), "*."+domain)
		held(t, "wc--any."+domain)
	})
	t.Run("needs the configuration", func(t *testing.T) {
		domain := newDomain()
		mustRun(t, 3, "reserve", "--lease", leaseOf(newOwner(), 1).String(), "*."+domain).Says(t, "hosts.wildcards")
		held(t, "wc--any."+domain)
	})
	t.Run("may not be blocked", func(t *testing.T) {
		domain := newDomain()
		blocked := configure(t, "hosts: {wildcards: true, blocked: [."+domain+"]}")
		mustRun(t, 3, "reserve", "--config", blocked, "--lease", leaseOf(newOwner(), 1).String(), "*."+domain).Says(t, "blocked by this provider")
	})
}

// A run that has made a wildcard pending and crashed is in nobody's way when its time has passed.
func TestPendingWildcardThatWasLeft(t *testing.T) {
	t.Parallel()
	domain, crashed, other := newDomain(), leaseOf(newOwner(), 1), leaseOf(newOwner(), 9)
	passed := before(t, time.Minute)
	plant(t, state.HostWant{Host: "*." + domain}.Hold(crashed), func(p *state.Part) { p.Run, p.Expires = "crashed", passed })
	mustRun(t, 0, "reserve", "--lease", other.String(), "a."+domain).Prints(t, "host/a."+domain+" claimed")
	held(t, "wc--any."+domain)
	held(t, "a."+domain, "9 /")
}

// A wildcard that a crashed run left pending is bound by the transfer that takes it over.
func TestTransferOfPendingWildcard(t *testing.T) {
	t.Parallel()
	domain, owner := newDomain(), newOwner()
	passed := before(t, time.Minute)
	plant(t, state.HostWant{Host: "*." + domain}.Hold(leaseOf(owner, 1)), func(p *state.Part) { p.Run, p.Expires = "crashed", passed })
	mustRun(t, 0, "transfer", "*."+domain, "--to", leaseOf(owner, 2).String())
	held(t, "wc--any."+domain, "2 /")
	if c := claim(t, "wc--any."+domain); !c.Bound() || c.Marked() || c.Parts[0].Expires != "" {
		t.Errorf("the wildcard is %+v", c)
	}
	mustRun(t, 4, "reserve", "--lease", leaseOf(newOwner(), 9).String(), "a."+domain)
}
