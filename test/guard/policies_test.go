package guard_test

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var dryRun = []string{metav1.DryRunAll}

func guardResource(o *unstructured.Unstructured) schema.GroupVersionResource {
	resource := "validatingadmissionpolicies"
	if o.GetKind() == "ValidatingAdmissionPolicyBinding" {
		resource = "validatingadmissionpolicybindings"
	}
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
}

// installGuard installs the guard, waits until the API server heeds every policy, and removes it
// when the test ends.
func installGuard(t *testing.T, cfg *config.ProviderConfig, strict bool) {
	t.Helper()
	objects, err := manifests.Guard(cfg, strict)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeGuard(t, cfg, objects) })
	for _, o := range objects {
		if _, err := harness.Objects.Resource(guardResource(o)).Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "akash-net"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range objects {
		if o.GetKind() == "ValidatingAdmissionPolicy" {
			harness.Eventually(t, o.GetName()+" is heeded", func(ctx context.Context) (bool, error) {
				return refusedBy(probe(ctx, cfg, o.GetName()), o.GetName()), nil
			})
		}
	}
}

func removeGuard(t *testing.T, cfg *config.ProviderConfig, objects []*unstructured.Unstructured) {
	ctx := context.WithoutCancel(t.Context())
	for i := len(objects) - 1; i >= 0; i-- {
		o := objects[i]
		if err := harness.Objects.Resource(guardResource(o)).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	for _, o := range objects {
		if o.GetKind() == "ValidatingAdmissionPolicy" {
			err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
				return !refusedBy(probe(ctx, cfg, o.GetName()), o.GetName()), nil
			})
			if err != nil {
				t.Errorf("%s is heeded still: %v", o.GetName(), err)
			}
		}
	}
}

// probe sends, as a dry run, what the policy refuses. What a strict policy refuses is the delete
// of an object of alice's, so these have to exist.
func probe(ctx context.Context, cfg *config.ProviderConfig, policy string) error {
	var err error
	create := func(resource schema.GroupVersionResource, namespace string, o map[string]any) {
		_, err = harness.Objects.Resource(resource).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: o}, metav1.CreateOptions{DryRun: dryRun})
	}
	remove := func(resource schema.GroupVersionResource, namespace, name string) {
		err = harness.Objects.Resource(resource).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{DryRun: dryRun})
	}
	switch policy {
	case "akash-net-claims":
		create(leases, cfg.LedgerNamespace, object("coordination.k8s.io/v1", "Lease", "probe"))
	case "akash-net-definitions":
		create(leases, cfg.LedgerNamespace, object("coordination.k8s.io/v1", "Lease", "df--probe"))
	case "akash-net-hosts":
		create(hosts, cfg.ManifestNamespace, object("akash.network/v2beta2", "ProviderHost", "probe"))
	case "akash-net-leased-ips":
		create(leasedIPs, cfg.ManifestNamespace, object("akash.network/v2beta2", "ProviderLeasedIP", "probe"))
	case "akash-net-namespaces":
		o := object("v1", "Namespace", "probe")
		o["metadata"].(map[string]any)["labels"] = map[string]any{labelOwner: alice}
		create(namespaces, "", o)
	case "akash-net-runs":
		create(leases, cfg.LedgerNamespace, object("coordination.k8s.io/v1", "Lease", "run--probe"))
	case "akash-net-sharing-keys":
		create(services, "default", guessing("probe", "metallb.io", alice+"-ip-public", "").Object)
	case "akash-net-strict-claims":
		remove(leases, cfg.LedgerNamespace, shop)
	case "akash-net-strict-leased-ips":
		remove(leasedIPs, cfg.ManifestNamespace, shopPort)
	}
	return err
}

func object(apiVersion, kind, name string) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}}
}

func refusedBy(err error, policy string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "'"+policy+"'")
}
