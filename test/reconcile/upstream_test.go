package reconcile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The tests of Akash's hostname operator (provider: operator/hostname/operator_test.go) and of its IP operator (operator/ip/operator_test.go),
// by the numbers in the issues, for a reconciler that does what these operators do. The operators' HTTP is tested beside this.

// deploy writes the Manifest of a lease with exposes, as Akash's provider does, in place of a former one.
func deploy(t *testing.T, id lease.ID, service string, exposes ...string) {
	t.Helper()
	labels, err := json.Marshal(id.Labels())
	if err != nil {
		t.Fatal(err)
	}
	o := harness.Parse(t, fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: Manifest,
		metadata: {name: %s, namespace: lease, labels: %s},
		spec: {lease_id: {owner: %s, dseq: "%d", gseq: 1, oseq: %d, provider: %s},
		group: {name: dcloud, services: [{name: %s, image: nginx, count: 1, expose: [%s]}]}}}`,
		id.Namespace(), labels, id.Owner, id.DSeq, id.OSeq, id.Provider, service, strings.Join(exposes, ", ")))
	if before := harness.Find(t, kinds.Manifest.Resource(), "lease", id.Namespace()); before != nil {
		o.SetResourceVersion(before.GetResourceVersion())
		harness.Update(t, "provider-services", kinds.Manifest.Resource(), o)
		return
	}
	text, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	harness.Create(t, "provider-services", kinds.Manifest.Resource(), string(text))
	t.Cleanup(func() {
		err := harness.Objects.Resource(kinds.Manifest.Resource()).Namespace("lease").Delete(context.WithoutCancel(t.Context()), id.Namespace(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

// serves is the expose of a host.
func serves(host, options string) string {
	return fmt.Sprintf(`{port: 8080, external_port: 80, proto: TCP, global: true, hosts: [%s]%s}`, host, options)
}

// leased is the expose of a port of the IP endpoint "public".
func leased(port, external int, protocol string) string {
	return fmt.Sprintf(`{port: %d, external_port: %d, proto: %s, global: true, ip: public, endpoint_sequence_number: 1}`, port, external, protocol)
}

// backend is where an Ingress leads: its service and port.
func backend(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	paths, _, _ := unstructured.NestedSlice(rules[0].(map[string]any), "http", "paths")
	service, _, _ := unstructured.NestedMap(paths[0].(map[string]any), "backend", "service")
	port, _, _ := unstructured.NestedInt64(service, "port", "number")
	return fmt.Sprint(service["name"], ":", port)
}

// options are the nginx annotations of an Ingress.
func options(o *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for name, value := range o.GetAnnotations() {
		if short, ok := strings.CutPrefix(name, "nginx.ingress.kubernetes.io/proxy-"); ok {
			out[short] = value
		}
	}
	return out
}

// Leases follow the Manifests in the cluster. All share one reconciler, which nothing else may be beside that follows Manifests.
func TestUpstream(t *testing.T) {
	t.Parallel()
	config := harness.Configure(t, "ip: {ranges: [10.98.0.0/24]}")
	args := []string{"--from-cluster", "--allow-empty", "--max-deletes=100", "--leader-elect=false", "--config", config}
	w := watch(t, append(args, "--resync=1s")...)
	stays := harness.LeaseOf(harness.NewOwner(t), 1)
	deploy(t, stays, "web", serves(harness.NewHost("stays"), ""))
	t.Run("hosts", func(t *testing.T) { upstreamHosts(t, w) })
	t.Run("addresses", func(t *testing.T) { upstreamAddresses(t, w) })
	t.Run("IP-5", func(t *testing.T) {
		id := harness.LeaseOf(harness.NewOwner(t), 1)
		deploy(t, id, "game", leased(101, 100, "UDP"))
		has(t, id, "game-ip-100-udp", true)
		w.Says(t, id.Group().String()+" is applied")
		w.Stops(t)
		harness.Remove(t, kinds.Service.Resource(), id.Namespace(), "game-ip-100-udp")
		again := watch(t, args...)
		has(t, id, "game-ip-100-udp", true)
		again.Stops(t)
	})
	// Where there is no Manifest at all, they may be elsewhere: a lease is over once its namespace goes, too. Who heals leases brings back
	// neither that nor what serves, and releases it; nor does it heal what the tenant has changed since.
	owner := harness.NewOwner(t)
	ends, host := harness.LeaseOf(owner, 1), harness.NewHost("last")
	changes, dropped := harness.LeaseOf(owner, 2), harness.NewHost("dropped")
	deploy(t, ends, "web", serves(host, ""))
	deploy(t, changes, "web", serves(dropped, ""))
	reconciles := func(how string) {
		t.Helper()
		harness.RunAs(t.Context(), reconciler, "reconcile", how, "--config", config).Exits(t, 0)
	}
	reconciles("--from-cluster")
	deploy(t, changes, "web", serves(harness.NewHost("kept"), ""))
	route(t, changes, dropped)
	harness.Remove(t, kinds.Ingress.Resource(), changes.Namespace(), dropped)
	reconciles("--heal")
	routed(t, changes, dropped, false)
	for _, id := range []lease.ID{stays, ends, changes} {
		harness.Remove(t, kinds.Manifest.Resource(), "lease", id.Namespace())
	}
	reconciles("--from-cluster")
	reconciles("--heal")
	routed(t, ends, host, true)
	harness.Remove(t, cluster.Namespaces, "", ends.Namespace())
	reconciles("--heal")
	if o := harness.Find(t, cluster.Namespaces, "", ends.Namespace()); o != nil && o.GetDeletionTimestamp() == nil {
		t.Error("the namespace of a lease that is over was made again")
	}
	if harness.Find(t, cluster.Leases, "akash-net", host) != nil {
		t.Error("a lease that is over holds its host")
	}
}

// has waits until a Service is there, or is not.
func has(t *testing.T, id lease.ID, name string, want bool) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("whether Service %s is there is to be %t", name, want), func(context.Context) (bool, error) {
		return (harness.Find(t, kinds.Service.Resource(), id.Namespace(), name) != nil) == want, nil
	})
}

func upstreamHosts(t *testing.T, w *harness.Process) {
	t.Run("HO-1", func(t *testing.T) {
		t.Parallel()
		id, host := harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("plain")
		deploy(t, id, "web", serves(host, ""))
		routed(t, id, host, true)
		o := route(t, id, host)
		want := map[string]string{"read-timeout": "60", "send-timeout": "60", "body-size": "1048576", "next-upstream": "error timeout", "next-upstream-tries": "3", "next-upstream-timeout": "0"}
		if diff := cmp.Diff(want, options(o)); diff != "" || backend(t, o) != "web:80" {
			t.Errorf("it leads to %s; (-want +got):\n%s", backend(t, o), diff)
		}
		if at, ok := lease.IDFromLabels(o.GetLabels()); !ok || at != id {
			t.Errorf("its labels name %v", at)
		}
	})
	t.Run("HO-2", func(t *testing.T) {
		t.Parallel()
		id, host := harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("options")
		deploy(t, id, "web", serves(host, `, http_options: {max_body_size: 1, read_timeout: 2000, send_timeout: 3000, next_tries: 4, next_timeout: 5000, next_cases: ["off"]}`))
		routed(t, id, host, true)
		want := map[string]string{"read-timeout": "2", "send-timeout": "3", "body-size": "1", "next-upstream": "off", "next-upstream-tries": "4", "next-upstream-timeout": "5"}
		if diff := cmp.Diff(want, options(route(t, id, host))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("HO-4", func(t *testing.T) {
		t.Parallel()
		id, host := harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("ends")
		deploy(t, id, "web", serves(host, ""))
		routed(t, id, host, true)
		harness.Remove(t, kinds.Manifest.Resource(), "lease", id.Namespace())
		routed(t, id, host, false)
		released(t, id)
	})
	t.Run("HO-5", func(t *testing.T) {
		id, host := harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("kept")
		deploy(t, id, "web", serves(host, ""))
		routed(t, id, host, true)
		allow := harness.Refuse(t, ingresses, "DELETE", "oldObject.metadata.name != '"+host+"'", "this route stays for now")
		harness.Eventually(t, "deletes are to be refused", func(ctx context.Context) (bool, error) {
			return harness.Kubectl(ctx, "", nil, "-n", id.Namespace(), "delete", "ingress", host, "--dry-run=server") != nil, nil
		})
		harness.Remove(t, kinds.Manifest.Resource(), "lease", id.Namespace())
		w.Says(t, "this route stays for now")
		if route(t, id, host) == nil || harness.Find(t, cluster.Leases, "akash-net", host) == nil {
			t.Error("the host is given up, though its route is there")
		}
		allow()
		routed(t, id, host, false)
		released(t, id)
	})
	t.Run("HO-10", func(t *testing.T) {
		t.Parallel()
		id, host := harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("chosen")
		deploy(t, id, "web", `{port: 3125, external_port: 3125, proto: TCP, global: false}`, `{port: 31211, external_port: 31211, proto: UDP, global: true}`,
			`{port: 22, external_port: 22, proto: TCP, global: true}`, `{port: 3321, external_port: 80, proto: TCP, global: true, hosts: [`+host+`]}`)
		routed(t, id, host, true)
		spec, _, _ := unstructured.NestedMap(harness.Need(t, kinds.ProviderHost.Resource(), "lease", host).Object, "spec")
		if to := backend(t, route(t, id, host)); to != "web:80" || spec["external_port"] != int64(80) || spec["service_name"] != "web" {
			t.Errorf("the route leads to %s, the ProviderHost is %v", to, spec)
		}
	})
	t.Run("HO-11", func(t *testing.T) {
		t.Parallel()
		owner, host := harness.NewOwner(t), harness.NewHost("moves")
		first, second := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2)
		deploy(t, first, "web", serves(host, ""))
		routed(t, first, host, true)
		deploy(t, second, "other", strings.Replace(serves(host, ""), "8080", "9090", 1))
		w.Says(t, host+" withheld")
		deploy(t, first, "web", serves(harness.NewHost("another"), ""))
		routed(t, second, host, true)
		routed(t, first, host, false)
		if to := backend(t, route(t, second, host)); to != "other:80" {
			t.Errorf("it leads to %s", to)
		}
	})
	// One that cannot be read keeps its lease as it is, and no other one from its end.
	t.Run("unreadable", func(t *testing.T) {
		t.Parallel()
		id, other, host, gone := harness.LeaseOf(harness.NewOwner(t), 1), harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("stays"), harness.NewHost("gone")
		deploy(t, id, "web", serves(host, ""))
		deploy(t, other, "web", serves(gone, ""))
		routed(t, id, host, true)
		routed(t, other, gone, true)
		deploy(t, id, "web", serves("UPPER."+host, ""))
		w.Says(t, "is not lower case")
		harness.Remove(t, kinds.Manifest.Resource(), "lease", other.Namespace())
		routed(t, other, gone, false)
		routed(t, id, host, true)
		harness.Remove(t, kinds.Manifest.Resource(), "lease", id.Namespace())
		released(t, id)
	})
}

// finalize ends a namespace, as the controller does that does not run here.
func finalize(t *testing.T, namespace string) {
	t.Helper()
	core, err := kubernetes.NewForConfig(harness.Plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	going, err := core.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	if err == nil {
		going.Spec.Finalizers = nil
		_, err = core.CoreV1().Namespaces().Finalize(t.Context(), going, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func upstreamAddresses(t *testing.T, w *harness.Process) {
	services, ports := kinds.Service.Resource(), kinds.ProviderLeasedIP.Resource()
	declaredAs := func(id lease.ID, protocol string, port int) string {
		return strings.ToLower(fmt.Sprintf("%s-%s-%d", lease.SharingKey(id.Owner, "public"), protocol, port))
	}
	t.Run("IP-1", func(t *testing.T) {
		t.Parallel()
		id := harness.LeaseOf(harness.NewOwner(t), 1)
		deploy(t, id, "aservice", leased(10000, 10001, "TCP"))
		has(t, id, "aservice-ip-10001-tcp", true)
		w.Says(t, id.Group().String()+" is applied")
		o := harness.Need(t, services, id.Namespace(), "aservice-ip-10001-tcp")
		spec, _, _ := unstructured.NestedMap(o.Object, "spec")
		port := spec["ports"].([]any)[0].(map[string]any)
		selector, _ := spec["selector"].(map[string]any)
		if port["port"] != int64(10001) || port["targetPort"] != int64(10000) || port["protocol"] != "TCP" || selector[lease.LabelService] != "aservice" ||
			o.GetAnnotations()["metallb.universe.tf/allow-shared-ip"] != lease.SharingKey(id.Owner, "public") {
			t.Errorf("%v %v %v", port, selector, o.GetAnnotations())
		}
		other := harness.LeaseOf(harness.NewOwner(t), 1) // everything was decided anew when it has its Service
		deploy(t, other, "other", leased(10000, 10001, "TCP"))
		has(t, other, "other-ip-10001-tcp", true)
		if again := harness.Need(t, services, id.Namespace(), "aservice-ip-10001-tcp"); again.GetUID() != o.GetUID() || again.GetResourceVersion() != o.GetResourceVersion() {
			t.Error("the Service was written more than once")
		}
	})
	t.Run("IP-2", func(t *testing.T) {
		t.Parallel()
		id := harness.LeaseOf(harness.NewOwner(t), 1)
		deploy(t, id, "game", leased(1, 7001, "UDP"))
		has(t, id, "game-ip-7001-udp", true)
		deploy(t, id, "game", leased(1, 7001, "UDP"), leased(2, 7002, "UDP"))
		has(t, id, "game-ip-7002-udp", true)
	})
	t.Run("IP-3", func(t *testing.T) {
		t.Parallel()
		id := harness.LeaseOf(harness.NewOwner(t), 1)
		deploy(t, id, "game", leased(1, 7001, "UDP"))
		has(t, id, "game-ip-7001-udp", true)
		harness.Remove(t, kinds.Manifest.Resource(), "lease", id.Namespace())
		has(t, id, "game-ip-7001-udp", false)
		released(t, id)
		if harness.Find(t, ports, "lease", declaredAs(id, "UDP", 7001)) != nil {
			t.Error("the ProviderLeasedIP is left")
		}
	})
	// Akash's operator gives a lease up that has failed a hundred times. Here it is tried until it succeeds, and fails alone.
	t.Run("IP-4", func(t *testing.T) {
		t.Parallel()
		id, other := harness.LeaseOf(harness.NewOwner(t), 1), harness.LeaseOf(harness.NewOwner(t), 1)
		harness.Create(t, "test", kinds.Namespace.Resource(), fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, id.Namespace()))
		harness.Remove(t, kinds.Namespace.Resource(), "", id.Namespace()) // nothing finalizes it here: it stays as it is
		deploy(t, id, "game", leased(1, 7001, "UDP"))
		w.Says(t, "lease "+id.Group().String()+": ")
		deploy(t, other, "game", leased(1, 7001, "UDP"))
		has(t, other, "game-ip-7001-udp", true)
		finalize(t, id.Namespace())
		has(t, id, "game-ip-7001-udp", true)
	})
}
