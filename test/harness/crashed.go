package harness

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Crashed lets the announcements that killed commands of an owner have left last for a second: whoever comes next need not watch them for
// a quarter of a minute.
func Crashed(t *testing.T, owner string) {
	t.Helper()
	for _, run := range List(t, cluster.Leases, state.LabelKind+"="+state.KindRun) {
		if strings.Contains(run.GetAnnotations()[state.AnnotationGroups], owner) {
			Merge(t, cluster.Leases, "akash-net", run.GetName(), `{"spec":{"leaseDurationSeconds":1}}`)
		}
	}
}

// Merge changes an object by a merge patch.
func Merge(t *testing.T, resource schema.GroupVersionResource, namespace, name, patch string) {
	t.Helper()
	if _, err := Objects.Resource(resource).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Refuse makes the API server refuse an operation on a resource unless an expression holds, until allow is called. It takes a moment until
// the server heeds it, and until it does not any more.
func Refuse(t *testing.T, resource schema.GroupVersionResource, operation, unless, message string) (allow func()) {
	t.Helper()
	policies := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	bindings := policies.GroupVersion().WithResource("validatingadmissionpolicybindings")
	name := fmt.Sprintf("refused-%d.example.com", Number())
	Create(t, "test", policies, fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: %s}, spec: {
		matchConstraints: {resourceRules: [{apiGroups: [%q], apiVersions: ["*"], operations: [%s], resources: [%s]}]},
		validations: [{expression: %q, message: %q}]}}`, name, resource.Group, operation, resource.Resource, unless, message))
	Create(t, "test", bindings, fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: %s},
		spec: {policyName: %[1]s, validationActions: [Deny]}}`, name))
	return func() {
		Remove(t, bindings, "", name)
		Remove(t, policies, "", name)
	}
}

// Bind lets a user have ClusterRoles, and Roles of the ledger's namespace where a name begins with "ledger/".
func Bind(t *testing.T, user string, roles ...string) {
	t.Helper()
	for _, role := range roles {
		args := []string{"create", "clusterrolebinding", user + "-" + role, "--clusterrole=" + role, "--user=" + user}
		if name, ok := strings.CutPrefix(role, "ledger/"); ok {
			args = []string{"-n", "akash-net", "create", "rolebinding", user + "-" + name, "--role=" + name, "--user=" + user}
		}
		if err := Kubectl(t.Context(), "", nil, args...); err != nil {
			t.Fatal(err)
		}
	}
}
