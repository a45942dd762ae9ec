package reconcile_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The announcement of a killed command goes though its lease is as it is to be; until then the reconciler says for whom it waits.
func TestKilledCommandIsSucceeded(t *testing.T) {
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(), 1), harness.NewHost("killed")
	dir.define(t, id, host)
	w := watch(t, "-f", dir.path, "--leader-elect=false")
	routed(t, id, host, true)

	then := harness.ServerTime(t).Add(-time.Minute)
	killed := state.Announcement{
		Nonce: "0killed" + host[:6], Groups: []lease.Group{id.Group()}, By: "ann@laptop", Version: "v1",
		Begun: then, Renewed: then, Lasts: time.Second, Phase: state.Active,
	}
	body, err := json.Marshal(killed.Configuration("akash-net"))
	if err != nil {
		t.Fatal(err)
	}
	options := metav1.PatchOptions{FieldManager: lease.FieldManager}
	if _, err := harness.Objects.Resource(cluster.Leases).Namespace("akash-net").Patch(t.Context(), killed.Name(), types.ApplyPatchType, body, options); err != nil {
		t.Fatal(err)
	}
	w.Says(t, "another command is at work on it: run "+killed.Nonce+" of ann@laptop")
	harness.Eventually(t, "the announcement is to be gone", func(context.Context) (bool, error) {
		return harness.Find(t, cluster.Leases, "akash-net", killed.Name()) == nil, nil
	})
	routed(t, id, host, true)
	w.Stops(t)
}
