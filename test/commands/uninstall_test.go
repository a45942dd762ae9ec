package commands

import (
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// uninstall and runs that take claims see each other, whichever is first: nothing serves without a claim
// afterwards.
func TestUninstallBesideApply(t *testing.T) {
	t.Parallel()
	bare := harness.Bare(t)
	do := func(code int, kubeconfig string, args ...string) result {
		t.Helper()
		return runAs(t.Context(), kubeconfig, args...).Exits(t, code)
	}
	id, host := leaseOf(newOwner(), 1), newDomain()
	address := define(t, id, leased("web", "public", 443))
	do(3, bare.Kubeconfig, "apply", "-f", address).Says(t, "no address can be leased: the cluster has no configuration (configmap "+ledger+"/config); create it with: kubectl akash-net install")
	do(0, bare.Kubeconfig, "install")
	do(3, bare.Kubeconfig, "apply", "-f", address).Says(t, "no address can be leased: the provider's configuration has no ip.ranges")
	definition := define(t, id, web("web", 80, host))

	// The uninstall comes when the claim is taken and nothing is written: it refuses, and opens again.
	var once sync.Once
	apply := startProxyOf(t, bare.Config, nil)
	apply.before = func(request string) {
		if strings.HasPrefix(request, "PATCH providerhosts/") {
			once.Do(func() {
				if r := runAs(t.Context(), bare.Kubeconfig, "uninstall"); r.Code != 1 || !strings.Contains(r.Stderr, "is at work: nothing was removed") {
					t.Errorf("beside a run that has taken a claim: %s", r)
				}
			})
		}
	}
	do(0, apply.kubeconfig, "apply", "-f", definition)
	do(0, bare.Kubeconfig, "apply", "-f", definition).Prints(t, "unchanged")
	do(0, bare.Kubeconfig, "release", id.Group().String())

	// An uninstall that dies with the ledger closed leaves it closed until install, and refuses at once.
	crashed := startProxyOf(t, bare.Config, func(write string) bool { return strings.HasPrefix(write, "PATCH namespaces/") })
	do(1, crashed.kubeconfig, "uninstall", "--request-timeout=1s")
	do(1, bare.Kubeconfig, "reserve", host, "--lease", id.String()).Says(t, "is being uninstalled", "kubectl akash-net install")
	do(0, bare.Kubeconfig, "install")
	do(0, bare.Kubeconfig, "reserve", host, "--lease", id.String())
	do(0, bare.Kubeconfig, "release", id.Group().String())

	// Somebody installs again while everything else is being removed, or just before the ledger's namespace
	// goes: it stays, and the uninstall says so.
	for _, moment := range []string{"DELETE clusterroles/", "DELETE namespaces/" + ledger} {
		var reopening sync.Once
		reopened := startProxyOf(t, bare.Config, nil)
		reopened.before = func(request string) {
			if strings.HasPrefix(request, moment) {
				reopening.Do(func() { do(0, bare.Kubeconfig, "install") })
			}
		}
		do(1, reopened.kubeconfig, "uninstall").Says(t, "was reopened while it was uninstalled", "kubectl akash-net install")
		do(0, bare.Kubeconfig, "install")
		do(0, bare.Kubeconfig, "reserve", host, "--lease", id.String())
		do(0, bare.Kubeconfig, "release", id.Group().String())
	}

	// A command that is announced and about to take its first claim is seen: the uninstall refuses, also by force.
	var refused sync.Once
	early := startProxyOf(t, bare.Config, nil)
	early.before = func(request string) {
		if request == "PATCH leases/"+host {
			refused.Do(func() {
				do(1, bare.Kubeconfig, "uninstall", "--force").Says(t, "is at work: nothing was removed", "Wait until it has ended")
			})
		}
	}
	do(0, early.kubeconfig, "apply", "-f", definition)
	do(0, bare.Kubeconfig, "release", id.Group().String())

	// The run has read everything, and the uninstall has counted, before the run is announced.
	counted, ended := make(chan struct{}), make(chan struct{})
	var removing, taking sync.Once
	uninstall := startProxyOf(t, bare.Config, nil)
	uninstall.before = func(request string) {
		if strings.HasPrefix(request, "DELETE ") {
			removing.Do(func() {
				close(counted)
				<-ended
			})
		}
	}
	var uninstalled result
	var work sync.WaitGroup
	late := startProxyOf(t, bare.Config, nil)
	late.before = func(request string) {
		if strings.HasPrefix(request, "PATCH leases/run--") {
			taking.Do(func() {
				work.Go(func() { uninstalled = runAs(t.Context(), uninstall.kubeconfig, "uninstall") })
				<-counted
			})
		}
	}
	r := runAs(t.Context(), late.kubeconfig, "apply", "-f", definition)
	close(ended)
	work.Wait()
	if r.Code != 1 || uninstalled.Code != 0 {
		t.Errorf("apply beside uninstall: %s%s", r, uninstalled)
	}
	r.Says(t, "is being uninstalled")
	left, err := dynamic.NewForConfigOrDie(bare.Config).Resource(ingresses).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("after the uninstall %d Ingresses are left (%v)", len(left.Items), err)
	}
}
