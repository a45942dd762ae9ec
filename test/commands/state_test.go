package commands

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
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
	id, host := leaseOf(newTenant(), 1), newHost("book")
	u := admin().with(configure(t, "ip: {ranges: ["+v4+"0/29]}"))
	u.do(t, "apply", "-f", defineParts(t, id, service("web", served(host), leasedPart("public", "TCP", 443)), endpoint("public")))
	b := readBook(t, u, "-l", ofOwner(id.Owner))
	wantHosts := []row{{Host: host, Lease: id.String(), Owner: id.Owner, Namespace: id.Namespace(), Service: "web", Port: 80, Target: "ingress", State: "Active", Claimed: true}}
	if diff := cmp.Diff(wantHosts, b.Hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	pool := "akash-net-" + strings.ReplaceAll(v4, ".", "-") + "0-29"
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
	u.do(t, "state", "hosts", "-l", ofOwner(newTenant())).Says(t, "No hosts held.")
}

// The book shows also what Akash's provider wrote, as not claimed.
func TestStateOfAkashsObjects(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("unclaimed")
	deployHost(t, id, host)
	key := id.Owner + "-ip-public"
	createAs(t, providerServices, leasedIPs, fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: ProviderLeasedIP,
		metadata: {name: %s-tcp-25, namespace: lease, labels: %s},
		spec: {lease_id: {owner: %s, dseq: "1", gseq: 1, oseq: 1, provider: %s}, service_name: mail, port: 25, external_port: 25, sharing_key: %s, protocol: TCP}}`,
		key, strings.TrimSuffix(labelsOf(id), "}")+`, service-name: mail, external-port: "25", proto: TCP}`, id.Owner, id.Provider, key))
	b := readBook(t, admin(), "-l", ofOwner(id.Owner))
	wantHosts := []row{{Host: host, Lease: id.String(), Owner: id.Owner, Namespace: id.Namespace(), Service: "web", Port: 80, Target: "ingress", State: "Active"}}
	if diff := cmp.Diff(wantHosts, b.Hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	wantIPs := []row{{Lease: id.String(), Owner: id.Owner, Namespace: id.Namespace(), Service: "mail", Port: 25, Protocol: "TCP", State: "Reserved"}}
	if diff := cmp.Diff(wantIPs, b.IPs); diff != "" {
		t.Errorf("ips (-want +got):\n%s", diff)
	}
}

// openShiftRoutes is as much of OpenShift's definition as it takes to keep Routes.
const openShiftRoutes = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: routes.route.openshift.io},
	spec: {group: route.openshift.io, scope: Namespaced, names: {kind: Route, listKind: RouteList, plural: routes, singular: route}, versions: [
		{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`

// Routes of all kinds compete for a host: a claim's holder wins over everybody, and where there is no
// claim the oldest does.
func TestStateRoutes(t *testing.T) {
	t.Parallel()
	id, claimed, free := leaseOf(newTenant(), 1), newHost("claimed"), newHost("free")
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
	check := func(want map[string]row) {
		t.Helper()
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
	check(want)
	admin().do(t, "state", "routes", "-n", one, "-l", "run="+one, "-o", "name").Prints(t, "ingress/"+one+"/web\n")

	// A Route of OpenShift's competes too, where the cluster knows the kind. That this one is the lease's
	// is known by its namespace.
	if _, err := harness.Objects.Resource(crds).Create(t.Context(), parse(t, openShiftRoutes), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	routes := kinds.Route.Resource()
	eventually(t, "the kind Route", func(ctx context.Context) (bool, error) {
		_, err := harness.Objects.Resource(routes).List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	createAs(t, "oc", routes, fmt.Sprintf(`{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: api, namespace: %s},
		spec: {host: %s, path: /api, to: {kind: Service, name: web, weight: 100}}}`, id.Namespace(), claimed))
	defer remove(t, routes, id.Namespace(), "api")
	want[claimed+" Route "+id.Namespace()] = row{Kind: "Route", Namespace: id.Namespace(), Admitted: true, Owner: id.Owner, Lease: id.String()}
	check(want)
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
	owner, before, after := newTenant(), newHost("before"), newHost("after")
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
