package commands

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// row is a row of the book, as scripts read it.
type row struct {
	Host, Address, Lease, Owner, Namespace, Service, Target, Pool, State, Protocol string
	Kind, Path, Reason, Message                                                    string
	Admitted                                                                       bool
	Port                                                                           int
	Claimed                                                                        bool
	Name                                                                           string
	Used, Free                                                                     int
}

// book is what state prints with -o json.
type book struct {
	APIVersion, Kind          string
	Hosts, IPs, Leases, Pools []row
	Routes                    []row
}

func ofOwner(owner string) string { return lease.LabelOwner + "=" + owner }

func readBook(t *testing.T, u user, args ...string) book {
	t.Helper()
	var b book
	out := u.do(t, append([]string{"state", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out.Stdout), &b); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if b.APIVersion != "net.akash.network/v1alpha1" || b.Kind != "Book" {
		t.Errorf("%s %s", b.APIVersion, b.Kind)
	}
	return b
}

// The book shows what leases hold, in every format.
func TestState(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	id, host := leaseOf(newTenant(t), 1), newHost("book")
	u := admin().with(configure(t, "ip: {ranges: ["+v4+"0/29]}"))
	u.do(t, "apply", "-f", defineParts(t, id, service("web", served(host), leasedPart("public", "TCP", 443)), endpoint("public")))
	b := readBook(t, u, "-l", ofOwner(id.Owner))
	wantHosts := []row{{Host: host, Lease: id.String(), Owner: id.Owner, Namespace: id.Namespace(), Service: "web", Port: 80, Target: "ingress", State: "Active", Claimed: true}}
	if diff := cmp.Diff(wantHosts, b.Hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	pool := rangePool(v4, "0-29")
	wantIPs := []row{{Address: v4 + "0", Lease: id.String(), Owner: id.Owner, Namespace: id.Namespace(), Service: "web", Port: 443, Protocol: "TCP", Pool: pool, State: "Active", Claimed: true}}
	if diff := cmp.Diff(wantIPs, b.IPs); diff != "" {
		t.Errorf("ips (-want +got):\n%s", diff)
	}
	if len(b.Leases) != 1 || b.Leases[0].Lease != id.String() || b.Leases[0].State != "Active" {
		t.Errorf("leases %+v", b.Leases)
	}
	found := false
	for _, p := range readBook(t, u, "pools").Pools {
		if p.Name == pool {
			found = p.Used == 1 && p.Free == 7
		}
	}
	if !found {
		t.Errorf("no pool %s with 1 address used and 7 free", pool)
	}

	only := []string{"state", "hosts", "-l", ofOwner(id.Owner)}
	u.do(t, append(only, "-o", "wide")...).Prints(t, host, id.Owner, "ingress")
	u.do(t, append(only, "-o", "name")...).Prints(t, "host/"+host+"\n")
	u.do(t, append(only, "-o", "yaml")...).Prints(t, "kind: Book", "host: "+host)
	if r := u.do(t, append(only, "-o", "jsonpath={.hosts[*].host}")...); r.Stdout != host {
		t.Errorf("jsonpath: %s", r)
	}
	u.do(t, append(only, "-o", "custom-columns=HOST:.host,OWNER:.owner")...).Prints(t, "HOST", host, id.Owner)
	u.do(t, append(only, "-o", "go-template={{range .hosts}}{{.state}}{{end}}")...).Prints(t, "Active")
	u.do(t, "state", "-n", id.Namespace()).Prints(t, host, v4+"0")
	u.do(t, "state", "hosts", "-l", ofOwner(newTenant(t))).Says(t, "No hosts held.")
}

// Routes of all kinds compete for a host: a claim's holder wins over everybody, and where there is no
// claim the oldest does.
func TestStateRoutes(t *testing.T) {
	t.Parallel()
	id, claimed, free := leaseOf(newTenant(t), 1), newHost("claimed"), newHost("free")
	admin().do(t, "apply", "-f", defineParts(t, id, webPart(claimed)))
	one, other := "one-"+strings.Split(free, ".")[1], "other-"+strings.Split(free, ".")[1]
	for _, name := range []string{one, other} {
		createAs(t, "kubectl", namespaces, fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, name))
	}
	createAs(t, "kubectl", ingresses, fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, namespace: %s, labels: {run: %s}},
		spec: {rules: [%s, %s]}}`, one, one, rule(claimed), rule(free)))
	createAs(t, "kubectl", httpRoutes, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: %s},
		spec: {hostnames: [%s]}}`, other, free))

	ingress, httpRoute := need(t, ingresses, one, "web"), need(t, httpRoutes, other, "web")
	winner, loser := row{Kind: "Ingress", Namespace: one}, row{Kind: "HTTPRoute", Namespace: other}
	if a, b := age(ingress), age(httpRoute); b < a {
		winner, loser = loser, winner
	}
	winner.Admitted = true
	loser.Reason, loser.Message = "HostAlreadyClaimed", "a route in another namespace holds "+free+" and is older than web"
	want := map[string]row{
		claimed + " Ingress " + one:                       {Kind: "Ingress", Namespace: one, Reason: "HostAlreadyClaimed", Message: "a claim of another owner holds host " + claimed},
		claimed + " Ingress " + id.Namespace():            {Kind: "Ingress", Namespace: id.Namespace(), Admitted: true, Owner: id.Owner, Lease: id.String()},
		free + " " + winner.Kind + " " + winner.Namespace: winner, free + " " + loser.Kind + " " + loser.Namespace: loser,
	}
	admin().do(t, "state", "routes", "-n", one, "-l", "run="+one, "-o", "name").Prints(t, "ingress/"+one+"/web\n")

	// A Route of OpenShift's competes too. That this one is the lease's is known by its namespace.
	createAs(t, "oc", routes, fmt.Sprintf(`{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: api, namespace: %s},
		spec: {host: %s, path: /api, to: {kind: Service, name: web, weight: 100}}}`, id.Namespace(), claimed))
	defer remove(t, routes, id.Namespace(), "api")
	want[claimed+" Route "+id.Namespace()] = row{Kind: "Route", Namespace: id.Namespace(), Admitted: true, Owner: id.Owner, Lease: id.String()}
	got := map[string]row{}
	for _, r := range readBook(t, admin(), "routes").Routes {
		if r.Host == claimed || r.Host == free {
			key := r.Host + " " + r.Kind + " " + r.Namespace
			r.Host, r.Path, r.Name = "", "", ""
			got[key] = r
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}

func rule(host string) string {
	return fmt.Sprintf(`{host: %s, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}`, host)
}

// age sorts as objects do from the oldest on.
func age(o *unstructured.Unstructured) string {
	return o.GetCreationTimestamp().UTC().Format(time.RFC3339) + " " + string(o.GetUID())
}

// A watch shows what there is, then what changes.
func TestWatch(t *testing.T) {
	t.Parallel()
	owner, before, after := newTenant(t), newHost("before"), newHost("after")
	admin().do(t, "apply", "-f", defineParts(t, leaseOf(owner, 1), webPart(before)))
	expect := follow(t, admin(), "state", "hosts", "-w", "-l", ofOwner(owner))
	expect(before, "Active")
	admin().do(t, "apply", "-f", defineParts(t, leaseOf(owner, 2), webPart(after)))
	expect(after, "Active")
	admin().do(t, "release", leaseOf(owner, 2).Group().String())
	expect(after, "Released")
}

// follow runs a watch until the test ends. The function that it returns waits for a line with these texts.
func follow(t *testing.T, u user, args ...string) func(texts ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	cmd := u.command(ctx, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // killed
	})
	lines := bufio.NewScanner(out)
	return func(texts ...string) {
		t.Helper()
		for lines.Scan() {
			has := true
			for _, text := range texts {
				has = has && strings.Contains(lines.Text(), text)
			}
			if has {
				return
			}
		}
		t.Fatalf("the watch ended without a line with %q", texts)
	}
}

var endpointSlices = kinds.EndpointSlice.Resource()

// The Service, its port and its endpoints come one after the other: state, explain and a watch say what answers, and the host is
// Active all the time. To whom may not list EndpointSlices it is not known, and nothing fails.
func TestAnswers(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(t), 1), newHost("answers")
	u, ns := admin(), id.Namespace()
	mustRun(t, 0, "apply", "-f", defineParts(t, id, webPart(host)))
	follows := follow(t, u, "state", "hosts", host, "-w", "-o", `jsonpath={.hosts[0].state} {.hosts[0].endpoints}{"\n"}`)
	says := func(endpoints, note string, explained ...string) {
		t.Helper()
		follows("Active " + endpoints)
		if r := mustRun(t, 0, "state", "hosts", host); !strings.Contains(r.Stdout, note) || note == "" && strings.Contains(r.Stdout, "Service web") {
			t.Errorf("%s, want the note %q", r, note)
		}
		if note != "" {
			explained = append(explained, "Not answering: "+strings.Replace(note, "Service ", "Service "+ns+"/", 1))
		}
		mustRun(t, 0, "explain", host).Prints(t, append(explained, "Routed: ingress")...)
	}
	says(`{"missing":"Service","ready":0,"total":0}`, "Service web does not exist",
		"no controller has written an address into the status of Ingress "+ns+"/"+host, "-> kubectl -n "+ns+" describe ingress "+host, "-> kubectl -n "+ns+" get services,pods")
	createAs(t, "kubectl", services, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: %s, labels: {akash.network: "true"}},
		spec: {ports: [{name: admin, port: 8080}]}}`, ns))
	says(`{"missing":"port","ready":0,"total":0}`, "Service web has no port 80", "-> kubectl -n "+ns+" describe service web")
	setByHand(t, services, ns, "web", "kubectl", `{"spec": {"ports": [{"name": "admin", "port": 8080}, {"name": "http", "port": 80}]}}`)
	says(`{"ready":0,"total":0}`, "Service web has no endpoints", "-> kubectl -n "+ns+" get pods")
	slice := func(name, family, port, endpoints string) {
		createAs(t, "kubectl", endpointSlices, fmt.Sprintf(`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: %s,
			metadata: {name: %s, namespace: %s, labels: {akash.network: "true", kubernetes.io/service-name: web}}, ports: [{name: %s, port: 8080}], endpoints: [%s]}`, family, name, ns, port, endpoints))
	}
	pod := func(n int, address, ready string) string {
		return fmt.Sprintf(`{addresses: [%q], conditions: {%s}, targetRef: {kind: Pod, namespace: %s, name: web-%d, uid: web-%d}}`, address, ready, ns, n, n)
	}
	slice("web-v6", "IPv6", "http", pod(0, "fd00::1", "ready: false"))
	slice("web-admin", "IPv4", "admin", `{addresses: [10.1.0.3]}`)
	says(`{"ready":0,"total":1}`, "Service web has 0 of 1 endpoints ready", "-> kubectl -n "+ns+" get pods")
	slice("web-v4", "IPv4", "http", pod(0, "10.1.0.1", "ready: false")+", "+pod(1, "10.1.0.2", "")) // unset means ready
	says(`{"ready":1,"total":2}`, "", "Service "+ns+"/web has 1 of 2 endpoints ready")
	mustRun(t, 0, "state", "hosts", host, "-o", "wide").Prints(t, "   1/2   ")

	former := need(t, clusterRoles, "", "akash-net-viewer")
	rules, _, _ := unstructured.NestedSlice(former.Object, "rules")
	name := fmt.Sprint("former-", harness.Number())
	createAs(t, "kubectl", clusterRoles, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s}}`, name))
	change(t, clusterRoles, "", name, func(o *object) {
		o.Object["rules"] = slices.DeleteFunc(rules, func(rule any) bool {
			return slices.Contains(rule.(map[string]any)["apiGroups"].([]any), any("discovery.k8s.io"))
		})
	})
	blind := bound(t, name, "akash-net-viewer")
	runAs(t.Context(), blind, "state", "hosts", host, "-o", "wide").Exits(t, 0).Prints(t, "Active", "   <unknown>   ")
	runAs(t.Context(), blind, "explain", host).Exits(t, 0).Prints(t, host+" is held by "+id.Group().String()+". Routed, and whether it answers is not known", "Routed: ingress", "Whether Service "+ns+"/web answers is not known")
	follow(t, user{kubeconfig: blind}, "state", "hosts", "-w", "-l", ofOwner(id.Owner))(host, "Active")
}
