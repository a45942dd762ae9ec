package guard_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// The definition of a lease is written under the field manager of its deployment group: another group does not get
// past the guard by force, neither one of the same owner nor another owner's.
func TestDefinitionIsOfItsGroup(t *testing.T) {
	installGuard(t, config.Default(), false)
	own, sibling := aliceLease.Group(), lease.Group{Owner: alice, DSeq: 9, GSeq: 9}
	fresh := ref{leases, "akash-net", kept.Name(sibling)}
	apply := func(t *testing.T, r ref, of lease.Group, manager string) error {
		t.Helper()
		o := bare(aliceDefinition.get(t))
		o.SetName(r.name)
		text := strings.NewReplacer(`"dseq":8438017,"gseq":1`, `"dseq":9,"gseq":9`).Replace(o.GetAnnotations()[kept.AnnotationText])
		if of == own {
			text = strings.Replace(o.GetAnnotations()[kept.AnnotationText], shop, "other.example.com", 1)
		}
		annotate(kept.AnnotationText, text)(o)
		if err := unstructured.SetNestedField(o.Object, of.String(), "spec", "holderIdentity"); err != nil {
			t.Fatal(err)
		}
		force := true
		_, err := r.client().Patch(t.Context(), r.name, types.ApplyPatchType, encoded(t, o), metav1.PatchOptions{DryRun: dryRun, FieldManager: manager, Force: &force})
		return err
	}
	tests := []struct {
		name, manager string
		r             ref
		of            lease.Group
		refused       bool
	}{
		{"its own group changes it", own.FieldManager(), aliceDefinition, own, false},
		{"a group of the same owner changes it", sibling.FieldManager(), aliceDefinition, own, true},
		{"another owner's group changes it", bobLease.Group().FieldManager(), aliceDefinition, own, true},
		{"a stranger changes it", "kubectl-edit", aliceDefinition, own, true},
		{"its own group makes it", sibling.FieldManager(), fresh, sibling, false},
		{"another group makes it", own.FieldManager(), fresh, sibling, true},
		{"a restore makes it", "velero", fresh, sibling, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := apply(t, tt.r, tt.of, tt.manager)
			if refused := refusedBy(err, "akash-net-definitions"); refused != tt.refused || err != nil && !refused {
				t.Errorf("refused %v, want %v: %v", refused, tt.refused, err)
			}
			if err != nil && !strings.Contains(err.Error(), "only the field manager of its deployment group changes what it says") {
				t.Error(err)
			}
		})
	}
	t.Run("a stranger names a source, which would release it", func(t *testing.T) {
		o := aliceDefinition.get(t)
		annotate(kept.AnnotationSource, "prod")(o)
		_, err := aliceDefinition.client().Update(t.Context(), o, metav1.UpdateOptions{DryRun: dryRun, FieldManager: "kubectl-edit"})
		if !refusedBy(err, "akash-net-definitions") {
			t.Error(err)
		}
	})
}
