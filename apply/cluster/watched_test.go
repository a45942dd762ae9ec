package cluster_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// seen is what watches have seen: Ingresses and the metadata of Leases; the cluster serves no Routes.
type seen struct{ objects []*unstructured.Unstructured }

func (s seen) Objects(_ context.Context, resource schema.GroupVersionResource, _ string) ([]*unstructured.Unstructured, error) {
	switch resource {
	case kinds.Ingress.Resource():
		return s.objects, nil
	case kinds.Route.Resource():
		return nil, &kinds.MissingError{Resource: resource}
	}
	return nil, cluster.ErrUnwatched
}

func (s seen) Metas(_ context.Context, resource schema.GroupVersionResource, _ string) ([]*metav1.ObjectMeta, error) {
	if resource != cluster.Leases {
		return nil, cluster.ErrUnwatched
	}
	return []*metav1.ObjectMeta{{Name: "seen", Labels: map[string]string{"kind": "a"}}, {Name: "other"}}, nil
}

func (s seen) Meta(_ context.Context, resource schema.GroupVersionResource, _, name string) (*metav1.ObjectMeta, error) {
	if resource != cluster.Leases {
		return nil, cluster.ErrUnwatched
	}
	return &metav1.ObjectMeta{Name: name}, nil
}

func (s seen) Changes(context.Context) ([]cluster.Change, error) { return nil, cluster.ErrUnwatched }

func (s seen) Has(schema.GroupVersionResource) error { return cluster.ErrUnwatched }

func named(kind kinds.Kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind.GroupVersionKind)
	o.SetNamespace("tenant")
	o.SetName(name)
	o.SetLabels(map[string]string{"kind": "a"})
	return o
}

// What a command reads before it is announced comes from the watches; what it reads later, and what is not watched, from the API server.
func TestEarly(t *testing.T) {
	there, err := cluster.OfObjects([]*unstructured.Unstructured{named(kinds.Ingress, "there"), named(kinds.Service, "there")})
	if err != nil {
		t.Fatal(err)
	}
	watching := there.Watching(seen{[]*unstructured.Unstructured{named(kinds.Ingress, "seen")}})
	early := cluster.Early(t.Context())
	for name, tt := range map[string]struct {
		in       *cluster.Cluster
		ctx      context.Context
		kind     kinds.Kind
		selector string
		want     string
	}{
		"early":                           {watching, early, kinds.Ingress, "kind=a", "seen"},
		"early, and not selected":         {watching, early, kinds.Ingress, "kind=b", ""},
		"later":                           {watching, t.Context(), kinds.Ingress, "", "there"},
		"early, of what is not watched":   {watching, early, kinds.Service, "", "there"},
		"early, where nothing is watched": {there, early, kinds.Ingress, "", "there"},
	} {
		list, err := tt.in.Objects(tt.ctx, tt.kind.Resource(), "", metav1.ListOptions{LabelSelector: tt.selector})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := ""
		for _, o := range list {
			got += o.GetName()
		}
		if got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := watching.Objects(early, kinds.Route.Resource(), "", metav1.ListOptions{}); !cluster.IsMissingKind(err) {
		t.Errorf("a kind that is not served: %v", err)
	}
	metas, err := cluster.ListMetas(early, watching, cluster.Leases, "akash-net", metav1.ListOptions{LabelSelector: "kind=a"}, func(m *metav1.ObjectMeta) (string, bool) {
		return m.Name, true
	})
	if err != nil || len(metas) != 1 || metas[0] != "seen" {
		t.Errorf("%v, %v", metas, err)
	}
	whole, err := watching.Metas(early, kinds.Ingress.Resource(), "")
	if err != nil || len(whole) != 1 || whole[0].Name != "seen" || whole[0].Namespace != "tenant" || whole[0].Labels["kind"] != "a" {
		t.Errorf("the metadata of what is watched whole: %v, %v", whole, err)
	}
	if m, err := watching.Cache.Meta(early, cluster.Leases, "akash-net", "x"); err != nil || m.Name != "x" {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := watching.Cache.Meta(t.Context(), cluster.Leases, "akash-net", "x"); err == nil {
		t.Error("a later reading of one object is from the watches")
	}
}
