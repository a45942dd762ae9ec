package guard_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// asReconciler sends requests as the reconciler's ServiceAccount, with all rights, so that each refusal is the guard's.
func asReconciler(resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	config := rest.CopyConfig(harness.Plane.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:akash-net:akash-net-reconciler", Groups: []string{"system:masters"}}
	return dynamic.NewForConfigOrDie(config).Resource(resource).Namespace(namespace)
}

// The reconciler makes, changes and deletes routes and Services in namespaces of leases, and in no other; others do so everywhere.
func reconcilerKeepsToLeases(t *testing.T) {
	ingresses := kinds.Ingress.Resource()
	for namespace, may := range map[string]bool{aliceLease.Namespace(): true, "default": false} {
		for resource, text := range map[schema.GroupVersionResource]string{
			services:  `{apiVersion: v1, kind: Service, metadata: {name: kept}, spec: {ports: [{port: 25}]}}`,
			ingresses: `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: kept}, spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}}`,
		} {
			o, err := harness.ParseObject(text)
			if err != nil {
				t.Fatal(err)
			}
			to, others := asReconciler(resource, namespace), harness.Objects.Resource(resource).Namespace(namespace)
			says := func(what string, err error) {
				if refused := refusedBy(err, "akash-net-reconciler"); refused == may || !refused && err != nil {
					t.Errorf("%s %s in %s: %v", what, resource.Resource, namespace, err)
				}
			}
			_, err = to.Create(t.Context(), o, metav1.CreateOptions{DryRun: dryRun})
			says("create", err)
			if _, err := others.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			_, err = to.Patch(t.Context(), "kept", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{DryRun: dryRun})
			says("change", err)
			says("delete", to.Delete(t.Context(), "kept", metav1.DeleteOptions{DryRun: dryRun}))
			says("delete all", to.DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: dryRun}, metav1.ListOptions{}))
			if err := others.Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
	}
}
