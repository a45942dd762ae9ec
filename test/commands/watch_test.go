package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// someone adds a user with cluster roles, who may watch all that they allow but one resource; "" for none. Who has the viewer's
// role may look at the ledger.
func someone(t *testing.T, unwatched string, roles ...string) (kubeconfig string) {
	t.Helper()
	name := fmt.Sprint("watcher-", harness.Number())
	_, kubeconfig, err := harness.Plane.AddUser(name)
	if err != nil {
		t.Fatal(err)
	}
	kubectl := func(args ...string) {
		t.Helper()
		if err := harness.Kubectl(t.Context(), "", nil, append(args, "--user="+name)...); err != nil {
			t.Fatal(err)
		}
	}
	clusterRoles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	for _, role := range roles {
		if role == "akash-net-viewer" {
			kubectl("-n", "akash-net", "create", "rolebinding", name, "--role="+role)
		}
		rules, _, _ := unstructured.NestedSlice(harness.Need(t, clusterRoles, "", role).Object, "rules")
		for _, r := range rules {
			if rule := r.(map[string]any); slices.Contains(rule["resources"].([]any), any(unwatched)) {
				rule["verbs"] = slices.DeleteFunc(rule["verbs"].([]any), func(v any) bool { return v == "watch" })
			}
		}
		own := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": name + "-" + role}, "rules": rules}}
		if _, err := harness.Objects.Resource(clusterRoles).Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		kubectl("create", "clusterrolebinding", name+"-"+role, "--clusterrole="+name+"-"+role)
	}
	return kubeconfig
}

// noted notes an event of the lease.
func (d *deployment) noted(t *testing.T, name, message string) {
	t.Helper()
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name}, InvolvedObject: corev1.ObjectReference{Kind: "Deployment", Namespace: d.id.Namespace(), Name: "web"}, Type: "Normal", Reason: "Test", Message: message}
	if _, err := harness.Client().CoreV1().Events(d.id.Namespace()).Create(t.Context(), e, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Each command that follows something is allowed by its roles alone, and shows what changes. Without the right to watch it says
// which role is missing, and does not stand there and show nothing.
func TestRightsToWatch(t *testing.T) {
	t.Parallel()
	d, kubelet := newDeployment(), harness.StartKubelet(t)
	d.deploy(t, "1")
	ns := d.id.Namespace()
	pods := append(harness.Pods(t, ns, "web", 1), harness.Pods(t, ns, "db", 1)...)
	kubelet.Runs(t, pods[0])
	kubelet.Prints(pods[0], "hello\n")
	d.noted(t, "first", "first event")
	for name, tt := range map[string]struct {
		roles, watched []string
		args           []string
		role           string
		shows, later   string
		change         func()
	}{
		"events": {
			roles: []string{"akash-net-status"}, watched: []string{"events"}, args: []string{"events", d.id.Group().String(), "-w"}, role: "akash-net-status",
			shows: "first event", later: "second event", change: func() { d.noted(t, "second", "second event") },
		},
		"logs": {
			roles: []string{"akash-net-logs"}, watched: []string{"pods"}, args: []string{"logs", d.id.Group().String(), "-f"}, role: "akash-net-logs",
			shows: "hello", later: "more", change: func() { kubelet.Prints(pods[0], "more\n") },
		},
		"state": {
			roles: []string{"akash-net-viewer", "akash-net-status"}, watched: []string{"manifests", "deployments", "statefulsets", "pods"},
			args: []string{"state", "leases", d.id.String(), "--workloads", "-w"}, role: "akash-net-status",
			shows: "active", later: "complete", change: func() { harness.Runs(t, pods...) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, unwatched := range tt.watched {
				kubeconfig := someone(t, unwatched, tt.roles...)
				var got harness.Result
				harness.Eventually(t, "the watch is refused", func(ctx context.Context) (bool, error) {
					got = harness.RunAs(ctx, kubeconfig, tt.args...)
					return strings.Contains(got.Stderr, "cannot watch resource \""+unwatched+"\""), nil
				})
				got.Exits(t, 1).Says(t, "not allowed", "--clusterrole="+tt.role)
			}
			kubeconfig := someone(t, "", tt.roles...)
			once := slices.DeleteFunc(slices.Clone(tt.args), func(arg string) bool { return arg == "-w" || arg == "-f" })
			harness.Eventually(t, "the roles are bound", func(ctx context.Context) (bool, error) {
				return harness.RunAs(ctx, kubeconfig, once...).Code == 0, nil
			})
			s := followAs(t, kubeconfig, tt.args...)
			s.expects(tt.shows)
			tt.change()
			s.expects(tt.later)
			s.stop(interrupt)
			if code, errOut := s.wait(); code != 130 || strings.Contains(errOut, "Error") || !strings.Contains(errOut, "Interrupted.") {
				t.Errorf("exit code %d, %s", code, errOut)
			}
		})
	}
}
