package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var (
	clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	policies     = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	bindings     = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
	webhooks     = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
)

// without adds a user who may do what the operator's roles allow, but for one verb on one resource. It returns the user's
// kubeconfig.
func without(t *testing.T, verb, resource string) string {
	t.Helper()
	name := fmt.Sprint("lacks-", harness.Number())
	_, kubeconfig, err := harness.Plane.AddUser(name)
	if err != nil {
		t.Fatal(err)
	}
	role := need(t, clusterRoles, "", "akash-net-operator")
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	lacks := func(rule map[string]any) bool { return slices.Contains(rule["resources"].([]any), any(resource)) }
	for _, r := range rules {
		if rule := r.(map[string]any); lacks(rule) {
			rule["verbs"] = slices.DeleteFunc(rule["verbs"].([]any), func(v any) bool { return v == verb })
		}
	}
	own := &unstructured.Unstructured{Object: map[string]any{"apiVersion": role.GetAPIVersion(), "kind": "ClusterRole", "metadata": map[string]any{"name": name}, "rules": rules}}
	if _, err := harness.Objects.Resource(clusterRoles).Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	removeLater(t, clusterRoles, "", name)
	for _, args := range [][]string{
		{"create", "clusterrolebinding", name, "--clusterrole=" + name, "--user=" + name},
		{"-n", ledger, "create", "rolebinding", name, "--role=akash-net-operator", "--user=" + name},
	} {
		if err := harness.Kubectl(t.Context(), "", nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the roles are bound", func(ctx context.Context) (bool, error) {
		return runAs(ctx, kubeconfig, "state", "-n", "default").Code == 0 && runAs(ctx, kubeconfig, "reserve", "--lease", leaseOf(newOwner(), 1).String(), newDomain()).Code == 0, nil
	})
	return kubeconfig
}

// blueServes fails the test unless the first deployment's route serves as it did.
func (b blueGreen) blueServes(t *testing.T, was *unstructured.Unstructured) {
	t.Helper()
	now := need(t, b.routes, b.blue.Namespace(), b.host)
	for _, field := range []string{"spec", "labels", "annotations"} {
		of := func(o *unstructured.Unstructured) any {
			if field == "spec" {
				return o.Object["spec"]
			}
			return o.Object["metadata"].(map[string]any)[field]
		}
		if diff := cmp.Diff(of(was), of(now)); diff != "" {
			t.Errorf("the %s of the route that serves have changed (-was +now):\n%s", field, diff)
		}
	}
}

// Whatever right somebody lacks who hands a host on, what serves it stays, and the same command of somebody who has it
// ends the transfer without waiting.
func TestTransferWithoutARight(t *testing.T) {
	t.Parallel()
	for target, resource := range map[string]string{"ingress": "ingresses", "httproute": "httproutes"} {
		for _, right := range [][2]string{{"patch", "providerhosts"}, {"create", resource}, {"patch", resource}, {"delete", resource}, {"create", "namespaces"}} {
			t.Run(target+"/"+right[0]+" "+right[1], func(t *testing.T) {
				t.Parallel()
				b := newBlueGreen(t, target)
				was := need(t, b.routes, b.blue.Namespace(), b.host)
				user := without(t, right[0], right[1])
				runAs(t.Context(), user, b.hands...).Exits(t, 1).Says(t, right[1])
				b.blueServes(t, was)
				holds := b.blue // refused before its first object, the transfer moves nothing
				if right[0] == "delete" {
					holds = b.green
				}
				mustRun(t, 0, "explain", b.host, "--config", b.config).Prints(t, b.host+" is held by "+holds.Group().String())
				if r := mustRun(t, 0, b.hands...); strings.Contains(r.Stderr, "another command is at work") {
					t.Errorf("it waited: %s", r)
				}
				b.isGreen(t)
				b.ends(t)
			})
		}
	}
}

// The same with the definition of the new lease, and for its next apply after a transfer that knew no routes: what is
// refused is taken back, and the old route serves.
func TestRefusedSuccessor(t *testing.T) {
	t.Parallel()
	for name, withFile := range map[string]bool{"transfer -f": true, "apply": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBlueGreen(t, "ingress")
			was := need(t, b.routes, b.blue.Namespace(), b.host)
			command := append(slices.Clone(b.hands), "-f", b.greenFile)
			if !withFile {
				mustRun(t, 0, "release", b.green.Group().String())
				mustRun(t, 0, b.hands...).Prints(t, "until then the old ones serve")
				command = []string{"apply", "--config", b.config, "-f", b.greenFile}
			}
			runAs(t.Context(), without(t, "create", "ingresses"), command...).Exits(t, 1).Says(t, "not allowed to patch ingresses")
			b.blueServes(t, was)
			if find(t, b.routes, b.green.Namespace(), b.host) != nil {
				t.Error("the new route is there")
			}
			mustRun(t, 0, command...)
			b.isGreen(t)
			b.ends(t)
		})
	}
}

// A policy that refuses the new route, or Akash's object, in the middle of a transfer leaves what serves.
func TestTransferThatAPolicyRefuses(t *testing.T) {
	t.Parallel()
	for resource, group := range map[string]string{"ingresses": "networking.k8s.io", "providerhosts": "akash.network"} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			b := newBlueGreen(t, "ingress")
			was := need(t, b.routes, b.blue.Namespace(), b.host)
			name := fmt.Sprint("refuses-", harness.Number())
			create(t, policies, fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: %s},
				spec: {failurePolicy: Fail, matchConstraints: {resourceRules: [{apiGroups: [%s], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [%s]}]},
				matchConditions: [{name: host, expression: "object.metadata.name == '%s'"}], validations: [{expression: "false", message: no host of this name today}]}}`, name, group, resource, b.host))
			removeLater(t, policies, "", name)
			create(t, bindings, fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: %s}, spec: {policyName: %s, validationActions: [Deny]}}`, name, name))
			removeLater(t, bindings, "", name)
			if resource == "ingresses" {
				awaitRefusal(t, ingresses, was, "no host of this name today")
			} else {
				awaitRefusal(t, hosts, need(t, hosts, "lease", b.host), "no host of this name today")
			}

			mustRun(t, 1, b.hands...).Says(t, "no host of this name today")
			b.blueServes(t, was)
			remove(t, bindings, "", name)
			eventually(t, "the policy to end", func(ctx context.Context) (bool, error) {
				return runAs(ctx, harness.Plane.Kubeconfig, b.hands...).Code == 0, nil
			})
			b.isGreen(t)
		})
	}
}

// ends gives up all that the two deployments hold.
func (b blueGreen) ends(t *testing.T) {
	t.Helper()
	mustRun(t, 0, "release", b.green.Group().String(), b.blue.Group().String(), "--config", b.config)
	held(t, b.host)
	if problems := run(t.Context(), "state", "--problems", "--crashed-after", "0s", "-o", "json").Stdout; strings.Contains(problems, b.blue.Owner) || strings.Contains(problems, b.host) {
		t.Errorf("problems are left: %s", problems)
	}
}

// awaitRefusal waits until admission refuses to make an object like one that is there.
func awaitRefusal(t *testing.T, resource schema.GroupVersionResource, like *unstructured.Unstructured, text string) {
	t.Helper()
	o := like.DeepCopy()
	o.SetResourceVersion("")
	eventually(t, "admission refuses", func(ctx context.Context) (bool, error) {
		_, err := harness.Objects.Resource(resource).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), text), nil
	})
}
