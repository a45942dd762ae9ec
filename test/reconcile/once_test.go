package reconcile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A source's leases are applied; one that it does not name any more is released, with all that the ledger had of it.
func TestOnce(t *testing.T) {
	t.Parallel()
	dir, owner := newFolder(t), harness.NewOwner(t)
	first, second := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2)
	one, two := harness.NewHost("one"), harness.NewHost("two")
	dir.define(t, first, one)
	dir.define(t, second, two)
	reconciles := func(args ...string) harness.Result {
		return harness.RunAs(t.Context(), reconciler, append([]string{"reconcile", "-f", dir.path, "--source", "once"}, args...)...)
	}
	reconciles().Exits(t, 0)
	routed(t, first, one, true)
	routed(t, second, two, true)
	harness.Run(t.Context(), "release", second.Group().String()).Exits(t, 1).Says(t, "is of source once, which decides what becomes of it", second.Group().String()+" --force")
	harness.Run(t.Context(), "release", second.Group().String(), two).Exits(t, 1).Says(t, "is of source once")
	routed(t, second, two, true)
	harness.Run(t.Context(), "release", second.Group().String(), "--force").Exits(t, 0)
	routed(t, second, two, false)
	reconciles().Exits(t, 0)
	routed(t, second, two, true)
	dir.remove(t, first)
	reconciles("--dry-run").Exits(t, 0)
	routed(t, first, one, true)
	reconciles().Exits(t, 0)
	routed(t, first, one, false)
	routed(t, second, two, true)
	for _, name := range []string{one, kept.Name(first.Group())} {
		if harness.Find(t, cluster.Leases, "akash-net", name) != nil {
			t.Errorf("%s is in the ledger", name)
		}
	}
	dir.remove(t, second)
	reconciles().Exits(t, 3).Says(t, "has no .json, .yaml, .yml files")
	routed(t, second, two, true)
	reconciles("--allow-empty").Exits(t, 0)
	routed(t, second, two, false)
}

// A bad file, and a lease whose host another one holds, stop no other. Nothing is released meanwhile.
func TestOneBadLease(t *testing.T) {
	t.Parallel()
	dir, owner, other := newFolder(t), harness.NewOwner(t), harness.NewOwner(t)
	held, good, over := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2), harness.LeaseOf(owner, 3)
	theirs, ours, old := harness.NewHost("theirs"), harness.NewHost("ours"), harness.NewHost("old")
	harness.Run(t.Context(), "reserve", theirs, "--lease", harness.LeaseOf(other, 1).String()).Exits(t, 0)
	dir.define(t, over, old)
	harness.RunAs(t.Context(), reconciler, "reconcile", "-f", dir.path, "--source", "bad").Exits(t, 0)
	dir.remove(t, over)
	dir.define(t, held, theirs)
	dir.define(t, good, ours)
	dir.write(t, "bad.yaml", "apiVersion: net.akash.network/v1alpha1\nkind: LeaseDefinition\nspec: {services: {}}\n")
	harness.RunAs(t.Context(), reconciler, "reconcile", "-f", dir.path, "--source", "bad").Exits(t, 4).Says(t, theirs+" is held by another lease", "bad.yaml:")
	routed(t, good, ours, true)
	routed(t, over, old, true)
}

// What the ledger keeps is put back, by a run and by one that watches, and nothing that is released meanwhile. A lease that cannot be
// healed with this configuration holds up no other.
func TestHeal(t *testing.T) {
	harness.Run(t.Context(), "release", "--all", "--yes", "--force").Exits(t, 0) // what other tests have left
	dir, owner, other := newFolder(t), harness.NewOwner(t), harness.LeaseOf(harness.NewOwner(t), 1)
	first, second := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2)
	one, two := harness.NewHost("one"), harness.NewHost("two")
	dir.define(t, first, one)
	dir.define(t, second, two)
	harness.Run(t.Context(), "apply", "-f", dir.path, "--wait=false").Exits(t, 0)
	harness.Remove(t, ingresses, first.Namespace(), one)
	harness.RunAs(t.Context(), reconciler, "reconcile", "--heal").Exits(t, 0)
	routed(t, first, one, true)

	addressed := harness.Define(t, other, []string{"{name: game, expose: [{port: 7001, global: true, ip: public}]}"}, []string{"{name: public}"})
	harness.Run(t.Context(), "apply", "-f", addressed, "--wait=false", "--config", harness.Configure(t, "ip: {ranges: [10.97.0.0/29]}")).Exits(t, 0)
	harness.Remove(t, ingresses, first.Namespace(), one)
	harness.RunAs(t.Context(), reconciler, "reconcile", "--heal").Exits(t, 3).Says(t, kept.Name(other.Group()), "the provider's configuration has no ip.ranges")
	routed(t, first, one, true)
	harness.Run(t.Context(), "release", other.Group().String()).Exits(t, 0)

	w := watch(t, "--heal", "--leader-elect=false")
	for range 2 {
		harness.Remove(t, ingresses, first.Namespace(), one)
		routed(t, first, one, true)
		harness.Run(t.Context(), "release", second.Group().String(), "--ignore-not-found").Exits(t, 0)
	}
	if route(t, second, two) != nil || harness.Find(t, cluster.Leases, "akash-net", two) != nil {
		t.Error("the lease that was released is back")
	}
	w.Stops(t)
}

// Standard input is read once: what it defines is applied, and it is a source like any other.
func TestStandardInput(t *testing.T) {
	t.Parallel()
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("stdin")
	dir.define(t, id, host)
	reconciles := func(text string) harness.Result {
		cmd := harness.Command(t.Context(), reconciler, "reconcile", "-f", "-", "--source", "stdin", "--allow-empty")
		cmd.Stdin = strings.NewReader(text)
		return harness.Finish(cmd)
	}
	text, err := os.ReadFile(filepath.Join(dir.path, "1.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	reconciles(string(text)).Exits(t, 0)
	routed(t, id, host, true)
	reconciles(string(text)[:len(text)-20]).Exits(t, 3)
	routed(t, id, host, true)
	reconciles("").Exits(t, 0)
	routed(t, id, host, false)
}

// What is not understood is refused before anything is begun.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"", "--source a", "-f . --source A=b", "-f . --watch --dry-run", "-f - --watch", "--heal --watch --resync 1ms", "--heal --listen 8443",
		"--heal --watch --listen example.com:80", "--heal --watch --listen 1.2.3.4", "--heal --watch --tls-cert-file a --tls-private-key-file b",
		"--heal --watch --listen 8443 --tls-cert-file a",
	} {
		harness.RunAs(t.Context(), reconciler, append([]string{"reconcile"}, strings.Fields(args)...)...).Exits(t, 2)
	}
}
