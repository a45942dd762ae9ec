package reconcile_test

import (
	"context"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What a reconciler does for ever is told as it does it: a lease that it applies, refuses, and heals. The same error is told once.
func TestWatchTellsHistory(t *testing.T) {
	dir, owner, other := newFolder(t), harness.NewOwner(), harness.NewOwner()
	id, held := harness.LeaseOf(owner, 1), harness.LeaseOf(other, 2)
	host, theirs := harness.NewHost("told"), harness.NewHost("theirs")
	dir.define(t, id, host)
	dir.define(t, held, theirs)
	harness.RunAs(t.Context(), reconciler, "reconcile", "-f", dir.path).Exits(t, 0)
	dir.define(t, held, host)
	story := harness.Launch(t, harness.Command(context.WithoutCancel(t.Context()), harness.Plane.Kubeconfig, "history", host, held.String(), "--watch"))
	story.Says(t, "Claimed")
	w := watch(t, "-f", dir.path, "--resync", "1s")
	story.Says(t, "host "+host+" is held by lease "+id.String())
	told := strings.Count(story.String(), "ingress/"+host)
	harness.Remove(t, ingresses, id.Namespace(), host)
	routed(t, id, host, true)
	harness.Eventually(t, "the new route is to be told of", func(context.Context) (bool, error) {
		return strings.Count(story.String(), "ingress/"+host) > told, nil
	})
	w.Stops(t)
	if refused := strings.Count(story.String(), "is held by lease"); refused != 1 {
		t.Errorf("%d refusals are told:\n%s", refused, story)
	}
}

// What a reconciler is refused again, after it has been started again, is counted by the same Event, and what happens next is told too.
func TestHistoryIsCounted(t *testing.T) {
	dir, owner := newFolder(t), harness.NewOwner()
	id, theirs := harness.LeaseOf(owner, 1), harness.LeaseOf(harness.NewOwner(), 2)
	host, other := harness.NewHost("own"), harness.NewHost("other")
	harness.Run(t.Context(), "reserve", other, "--lease", theirs.String()).Exits(t, 0)
	dir.define(t, id, host)
	reconciles := func(code int) {
		t.Helper()
		harness.RunAs(t.Context(), reconciler, "reconcile", "-f", dir.path).Exits(t, code)
	}
	reconciles(0)
	dir.define(t, id, other)
	for range 3 {
		reconciles(4)
	}
	harness.Run(t.Context(), "history", id.Group().String()).Exits(t, 0).Prints(t, "(x3 over ", other+" is held by lease "+theirs.String())
	dir.define(t, id, host, "http: {readTimeout: 30s}")
	reconciles(0)
	harness.Run(t.Context(), "history", id.Group().String()).Exits(t, 0).Prints(t, "Configured")
}
