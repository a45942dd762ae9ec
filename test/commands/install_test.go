package commands

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	embedded "github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var (
	crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// One cluster's life: nothing is there; Akash's provider has brought one of its resource
// definitions; install; install again; a lease; uninstall.
func TestInstallAndUninstall(t *testing.T) {
	t.Parallel()
	bare := harness.Bare(t)
	objects := dynamic.NewForConfigOrDie(bare.Config)
	exists := func(resource schema.GroupVersionResource, name string) bool {
		o, err := objects.Resource(resource).Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && o.GetDeletionTimestamp() == nil
	}
	u := user{kubeconfig: bare.Kubeconfig}
	id, host := leaseOf(newTenant(), 1), newHost("bare")
	definition := defineParts(t, id, webPart(host))

	for _, args := range [][]string{{"apply", "-f", definition}, {"state"}, {"convert", "--from-cluster"}} {
		u.run(t, args...).Exits(t, 1).Says(t, "this cluster does not serve", "akash.network", "kubectl akash-net install")
	}

	akashs := akashsDefinition(t)
	if _, err := objects.Resource(crds).Create(t.Context(), akashs, metav1.CreateOptions{FieldManager: "helm"}); err != nil {
		t.Fatal(err)
	}
	u.do(t, "install", "--dry-run=server").Prints(t, "clusterrole/akash-net-operator created", "dry run)")
	if exists(namespaces, ledger) {
		t.Fatal("the dry run has made the namespace")
	}
	const left = "customresourcedefinition/providerhosts.akash.network left (it is there already, from Akash's provider)"
	u.do(t, "install").Prints(t, left, "customresourcedefinition/providerleasedips.akash.network created",
		"namespace/akash-net created", "clusterrole/akash-net-operator created", "role/akash-net-viewer created", "configmap/config created")
	u.do(t, "install").Prints(t, left, "customresourcedefinition/providerleasedips.akash.network unchanged", "namespace/akash-net unchanged",
		"role/akash-net-viewer unchanged", "configmap/config left (it is there already; install --config FILE replaces it)")
	u.with(configure(t, "ingress: {className: other}")).do(t, "install").Prints(t, "configmap/config configured")
	now, err := objects.Resource(crds).Get(t.Context(), akashs.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range now.GetManagedFields() {
		if entry.Manager == "akash-net" {
			t.Error("Akash's resource definition has been written to")
		}
	}

	u.do(t, "apply", "-f", definition)
	u.run(t, "uninstall").Exits(t, 1).Says(t, "the ledger has 1 claim, ", "nothing was removed", "--force")
	if !exists(namespaces, ledger) || !exists(clusterRoles, "akash-net-operator") {
		t.Error("the refused uninstall has removed something")
	}
	u.do(t, "release", id.Group().String())
	u.do(t, "uninstall", "--dry-run=server")
	if !exists(namespaces, ledger) {
		t.Error("the dry run of uninstall has removed the namespace")
	}
	u.do(t, "uninstall").Prints(t, "customresourcedefinition/providerhosts.akash.network left (it is not from install)",
		"namespace/"+id.Namespace()+" left (what its lease runs may be in it; delete it if nothing is)", "namespace/"+manifests+" left (it is Akash's provider's too)",
		"customresourcedefinition/providerleasedips.akash.network delet", "namespace/akash-net deleting (it goes as soon as Kubernetes has emptied it)", "clusterrole/akash-net-viewer deleted")
	if exists(namespaces, ledger) || exists(clusterRoles, "akash-net-operator") || !exists(crds, akashs.GetName()) || !exists(namespaces, manifests) {
		t.Error("uninstall has not removed what install brought, and that alone")
	}
}

// akashsDefinition is the resource definition of ProviderHosts as Akash's provider brings it,
// without our label.
func akashsDefinition(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	all, err := embedded.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		if crd.GetName() == "providerhosts.akash.network" {
			crd.SetLabels(nil)
			return crd
		}
	}
	t.Fatal("no definition of ProviderHosts is embedded")
	return nil
}

// Without its namespace there is no ledger; the run says how to make it and writes nothing.
func TestMissingLedgerNamespace(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("nowhere")
	r := record(t)
	r.config = configure(t, "ledgerNamespace: nowhere")
	r.run(t, "apply", "-f", defineParts(t, id, webPart(host))).Exits(t, 1).Says(t,
		"the ledger's namespace nowhere does not exist", "kubectl akash-net install")
	if got := objectsOf(t, id); len(got) > 0 {
		t.Errorf("the lease has %v", got)
	}
}
