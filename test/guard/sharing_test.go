package guard_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// guessing is a LoadBalancer Service that names a sharing key, and asks for an address where one
// is given.
func guessing(name, prefix, key, address string) *unstructured.Unstructured {
	annotations := map[string]any{prefix + "/allow-shared-ip": key}
	if address != "" {
		annotations[prefix+"/loadBalancerIPs"] = address
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": name, "annotations": annotations},
		"spec": map[string]any{
			"type":  "LoadBalancer",
			"ports": []any{map[string]any{"name": "smtp", "port": int64(25), "protocol": "TCP"}},
		},
	}}
}

// granted is the address that MetalLB has granted a Service, or "".
func granted(o *unstructured.Unstructured) string {
	ingress, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress")
	if len(ingress) == 0 {
		return ""
	}
	ip, _ := ingress[0].(map[string]any)["ip"].(string)
	return ip
}

func awaitAddress(t *testing.T, service ref, address string) {
	t.Helper()
	harness.Eventually(t, service.name+" is granted "+address, func(ctx context.Context) (bool, error) {
		o, err := service.client().Get(ctx, service.name, metav1.GetOptions{})
		return err == nil && granted(o) == address, err
	})
}

// Bob's Service names alice's sharing key and asks for alice's address.
func TestGuessedSharingKey(t *testing.T) {
	address := "203.0.113.0"
	awaitAddress(t, ref{services, aliceLease.Namespace(), "web-ip-443-tcp"}, address)
	theirs := ref{services, bobLease.Namespace(), "guess"}
	attack := guessing("guess", "metallb.universe.tf", alice+"-ip-public", address)

	if _, err := theirs.client().Create(t.Context(), attack, metav1.CreateOptions{}); err != nil {
		t.Fatalf("without the guard: %v", err)
	}
	awaitAddress(t, theirs, address)
	if err := theirs.client().Delete(t.Context(), "guess", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	installGuard(t, config.Default(), false)
	if _, err := theirs.client().Create(t.Context(), attack, metav1.CreateOptions{}); !refusedBy(err, "akash-net-sharing-keys") {
		t.Errorf("with the guard: %v", err)
	}
	// A Service of his own becomes an attack by an edit.
	bobs := ref{services, bobLease.Namespace(), "blog-ip-22-tcp"}
	o := bobs.get(t)
	annotate("metallb.universe.tf/allow-shared-ip", alice+"-ip-public")(o)
	annotate("metallb.universe.tf/loadBalancerIPs", address)(o)
	if _, err := bobs.client().Update(t.Context(), o, metav1.UpdateOptions{}); !refusedBy(err, "akash-net-sharing-keys") {
		t.Errorf("an edit: %v", err)
	}
}

// Sharing keys that have nothing to do with Akash work as before, and a Service that names another's
// key since before the guard can still be written and deleted.
func TestForeignServicesWorkOn(t *testing.T) {
	old := ref{services, "default", "old"}
	if _, err := old.client().Create(t.Context(), guessing("old", "metallb.io", alice+"-ip-other", ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	installGuard(t, config.Default(), false)
	foreign := guessing("foreign", "metallb.io", "web", "203.0.113.14")
	if _, err := harness.Objects.Resource(services).Namespace("default").Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitAddress(t, ref{services, "default", "foreign"}, "203.0.113.14")
	if err := kubectl(t, "", nil, "label", "service", "old", "foreign", "seen=true"); err != nil {
		t.Error(err)
	}
	if err := kubectl(t, "", nil, "delete", "service", "old", "foreign"); err != nil {
		t.Error(err)
	}
}
