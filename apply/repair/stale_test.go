package repair

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// An object that has changed since it was read is left for the next call, whichever way it was to be repaired.
func TestChangedObjectsAreLeft(t *testing.T) {
	service := ot.Annotated(ot.Ours(ot.Service(ot.Shop, 80, "203.0.113.7")), "metallb.io/allow-shared-ip", "old")
	route := ot.Ours(ot.Ingress(ot.Shop, "shop.example.com", "/"))
	gateway := ot.Ours(ot.HTTPRoute(ot.Shop, "shop.example.com", "/"))
	ref := observed.RefOf
	for name, mend := range map[string]state.Mend{
		"a backend":         state.RewriteRoute{Route: ref(kinds.Ingress, route), Part: state.Part{Service: "web", Port: 81}},
		"a sharing key":     state.SetSharingKey{Service: ref(kinds.Service, service), SharingKey: "new"},
		"a granted address": state.DropGrant{Service: ref(kinds.Service, service)},
		"a stale report":    state.ClearReports{Route: ref(kinds.HTTPRoute, gateway)},
		"lost marks":        state.RestoreMarks{Object: ref(kinds.Ingress, route), Hash: "hash"},
		"a stray route":     state.DeleteObjects{Delete: []state.ObjectRef{ref(kinds.Ingress, route)}},
		"a stray Service":   state.DeleteObjects{Delete: []state.ObjectRef{ref(kinds.Service, service)}},
	} {
		t.Run(name, func(t *testing.T) {
			var live []*unstructured.Unstructured
			for _, o := range []*unstructured.Unstructured{service, route, gateway} {
				now := o.DeepCopy()
				now.SetResourceVersion("8")
				live = append(live, now)
				o.SetResourceVersion("7")
			}
			c, err := cluster.OfObjects(live)
			if err != nil {
				t.Fatal(err)
			}
			r := repairOf(Options{}, nil, service, route, gateway)
			r.command = command.New(c, command.Options{Config: config.Default(), DryRun: command.DryRunClient})
			if _, err := r.execute(context.WithoutCancel(t.Context()), mend); !errors.Is(err, report.ErrChanged) {
				t.Errorf("%v", err)
			}
		})
	}
}
