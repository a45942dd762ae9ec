package manifests_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// The reconciler comes after its rights, and goes before them.
func TestReconcilerInInstallOrder(t *testing.T) {
	cfg := config.Default()
	cfg.LedgerNamespace = "ledger"
	want := []string{
		"ServiceAccount ledger/akash-net-reconciler",
		"ClusterRole akash-net-reconciler",
		"ClusterRoleBinding akash-net-reconciler",
		"Role ledger/akash-net-reconciler",
		"RoleBinding ledger/akash-net-reconciler",
		"RoleBinding akash-services/akash-net-reconciler",
		"NetworkPolicy ledger/akash-net-reconciler",
		"Service ledger/akash-net-reconciler",
		"PodDisruptionBudget ledger/akash-net-reconciler",
		"Deployment ledger/akash-net-reconciler",
	}
	objects, err := manifests.Reconciler(cfg, "image:tag")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, list(objects)); diff != "" {
		t.Error(diff)
	}
	containers, _, _ := unstructured.NestedSlice(objects[len(objects)-1].Object, "spec", "template", "spec", "containers")
	if got := containers[0].(map[string]any)["image"]; got != "image:tag" {
		t.Errorf("the image is %v", got)
	}
}

// The reconciler may do what an operator may, less what only repair does, and what its HTTP server and its events need.
func TestReconcilerMayDoNoMoreThanOperators(t *testing.T) {
	objects, err := manifests.Reconciler(config.Default(), "image")
	if err != nil {
		t.Fatal(err)
	}
	operators := roles(t)
	for _, kind := range []string{"ClusterRole", "Role"} {
		at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
		var typed rbacv1.ClusterRole // a Role has the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(objects[at].Object, &typed, true); err != nil {
			t.Fatal(err)
		}
		own, theirs := verbs(typed.Rules), verbs(operators[role{kind, "akash-net-operator"}])
		more, less := beyond(own, theirs), beyond(theirs, own)
		wantMore, wantLess := map[string][]string{
			"authentication.k8s.io/tokenreviews":        {"create"},
			"authorization.k8s.io/subjectaccessreviews": {"create"},
		}, map[string][]string{
			"/events":                                     {"get", "list", "watch"},
			"discovery.k8s.io/endpointslices":             {"get", "watch"},
			"events.k8s.io/events":                        {"list", "watch"},
			"gateway.networking.k8s.io/grpcroutes":        {"delete"},
			"gateway.networking.k8s.io/httproutes/status": {"patch"},
			"gateway.networking.k8s.io/tlsroutes/status":  {"patch"},
			"route.openshift.io/routes/status":            {"patch"},
		}
		if kind == "Role" {
			wantMore, wantLess = map[string][]string{}, map[string][]string{"/configmaps": {"list", "watch"}}
		}
		if diff := cmp.Diff(wantMore, more); diff != "" {
			t.Errorf("%s: the reconciler may do more (-want +got):\n%s", kind, diff)
		}
		if diff := cmp.Diff(wantLess, less); diff != "" {
			t.Errorf("%s: the reconciler may do less (-want +got):\n%s", kind, diff)
		}
	}
}

// beyond returns the verbs of a that b lacks.
func beyond(a, b map[string][]string) map[string][]string {
	out := map[string][]string{}
	for resource, all := range a {
		for _, verb := range all {
			if !slices.Contains(b[resource], verb) {
				out[resource] = append(out[resource], verb)
			}
		}
	}
	return out
}

// An image is published of each release, and of nothing else.
func TestReconcilerImage(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "akash-net/kubectl-akash-net:v1.2.3", "v1.2.3-4-gabcdef0-dirty": "", "v0.0.0-20261126+dirty": "", "(devel)": "", "": "",
	} {
		got, err := manifests.ReconcilerImage(version)
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, manifests.ErrNoImage) {
			t.Errorf("%q: %q, %v", version, got, err)
		}
	}
}

// What kustomize applies runs the newest release, or the one that the repository is about to become.
func TestKustomizationsNameTheRelease(t *testing.T) {
	released := regexp.MustCompile(`(?m)^## (v\d+\.\d+\.\d+)\b`).FindStringSubmatch(contents(t, "../CHANGELOG.md"))
	if released == nil {
		t.Fatal("CHANGELOG.md has no version")
	}
	for _, file := range []string{"reconciler/kustomization.yaml", "examples/reconciler/cronjob/kustomization.yaml"} {
		tag := regexp.MustCompile(`(?m)^- name: akash-net/kubectl-akash-net\n  newTag: (\S+)$`).FindStringSubmatch(contents(t, file))
		if tag == nil || tag[1] != released[1] {
			t.Errorf("%s does not name the image of %s: %q", file, released[1], tag)
		}
	}
}

func contents(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
