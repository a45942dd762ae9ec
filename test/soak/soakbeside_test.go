package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The same beside doubles of Akash's hostname operator and IP operator, which are restarted and down in
// between: what they make, and what they leave, is theirs, and no live route goes that nobody has asked to go.
//
// What it looks for takes minutes of restarts and kills to come about, so the quick tests leave it out.
func TestSoakBesideOperators(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		t.Skip("only at length: make soak")
	}
	beside(t)
	length, tenants := size(t, 4*time.Second, 6, 20)
	s := newSoak(t, tenants, true)
	akash, err := operators.NewProvider(harness.Plane.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	for n := range tenants * deployments {
		if err := akash.SendManifest(t.Context(), workload(tenant{number: n / deployments}, n%deployments+1)); err != nil {
			t.Fatal(err)
		}
	}
	running, err := operators.Start(harness.Plane.Config, operators.Options{Pool: "soak", RetryDelay: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Stop)

	ends, over := make(chan struct{}), make(chan string)
	go func() { over <- disturb(running, ends) }()
	s.work(length)
	close(ends)
	disturbed := <-over
	s.caughtUp = func() { caughtUp(t, running, akash) }
	s.end(disturbed)
}

// beside gives the cluster a pool in which MetalLB chooses the addresses, the configuration, and the Deployments by which the operators are found.
func beside(t *testing.T) {
	t.Helper()
	put := func(resource schema.GroupVersionResource, text string) { harness.Create(t, "admin", resource, text) }
	put(kinds.IPAddressPool.Resource(), `{apiVersion: metallb.io/v1beta1, kind: IPAddressPool,
		metadata: {name: soak, namespace: metallb-system}, spec: {addresses: [10.98.0.0/24], autoAssign: false}}`)
	put(operators.Namespaces, `{apiVersion: v1, kind: Namespace, metadata: {name: akash-services}}`)
	deployed := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	for _, name := range []string{"operator-hostname", "operator-ip"} {
		put(deployed, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: `+name+`, namespace: akash-services},
			spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: x}]}}}}`)
	}
	harness.Run(t.Context(), "install", "--config", harness.Configure(t, "hosts: {wildcards: true}", "ip: {mode: pool, pool: soak}")).Exits(t, 0)
}

// workload is what a tenant's manifest says: every service and port that its definitions may name.
func workload(t tenant, deployment int) operators.Deployment {
	web := []operators.Expose{{Port: 8080, As: 80, Protocol: "TCP", Global: true}}
	d := operators.Deployment{
		Lease:    lease.ID{Owner: t.owner(), DSeq: uint64(deployment), GSeq: 1, OSeq: 1, Provider: provider},
		Services: []operators.Service{{Name: "web0", Expose: web}, {Name: "web1", Expose: web}, {Name: "game"}},
	}
	for port := range uint16(firstPorts + 1) {
		for _, protocol := range []string{"TCP", "UDP"} {
			d.Services[2].Expose = append(d.Services[2].Expose, operators.Expose{Port: 9000, As: firstPort + port, Protocol: protocol, Global: true})
		}
	}
	return d
}

// disturb restarts the operators at random, and takes them down for a while, until it ends. It says what it did.
func disturb(running *operators.Operators, ends <-chan struct{}) string {
	random, restarts, downs := rand.New(rand.NewPCG(24, 99)), 0, 0
	pause := func() bool {
		select {
		case <-ends:
			return false
		case <-time.After(time.Duration(1+random.IntN(4)) * time.Second):
			return true
		}
	}
	for pause() {
		if restarts++; random.IntN(2) == 0 {
			downs++
			running.Stop()
			pause()
		}
		running.Restart()
	}
	return fmt.Sprintf("Beside doubles of Akash's operators, which were restarted %d times, and down %d times before.", restarts, downs)
}

// caughtUp starts the operators anew, and waits until they have done all that there is to do: they take
// one thing after the other, and this comes last.
func caughtUp(t *testing.T, running *operators.Operators, akash operators.Provider) {
	t.Helper()
	running.Restart()
	d := workload(tenant{number: 99}, 99)
	host, key := "zz.last.example.com", "zz-ip-last"
	for _, err := range []error{
		akash.SendManifest(t.Context(), d),
		akash.DeclareHostname(t.Context(), d.Lease, host, "web0", 80),
		akash.DeclareIP(t.Context(), d.Lease, "game", 9000, firstPort, "TCP", key, true),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	there := func(want bool) {
		t.Helper()
		harness.Eventually(t, "the operators catch up", func(context.Context) (bool, error) {
			services := harness.List(t, operators.Services, lease.LabelServiceTarget+","+lease.LabelOwner+"="+d.Lease.Owner)
			return (harness.Find(t, operators.Ingresses, d.Lease.Namespace(), host) != nil) == want && (len(services) > 0) == want, nil
		})
	}
	there(true)
	if err := akash.PurgeDeclaredHostnames(t.Context(), d.Lease); err != nil {
		t.Fatal(err)
	}
	harness.Remove(t, operators.LeasedIPs, "lease", key+"-tcp-7000")
	there(false)
}
