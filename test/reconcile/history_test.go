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
	harness.Run(t.Context(), "reconcile", "-f", dir.path).Exits(t, 0)
	dir.define(t, held, host)
	story := start(t, harness.Command(context.WithoutCancel(t.Context()), harness.Plane.Kubeconfig, "history", host, held.String(), "--watch"))
	story.says(t, "Claimed")
	w := watch(t, "-f", dir.path, "--resync", "1s")
	story.says(t, "host "+host+" is held by lease "+id.String())
	told := strings.Count(story.String(), "ingress/"+host)
	harness.Remove(t, ingresses, id.Namespace(), host)
	routed(t, id, host, true)
	harness.Eventually(t, "the new route is to be told of", func(context.Context) (bool, error) {
		return strings.Count(story.String(), "ingress/"+host) > told, nil
	})
	w.stops(t)
	if refused := strings.Count(story.String(), "is held by lease"); refused != 1 {
		t.Errorf("%d refusals are told:\n%s", refused, story)
	}
}
