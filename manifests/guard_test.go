package manifests_test

import (
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

func guard(t *testing.T, cfg *config.ProviderConfig, strict bool) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifests.Guard(cfg, strict)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// All policies come before all bindings, those of strict last; uninstall finds them by these names.
func TestGuardInInstallOrder(t *testing.T) {
	lenient := []string{"claims", "definitions", "hosts", "leased-ips", "namespaces", "reconciler", "runs", "sharing-keys"}
	for strict, names := range map[bool][]string{false: lenient, true: append(lenient, "strict-claims", "strict-leased-ips")} {
		var want []string
		for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
			for _, name := range names {
				want = append(want, kind+" akash-net-"+name)
			}
		}
		if diff := cmp.Diff(want, list(guard(t, config.Default(), strict))); diff != "" {
			t.Errorf("strict %t (-want +got):\n%s", strict, diff)
		}
	}
}

func TestGuardWatchesTheConfiguredNamespaces(t *testing.T) {
	cfg := config.Default()
	// Each has the default of the other, so that replacing twice would restore the defaults.
	cfg.LedgerNamespace, cfg.ManifestNamespace = cfg.ManifestNamespace, cfg.LedgerNamespace
	got := map[string]string{}
	for _, o := range guard(t, cfg, true) {
		if o.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		policy := decode[admissionv1.ValidatingAdmissionPolicy](t, o)
		if s := policy.Spec.MatchConstraints.NamespaceSelector; s != nil {
			got[o.GetName()] = s.MatchLabels["kubernetes.io/metadata.name"]
		}
	}
	want := map[string]string{
		"akash-net-claims": "lease", "akash-net-definitions": "lease", "akash-net-strict-claims": "lease", "akash-net-runs": "lease",
		"akash-net-hosts": "akash-net", "akash-net-leased-ips": "akash-net", "akash-net-strict-leased-ips": "akash-net",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A policy with other fields would not be enforced, or uninstall would not find it.
func TestGuardObjects(t *testing.T) {
	for _, o := range guard(t, config.Default(), true) {
		t.Run(o.GetKind()+" "+o.GetName(), func(t *testing.T) {
			if managed := o.GetLabels()["app.kubernetes.io/managed-by"]; managed != "kubectl-akash-net" {
				t.Errorf("managed by %q", managed)
			}
			if o.GetKind() == "ValidatingAdmissionPolicyBinding" {
				spec := decode[admissionv1.ValidatingAdmissionPolicyBinding](t, o).Spec
				want := admissionv1.ValidatingAdmissionPolicyBindingSpec{
					PolicyName: o.GetName(), ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
				}
				if diff := cmp.Diff(want, spec); diff != "" {
					t.Error(diff)
				}
				return
			}
			spec := decode[admissionv1.ValidatingAdmissionPolicy](t, o).Spec
			if spec.FailurePolicy == nil || *spec.FailurePolicy != admissionv1.Fail {
				t.Error("a failure lets writes pass")
			}
			for _, v := range spec.Validations {
				if v.Reason == nil || *v.Reason != metav1.StatusReasonForbidden || v.MessageExpression == "" {
					t.Errorf("%s: reason %v, message %q", v.Expression, v.Reason, v.MessageExpression)
				}
			}
		})
	}
}

func TestGuardFilesAreAllInstalled(t *testing.T) {
	entries, err := fs.ReadDir(os.DirFS("guard"), ".")
	if err != nil {
		t.Fatal(err)
	}
	if objects := guard(t, config.Default(), true); len(objects) != 2*len(entries) {
		t.Errorf("%d objects of %d files", len(objects), len(entries))
	}
}

// decode returns an error for a key that Kubernetes does not know.
func decode[T any](t *testing.T, o *unstructured.Unstructured) T {
	t.Helper()
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &typed, true); err != nil {
		t.Fatal(err)
	}
	return typed
}
