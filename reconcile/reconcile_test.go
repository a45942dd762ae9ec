package reconcile_test

import (
	"errors"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/reconcile"
)

// A reconciler without watches knows of no announcements, and says so.
func TestAnnouncedWithoutWatches(t *testing.T) {
	c, err := cluster.OfObjects(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := reconcile.New(c, command.Options{Config: config.Default()}, reconcile.Limits{})
	if all, err := r.Announced(t.Context()); len(all) > 0 || !errors.Is(err, cluster.ErrUnwatched) {
		t.Errorf("%v, %v", all, err)
	}
}
