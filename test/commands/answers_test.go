package commands

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var (
	endpointSlices = kinds.EndpointSlice.Resource()
	roles          = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
)

// The Service, its port and its endpoints come one after the other: state, explain and a watch say what answers, and the host is
// Active all the time.
func TestAnswers(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	id, host := leaseOf(newTenant(), 1), newHost("answers")
	u, ns := admin().with(configure(t, "ip: {ranges: ["+v4+"0/29]}")), id.Namespace()
	u.do(t, "apply", "-f", defineParts(t, id, service("web", served(host), leasedPart("public", "TCP", 443)), endpoint("public")))
	follows := follow(t, u, "state", "hosts", host, "-w", "-o", `jsonpath={.hosts[0].state} {.hosts[0].endpoints}{"\n"}`)
	says := func(endpoints, note string, explained ...string) {
		t.Helper()
		follows("Active " + endpoints)
		if r := u.do(t, "state", "hosts", host); !strings.Contains(r.Stdout, note) || note == "" && strings.Contains(r.Stdout, "Service web") {
			t.Errorf("%s, want the note %q", r, note)
		}
		u.do(t, "explain", host).Prints(t, append(explained, "Live: ingress")...)
	}
	says(`{"missing":"Service","ready":0,"total":0}`, "Service web does not exist", "Not answering: Service "+ns+"/web does not exist",
		"no controller has written an address into the status of Ingress "+ns+"/"+host, "-> kubectl -n "+ns+" describe ingress "+host, "-> kubectl -n "+ns+" get services,pods")

	createAs(t, "kubectl", services, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: %s, labels: {akash.network: "true"}},
		spec: {ports: [{name: admin, port: 8080}]}}`, ns))
	says(`{"missing":"port","ready":0,"total":0}`, "Service web has no port 80", "Not answering: Service "+ns+"/web has no port 80", "-> kubectl -n "+ns+" describe service web")

	harness.Edit(t, "kubectl", services, ns, "web", func(o *unstructured.Unstructured) {
		ports := []any{map[string]any{"name": "admin", "port": int64(8080)}, map[string]any{"name": "http", "port": int64(80)}}
		if err := unstructured.SetNestedSlice(o.Object, ports, "spec", "ports"); err != nil {
			t.Fatal(err)
		}
	})
	says(`{"ready":0,"total":0}`, "Service web has no endpoints", "Not answering: Service "+ns+"/web has no endpoints", "-> kubectl -n "+ns+" get pods")

	slice(t, ns, "web", "web-v4", "IPv4", "http", `{addresses: [10.1.0.1], conditions: {ready: false}, targetRef: {kind: Pod, namespace: `+ns+`, name: web-0, uid: web-0}},
		{addresses: [10.1.0.2], conditions: {ready: false}, targetRef: {kind: Pod, namespace: `+ns+`, name: web-1, uid: web-1}}`)
	slice(t, ns, "web", "web-v6", "IPv6", "http", `{addresses: ["fd00::1"], conditions: {ready: false}, targetRef: {kind: Pod, namespace: `+ns+`, name: web-0, uid: web-0}}`)
	slice(t, ns, "web", "web-admin", "IPv4", "admin", `{addresses: [10.1.0.3]}`)
	says(`{"ready":0,"total":2}`, "Service web has 0 of 2 endpoints ready", "Not answering: Service "+ns+"/web has 0 of 2 endpoints ready", "-> kubectl -n "+ns+" get pods")
	u.do(t, "state", "hosts", host, "-o", "wide").Prints(t, "   0/2   ")

	harness.Edit(t, "kubectl", endpointSlices, ns, "web-v4", func(o *unstructured.Unstructured) {
		endpoints, _, _ := unstructured.NestedSlice(o.Object, "endpoints")
		endpoints[0].(map[string]any)["conditions"] = map[string]any{} // unset means ready
		o.Object["endpoints"] = endpoints
	})
	says(`{"ready":1,"total":2}`, "", "Service "+ns+"/web has 1 of 2 endpoints ready")

	address := v4 + "0"
	u.do(t, "state", "ips", address).Prints(t, "Active", "Service web-ip-443-tcp has no endpoints")
	slice(t, ns, "web-ip-443-tcp", "by-hand", "IPv4", "web-ip-443-tcp", `{addresses: [10.1.0.1]}`)
	if r := u.do(t, "state", "ips", address, "-o", "jsonpath={.ips[0].endpoints}"); r.Stdout != `{"ready":1,"total":1}` {
		t.Errorf("%s", r)
	}
	u.do(t, "explain", address).Prints(t, "443/tcp is live", "Service "+ns+"/web-ip-443-tcp has 1 of 1 endpoints ready")
}

// slice creates an EndpointSlice as the controller names it, for the port of a Service.
func slice(t *testing.T, namespace, service, name, family, port, endpoints string) {
	t.Helper()
	createAs(t, "kubectl", endpointSlices, fmt.Sprintf(`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: %s,
		metadata: {name: %s, namespace: %s, labels: {akash.network: "true", kubernetes.io/service-name: %s}},
		ports: [{name: %s, port: 8080}], endpoints: [%s]}`, family, name, namespace, service, port, endpoints))
}

// Whoever has the roles of before may not list EndpointSlices. What answers is unknown then, and nothing fails.
func TestAnswersAreUnknownToFormerRoles(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("unknown")
	admin().do(t, "apply", "-f", defineParts(t, id, webPart(host)))
	createAs(t, "kubectl", services, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: %s}, spec: {ports: [{port: 80}]}}`, id.Namespace()))
	viewer, _ := userOf(t, "akash-net-viewer", "list")
	viewer.do(t, "state", "hosts", host, "-o", "wide").Prints(t, "   0/0   ")
	viewer.do(t, "explain", host).Prints(t, "Not answering: Service "+id.Namespace()+"/web has no endpoints")

	former := need(t, clusterRoles, "", "akash-net-viewer")
	rules, _, _ := unstructured.NestedSlice(former.Object, "rules")
	rules = slices.DeleteFunc(rules, func(rule any) bool {
		groups, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "apiGroups")
		return slices.Contains(groups, "discovery.k8s.io")
	})
	name := fmt.Sprint("former-", harness.Number())
	createAs(t, "kubectl", clusterRoles, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s}}`, name))
	harness.Edit(t, "kubectl", clusterRoles, "", name, func(o *unstructured.Unstructured) { o.Object["rules"] = rules })
	createAs(t, "kubectl", roles, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: %s, namespace: %s},
		rules: [{apiGroups: [coordination.k8s.io, ""], resources: [leases, configmaps], verbs: [get, list, watch]}]}`, name, ledger))
	u, _ := userOf(t, name, "list")
	u.do(t, "state", "hosts", host).Prints(t, "Active")
	u.do(t, "state", "hosts", host, "-o", "wide").Prints(t, "Active", "   <unknown>   ")
	u.do(t, "explain", host).Prints(t, "Live: ingress", "Whether Service "+id.Namespace()+"/web answers is not known")
	expect := follow(t, u, "state", "hosts", "-w", "-l", lease.LabelOwner+"="+id.Owner)
	expect(host, "Active")
	harness.Remove(t, services, id.Namespace(), "web")
	u.do(t, "state", "hosts", host).Prints(t, "Active", "Service web does not exist")
}
