package akash_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// workload is a deployment with hosts, and leased ports written as endpoint:protocol:port:service. It has all services
// that a test may lead something to: Akash refuses one that comes later.
func workload(id lease.ID, hosts []string, ports ...string) operators.Deployment {
	d := operators.Deployment{Lease: id, Services: []operators.Service{{Name: "web"}, {Name: "api"}, {Name: "dns"}, {Name: "names"}}}
	d.Services[0].Expose = []operators.Expose{{Port: 8080, As: 80, Protocol: "TCP", Global: true, Hosts: hosts}}
	for _, p := range ports {
		w := strings.Split(p, ":")
		port, err := strconv.ParseUint(w[2], 10, 16)
		if err != nil {
			panic(err) // the tests write it
		}
		s := service(d, w[3])
		s.Expose = append(s.Expose, operators.Expose{Port: 9000, As: uint16(port), Protocol: w[1], Global: true, IP: w[0]})
	}
	return d
}

// service is a service of a deployment.
func service(d operators.Deployment, name string) *operators.Service {
	return &d.Services[slices.IndexFunc(d.Services, func(s operators.Service) bool { return s.Name == name })]
}

// routedTo is the deployment with its hosts at another service.
func routedTo(d operators.Deployment, to string) operators.Deployment {
	web, s := service(d, "web"), service(d, to)
	if to != "web" {
		s.Expose, web.Expose = append(s.Expose, web.Expose[0]), web.Expose[1:]
	}
	return d
}

// accepts sets the hosts of a deployment.
func accepts(d operators.Deployment, hosts ...string) {
	for _, s := range d.Services {
		for i := range s.Expose {
			if s.Expose[i].As == 80 {
				s.Expose[i].Hosts = hosts
			}
		}
	}
}

// newFacts is a world whose operators are held against what is known of the real ones.
func newFacts(t *testing.T, o operators.Options) *world {
	t.Parallel()
	return newWorld(t, o, "{}")
}

// stops waits until a loop of the operators has ended with an error, and fails the test where it has ended more than n times.
func (w *world) stops(says string, n int) {
	w.Helper()
	var errs []error
	eventually(w.T, says, func() bool { errs = append(errs, w.running.Errors()...); return len(errs) >= n })
	if len(errs) > n && n > 1 || !strings.Contains(errs[0].Error(), says) {
		w.Errorf("the loops ended with %v", errs)
	}
}

// patched adds to an object what its operator does not know.
func (w *world) patched(resource schema.GroupVersionResource, id lease.ID, name, patch string) {
	w.Helper()
	harness.Merge(w.T, resource, id.Namespace(), name, patch)
	w.running.Restart()
	eventually(w.T, "the operator writes it whole", func() bool {
		return !strings.Contains(fmt.Sprint(find(w.T, resource, id.Namespace(), name).Object), "ours")
	})
}

// The hostname operator makes a route of every ProviderHost, moves it, removes it, and sees nothing of
// what happens while it is down.
func TestFactsOfTheHostnameOperator(t *testing.T) {
	w := newFacts(t, operators.Options{})
	host, lost, later := newHost("facts"), newHost("lost"), newHost("later")
	must(t, w.akash.Deploy(t.Context(), workload(w.blue, []string{host})))
	must(t, w.akash.SendManifest(t.Context(), workload(w.green, []string{host})))
	w.routed(w.blue, host)
	route := find(t, operators.Ingresses, w.blue.Namespace(), host)
	if m := route.GetManagedFields(); len(m) != 1 || m[0].Manager != operators.Manager || m[0].Operation != metav1.ManagedFieldsOperationUpdate {
		t.Errorf("the route is managed by %v", m)
	}
	w.patched(operators.Ingresses, w.blue, host, `{"metadata": {"annotations": {"example.com/ours": "x"}, "labels": {"example.com/ours": "x"}}}`)
	if find(t, operators.Ingresses, w.blue.Namespace(), host).GetUID() != route.GetUID() {
		t.Error("the route is made anew")
	}
	must(t, w.akash.TransferHostname(t.Context(), w.green, host, "web", 80))
	w.routed(w.green, host)
	w.unrouted(w.blue, host)

	must(t, w.akash.DeclareHostname(t.Context(), w.blue, lost, "web", 80))
	w.routed(w.blue, lost)
	w.running.Stop()
	must(t, w.akash.PurgeDeclaredHostname(t.Context(), w.blue, lost))
	must(t, w.akash.PurgeDeclaredHostnames(t.Context(), w.green))
	w.running.Restart()
	must(t, w.akash.DeclareHostname(t.Context(), w.blue, later, "web", 80))
	w.routed(w.blue, later)
	if !w.has(operators.Ingresses, w.blue, lost) || !w.has(operators.Ingresses, w.green, host) {
		t.Error("a route that was purged while the operator was down is gone")
	}
	if errs := w.running.Errors(); len(errs) > 0 {
		t.Error(errs)
	}
}

// A lease without Manifest stops the operator, and is ignored after the third time until it is restarted.
func TestFactsOfALeaseWithoutManifest(t *testing.T) {
	w := newFacts(t, operators.Options{})
	host, second := newHost("early"), newHost("second")
	must(t, w.akash.DeclareHostname(t.Context(), w.blue, host, "web", 80))
	w.stops("resource not found: manifest", 3)
	eventually(t, "the lease is ignored", func() bool { return slices.Contains(w.running.Ignored(), w.blue) })
	must(t, w.akash.Deploy(t.Context(), workload(w.blue, []string{host})))
	must(t, w.akash.Deploy(t.Context(), workload(w.green, []string{second})))
	w.routed(w.green, second)
	if w.has(operators.Ingresses, w.blue, host) {
		t.Error("the ignored lease is routed")
	}
	w.running.Restart()
	w.routed(w.blue, host)
}

// labels are those of a lease, in YAML.
func labels(id lease.ID) string {
	var all []string
	for key, value := range id.Labels() {
		all = append(all, fmt.Sprintf("%s: %q", key, value))
	}
	return strings.Join(all, ", ")
}

// One labelled Ingress of another form stops the operator.
func TestFactsOfAnIngressOfAnotherForm(t *testing.T) {
	w := newFacts(t, operators.Options{})
	must(t, w.akash.SendManifest(t.Context(), workload(w.blue, nil)))
	harness.Create(t, "somebody", operators.Ingresses, fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress,
		metadata: {name: stray, namespace: %s, labels: {akash.network: "true", %s: %s}}, spec: {rules: [{host: a.example.org}]}}`, w.blue.Namespace(), lease.LabelOwner, w.owner))
	w.running.Restart()
	w.stops("connection is invalid", 1)
}

// In gateway mode routes are HTTPRoutes, and go by their name alone. One of several rules does not stop it.
func TestFactsOfGatewayMode(t *testing.T) {
	w := newFacts(t, operators.Options{Gateway: true})
	host := newHost("gateway")
	must(t, w.akash.Deploy(t.Context(), workload(w.blue, []string{host})))
	w.waits(operators.HTTPRoutes, w.blue, host, true)
	harness.Create(t, "somebody", operators.HTTPRoutes, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
		metadata: {name: two-rules, namespace: %s, labels: {%s}}, spec: {hostnames: [%s], rules: [
			{backendRefs: [{name: web, port: 80}]}, {matches: [{path: {value: /api}}], backendRefs: [{name: api, port: 80}]}]}}`, w.blue.Namespace(), labels(w.blue), newHost("rules")))
	w.running.Restart()
	must(t, w.akash.PurgeDeclaredHostnames(t.Context(), w.blue))
	w.waits(operators.HTTPRoutes, w.blue, host, false)
	if errs := w.running.Errors(); len(errs) > 0 {
		t.Errorf("the loop ended with %v", errs)
	}
}

// The IP operator makes a Service of every ProviderLeasedIP, keyed without the protocol, and leaves that
// of a former service name.
func TestFactsOfTheIPOperator(t *testing.T) {
	w := newFacts(t, operators.Options{})
	// After a restart the operator takes two Services of one port for one, and knows the one that is listed last.
	for w.green.Namespace() < w.blue.Namespace() {
		w.green.DSeq++
	}
	key := lease.SharingKey(w.owner, "public")
	must(t, w.akash.Deploy(t.Context(), workload(w.blue, nil, "public:TCP:53:dns", "public:UDP:54:dns")))
	must(t, w.akash.SendManifest(t.Context(), workload(w.green, nil)))
	w.waits(operators.Services, w.blue, "dns-ip-53-tcp", true)
	w.waits(operators.Services, w.blue, "dns-ip-54-udp", true)

	// A port that is declared is not declared again, unless it is overwritten.
	if err := w.akash.DeclareIP(t.Context(), w.green, "dns", 9000, 53, "TCP", key, false); err == nil {
		t.Error("a port is declared twice")
	}
	must(t, w.akash.DeclareIP(t.Context(), w.blue, "names", 9000, 53, "TCP", key, true))
	w.waits(operators.Services, w.blue, "names-ip-53-tcp", true)
	must(t, w.akash.DeclareIP(t.Context(), w.green, "names", 9000, 53, "TCP", key, true))
	w.waits(operators.Services, w.green, "names-ip-53-tcp", true)
	w.waits(operators.Services, w.blue, "names-ip-53-tcp", false)
	w.patched(operators.Services, w.green, "names-ip-53-tcp", `{"metadata": {"annotations": {"example.com/ours": "x", "metallb.universe.tf/loadBalancerIPs": "192.0.2.1"}}}`)

	// One call for one port deletes them all. The Service of the former name stays.
	must(t, w.akash.PurgeDeclaredIP(t.Context()))
	eventually(t, "all ports go", func() bool { return len(list(t, operators.Services, lease.LabelOwner+"="+w.owner)) == 1 })
	if !w.has(operators.Services, w.blue, "dns-ip-53-tcp") {
		t.Error("the Service of the former name is gone")
	}
}

// A Service that the IP operator does not know is written over; a namespace that is gone ends its loop until the lease
// is ignored.
func TestFactsOfServicesInTheWay(t *testing.T) {
	w := newFacts(t, operators.Options{})
	key := lease.SharingKey(w.owner, "public")
	must(t, w.akash.SendManifest(t.Context(), workload(w.blue, nil)))
	harness.Create(t, "somebody", operators.Services, fmt.Sprintf(`{apiVersion: v1, kind: Service,
		metadata: {name: web-ip-443-tcp, namespace: %s, labels: {akash.network/service-target: metal-lb, %s}, annotations: {metallb.universe.tf/allow-shared-ip: %s}},
		spec: {type: LoadBalancer, selector: {akash.network/manifest-service: web}, ports: [{port: 443, protocol: TCP}]}}`, w.blue.Namespace(), labels(w.blue), key))
	must(t, w.akash.DeclareIP(t.Context(), w.blue, "web", 8443, 443, "TCP", key, false))
	eventually(t, "the Service becomes the operator's", func() bool {
		port, _, _ := unstructured.NestedSlice(find(t, operators.Services, w.blue.Namespace(), "web-ip-443-tcp").Object, "spec", "ports")
		return port[0].(map[string]any)["targetPort"] == int64(8443)
	})
	if errs := w.running.Errors(); len(errs) != 0 {
		t.Errorf("the loop ended with %v", errs)
	}
	must(t, w.akash.DeclareIP(t.Context(), w.green, "web", 8443, 444, "TCP", key, false))
	w.stops(fmt.Sprintf("namespaces %q not found", w.green.Namespace()), 3)
	eventually(t, "the lease without namespace is ignored", func() bool { return slices.Contains(w.running.Ignored(), w.green) })
}

// A port that goes to another lease while the IP operator is down leaves the former lease's Service: what the operator
// restores from a Service has no protocol, so it deletes another name. While it runs, TCP and UDP of a port have one entry in its state: who
// comes second purges the Service of the first.
func TestFactsOfPortsThatMove(t *testing.T) {
	w := newFacts(t, operators.Options{})
	must(t, w.akash.Deploy(t.Context(), workload(w.blue, nil, "public:TCP:443:web", "public:TCP:53:dns")))
	must(t, w.akash.SendManifest(t.Context(), workload(w.green, nil, "public:UDP:53:dns")))
	w.waits(operators.Services, w.blue, "web-ip-443-tcp", true)
	w.waits(operators.Services, w.blue, "dns-ip-53-tcp", true)
	must(t, w.akash.DeclareIP(t.Context(), w.green, "dns", 9000, 53, "UDP", lease.SharingKey(w.owner, "public"), false))
	w.waits(operators.Services, w.green, "dns-ip-53-udp", true)
	w.waits(operators.Services, w.blue, "dns-ip-53-tcp", false)
	w.running.Stop()
	must(t, w.akash.DeclareIP(t.Context(), w.green, "web", 9000, 443, "TCP", lease.SharingKey(w.owner, "public"), true))
	w.running.Restart()
	w.waits(operators.Services, w.green, "web-ip-443-tcp", true)
	if !w.has(operators.Services, w.blue, "web-ip-443-tcp") {
		t.Error("the Service of the former lease is gone")
	}
}

// What an operator reads is in the spec. One object with a wrong address ends the list, and so the work for all tenants;
// one that comes while it watches is passed over.
func TestFactsOfWrongAddresses(t *testing.T) {
	w := newFacts(t, operators.Options{})
	wrong := w.green
	wrong.Provider = wrong.Provider[:len(wrong.Provider)-1] + "q"
	bad, host, unlabelled, named := newHost("bad"), newHost("good"), newHost("unlabelled"), newHost("named")
	must(t, w.akash.DeclareHostname(t.Context(), wrong, bad, "web", 80))
	must(t, w.akash.Deploy(t.Context(), workload(w.blue, []string{host})))
	w.routed(w.blue, host)
	if errs := w.running.Errors(); len(errs) > 0 {
		t.Errorf("the loop ended with %v", errs)
	}
	w.running.Restart()
	w.stops("decoding bech32 failed", 1)

	// Labels and name are not looked at.
	harness.Remove(t, operators.Hosts, manifests, bad)
	harness.Create(t, "somebody", operators.Hosts, fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: ProviderHost, metadata: {name: %s, namespace: %s},
		spec: {owner: %s, provider: %s, hostname: %s, dseq: 1, gseq: 1, oseq: 1, service_name: web, external_port: 80}}`, unlabelled, manifests, w.owner, harness.Provider, named))
	w.routed(w.blue, named)
	harness.Remove(t, operators.Hosts, manifests, unlabelled)
}

// The HTTP options are those of the Manifest; the operator's own where it has none.
func TestFactsOfHTTPOptions(t *testing.T) {
	w := newFacts(t, operators.Options{})
	for name, test := range map[string]struct {
		options *operators.HTTPOptions
		want    map[string]string
	}{
		"none in the SDL":   {nil, map[string]string{"body-size": "1048576", "read-timeout": "60", "next-upstream-timeout": "0", "next-upstream": "error timeout"}},
		"none in the older": {&operators.HTTPOptions{}, map[string]string{"body-size": "1048576", "next-upstream-timeout": "60"}},
		"some": {&operators.HTTPOptions{MaxBodySize: 1000, ReadTimeout: 1001, SendTimeout: 500, NextTries: 5, NextTimeout: 1, NextCases: []string{"error", "500"}},
			map[string]string{"body-size": "1000", "read-timeout": "2", "send-timeout": "1", "next-upstream-tries": "5", "next-upstream-timeout": "1", "next-upstream": "error http_500"}},
	} {
		host := newHost("options")
		w.blue.DSeq += 100
		d := workload(w.blue, []string{host})
		d.Services[0].Expose[0].HTTP = test.options
		must(t, w.akash.Deploy(t.Context(), d))
		w.routed(d.Lease, host)
		got := find(t, operators.Ingresses, d.Lease.Namespace(), host).GetAnnotations()
		for field, value := range test.want {
			if got["nginx.ingress.kubernetes.io/proxy-"+field] != value {
				t.Errorf("%s: %s is %q, want %q", name, field, got["nginx.ingress.kubernetes.io/proxy-"+field], value)
			}
		}
	}
}

// The provider makes a Service of each workload, with labels of its own, purges what an update drops, and refuses other
// services than before.
func TestFactsOfTheProvider(t *testing.T) {
	w := newFacts(t, operators.Options{})
	stays, goes := newHost("stays"), newHost("goes")
	d := workload(w.blue, []string{stays, goes}, "public:TCP:443:web")
	must(t, w.akash.Deploy(t.Context(), d))
	for name, kind := range map[string]string{"web": "ClusterIP", "web-np": "NodePort"} {
		s := harness.Need(t, operators.Services, w.blue.Namespace(), name)
		if got, _, _ := unstructured.NestedString(s.Object, "spec", "type"); got != kind || s.GetLabels()[lease.LabelOwner] != "" || s.GetLabels()[lease.LabelService] != "web" {
			t.Errorf("service %s is a %s with the labels %v", name, got, s.GetLabels())
		}
	}
	accepts(d, stays)
	must(t, w.akash.Deploy(t.Context(), d))
	if find(t, operators.Hosts, manifests, goes) != nil || find(t, operators.Hosts, manifests, stays) == nil {
		t.Error("the hosts are not those of the update")
	}
	d.Services = d.Services[:2]
	if err := w.akash.Deploy(t.Context(), d); !errors.Is(err, operators.ErrRename) {
		t.Errorf("services are removed: %v", err)
	}
}
