package state

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// The Service of a workload needs no claim, whoever wrote it. The Service of a leased port needs one, even if its type
// or its label was changed.
func TestServicesOfWorkloads(t *testing.T) {
	id := lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}
	metalLB := map[string]string{lease.LabelServiceTarget: lease.ServiceTargetMetalLB}
	for name, tt := range map[string]struct {
		kind, of, manager string
		labels            map[string]string
		want              bool
	}{
		"a workload's":                        {"Service", "ClusterIP", id.Group().FieldManager(), nil, false},
		"a workload's, on nodes":              {"Service", "NodePort", id.Group().FieldManager(), nil, false},
		"a leased port's":                     {"Service", "LoadBalancer", lease.FieldManager, metalLB, true},
		"a leased port's, of another type":    {"Service", "ClusterIP", lease.FieldManager, metalLB, true},
		"a leased port's, without its label":  {"Service", "ClusterIP", lease.FieldManager, nil, true},
		"a leased port's, restored":           {"Service", "LoadBalancer", "velero", nil, true},
		"a leased port's, restored and typed": {"Service", "ClusterIP", "velero", metalLB, true},
		"a route":                             {"Ingress", "", lease.FieldManager, nil, true},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"kind": tt.kind, "spec": map[string]any{"type": tt.of}}}
		o.SetLabels(tt.labels)
		o.SetAnnotations(map[string]string{lease.AnnotationDefinition: "hash"})
		e := metav1.ManagedFieldsEntry{Manager: tt.manager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{}}
		e.FieldsV1.SetRawBytes([]byte(`{"f:spec":{"f:type":{}}}`))
		o.SetManagedFields([]metav1.ManagedFieldsEntry{e})
		if got := OwnershipOf(o, id).Ours; got != tt.want {
			t.Errorf("%s is ours: %v", name, got)
		}
	}
}
