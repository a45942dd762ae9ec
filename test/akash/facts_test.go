package akash_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

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

// The hostname operator makes a route of every ProviderHost, moves it, removes it, and sees nothing of
// what happens while it is down.
func TestFactsOfTheHostnameOperator(t *testing.T) {
	t.Parallel()
	owner, host, lost := newTenant(t), newHost("facts"), newHost("lost")
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	o, akash := start(t, operators.Options{Owner: owner})
	must(t, akash.Deploy(t.Context(), workload(blue, []string{host})))
	must(t, akash.SendManifest(t.Context(), workload(green, []string{host})))
	served := func(id lease.ID, host string) func() bool {
		return func() bool { return find(t, operators.Ingresses, id.Namespace(), host) != nil }
	}
	eventually(t, "the host is routed", served(blue, host))
	route := find(t, operators.Ingresses, blue.Namespace(), host)
	if m := route.GetManagedFields(); len(m) != 1 || m[0].Manager != operators.Manager || m[0].Operation != metav1.ManagedFieldsOperationUpdate {
		t.Errorf("the route is managed by %v", m)
	}

	// What others have added is gone after a restart.
	_, err := harness.Objects.Resource(operators.Ingresses).Namespace(blue.Namespace()).Patch(t.Context(), host, types.MergePatchType,
		[]byte(`{"metadata": {"annotations": {"example.com/ours": "x"}, "labels": {"example.com/ours": "x"}}}`), metav1.PatchOptions{})
	must(t, err)
	o.Restart()
	eventually(t, "the route is written whole", func() bool {
		now := find(t, operators.Ingresses, blue.Namespace(), host)
		return now.GetUID() == route.GetUID() && now.GetAnnotations()["example.com/ours"]+now.GetLabels()["example.com/ours"] == ""
	})

	must(t, akash.TransferHostname(t.Context(), green, host, "web", 80))
	eventually(t, "the route moves", func() bool { return served(green, host)() && !served(blue, host)() })

	must(t, akash.DeclareHostname(t.Context(), blue, lost, "web", 80))
	eventually(t, "the second host is routed", served(blue, lost))
	o.Stop()
	must(t, akash.PurgeDeclaredHostname(t.Context(), blue, lost))
	must(t, akash.PurgeDeclaredHostnames(t.Context(), green))
	o.Restart()
	must(t, akash.DeclareHostname(t.Context(), blue, newHost("later"), "web", 80))
	eventually(t, "the operator works again", func() bool {
		return len(list(t, operators.Ingresses, lease.LabelOwner+"="+owner)) == 3
	})
	if !served(blue, lost)() || !served(green, host)() {
		t.Error("a route that was purged while the operator was down is gone")
	}
	if errs := o.Errors(); len(errs) > 0 {
		t.Error(errs)
	}
}

// A lease without Manifest stops the operator, and is ignored after the third time until it is restarted.
func TestFactsOfALeaseWithoutManifest(t *testing.T) {
	t.Parallel()
	owner, host := newTenant(t), newHost("early")
	id := leaseOf(owner, 1)
	o, akash := start(t, operators.Options{Owner: owner})
	must(t, akash.DeclareHostname(t.Context(), id, host, "web", 80))
	var errs []error
	eventually(t, "the lease is ignored and the loop has ended three times", func() bool {
		errs = append(errs, o.Errors()...)
		return slices.Contains(o.Ignored(), id) && len(errs) >= 3
	})
	if len(errs) != 3 || !strings.Contains(errs[0].Error(), "resource not found: manifest") {
		t.Errorf("the loop ended with %v", errs)
	}
	must(t, akash.Deploy(t.Context(), workload(id, []string{host})))
	other := leaseOf(owner, 2)
	must(t, akash.Deploy(t.Context(), workload(other, []string{newHost("second")})))
	eventually(t, "another lease is routed", func() bool { return len(list(t, operators.Ingresses, lease.LabelOwner+"="+owner)) == 1 })
	if find(t, operators.Ingresses, id.Namespace(), host) != nil {
		t.Error("the ignored lease is routed")
	}
	o.Restart()
	eventually(t, "it is routed after a restart", func() bool { return find(t, operators.Ingresses, id.Namespace(), host) != nil })
}

// One labelled Ingress of another form stops the operator.
func TestFactsOfAnIngressOfAnotherForm(t *testing.T) {
	t.Parallel()
	owner := newTenant(t)
	id := leaseOf(owner, 1)
	o, akash := start(t, operators.Options{Owner: owner})
	must(t, akash.SendManifest(t.Context(), workload(id, nil)))
	_, err := harness.Objects.Resource(operators.Ingresses).Namespace(id.Namespace()).Create(t.Context(), parse(fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress,
		metadata: {name: stray, namespace: %s, labels: {akash.network: "true", %s: %s}}, spec: {rules: [{host: a.example.org}]}}`, id.Namespace(), lease.LabelOwner, owner)), metav1.CreateOptions{})
	must(t, err)
	o.Restart()
	eventually(t, "the loop ends", func() bool {
		return slices.ContainsFunc(o.Errors(), func(err error) bool { return strings.Contains(err.Error(), "connection is invalid") })
	})
}

// In gateway mode routes are HTTPRoutes, and go by their name alone.
func TestFactsOfGatewayMode(t *testing.T) {
	t.Parallel()
	owner, host := newTenant(t), newHost("gateway")
	id := leaseOf(owner, 1)
	o, akash := start(t, operators.Options{Owner: owner, Gateway: true})
	must(t, akash.Deploy(t.Context(), workload(id, []string{host})))
	eventually(t, "the host is routed", func() bool { return find(t, operators.HTTPRoutes, id.Namespace(), host) != nil })

	// One of several rules does not stop it.
	_, err := harness.Objects.Resource(operators.HTTPRoutes).Namespace(id.Namespace()).Create(t.Context(), parse(fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
		metadata: {name: two-rules, namespace: %s, labels: {%s}}, spec: {hostnames: [%s], rules: [
			{backendRefs: [{name: web, port: 80}]}, {matches: [{path: {value: /api}}], backendRefs: [{name: api, port: 80}]}]}}`,
		id.Namespace(), fmt.Sprintf(`akash.network: "true", %s: %s, %s: "1", %s: "1", %s: "1", %s: %s`, lease.LabelOwner, owner, lease.LabelDSeq, lease.LabelGSeq, lease.LabelOSeq, lease.LabelProvider, harness.Provider),
		newHost("rules"))), metav1.CreateOptions{})
	must(t, err)
	o.Restart()
	must(t, akash.PurgeDeclaredHostnames(t.Context(), id))
	eventually(t, "the route goes", func() bool { return find(t, operators.HTTPRoutes, id.Namespace(), host) == nil })
	if errs := o.Errors(); len(errs) > 0 {
		t.Errorf("the loop ended with %v", errs)
	}
}

// The IP operator makes a Service of every ProviderLeasedIP, keyed without the protocol, and leaves that
// of a former service name.
func TestFactsOfTheIPOperator(t *testing.T) {
	t.Parallel()
	owner := newTenant(t)
	// After a restart the operator takes two Services of one port for one, and knows the one that is listed last.
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	for green.Namespace() < blue.Namespace() {
		green.DSeq++
	}
	moved := fmt.Sprintf("%d names-ip-53-tcp", green.DSeq)
	o, akash := start(t, operators.Options{Owner: owner})
	key := lease.SharingKey(owner, "public")
	must(t, akash.Deploy(t.Context(), workload(blue, nil, "public:TCP:53:dns", "public:UDP:54:dns")))
	must(t, akash.SendManifest(t.Context(), workload(green, nil)))
	services := func() (names []string) {
		for _, s := range list(t, operators.Services, lease.LabelOwner+"="+owner) {
			names = append(names, s.GetLabels()[lease.LabelDSeq]+" "+s.GetName())
		}
		return names
	}
	eventually(t, "the ports have Services", func() bool { return slices.Equal(services(), []string{"1 dns-ip-53-tcp", "1 dns-ip-54-udp"}) })

	// A port that is declared is not declared again, unless it is overwritten.
	if err := akash.DeclareIP(t.Context(), green, "dns", 9000, 53, "TCP", key, false); err == nil {
		t.Error("a port is declared twice")
	}
	must(t, akash.DeclareIP(t.Context(), blue, "names", 9000, 53, "TCP", key, true))
	eventually(t, "the Service of the former name stays", func() bool {
		return slices.Equal(services(), []string{"1 dns-ip-53-tcp", "1 dns-ip-54-udp", "1 names-ip-53-tcp"})
	})
	must(t, akash.DeclareIP(t.Context(), green, "names", 9000, 53, "TCP", key, true))
	eventually(t, "the Service moves", func() bool {
		return slices.Contains(services(), moved) && !slices.Contains(services(), "1 names-ip-53-tcp")
	})

	// A restart writes every Service whole: what others have told MetalLB is gone.
	_, err := harness.Objects.Resource(operators.Services).Namespace(green.Namespace()).Patch(t.Context(), "names-ip-53-tcp", types.MergePatchType,
		[]byte(`{"metadata": {"annotations": {"metallb.universe.tf/loadBalancerIPs": "192.0.2.1"}}}`), metav1.PatchOptions{})
	must(t, err)
	o.Restart()
	eventually(t, "the Service is written whole", func() bool {
		return find(t, operators.Services, green.Namespace(), "names-ip-53-tcp").GetAnnotations()["metallb.universe.tf/loadBalancerIPs"] == ""
	})

	// One call for one port deletes them all.
	must(t, akash.PurgeDeclaredIP(t.Context()))
	eventually(t, "all ports go", func() bool { return slices.Equal(services(), []string{"1 dns-ip-53-tcp"}) })
}

// A Service that the IP operator does not know is written over; a namespace that is gone ends its loop until the lease
// is ignored.
func TestFactsOfServicesInTheWay(t *testing.T) {
	t.Parallel()
	owner := newTenant(t)
	id, gone := leaseOf(owner, 1), leaseOf(owner, 2)
	o, akash := start(t, operators.Options{Owner: owner})
	must(t, akash.SendManifest(t.Context(), workload(id, nil)))
	labels := fmt.Sprintf(`{akash.network: "true", akash.network/service-target: metal-lb, %s: %s, %s: "1", %s: "1", %s: "1", %s: %s}`,
		lease.LabelOwner, owner, lease.LabelDSeq, lease.LabelGSeq, lease.LabelOSeq, lease.LabelProvider, harness.Provider)
	_, err := harness.Objects.Resource(operators.Services).Namespace(id.Namespace()).Create(t.Context(), parse(fmt.Sprintf(`{apiVersion: v1, kind: Service,
		metadata: {name: web-ip-443-tcp, namespace: %s, labels: %s, annotations: {metallb.universe.tf/allow-shared-ip: %s}},
		spec: {type: LoadBalancer, selector: {akash.network/manifest-service: web}, ports: [{port: 443, protocol: TCP}]}}`,
		id.Namespace(), labels, lease.SharingKey(owner, "public"))), metav1.CreateOptions{})
	must(t, err)
	must(t, akash.DeclareIP(t.Context(), id, "web", 8443, 443, "TCP", lease.SharingKey(owner, "public"), false))
	eventually(t, "the Service becomes the operator's", func() bool {
		port, _, _ := unstructured.NestedSlice(find(t, operators.Services, id.Namespace(), "web-ip-443-tcp").Object, "spec", "ports")
		return port[0].(map[string]any)["targetPort"] == int64(8443)
	})
	if errs := o.Errors(); len(errs) != 0 {
		t.Errorf("the loop ended with %v", errs)
	}
	must(t, akash.DeclareIP(t.Context(), gone, "web", 8443, 444, "TCP", lease.SharingKey(owner, "public"), false))
	var errs []error
	eventually(t, "the lease without namespace is ignored", func() bool {
		errs = append(errs, o.Errors()...)
		return slices.Contains(o.Ignored(), gone) && len(errs) >= 3
	})
	if len(errs) != 3 || !strings.Contains(errs[0].Error(), fmt.Sprintf("namespaces %q not found", gone.Namespace())) {
		t.Errorf("the loop ended with %v", errs)
	}
}

// A port that goes to another lease while the IP operator is down leaves the former lease's Service: what the operator
// restores from a Service has no protocol, so it deletes another name.
func TestFactsOfAPortTransferredWhileDown(t *testing.T) {
	t.Parallel()
	owner := newTenant(t)
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	o, akash := start(t, operators.Options{Owner: owner})
	must(t, akash.Deploy(t.Context(), workload(blue, nil, "public:TCP:443:web")))
	must(t, akash.SendManifest(t.Context(), workload(green, nil)))
	serves := func(id lease.ID) bool { return find(t, operators.Services, id.Namespace(), "web-ip-443-tcp") != nil }
	eventually(t, "the first serves", func() bool { return serves(blue) })
	o.Stop()
	must(t, akash.DeclareIP(t.Context(), green, "web", 9000, 443, "TCP", lease.SharingKey(owner, "public"), true))
	o.Restart()
	eventually(t, "the second serves", func() bool { return serves(green) })
	if !serves(blue) {
		t.Error("the Service of the former lease is gone")
	}
}

// Two leases of one owner that have one port of an endpoint by TCP and by UDP have one entry in the
// operator's state: the one that comes second purges the Service of the first.
func TestFactsOfAKeyWithoutProtocol(t *testing.T) {
	t.Parallel()
	owner := newTenant(t)
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	_, akash := start(t, operators.Options{Owner: owner})
	must(t, akash.Deploy(t.Context(), workload(blue, nil, "public:TCP:53:dns")))
	eventually(t, "the first has a Service", func() bool { return find(t, operators.Services, blue.Namespace(), "dns-ip-53-tcp") != nil })
	must(t, akash.Deploy(t.Context(), workload(green, nil, "public:UDP:53:dns")))
	eventually(t, "only the second has one", func() bool {
		return find(t, operators.Services, green.Namespace(), "dns-ip-53-udp") != nil && find(t, operators.Services, blue.Namespace(), "dns-ip-53-tcp") == nil
	})
}
