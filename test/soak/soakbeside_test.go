package soak_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Beside Akash's operators one provider leases addresses of one pool, in which MetalLB chooses.
const pooled = `apiVersion: net.akash.network/v1alpha1
kind: ProviderConfig
metadata: {name: provider}
spec:
  hosts: {wildcards: true}
  ip: {mode: pool, pool: soak}
`

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
	for number := range tenants {
		for d := range deployments {
			if err := akash.SendManifest(t.Context(), workload(tenant{number: number}, d+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	running, err := operators.Start(harness.Plane.Config, operators.Options{Pool: "soak", RetryDelay: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Stop)

	r := &report{soak: s}
	began := time.Now()
	ends := make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.restarts, r.downs = disturb(running, ends)
	}()
	s.work(length)
	close(ends)
	<-over
	r.took = time.Since(began)
	s.caughtUp = func() { caughtUp(t, running, akash) }
	s.end(r)
	r.write(t)
}

// beside gives the cluster the pool, the configuration, and the Deployments by which the operators are found.
func beside(t *testing.T) {
	t.Helper()
	settings := filepath.Join(harness.Plane.Dir, "pooled.yaml")
	if err := os.WriteFile(settings, []byte(pooled), 0o600); err != nil {
		t.Fatal(err)
	}
	make_(t, `{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: soak, namespace: metallb-system}, spec: {addresses: [10.98.0.0/24], autoAssign: false}}`)
	make_(t, `{apiVersion: v1, kind: Namespace, metadata: {name: akash-services}}`)
	for _, name := range []string{"operator-hostname", "operator-ip"} {
		make_(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: `+name+`, namespace: akash-services},
			spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: x}]}}}}`)
	}
	if out, err := command(t.Context(), "install", "--config", settings).CombinedOutput(); err != nil {
		t.Fatalf("install: %v\n%s", err, out)
	}
}

// make_ makes an object, as an administrator would.
func make_(t *testing.T, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	resource := o.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(o.GetKind()) + "s")
	if _, err := harness.Objects.Resource(resource).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
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

// disturb restarts the operators at random, and takes them down for a while, until it ends.
func disturb(running *operators.Operators, ends <-chan struct{}) (restarts, downs int) {
	random := rand.New(rand.NewPCG(24, 99))
	pause := func() bool {
		select {
		case <-ends:
			return false
		case <-time.After(time.Duration(1+random.IntN(4)) * time.Second):
			return true
		}
	}
	for pause() {
		if random.IntN(2) == 0 {
			restarts++
			running.Restart()
			continue
		}
		downs++
		running.Stop()
		pause()
		running.Restart()
	}
	return restarts, downs
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
	there := func(want bool) wait.ConditionWithContextFunc {
		return func(ctx context.Context) (bool, error) {
			_, err := harness.Objects.Resource(operators.Ingresses).Namespace(d.Lease.Namespace()).Get(ctx, host, metav1.GetOptions{})
			if err == nil || apierrors.IsNotFound(err) {
				found, e := harness.Objects.Resource(operators.Services).Namespace(d.Lease.Namespace()).List(ctx, metav1.ListOptions{LabelSelector: lease.LabelServiceTarget})
				if e != nil {
					return false, e
				}
				return (err == nil) == want && (len(found.Items) > 0) == want, nil
			}
			return false, err
		}
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, there(true)); err != nil {
		t.Fatalf("the operators do not catch up: %v; %v", err, running.Errors())
	}
	if err := akash.PurgeDeclaredHostnames(t.Context(), d.Lease); err != nil {
		t.Fatal(err)
	}
	if err := harness.Objects.Resource(operators.LeasedIPs).Namespace("lease").Delete(t.Context(), key+"-tcp-7000", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, there(false)); err != nil {
		t.Fatalf("the operators do not catch up: %v; %v", err, running.Errors())
	}
}
