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

// A wildcard covers one label and never the apex, is refused above another owner's host, needs the configuration, and is in nobody's way
// where a command has left it pending.
func TestWildcards(t *testing.T) {
	t.Parallel()
	config := configure(t, "hosts: {wildcards: true}")
	domain, owner, other := newDomain(), newOwner(t), newOwner(t)
	reserve := func(code int, owner string, dseq uint64, things ...string) result {
		t.Helper()
		return mustRun(t, code, append([]string{"reserve", "--prune=false", "--config", config, "--lease", leaseOf(owner, dseq).String()}, things...)...)
	}
	mustRun(t, 3, "reserve", "--lease", leaseOf(owner, 1).String(), "*."+domain).Says(t, "hosts.wildcards")
	passed := before(t, time.Minute)
	plant(t, state.HostWant{Host: "*." + domain}.Hold(leaseOf(newOwner(t), 1)), func(p *state.Part) { p.Run, p.Expires = "crashed", passed })
	reserve(0, other, 9, "a."+domain).Prints(t, "host/a."+domain+" claimed")
	held(t, "wc--any."+domain)
	reserve(4, owner, 1, "*."+domain).Says(t, "a."+domain, other)
	mustRun(t, 0, "release", leaseOf(other, 9).String())
	reserve(0, owner, 2, "b."+domain)
	reserve(0, owner, 1, "*."+domain)
	reserve(4, other, 9, "a."+domain).Says(t, "*."+domain)
	reserve(0, other, 9, "b.a."+domain)
	reserve(0, other, 9, domain)
	reserve(0, owner, 3, "*."+domain).Prints(t, "host/*."+domain+" withheld")
	held(t, "a."+domain)
	held(t, "b."+domain, "2 /")
	if c := claim(t, "wc--any."+domain); !c.Bound() || c.Marked() || c.Parts[0].Expires != "" {
		t.Errorf("the wildcard is not bound for good: %+v", c)
	}
	mustRun(t, 0, "transfer", "*."+domain, "--to", leaseOf(owner, 3).String(), "--config", config)
	held(t, "wc--any."+domain, "3 /")
}
