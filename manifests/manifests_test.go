package manifests_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

func TestAllInInstallOrder(t *testing.T) {
	cfg := config.Default()
	cfg.LedgerNamespace, cfg.ManifestNamespace = "ledger", "akash"
	objects, err := manifests.All(cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"CustomResourceDefinition manifests.akash.network",
		"CustomResourceDefinition providerhosts.akash.network",
		"CustomResourceDefinition providerleasedips.akash.network",
		"Namespace ledger",
		"Namespace akash",
		"ClusterRole akash-net-operator",
		"ClusterRole akash-net-grants",
		"ClusterRole akash-net-capacity",
		"ClusterRole akash-net-status",
		"ClusterRole akash-net-logs",
		"ClusterRole akash-net-viewer",
		"Role ledger/akash-net-operator",
		"Role ledger/akash-net-viewer",
		"Role akash-services/akash-net-sees-operators",
		"ConfigMap ledger/config",
	}
	if diff := cmp.Diff(want, list(objects)); diff != "" {
		t.Error(diff)
	}
}

func TestManagedByMarksOnlyWhatIsOurs(t *testing.T) {
	objects, err := manifests.All(config.Default(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		managed := o.GetLabels()["app.kubernetes.io/managed-by"]
		if o.GetName() == "lease" {
			if managed != "" || o.GetLabels()["akash.network"] != "true" {
				t.Errorf("Akash's namespace has the labels %v", o.GetLabels())
			}
		} else if managed != "kubectl-akash-net" {
			t.Errorf("%s %s: managed by %q", o.GetKind(), o.GetName(), managed)
		}
	}
}

func TestOneNamespaceForBoth(t *testing.T) {
	cfg := config.Default()
	cfg.LedgerNamespace = cfg.ManifestNamespace
	objects, err := manifests.Namespaces(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Namespace lease"}, list(objects)); diff != "" {
		t.Fatal(diff)
	}
	want := map[string]string{
		"akash.network":                "true",
		"app.kubernetes.io/managed-by": "kubectl-akash-net",
		"app.kubernetes.io/name":       "akash-net",
	}
	if diff := cmp.Diff(want, objects[0].GetLabels()); diff != "" {
		t.Error(diff)
	}
}

// TestCallersDoNotShareObjects checks that callers do not see each other's changes.
func TestCallersDoNotShareObjects(t *testing.T) {
	for range 2 {
		objects, err := manifests.RBAC(config.Default())
		if err != nil {
			t.Fatal(err)
		}
		if got := objects[0].GetName(); got != "akash-net-operator" {
			t.Fatalf("the first role is %s", got)
		}
		objects[0].SetName("changed")
	}
}

func TestRolesGrantNoMoreThanIsNeeded(t *testing.T) {
	reading := []string{"get", "list", "watch"}
	for name, rules := range roles(t) {
		for _, r := range rules {
			for _, s := range slices.Concat(r.APIGroups, r.Resources, r.Verbs) {
				if s == "*" {
					t.Errorf("%s: a wildcard in %v", name, r)
				}
			}
			if slices.Contains(r.Resources, "secrets") || len(r.NonResourceURLs) > 0 {
				t.Errorf("%s: %v is nothing that the tool reads", name, r)
			}
			if slices.Contains(r.Resources, "namespaces") && slices.Contains(r.Verbs, "delete") {
				t.Errorf("%s: may delete namespaces", name)
			}
			if name.kind == "ClusterRole" && (name.role == "akash-net-viewer" || name.role == "akash-net-operator") && slices.Contains(r.Resources, "deployments") {
				t.Errorf("%s: Deployments show the environments of tenants", name)
			}
			for _, verb := range r.Verbs {
				if name.role == "akash-net-viewer" && !slices.Contains(reading, verb) {
					t.Errorf("%s: a viewer may %s %v", name, verb, r.Resources)
				}
			}
			if slices.Contains(r.Resources, "leases") && name.kind == "ClusterRole" {
				t.Errorf("%s: other controllers' leases are in reach", name)
			}
		}
	}
}

// TestViewerReadsWhatOperatorReads checks that both roles can show the same book. Viewers cannot read Manifests, which are not
// in the book and have tenants' data.
func TestViewerReadsWhatOperatorReads(t *testing.T) {
	all := roles(t)
	for _, kind := range []string{"ClusterRole", "Role"} {
		operator := readable(all[role{kind, "akash-net-operator"}])
		viewer := readable(all[role{kind, "akash-net-viewer"}])
		delete(operator, "akash.network/manifests")
		if len(operator) == 0 {
			t.Errorf("the operator's %s reads nothing", kind)
		}
		if diff := cmp.Diff(operator, viewer); diff != "" {
			t.Errorf("%s (-operator +viewer):\n%s", kind, diff)
		}
	}
}

func TestOperatorWritesWhatIsRendered(t *testing.T) {
	rules := roles(t)[role{"ClusterRole", "akash-net-operator"}]
	for _, resource := range []string{
		"akash.network/providerhosts", "akash.network/providerleasedips", "networking.k8s.io/ingresses",
		"gateway.networking.k8s.io/httproutes", "/services", "metallb.io/ipaddresspools", "metallb.io/l2advertisements", "metallb.io/bgpadvertisements",
	} {
		want := []string{"create", "delete", "get", "list", "patch", "watch"}
		if diff := cmp.Diff(want, verbs(rules)[resource]); diff != "" {
			t.Errorf("%s: %s", resource, diff)
		}
	}
}

type role struct{ kind, role string }

func roles(t *testing.T) map[role][]rbacv1.PolicyRule {
	t.Helper()
	objects, err := manifests.RBAC(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	all := map[role][]rbacv1.PolicyRule{}
	for _, o := range objects {
		var typed rbacv1.ClusterRole // a Role has the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &typed, true); err != nil {
			t.Fatal(err)
		}
		if len(typed.Rules) == 0 {
			t.Fatalf("%s %s has no rules", o.GetKind(), o.GetName())
		}
		all[role{o.GetKind(), o.GetName()}] = typed.Rules
	}
	return all
}

// verbs returns the sorted verbs by group/resource.
func verbs(rules []rbacv1.PolicyRule) map[string][]string {
	all := map[string][]string{}
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				key := group + "/" + resource
				all[key] = append(all[key], r.Verbs...)
				slices.Sort(all[key])
			}
		}
	}
	return all
}

// readable returns the reading verbs by group/resource.
func readable(rules []rbacv1.PolicyRule) map[string][]string {
	all := verbs(rules)
	for key, list := range all {
		all[key] = slices.DeleteFunc(list, func(v string) bool { return v != "get" && v != "list" && v != "watch" })
		if len(all[key]) == 0 {
			delete(all, key)
		}
	}
	return all
}

func list(objects []*unstructured.Unstructured) []string {
	var all []string
	for _, o := range objects {
		name := o.GetName()
		if o.GetNamespace() != "" {
			name = o.GetNamespace() + "/" + name
		}
		all = append(all, o.GetKind()+" "+name)
	}
	return all
}
