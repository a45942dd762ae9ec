package commands

import (
	"context"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/lease"
	embedded "github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// bareCluster is a control plane of one test, whose subject is the whole cluster.
type bareCluster struct {
	*testbed.ControlPlane
	objects dynamic.Interface
}

func newBareCluster(t *testing.T) bareCluster {
	t.Helper()
	plane := harness.Bare(t)
	return bareCluster{plane, dynamic.NewForConfigOrDie(plane.Config)}
}

// do runs the program as the administrator.
func (c bareCluster) do(t *testing.T, code int, args ...string) result {
	t.Helper()
	return runAs(t.Context(), c.Kubeconfig, args...).Exits(t, code)
}

// create creates an object.
func (c bareCluster) create(t *testing.T, resource schema.GroupVersionResource, text string) {
	t.Helper()
	o := parse(t, text)
	if _, err := c.objects.Resource(resource).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{FieldManager: "helm"}); err != nil {
		t.Fatal(err)
	}
}

// get is an object, or nil where there is none, or one that is being deleted.
func (c bareCluster) get(t *testing.T, resource schema.GroupVersionResource, namespace, name string) *object {
	t.Helper()
	o, err := c.objects.Resource(resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || o.GetDeletionTimestamp() != nil {
		return nil
	}
	return o
}

// during runs a command through a proxy which does something, once, before it passes on the first request that begins with a text.
func (c bareCluster) during(t *testing.T, request string, what func(), args ...string) result {
	t.Helper()
	p, once := startProxyOf(t, c.Config, nil), sync.OnceFunc(what)
	p.before = func(r string) {
		if strings.HasPrefix(r, request) {
			once()
		}
	}
	return runAs(t.Context(), p.kubeconfig, args...)
}

// akashsDefinition is a resource definition as Akash's provider brings it, without our label.
func akashsDefinition(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	all, err := embedded.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		if crd.GetName() == name {
			crd.SetLabels(nil)
			return crd
		}
	}
	t.Fatalf("no definition of %s is embedded", name)
	return nil
}

// One cluster's life: nothing is there; Akash's provider has brought one of its resource definitions; install, the configuration, the
// guard, leases; and what others do meanwhile; uninstall.
func TestInstallAndUninstall(t *testing.T) {
	t.Parallel()
	c := newBareCluster(t)
	id, host := leaseOf(newTenant(t), 1), newHost("bare")
	definition, address := defineParts(t, id, webPart(host)), define(t, id, leased("web", "public", 443))
	released := func() { t.Helper(); c.do(t, 0, "release", id.Group().String()) }

	for _, args := range [][]string{{"apply", "-f", definition}, {"state"}, {"convert", "--from-cluster"}} {
		c.do(t, 1, args...).Says(t, "this cluster does not serve", "akash.network", "kubectl akash-net install")
	}
	c.do(t, 3, "apply", "-f", address).Says(t, "no address can be leased: the cluster has no configuration (configmap "+ledger+"/config); create it with: kubectl akash-net install")

	const ours, theirs = "customresourcedefinition/providerleasedips.akash.network", "customresourcedefinition/providerhosts.akash.network"
	akashs := akashsDefinition(t, "providerhosts.akash.network")
	if _, err := c.objects.Resource(crds).Create(t.Context(), akashs, metav1.CreateOptions{FieldManager: "helm"}); err != nil {
		t.Fatal(err)
	}
	c.do(t, 0, "install", "--dry-run=server").Prints(t, "clusterrole/akash-net-operator created", "dry run)")
	if c.get(t, namespaces, "", ledger) != nil {
		t.Fatal("the dry run has made the namespace")
	}
	const left = " kept (it is there already, from Akash's provider)"
	lost, once := startProxyOf(t, c.Config, nil), sync.Map{} // each write is sent again whose answer was lost
	lost.lose = func(write string) bool {
		_, again := once.LoadOrStore(write, true)
		return !again
	}
	runAs(t.Context(), lost.kubeconfig, "install").Exits(t, 0).Prints(t, theirs+left, ours+" created", "namespace/akash-net created", "clusterrole/akash-net-operator created", "role/akash-net-viewer created", "configmap/config created")
	c.do(t, 0, "install").Prints(t, theirs+left, ours+" unchanged", "namespace/akash-net unchanged", "role/akash-net-viewer unchanged",
		"configmap/config kept (it is there already; install --config FILE replaces it)")
	if managers := managersOf(c.get(t, crds, "", akashs.GetName())); strings.Contains(managers, "akash-net") {
		t.Errorf("Akash's resource definition has been written to: %s", managers)
	}
	// Akash's own definition is applied over ours, whose label stays.
	if _, err := c.objects.Resource(crds).Apply(t.Context(), "providerleasedips.akash.network", akashsDefinition(t, "providerleasedips.akash.network"), metav1.ApplyOptions{FieldManager: "kubectl", Force: true}); err != nil {
		t.Fatal(err)
	}
	c.do(t, 0, "install").Prints(t, ours+left)

	c.do(t, 3, "apply", "-f", address).Says(t, "no address can be leased: the provider's configuration has no ip.ranges")
	c.do(t, 0, "apply", "-f", definition)
	c.do(t, 1, "uninstall").Says(t, "the ledger has 1 claim, ", "nothing was removed", "--force")
	second := configure(t, "ledgerNamespace: second")
	c.do(t, 4, "install", "--config", second).Says(t, "the configuration names the ledger of namespace second, and that of namespace akash-net is not empty (claims: 1,", "Nothing was changed")
	if c.get(t, namespaces, "", "second") != nil {
		t.Error("a second ledger was installed beside one that is not empty")
	}
	c.create(t, namespaces, `{apiVersion: v1, kind: Namespace, metadata: {name: forged}}`)
	c.create(t, claims, `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: x, namespace: forged, labels: {net.akash.network/kind: host}}}`)
	c.do(t, 0, "install") // nobody's Lease elsewhere is in its way
	released()
	c.do(t, 0, "install", "--dry-run=server", "--config", second)
	c.do(t, 0, "uninstall", "--dry-run=server")
	if c.get(t, namespaces, "", ledger) == nil || c.get(t, clusterRoles, "", "akash-net-operator") == nil {
		t.Error("the refused uninstall, or its dry run, has removed something")
	}

	t.Run("configuration", func(t *testing.T) { c.configurations(t) })
	t.Run("guard", func(t *testing.T) { c.guards(t, id, host) })
	t.Run("namespace that is being deleted", func(t *testing.T) { c.waitsForTheNamespace(t) })
	t.Run("ledger that is lost", func(t *testing.T) { c.losesTheLedger(t, definition, address) })
	if t.Failed() {
		return
	}

	// uninstall and commands that take claims see each other, whichever is first. It comes when the command is announced and about to take
	// its first claim, or has taken that and written nothing: it refuses, also by force.
	for request, force := range map[string]string{"PATCH leases/" + host: "--force", "PATCH providerhosts/": "--force=false"} {
		c.during(t, request, func() {
			c.do(t, 1, "uninstall", force).Says(t, "is at work: nothing was removed", "Wait until it has ended")
		}, "apply", "-f", definition).Exits(t, 0)
		c.do(t, 0, "apply", "-f", definition).Prints(t, "unchanged")
		released()
	}

	// An uninstall that dies with the ledger closed leaves it closed until install, and refuses at once.
	crashed := startProxyOf(t, c.Config, func(write string) bool { return strings.HasPrefix(write, "PATCH namespaces/") })
	runAs(t.Context(), crashed.kubeconfig, "uninstall", "--request-timeout=1s").Exits(t, 1)
	c.do(t, 1, "reserve", host, "--lease", id.String()).Says(t, "is being uninstalled", "kubectl akash-net install")
	c.do(t, 0, "install")

	// Somebody installs again while everything else is being removed, or just before the ledger's namespace goes: it stays.
	for _, moment := range []string{"DELETE clusterroles/", "DELETE namespaces/" + ledger} {
		c.during(t, moment, func() { c.do(t, 0, "install") }, "uninstall").Exits(t, 1).Says(t, "was reopened while it was uninstalled", "kubectl akash-net install")
		c.do(t, 0, "install")
		c.do(t, 0, "reserve", host, "--lease", id.String())
		released()
	}

	// The run has read everything, and the uninstall has counted, before the run is announced.
	counted, ended := make(chan struct{}), make(chan struct{})
	var uninstalled result
	var work sync.WaitGroup
	r := c.during(t, "PATCH leases/run--", func() {
		work.Go(func() {
			uninstalled = c.during(t, "DELETE ", func() {
				close(counted)
				<-ended
			}, "uninstall")
		})
		<-counted
	}, "apply", "-f", definition)
	close(ended)
	work.Wait()
	r.Exits(t, 1).Says(t, "is being uninstalled")
	uninstalled.Exits(t, 0).Prints(t, theirs+" kept (it is not from install)", ours+" kept (Akash's own has been applied over it)",
		"namespace/"+id.Namespace()+" kept (what its lease runs may be in it; delete it if nothing is)", "namespace/"+manifests+" kept (it is Akash's provider's too)",
		"namespace/akash-net deleting (it goes as soon as Kubernetes has emptied it)", "clusterrole/akash-net-viewer deleted")
	if c.get(t, namespaces, "", ledger) != nil || c.get(t, clusterRoles, "", "akash-net-operator") != nil || c.get(t, crds, "", akashs.GetName()) == nil || c.get(t, namespaces, "", manifests) == nil || c.policies(t, "") > 0 {
		t.Error("uninstall has not removed what install brought, and that alone")
	}
	if list, err := c.objects.Resource(ingresses).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("after the uninstall there are Ingresses (%v)", err)
	}
}

// policies counts the admission policies that are there: of the guard, and of its strict part.
func (c bareCluster) policies(t *testing.T, part string) (n int) {
	t.Helper()
	resource := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	list, err := c.objects.Resource(resource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		if strings.HasPrefix(o.GetName(), "akash-net"+part) {
			n++
		}
	}
	return n
}

// guards: install brings the guard, makes it strict, and plain again. The commands work with it.
func (c bareCluster) guards(t *testing.T, id lease.ID, host string) {
	t.Helper()
	if c.policies(t, "") != 0 {
		t.Fatal("there is a guard already")
	}
	plain := 0
	for _, guard := range []string{"--guard", "--guard=strict", "--guard", ""} {
		c.do(t, 0, strings.Fields("install "+guard)...)
		if plain == 0 {
			plain = c.policies(t, "")
		}
		if strict := c.policies(t, "-strict"); plain == 0 || (strict > 0) != (guard == "--guard=strict") || c.policies(t, "") != plain+strict {
			t.Fatalf("install %s: %d policies, %d of them strict", guard, c.policies(t, ""), strict)
		}
		path, other := define(t, id, web("web", 80, host)), leaseOf(id.Owner, 2).String()
		c.do(t, 0, "apply", "-f", path)
		c.do(t, 0, "apply", "-f", path).Prints(t, "unchanged")
		eventually(t, "the guard to refuse a theft", func(ctx context.Context) (bool, error) {
			o := c.get(t, claims, ledger, host)
			o.SetLabels(with(o.GetLabels(), "net.akash.network/owner", newOwner(t)))
			_, err := c.objects.Resource(claims).Namespace(ledger).Update(ctx, o, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy"), nil
		})
		c.do(t, 0, "transfer", host, "--to", other)
		c.do(t, 0, "release", id.String(), other)
	}
	c.do(t, 2, "install", "--guard=weak")
}

// losesTheLedger: where the ledger's namespace is gone and leases have objects, commands say how to restore it, and none advises an install
// that makes a configuration without the provider's ranges.
func (c bareCluster) losesTheLedger(t *testing.T, definition, address string) {
	t.Helper()
	c.do(t, 0, "apply", "-f", definition)
	for _, resource := range []schema.GroupVersionResource{claims, configMaps} { // no controller empties the namespace here
		if err := c.objects.Resource(resource).Namespace(ledger).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.objects.Resource(namespaces).Delete(t.Context(), ledger, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.finalize(t)
	const restore = "restore it from its backup (docs/backup.md): kubectl akash-net restore -f FILE"
	c.do(t, 3, "apply", "-f", address).Says(t, "no address can be leased: the ledger is lost", restore)
	for _, args := range [][]string{{"apply", "-f", definition}, {"apply", "-f", definition, "--config", file(t, "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nmetadata: {name: provider}\n")}} {
		c.do(t, 1, args...).Says(t, "the ledger is lost: its namespace "+ledger+" does not exist", restore)
	}
	for _, args := range [][]string{{"state"}, {"state", "leases", "-o", "json"}} {
		c.do(t, 0, args...).Says(t, "Warning: the ledger is lost", restore)
	}
	c.do(t, 1, "state", "--problems").Says(t, "Warning: the ledger is lost", restore)
	c.do(t, 1, "doctor").Prints(t, "the ledger is lost: there is no namespace "+ledger, restore)
	c.do(t, 0, "install")
	c.do(t, 0, "apply", "-f", definition, "--adopt")

	// Where the configuration alone is lost, a restore brings the one of --config; the one that is there stays.
	backed := file(t, c.do(t, 0, "backup").Stdout)
	if err := c.objects.Resource(configMaps).Namespace(ledger).Delete(t.Context(), "config", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, domain := range []string{"mine.example.com", "other.example.com"} {
		c.do(t, 0, "restore", "-f", backed, "--config", configure(t, "hosts: {blocked: ["+domain+"]}"))
		if text, _, _ := unstructured.NestedString(c.get(t, configMaps, ledger, "config").Object, "data", "config.yaml"); !strings.Contains(text, "mine.example.com") {
			t.Errorf("the configuration is %q", text)
		}
	}
	c.do(t, 0, "release", "-f", definition)
}

// waitsForTheNamespace: while the ledger's namespace is being deleted, install says so and waits until it is gone.
func (c bareCluster) waitsForTheNamespace(t *testing.T) {
	t.Helper()
	if err := c.objects.Resource(namespaces).Delete(t.Context(), ledger, metav1.DeleteOptions{}); err != nil { // nothing finalizes it here
		t.Fatal(err)
	}
	c.do(t, 0, "install", "--dry-run=server").Prints(t, "namespace/"+ledger+" skipped (it is being deleted; install waits until it is gone, and creates it)")
	c.do(t, 1, "reserve", "--lease", leaseOf(newTenant(t), 1).String(), newHost("late")).Says(t, "The namespace is being deleted")
	end := start(harness.Command(t.Context(), c.Kubeconfig, "install"))
	gone := c.finalize(t)
	end().Exits(t, 0).Prints(t, "namespace/"+ledger+" created")
	if now := c.get(t, namespaces, "", ledger); now == nil || now.GetUID() == gone {
		t.Errorf("there is %v", now)
	}
}

// finalize lets the ledger's namespace go, which is being deleted. It returns its UID.
func (c bareCluster) finalize(t *testing.T) types.UID {
	t.Helper()
	core := kubernetes.NewForConfigOrDie(c.Config).CoreV1().Namespaces()
	going, err := core.Get(t.Context(), ledger, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	going.Spec.Finalizers = nil
	if _, err := core.Finalize(t.Context(), going, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return going.UID
}

// Without its namespace there is no ledger; the run says how to make it, or how to restore it beside leases of other tests, and writes nothing.
func TestMissingLedgerNamespace(t *testing.T) {
	t.Parallel()
	id := leaseOf(newTenant(t), 1)
	harness.Run(t.Context(), "apply", "--config", configure(t, "ledgerNamespace: nowhere"), "-f", defineParts(t, id, webPart(newHost("nowhere")))).Exits(t, 1).Says(t,
		"namespace nowhere does not exist", "kubectl akash-net ")
	if got := objectsOf(t, id); len(got) > 0 {
		t.Errorf("the lease has %v", got)
	}
}
