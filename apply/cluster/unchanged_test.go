package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// liveService is the Service of TestUnchanged as a cluster holds it, with defaults and with what
// others wrote.
func liveService() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "web", "namespace": "ns", "uid": "1", "resourceVersion": "7", "annotations": map[string]any{"ours": "1", "theirs": "1"}},
		"spec":     map[string]any{"type": "LoadBalancer", "clusterIP": "10.96.0.7", "ports": []any{map[string]any{"name": "http", "port": int64(80), "protocol": "TCP", "nodePort": int64(30080)}}},
	}}
	o.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "metallb", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: fields(`{"f:metadata":{"f:annotations":{"f:theirs":{}}}}`)},
		{Manager: "akash-net", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: fields(
			`{"f:metadata":{"f:annotations":{"f:ours":{}}},"f:spec":{"f:type":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}}}}`)},
	})
	return o
}

func fields(text string) *metav1.FieldsV1 {
	f := &metav1.FieldsV1{}
	f.SetRawBytes([]byte(text))
	return f
}

// A PATCH is spared only where it would change nothing: neither a value nor who owns what.
func TestUnchanged(t *testing.T) {
	desired := render.Object{Kind: kinds.Service, Namespace: "ns", Name: "web", Config: coreac.Service("web", "ns").
		WithAnnotations(map[string]string{"ours": "1"}).
		WithSpec(coreac.ServiceSpec().WithType("LoadBalancer").
			WithPorts(coreac.ServicePort().WithName("http").WithPort(80).WithProtocol("TCP")))}
	set := func(value any, path ...string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(o.Object, runtime.DeepCopyJSONValue(value), path...); err != nil {
				t.Fatal(err)
			}
		}
	}
	ours := func(text string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			entries := o.GetManagedFields()
			entries[1].FieldsV1 = fields(text)
			o.SetManagedFields(entries)
		}
	}
	tests := []struct {
		name string
		live func(*unstructured.Unstructured)
		want bool
	}{
		{"as it should be", func(*unstructured.Unstructured) {}, true},
		{"others' annotation changed", set("2", "metadata", "annotations", "theirs"), true},
		{"a value edited", set("2", "metadata", "annotations", "ours"), false},
		{"a field removed", func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }, false},
		{"a port added by somebody", set([]any{map[string]any{"name": "http", "port": int64(80), "protocol": "TCP"}, map[string]any{"name": "x", "port": int64(81)}}, "spec", "ports"), false},
		{"a number of another type", set([]any{map[string]any{"name": "http", "port": "80", "protocol": "TCP"}}, "spec", "ports"), false},
		{"being deleted", func(o *unstructured.Unstructured) { now := metav1.Now(); o.SetDeletionTimestamp(&now) }, false},
		{"written by another manager", func(o *unstructured.Unstructured) { o.SetManagedFields(o.GetManagedFields()[:1]) }, false},
		{"stripped of managed fields", func(o *unstructured.Unstructured) { o.SetManagedFields(nil) }, false},
		{"we own a field that we no longer send", ours(`{"f:metadata":{"f:annotations":{"f:ours":{},"f:old":{}}}}`), false},
		{"managed fields that list no fields", func(o *unstructured.Unstructured) {
			entries := o.GetManagedFields()
			entries[1].FieldsV1 = nil
			o.SetManagedFields(entries)
		}, false},
		{"updated under our name", func(o *unstructured.Unstructured) {
			entries := o.GetManagedFields()
			entries[1].Operation = metav1.ManagedFieldsOperationUpdate
			o.SetManagedFields(entries)
		}, false},
		{"applied to a subresource", func(o *unstructured.Unstructured) {
			entries := o.GetManagedFields()
			entries[1].Subresource = "status"
			o.SetManagedFields(entries)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			live := liveService()
			tt.live(live)
			if got := plan.Unchanged(desired, live, "akash-net"); got != tt.want {
				t.Errorf("unchanged is %v, want %v", got, tt.want)
			}
		})
	}
	if plan.Unchanged(desired, nil, "akash-net") {
		t.Error("an object that does not exist is unchanged")
	}
}

// What a manager owns is read out of maps, of lists by key and of lists by value; what others have
// written beside it is not among it.
func TestOwned(t *testing.T) {
	live := liveService()
	live.SetFinalizers([]string{"ours", "theirs"})
	entries := live.GetManagedFields()
	entries[1].FieldsV1 = fields(`{"f:metadata":{"f:annotations":{".":{},"f:ours":{},"f:gone":{}},"f:finalizers":{"v:\"ours\"":{}}},` +
		`"f:spec":{"f:type":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}}}}`)
	live.SetManagedFields(entries)
	identity := map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "web", "namespace": "ns"}}
	for name, want := range map[string]map[string]any{
		"akash-net": {
			"apiVersion": "v1", "kind": "Service",
			"metadata": map[string]any{"name": "web", "namespace": "ns", "annotations": map[string]any{"ours": "1"}, "finalizers": []any{"ours"}},
			"spec":     map[string]any{"type": "LoadBalancer", "ports": []any{map[string]any{"name": "http", "port": int64(80), "protocol": "TCP"}}},
		},
		"metallb": identity, // owns its fields by Update
		"nobody":  identity,
	} {
		got, err := Owned(live, name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	entries[1].FieldsV1 = fields(`{"spec":{}}`)
	live.SetManagedFields(entries)
	if _, err := Owned(live, "akash-net"); err == nil {
		t.Error("managed fields of no known form are understood")
	}
}
