package reconcile_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A lease that a person suspends is left as it is: its file changes and goes, and it is not put back. Everything else goes on; so does the
// lease when it is resumed. What a person types is done all the same.
func TestSuspend(t *testing.T) {
	t.Parallel()
	dir, owner := newFolder(t), harness.NewOwner(t)
	held, other := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2)
	one, two, three := harness.NewHost("one"), harness.NewHost("two"), harness.NewHost("three")
	dir.define(t, held, one)
	name := held.Group().String()
	harness.Run(t.Context(), "suspend", name).Exits(t, 1).Says(t, "keeps no definition of lease "+name)
	w := watch(t, "-f", dir.path, "--source", "suspended", "--leader-elect=false", "--max-deletes=9")
	routed(t, held, one, true)

	harness.Run(t.Context(), "suspend", name, "--dry-run=server").Exits(t, 0).Prints(t, "lease/"+name+" suspended (server dry run)")
	harness.Run(t.Context(), "suspend", name).Exits(t, 0).Prints(t, "lease/"+name+" suspended")
	harness.Run(t.Context(), "suspend", name).Exits(t, 0).Prints(t, "lease/"+name+" unchanged")
	harness.Remove(t, ingresses, held.Namespace(), one)
	dir.define(t, held, one, "http: {readTimeout: 30s}")
	dir.define(t, other, two)
	routed(t, other, two, true) // by what was decided at the same time, or later
	dir.define(t, other, three)
	routed(t, other, three, true)
	routed(t, held, one, false)
	harness.Run(t.Context(), "explain", name).Exits(t, 0).Prints(t, "It is suspended", "kubectl akash-net resume "+name)
	harness.Run(t.Context(), "state", "leases", name).Exits(t, 0).Prints(t, "suspended: the reconciler does nothing for it")

	harness.Run(t.Context(), "apply", "-f", filepath.Join(dir.path, "1.yaml")).Exits(t, 0)
	routed(t, held, one, true)
	harness.Run(t.Context(), "state", "leases", name, "-o", "jsonpath={.leases[0].suspended}").Exits(t, 0).Prints(t, "true")
	harness.Remove(t, ingresses, held.Namespace(), one)

	harness.Run(t.Context(), "resume", name).Exits(t, 0).Prints(t, "lease/"+name+" resumed")
	routed(t, held, one, true)
	harness.Eventually(t, "the timeout is to be that of the file", func(context.Context) (bool, error) {
		return route(t, held, one).GetAnnotations()[readTimeout] == "30", nil
	})
	if r := harness.Run(t.Context(), "state", "leases", name); strings.Contains(r.Stdout, "suspended") {
		t.Errorf("it is suspended still: %s", r)
	}
	harness.Run(t.Context(), "suspend", name).Exits(t, 0)
	dir.remove(t, held)
	dir.define(t, other, two)
	routed(t, other, two, true)
	routed(t, held, one, true)
	harness.Run(t.Context(), "resume", name).Exits(t, 0)
	routed(t, held, one, false)
	released(t, held)
	w.Stops(t)
}
