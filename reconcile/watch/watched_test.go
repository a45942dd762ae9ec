package watch

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// A kind that cannot be listed counts as one that is not watched, and what is known of others is told: of it, all that there is once that was
// listed.
func TestKindThatCannotBeListed(t *testing.T) {
	listed := false
	always, once := func() bool { return true }, func() bool { return listed }
	of := func(kind schema.GroupVersionKind, synced func() bool) watching {
		return watching{object: wholeOf(kind), synced: synced, told: synced}
	}
	w := &watched{kinds: map[schema.GroupVersionResource]watching{
		cluster.Leases: of(leaseKind, always), cluster.Namespaces: of(kinds.Namespace.GroupVersionKind, always),
		kinds.Ingress.Resource(): of(kinds.Ingress.GroupVersionKind, always), kinds.HTTPRoute.Resource(): of(kinds.HTTPRoute.GroupVersionKind, once),
	}}
	tell := func(kind kinds.Kind, name string) {
		o := &unstructured.Unstructured{}
		o.SetName(name)
		w.tell(kind.Resource(), nil, o)
	}
	names := func() (names []string) {
		t.Helper()
		changes, err := w.Changes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			names = append(names, c.Name)
		}
		return names
	}
	w.tell(cluster.Namespaces, nil, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	tell(kinds.HTTPRoute, "half")
	if got := names(); len(got) != 1 || got[0] != "ns" {
		t.Errorf("told are %v", got)
	}
	if w.isRead() {
		t.Error("a kind counts as read whose LIST is under way")
	}
	if w.failed.Store(true); !w.isRead() {
		t.Error("a kind whose LIST fails is waited for")
	}
	if err := w.Has(kinds.HTTPRoute.Resource()); !errors.Is(err, cluster.ErrUnwatched) || w.Has(kinds.Ingress.Resource()) != nil {
		t.Errorf("routes are watched: %v", err)
	}
	w.kinds[cluster.Namespaces] = of(kinds.Namespace.GroupVersionKind, once)
	if w.isRead() {
		t.Error("it works without the namespaces")
	}
	listed = true
	tell(kinds.HTTPRoute, "whole")
	if got := names(); len(got) != 2 || w.Has(kinds.HTTPRoute.Resource()) != nil {
		t.Errorf("told are %v", got)
	}
}
