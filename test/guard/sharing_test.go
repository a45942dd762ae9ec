package guard_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// Bob's Service names alice's sharing key and asks for alice's address: without the guard he gets it.
func guessedSharingKey(t *testing.T) {
	address := "203.0.113.0"
	awaitAddress(t, ref{services, aliceLease.Namespace(), "web-ip-443-tcp"}, address)
	theirs := ref{services, bobLease.Namespace(), "guess"}
	if _, err := theirs.client().Create(t.Context(), guessing("guess", "metallb.universe.tf", alice+"-ip-public", address), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitAddress(t, theirs, address)
	harness.Remove(t, services, theirs.namespace, theirs.name)
}

func makeOld(t *testing.T) {
	harness.Create(t, "somebody", services, text(t, namespaced(guessing("old", "metallb.io", alice+"-ip-other", ""))))
}

func namespaced(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetNamespace("default")
	return o
}

// Sharing keys that have nothing to do with Akash work as before, and a Service that names another's key since before the guard can still be
// written and deleted.
func foreignServicesWorkOn(t *testing.T) {
	harness.Create(t, "somebody", services, text(t, namespaced(guessing("foreign", "metallb.io", "web", "203.0.113.14"))))
	awaitAddress(t, ref{services, "default", "foreign"}, "203.0.113.14")
	for _, args := range [][]string{{"label", "service", "old", "foreign", "seen=true"}, {"delete", "service", "old", "foreign"}} {
		if err := kubectl(t, "", nil, args...); err != nil {
			t.Error(err)
		}
	}
}
