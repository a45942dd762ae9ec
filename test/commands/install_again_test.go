package commands

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What others have changed since the first install does not stop a later one.
func TestInstallAgain(t *testing.T) {
	t.Parallel()
	bare := harness.Bare(t)
	objects := dynamic.NewForConfigOrDie(bare.Config)
	u := user{kubeconfig: bare.Kubeconfig}
	u.do(t, "install")

	// Akash's own resource definition is applied over ours, whose label stays.
	const name = "providerhosts.akash.network"
	akashs := akashsDefinition(t)
	if _, err := objects.Resource(crds).Apply(t.Context(), name, akashs, metav1.ApplyOptions{FieldManager: "kubectl", Force: true}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		u.do(t, "install").Prints(t, "customresourcedefinition/"+name+" left (it is there already, from Akash's provider)",
			"customresourcedefinition/providerleasedips.akash.network unchanged")
	}

	// Somebody has edited the configuration, with a typing error.
	edit := func(text string) {
		configuration, err := objects.Resource(cluster.ConfigMaps).Namespace(ledger).Get(t.Context(), "config", metav1.GetOptions{})
		if err == nil {
			err = unstructured.SetNestedField(configuration.Object, text, "data", "config.yaml")
		}
		if err == nil {
			_, err = objects.Resource(cluster.ConfigMaps).Namespace(ledger).Update(t.Context(), configuration, metav1.UpdateOptions{FieldManager: "kubectl-edit"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	edit("spec: {targt: ingress}\n")
	u.run(t, "state").Exits(t, 3).Says(t, "configmap akash-net/config:1:", "kubectl akash-net config edit", "kubectl akash-net install --config FILE")
	u.do(t, "install").Prints(t, "configmap/config left (it is there already, and has errors: kubectl akash-net config validate shows them")
	u.with(configure(t, "target: httproute")).do(t, "install").Prints(t, "configmap/config configured").
		Says(t, "The configuration in the cluster changes:", "- spec: {targt: ingress}", "+   target: httproute")
	u.do(t, "state")
	u.with(configure(t, "target: httproute")).do(t, "install").Prints(t, "configmap/config unchanged")
	u.do(t, "uninstall").Prints(t, "customresourcedefinition/"+name+" left (Akash's own has been applied over it)")
}

// While the ledger's namespace is being deleted, install says so and waits until it is gone.
func TestInstallIntoATerminatingNamespace(t *testing.T) {
	t.Parallel()
	bare := harness.Bare(t)
	core := kubernetes.NewForConfigOrDie(bare.Config).CoreV1().Namespaces()
	u := user{kubeconfig: bare.Kubeconfig}
	u.do(t, "install")
	if err := core.Delete(t.Context(), ledger, metav1.DeleteOptions{}); err != nil { // nothing finalizes it here
		t.Fatal(err)
	}
	u.do(t, "install", "--dry-run=server").Prints(t, "namespace/"+ledger+" left (it is being deleted; install waits until it is gone, and creates it)")
	u.run(t, "reserve", "--lease", leaseOf(newTenant(), 1).String(), newHost("late")).Exits(t, 1).Says(t, "The namespace is being deleted")

	end := harness.Start(harness.Command(t.Context(), bare.Kubeconfig, "install"))
	going, err := core.Get(t.Context(), ledger, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	going.Spec.Finalizers = nil
	if _, err := core.Finalize(t.Context(), going, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	end().Exits(t, 0).Prints(t, "namespace/"+ledger+" created")
	now, err := core.Get(t.Context(), ledger, metav1.GetOptions{})
	if err != nil || now.UID == going.UID {
		t.Errorf("there is %v (%v)", now, err)
	}
}
