package testbed

import (
	"os"
	"os/exec"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// What a test package makes of a shared control plane, and what it takes away, the next one does not meet. The test runs itself as both.
func TestSharedPlane(t *testing.T) {
	if os.Getenv(SharedVariable) != "" {
		plane, err := Join(t.Context())
		defer func() {
			if err := plane.Stop(); err != nil {
				t.Error(err)
			}
		}()
		if err != nil {
			t.Fatal(err)
		}
		spoil(t, plane)
		return
	}
	if _, err := programs.Path("kube-apiserver"); err != nil && os.Getenv("CI") == "" {
		t.Skip("there is no control plane: make testbed builds it (" + err.Error() + ")")
	}
	twice := exec.CommandContext(t.Context(), "sh", "-c", `"$0" -test.run TestSharedPlane && "$0" -test.run TestSharedPlane`, os.Args[0])
	twice.Stdout, twice.Stderr = os.Stdout, os.Stderr
	if err := Share(t.Context(), twice); err != nil {
		t.Fatal(err)
	}
}

// spoil makes objects that are not there yet, of which a policy refuses the first one when it is made again, and deletes one that each cluster has.
func spoil(t *testing.T, plane *ControlPlane) {
	t.Helper()
	client, err := dynamic.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []struct{ group, resource, namespace, text string }{
		{"", "configmaps", "default", `{apiVersion: v1, kind: ConfigMap, metadata: {name: made}}`},
		{"apiextensions.k8s.io", "customresourcedefinitions", "", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {
			group: example.com, scope: Namespaced, names: {plural: things, singular: thing, kind: Thing, listKind: ThingList},
			versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`},
		{"admissionregistration.k8s.io", "validatingadmissionpolicies", "", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: spoiled}, spec: {
			matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}, validations: [{expression: "false"}]}}`},
		{"admissionregistration.k8s.io", "validatingadmissionpolicybindings", "", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: spoiled},
			spec: {policyName: spoiled, validationActions: [Deny]}}`},
	} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(o.text), &object.Object); err != nil {
			t.Fatal(err)
		}
		version := object.GroupVersionKind().Version
		if _, err := client.Resource(schema.GroupVersionResource{Group: o.group, Version: version, Resource: o.resource}).Namespace(o.namespace).
			Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatalf("%s: %v", o.resource, err)
		}
	}
	if err := plane.refusal(t.Context(), "spoiled"); err != nil {
		t.Fatal(err)
	}
	roles := client.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"})
	if err := roles.Delete(t.Context(), "view", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}
