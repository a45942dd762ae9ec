// Package adopt goes through docs/adopt.md on a cluster that a double of Akash's provider and operators has filled.
package adopt

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, harness.Setup{Controllers: true, MetalLB: true, Binary: true, Then: func(ctx context.Context) error {
		return harness.Kubectl(ctx, akashs, nil, "create", "-f", "-")
	}}))
}

// akashs is what is there before the ledger: the operators' Deployments, the ingress controller's class, and the pool of leased
// addresses.
const akashs = `{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: akash-ingress-class}, spec: {controller: k8s.io/ingress-nginx}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: akash-services}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: lease}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: operator-hostname, namespace: akash-services},
 spec: {selector: {matchLabels: {app: hostname}}, template: {metadata: {labels: {app: hostname}}, spec: {containers: [{name: x, image: x}]}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: operator-ip, namespace: akash-services},
 spec: {selector: {matchLabels: {app: ip}}, template: {metadata: {labels: {app: ip}}, spec: {containers: [{name: ip, image: ip}]}}}}
---
{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: default, namespace: metallb-system}, spec: {addresses: [10.77.0.0/28]}}
---
{apiVersion: metallb.io/v1beta1, kind: L2Advertisement, metadata: {name: l2advertisement, namespace: metallb-system}, spec: {ipAddressPools: [default]}}
`

// A provider adopts the ledger and goes back, by the commands of the page. No live route and no live Service is deleted,
// leases come and go at each step, and at the end Akash's operators do all that they did.
func TestAdoptAndGoBack(t *testing.T) {
	a := newAdoption(t)
	first, second := harness.NewOwner(t), harness.NewOwner(t)
	shop, blog := a.deploys(first, 1, "shop"), a.deploys(second, 1, "blog")
	a.live("at the beginning", shop, blog)

	a.types("look")
	a.types("beside")
	a.held(shop, blog)
	a.live("beside the operators", shop, blog)
	wiki := a.deploys(first, 2, "wiki")
	a.live("a lease comes beside the operators", wiki)

	a.types("instead")
	a.held(shop, blog, wiki)
	news := a.deploys(second, 2, "news")
	a.command("kubectl akash-net reconcile --from-cluster")
	a.live("in place of the operators", shop, blog, wiki, news)

	a.types("back")
	a.live("back beside the operators", shop, blog, wiki, news)
	a.running.Restart()
	a.live("after a restart of the operators", shop, blog, wiki, news)
	a.command("kubectl akash-net state --problems")
	a.running.Restart()
	a.live("after a restart of the operators", shop, blog, wiki, news)
	a.command("kubectl akash-net state --problems")
	a.ends(news)

	a.types("unclaim")
	a.live("without the ledger", shop, blog, wiki)
	mail := a.deploys(first, 3, "mail")
	a.live("a lease comes after all", shop, blog, wiki, mail)
	a.ends(mail)
	a.ends(shop)
	if errs := a.running.Errors(); len(errs) > 0 {
		t.Errorf("the operators' loops ended: %v", errs)
	}
	if ignored := a.running.Ignored(); len(ignored) > 0 {
		t.Errorf("the operators ignore %v", ignored)
	}
}

// adoption is a provider that adopts the ledger.
type adoption struct {
	*testing.T
	running *operators.Operators
	akash   operators.Provider
	page    string
	// uids are those of what serves, by resource, namespace and name.
	uids map[string]string

	mu sync.Mutex
	// ending are the namespaces of leases that the provider has ended, where deletes are right.
	ending map[string]bool
	// deleted is what was deleted elsewhere.
	deleted []string
}

func newAdoption(t *testing.T) *adoption {
	t.Helper()
	root, err := programs.Root()
	must(t, err)
	// Akash's chart has brought its resource definitions.
	must(t, harness.Plane.InstallCRDs(filepath.Join(root, "manifests", "crds")))
	page, err := os.ReadFile(filepath.Join(root, "docs", "adopt.md"))
	must(t, err)
	a := &adoption{T: t, page: string(page), uids: map[string]string{}, ending: map[string]bool{}}
	a.running, err = operators.Start(harness.Plane.Config, operators.Options{RetryDelay: 20 * time.Millisecond})
	must(t, err)
	t.Cleanup(a.running.Stop)
	a.akash, err = operators.NewProvider(harness.Plane.Config, "")
	must(t, err)
	for _, resource := range []schema.GroupVersionResource{operators.Ingresses, operators.Services} {
		w, err := harness.Objects.Resource(resource).Watch(t.Context(), metav1.ListOptions{LabelSelector: "akash.network=true"})
		must(t, err)
		t.Cleanup(w.Stop)
		go a.follow(resource.Resource, w)
	}
	return a
}

// follow notes what is deleted.
func (a *adoption) follow(resource string, w watch.Interface) {
	for event := range w.ResultChan() {
		o, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type != watch.Deleted {
			continue
		}
		a.mu.Lock()
		if !a.ending[o.GetNamespace()] {
			a.deleted = append(a.deleted, resource+" "+o.GetNamespace()+"/"+o.GetName())
		}
		a.mu.Unlock()
	}
}

// deploys lets the provider deploy a lease with a host and a leased port.
func (a *adoption) deploys(owner string, dseq uint64, name string) operators.Deployment {
	a.Helper()
	d := operators.Deployment{Lease: harness.LeaseOf(owner, dseq), Services: []operators.Service{{Name: "web", Expose: []operators.Expose{
		{Port: 8080, As: 80, Protocol: "TCP", Global: true, Hosts: []string{name + ".example.com"}},
		{Port: 8443, As: 443, Protocol: "TCP", Global: true, IP: name},
	}}}}
	must(a.T, a.akash.Deploy(a.Context(), d))
	return d
}

// serving is what serves a deployment: its route, and its Service with a granted address.
func (a *adoption) serving(ctx context.Context, d operators.Deployment) (map[string]string, error) {
	uids := map[string]string{}
	for _, w := range []struct {
		resource schema.GroupVersionResource
		name     string
	}{{operators.Ingresses, d.Services[0].Expose[0].Hosts[0]}, {operators.Services, "web-ip-443-tcp"}} {
		o, err := harness.Objects.Resource(w.resource).Namespace(d.Lease.Namespace()).Get(ctx, w.name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		granted := ""
		if w.resource == operators.Services {
			addresses, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress")
			if len(addresses) == 0 {
				return nil, fmt.Errorf("%s has no address", w.name)
			}
			granted = fmt.Sprint(addresses)
		}
		uids[w.resource.Resource+" "+d.Lease.Namespace()+"/"+w.name] = string(o.GetUID()) + granted
	}
	return uids, nil
}

// live waits until deployments are served, and fails the test if one has another route, Service or address than before, or
// if something was deleted.
func (a *adoption) live(when string, deployments ...operators.Deployment) {
	a.Helper()
	for _, d := range deployments {
		var now map[string]string
		harness.Eventually(a.T, when+": lease "+d.Lease.String()+" is served", func(ctx context.Context) (bool, error) {
			var err error
			now, err = a.serving(ctx, d)
			return err == nil, nil
		})
		for name, uid := range now {
			if before := a.uids[name]; before != "" && before != uid {
				a.Errorf("%s: %s was %s and is %s", when, name, before, uid)
			}
		}
		maps.Copy(a.uids, now)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, gone := range a.deleted {
		a.Errorf("%s: %s was deleted", when, gone)
	}
	a.deleted = nil
}

// ends lets the provider end a lease, and waits until the operators have removed what served it.
func (a *adoption) ends(d operators.Deployment) {
	a.Helper()
	a.mu.Lock()
	a.ending[d.Lease.Namespace()] = true
	a.mu.Unlock()
	must(a.T, a.akash.PurgeDeclaredHostnames(a.Context(), d.Lease))
	harness.Eventually(a.T, "the hostname operator removes the route of "+d.Lease.String(), func(ctx context.Context) (bool, error) {
		routes, err := harness.Objects.Resource(operators.Ingresses).Namespace(d.Lease.Namespace()).List(ctx, metav1.ListOptions{})
		return err == nil && len(routes.Items) == 0, err
	})
	must(a.T, a.akash.TeardownLease(a.Context(), d.Lease))
}

// held fails the test unless the owner of each deployment holds its host and its endpoint.
func (a *adoption) held(deployments ...operators.Deployment) {
	a.Helper()
	for _, d := range deployments {
		for _, thing := range []string{d.Services[0].Expose[0].Hosts[0], lease.SharingKey(d.Lease.Owner, d.Services[0].Expose[1].IP)} {
			if said := a.command("kubectl akash-net explain " + thing); !strings.Contains(said, " held by "+d.Lease.Group().String()) {
				a.Errorf("lease %s does not hold %s:\n%s", d.Lease, thing, said)
			}
		}
	}
}

// types carries out the blocks of the page that a word marks, as its reader does.
func (a *adoption) types(word string) {
	a.Helper()
	found := regexp.MustCompile("(?ms)^```sh "+word+"\n(.*?)^```$").FindAllStringSubmatch(a.page, -1)
	if len(found) == 0 {
		a.Fatalf("docs/adopt.md has no block %q", word)
	}
	for _, block := range found {
		for line := range strings.Lines(block[1]) {
			a.command(strings.TrimSpace(line))
		}
	}
}

// The Deployments of the operators run no pods here, so their double stops and starts for them. It is both operators.
var scales = regexp.MustCompile(`scale deployment operator-(hostname|ip) --replicas=(0|1)`)

// command runs a command of the page, which has to succeed, and returns what it prints.
func (a *adoption) command(line string) string {
	a.Helper()
	kubectl, err := programs.Path("kubectl")
	must(a.T, err)
	cmd := exec.CommandContext(a.Context(), "bash", "-c", line)
	cmd.Dir = a.TempDir()
	must(a.T, os.WriteFile(filepath.Join(cmd.Dir, "provider.yaml"), []byte("ip-operator: true\nmetal-lb-pool: default\n"), 0o600))
	cmd.Env = append(os.Environ(), "KUBECONFIG="+harness.Plane.Kubeconfig, "PATH="+harness.Binaries()+":"+filepath.Dir(kubectl)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	a.Logf("$ %s\n%s", line, out)
	if err != nil {
		a.Errorf("$ %s\n%s%v", line, out, err)
	}
	switch m := scales.FindStringSubmatch(line); {
	case m != nil && m[2] == "0":
		a.running.Stop()
	case m != nil && m[1] == "ip":
		a.running.Restart()
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
