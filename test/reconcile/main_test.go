// Package reconcile_test runs reconcile against a real control plane: once, and watching, as processes that are stopped and killed.
package reconcile_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, harness.Setup{Binary: true, Reconciler: true, Pools: true, Install: true, Then: shippedRights}))
}

// reconciler is a kubeconfig of the ServiceAccount that install --reconciler makes: whoever reconciles in these tests has its rights.
var reconciler string

func shippedRights(ctx context.Context) (err error) {
	if err := harness.Kubectl(ctx, "", nil, "create", "namespace", "akash-services"); err != nil { // where it may see that no operators run
		return err
	}
	if reconciler, err = harness.Reconciler(ctx); err != nil {
		return err
	}
	// What LeaseWon takes beside them.
	return harness.Kubectl(ctx, "", nil, "create", "clusterrolebinding", "reconciler-capacity", "--clusterrole=akash-net-capacity", "--serviceaccount=akash-net:akash-net-reconciler")
}

// rights is the configuration of a client that has the rights of the reconciler.
func rights(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", reconciler)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// folder is a folder of definitions.
type folder struct{ path string }

func newFolder(t *testing.T) folder { return folder{t.TempDir()} }

// define writes the definition of a lease with a host to its file, by a rename.
func (f folder) define(t *testing.T, id lease.ID, host string, options ...string) {
	t.Helper()
	text := fmt.Sprintf(`apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: test}
spec:
  lease: {owner: %s, dseq: %d, gseq: %d, oseq: %d, provider: %s}
  services:
  - {name: web, expose: [{port: 80, as: 80, global: true, hosts: [%s]%s}]}
`, id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider, host, strings.Join(append([]string{""}, options...), ", "))
	f.write(t, fmt.Sprintf("%d.yaml", id.DSeq), text)
}

func (f folder) write(t *testing.T, name, text string) {
	t.Helper()
	half := filepath.Join(f.path, "."+name+".half")
	if err := os.WriteFile(half, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(half, filepath.Join(f.path, name)); err != nil {
		t.Fatal(err)
	}
}

func (f folder) remove(t *testing.T, id lease.ID) {
	t.Helper()
	if err := os.Remove(filepath.Join(f.path, fmt.Sprintf("%d.yaml", id.DSeq))); err != nil {
		t.Fatal(err)
	}
}

// route returns the Ingress of a lease's host, nil if there is none.
func route(t *testing.T, id lease.ID, host string) *unstructured.Unstructured {
	t.Helper()
	return harness.Find(t, kinds.Ingress.Resource(), id.Namespace(), host)
}

// routed waits until a host of a lease has a route, or has none.
func routed(t *testing.T, id lease.ID, host string, want bool) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("whether %s is routed is to be %t", host, want), func(context.Context) (bool, error) {
		return (route(t, id, host) != nil) == want, nil
	})
}

// released waits until the ledger keeps nothing of a lease any more.
func released(t *testing.T, id lease.ID) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("lease %s is to be released", id), func(context.Context) (bool, error) {
		return harness.Find(t, cluster.Leases, "akash-net", kept.Name(id.Group())) == nil, nil
	})
}

// watch starts a reconciler as kubectl's plugin. The test kills it at the end.
func watch(t *testing.T, args ...string) *harness.Process {
	t.Helper()
	return watchAs(t, reconciler, args...)
}

func watchAs(t *testing.T, kubeconfig string, args ...string) *harness.Process {
	t.Helper()
	return harness.Launch(t, watches(t, kubeconfig, args...))
}

// watches returns the command of a reconciler that watches.
func watches(t *testing.T, kubeconfig string, args ...string) *exec.Cmd {
	t.Helper()
	return harness.Command(context.WithoutCancel(t.Context()), kubeconfig, append([]string{"reconcile", "--watch"}, args...)...)
}
