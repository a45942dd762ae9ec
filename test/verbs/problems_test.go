package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// problemsOf are the kinds of problem that `state --problems` shows of a thing.
func problemsOf(t *testing.T, config, thing string) []string {
	t.Helper()
	r := run(t.Context(), "state", "--problems", "--crashed-after", "0s", "-o", "json", "--config", config)
	var book struct{ Problems []state.Problem }
	if err := json.Unmarshal([]byte(r.stdout), &book); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	if found := len(book.Problems) > 0; found != (r.code == 1) || r.code > 1 {
		t.Fatalf("%d problems: %s", len(book.Problems), r)
	}
	kinds := []string{}
	for _, p := range book.Problems {
		if p.Thing == thing {
			kinds = append(kinds, p.Problem)
		}
	}
	return kinds
}

// Each problem is shown, is mended by one line or left to people with what to do, and nothing else
// is touched. The tests do not run side by side: they compare the whole cluster.
func TestProblems(t *testing.T) {
	subnet := newNet()
	plain := configure(t, "hosts: {wildcards: true}", "ip: {ranges: ["+subnet+"0/29]}")
	apply := func(t *testing.T, id lease.ID, services ...string) {
		t.Helper()
		net(t, 0, "apply", "--config", plain, "-f", define(t, id, services...))
	}
	type produced struct {
		thing string
		// config is the configuration to look by, where it is not the plain one.
		config string
		// touched are the objects that repair may change.
		touched []string
	}
	tests := []struct {
		kind   string
		manual bool
		make   func(t *testing.T, id lease.ID, host string) produced
	}{
		{state.CrashedRun, false, func(t *testing.T, id lease.ID, host string) produced {
			plant(t, state.HostWant{Host: host}.Hold(id), func(p *state.Part) { p.Run = "crashed" })
			return produced{thing: host, touched: []string{"leases " + ledger + "/" + host}}
		}},
		{state.HoldEnded, false, func(t *testing.T, id lease.ID, host string) produced {
			passed := before(t, time.Minute)
			plant(t, state.HostWant{Host: host}.Hold(id), func(p *state.Part) { p.Expires = passed })
			return produced{thing: host, touched: []string{"leases " + ledger + "/" + host}}
		}},
		{state.RouteWithoutClaim, false, func(t *testing.T, id lease.ID, host string) produced {
			apply(t, id, web("web", 8080, host))
			remove(t, claims, ledger, host)
			return produced{thing: host, touched: []string{"leases " + ledger + "/" + host}}
		}},
		{state.StrayRoute, false, func(t *testing.T, id lease.ID, host string) produced {
			apply(t, id, web("web", 8080, host))
			remove(t, claims, ledger, host)
			remove(t, hosts, "lease", host)
			plant(t, state.HostWant{Host: host}.Hold(leaseOf(newOwner(), 9)), func(*state.Part) {})
			return produced{thing: host, touched: []string{"ingresses " + id.Namespace() + "/" + host}}
		}},
		{state.RouteDiffers, false, func(t *testing.T, id lease.ID, host string) produced {
			apply(t, id, web("web", 8080, host))
			change(t, ingresses, id.Namespace(), host, func(o *object) {
				rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
				path := rules[0].(map[string]any)["http"].(map[string]any)["paths"].([]any)[0].(map[string]any)
				path["backend"].(map[string]any)["service"].(map[string]any)["name"] = "elsewhere"
				_ = unstructured.SetNestedSlice(o.Object, rules, "spec", "rules")
			})
			return produced{thing: host, touched: []string{"ingresses " + id.Namespace() + "/" + host}}
		}},
		{state.StaleReport, false, func(t *testing.T, id lease.ID, host string) produced {
			net(t, 0, "apply", "--config", plain, "--target=httproute", "--wait=false", "-f", define(t, id, web("web", 8080, host)))
			reports(t, id.Namespace(), host, `[{parentRef: {name: gone}, controllerName: example.com/gone, conditions: [
				{type: Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"}]}]`)
			return produced{thing: "httproute/" + host, touched: []string{"httproutes " + id.Namespace() + "/" + host}}
		}},
		{state.NamespaceGone, false, func(t *testing.T, id lease.ID, host string) produced {
			// A ProviderHost outlives the namespace of its lease.
			apply(t, id, web("web", 8080, host))
			remove(t, ingresses, id.Namespace(), host)
			removeNamespace(t, id.Namespace())
			return produced{thing: host, touched: []string{"leases " + ledger + "/" + host, "providerhosts lease/" + host}}
		}},
		{state.UnclaimedAddress, false, func(t *testing.T, id lease.ID, _ string) produced {
			apply(t, id, leased("game", "public", 7001))
			address := addressOf(t, id.Owner)
			remove(t, claims, ledger, claimOf(address))
			return produced{thing: address, touched: []string{"leases " + ledger + "/" + claimOf(address)}}
		}},
		{state.UnclaimedAddress, false, func(t *testing.T, id lease.ID, _ string) produced {
			// The claim has another port of the lease.
			apply(t, id, leased("game", "public", 7001), leased("chat", "public", 7002))
			address := addressOf(t, id.Owner)
			change(t, claims, ledger, claimOf(address), func(o *object) {
				annotations := o.GetAnnotations()
				delete(annotations, state.PortKey(lease.TCP, 7002))
				o.SetAnnotations(annotations)
			})
			return produced{thing: address, touched: []string{"leases " + ledger + "/" + claimOf(address)}}
		}},
		{state.StrayRoute, false, func(t *testing.T, id lease.ID, _ string) produced {
			apply(t, id, leased("game", "public", 7001))
			remove(t, claims, ledger, claimOf(addressOf(t, id.Owner)))
			remove(t, services, id.Namespace(), lease.IPServiceName("game", 7001, lease.TCP))
			name := lease.LeasedIPName(lease.SharingKey(id.Owner, "public"), lease.TCP, 7001)
			return produced{thing: "providerleasedip/" + name, touched: []string{"providerleasedips lease/" + name}}
		}},
		{state.NotServed, false, func(t *testing.T, id lease.ID, host string) produced {
			apply(t, id, web("web", 8080, host))
			remove(t, ingresses, id.Namespace(), host)
			return produced{thing: host, touched: []string{"providerhosts lease/" + host}}
		}},
		{state.NotServed, true, func(t *testing.T, id lease.ID, host string) produced {
			apply(t, id, web("web", 8080, host))
			remove(t, ingresses, id.Namespace(), host)
			change(t, hosts, "lease", host, func(o *object) {
				o.SetAnnotations(with(o.GetAnnotations(), lease.AnnotationUpdatedAt, "2026-11-21T10:00:00Z"))
			})
			return produced{thing: host}
		}},
		{state.NotServed, false, func(t *testing.T, id lease.ID, _ string) produced {
			apply(t, id, leased("game", "public", 7001))
			remove(t, services, id.Namespace(), lease.IPServiceName("game", 7001, lease.TCP))
			return produced{thing: addressOf(t, id.Owner), touched: []string{"providerleasedips lease/" + lease.LeasedIPName(lease.SharingKey(id.Owner, "public"), lease.TCP, 7001)}}
		}},
		{state.AddressWithoutPool, false, func(t *testing.T, id lease.ID, _ string) produced {
			apply(t, id, leased("game", "public", 7001))
			address := addressOf(t, id.Owner)
			touched := []string{}
			for _, pool := range poolsOf(t, subnet) {
				remove(t, pools, "metallb-system", pool)
				touched = append(touched, "ipaddresspools metallb-system/"+pool)
			}
			return produced{thing: address, touched: touched}
		}},
		{state.SharingKeyMismatch, false, func(t *testing.T, id lease.ID, _ string) produced {
			apply(t, id, leased("game", "public", 7001))
			change(t, services, id.Namespace(), lease.IPServiceName("game", 7001, lease.TCP), func(o *object) {
				o.SetAnnotations(with(o.GetAnnotations(), "metallb.universe.tf/allow-shared-ip", "guessed"))
			})
			return produced{thing: addressOf(t, id.Owner), touched: []string{"services " + id.Namespace() + "/" + lease.IPServiceName("game", 7001, lease.TCP)}}
		}},
		{state.BlockedHost, true, func(t *testing.T, id lease.ID, host string) produced {
			apply(t, id, web("web", 8080, host))
			return produced{thing: host, config: configure(t, "hosts: {blocked: ["+host+"]}", "ip: {ranges: ["+subnet+"0/29]}")}
		}},
		{state.TwoRoutes, true, func(t *testing.T, id lease.ID, host string) produced {
			apply(t, id, web("web", 8080, host))
			create(t, ingresses, ingressFor(host, "default", nil))
			t.Cleanup(func() {
				_ = client().Resource(ingresses).Namespace("default").Delete(context.Background(), "by-hand-"+host, metav1.DeleteOptions{})
			})
			return produced{thing: host}
		}},
		{state.MigrationUnderWay, true, func(t *testing.T, id lease.ID, host string) produced {
			apply(t, id, web("web", 8080, host))
			net(t, 0, "migrate", "--config", plain, "--to=httproute", "--keep-old", "--wait=false", id.Group().String())
			return produced{thing: host}
		}},
		{state.MixedDefinitions, true, func(t *testing.T, id lease.ID, host string) produced {
			apply(t, id, web("web", 8080, host))
			change(t, ingresses, id.Namespace(), host, func(o *object) {
				o.SetAnnotations(with(o.GetAnnotations(), lease.AnnotationDefinition, "another"))
			})
			return produced{thing: id.Group().String()}
		}},
		{state.UnreadableClaim, true, func(t *testing.T, id lease.ID, host string) produced {
			plant(t, state.HostWant{Host: host}.Hold(id), func(*state.Part) {})
			change(t, claims, ledger, host, func(o *object) {
				o.SetAnnotations(with(o.GetAnnotations(), state.AnnotationLedger, "v9"))
			})
			t.Cleanup(func() {
				_ = client().Resource(claims).Namespace(ledger).Delete(context.Background(), host, metav1.DeleteOptions{})
			})
			return produced{thing: host}
		}},
		{state.PoolExhausted, true, func(t *testing.T, id lease.ID, _ string) produced {
			small := newNet()
			config := configure(t, "ip: {ranges: ["+small+"7/32]}")
			net(t, 0, "reserve", "--config", config, "--lease", id.String(), "--address", "auto")
			return produced{thing: "akash-net-" + strings.ReplaceAll(small, ".", "-") + "7-32", config: config}
		}},
		{state.OldManagedFields, false, func(t *testing.T, id lease.ID, host string) produced {
			apply(t, id, web("web", 8080, host))
			change(t, hosts, "lease", host, func(o *object) {
				fields := o.GetManagedFields()
				for i := range fields {
					fields[i].APIVersion = "akash.network/v2beta1"
				}
				o.SetManagedFields(fields)
			})
			return produced{thing: "providerhost/" + host, touched: []string{"providerhosts lease/" + host}}
		}},
		{state.GrantDiffers, true, func(t *testing.T, id lease.ID, _ string) produced {
			makeNamespace(t, id)
			want := state.EndpointWant{SharingKey: lease.SharingKey(id.Owner, "public"), Ports: []state.PortWant{{Protocol: lease.TCP, ExternalPort: 7001, Service: "game", Port: 9000}}}
			plant(t, want.Hold(id, netip.MustParseAddr(subnet+"6")), func(*state.Part) {})
			grantAnother(t, id, subnet)
			return produced{thing: subnet + "6"}
		}},
		{state.PoolOverlap, true, func(t *testing.T, _ lease.ID, _ string) produced {
			for _, name := range []string{"aa-one", "aa-two"} {
				create(t, pools, `{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: `+name+`, namespace: metallb-system}, spec: {addresses: [198.51.100.0/30], autoAssign: false}}`)
				t.Cleanup(func() {
					_ = client().Resource(pools).Namespace("metallb-system").Delete(context.Background(), name, metav1.DeleteOptions{})
				})
			}
			return produced{thing: "aa-one"}
		}},
	}
	for _, test := range tests {
		t.Run(test.kind, func(t *testing.T) {
			id, host := leaseOf(newOwner(), 1), strings.ToLower(test.kind)+"."+newDomain()
			t.Cleanup(func() { run(context.Background(), "release", "--config", plain, id.String()) })
			p := test.make(t, id, host)
			if p.config == "" {
				p.config = plain
			}
			if kinds := problemsOf(t, p.config, p.thing); !slices.Contains(kinds, test.kind) {
				t.Fatalf("state --problems shows %q of %s", kinds, p.thing)
			}
			was := fingerprint(t)
			plan := run(t.Context(), "repair", "--dry-run", "--crashed-after", "0s", "--config", p.config)
			if now := changed(was, fingerprint(t)); len(now) > 0 {
				t.Errorf("--dry-run changed %q: %s", now, plan)
			}
			done := run(t.Context(), "repair", "--crashed-after", "0s", "--config", p.config)
			word := " repaired ("
			if test.manual {
				word = " left ("
			}
			for _, r := range []result{plan, done} {
				if got := lines(r.stdout, test.kind+"/"+p.thing+word); len(got) != 1 || test.manual && (!strings.Contains(got[0], "by hand: ") || r.code != 1) {
					t.Errorf("want one line %s/%s%s…: %s", test.kind, p.thing, word, r)
				}
			}
			for _, name := range changed(was, fingerprint(t)) {
				if !slices.Contains(p.touched, name) {
					t.Errorf("repair touched %s: %s", name, done)
				}
			}
			if kinds := problemsOf(t, p.config, p.thing); slices.Contains(kinds, test.kind) != test.manual {
				t.Errorf("after repair state --problems shows %q: %s", kinds, done)
			}
		})
	}
}

// addressOf is the address that an owner holds.
func addressOf(t *testing.T, owner string) string {
	t.Helper()
	list, err := client().Resource(claims).Namespace(ledger).List(t.Context(), metav1.ListOptions{LabelSelector: "net.akash.network/kind=address,net.akash.network/owner=" + owner})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d addresses: %v", len(list.Items), err)
	}
	return strings.ReplaceAll(strings.TrimPrefix(list.Items[0].GetName(), "ip--"), "-", ".")
}

// poolsOf are the pools with addresses of a subnet.
func poolsOf(t *testing.T, subnet string) (names []string) {
	t.Helper()
	list, err := client().Resource(pools).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		if strings.Contains(toText(t, o.Object["spec"]), subnet) {
			names = append(names, o.GetName())
		}
	}
	return names
}

// grantAnother makes a Service for a leased port, of a class that MetalLB leaves alone, that asks
// for one address and has another.
func grantAnother(t *testing.T, id lease.ID, subnet string) {
	t.Helper()
	labels := with(with(id.Labels(), lease.LabelServiceTarget, lease.ServiceTargetMetalLB), lease.LabelService, "game")
	o := create(t, services, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s, labels: %s, annotations: {metallb.universe.tf/allow-shared-ip: %s, metallb.universe.tf/loadBalancerIPs: %s6}},
spec: {type: LoadBalancer, loadBalancerClass: example.com/other, ports: [{port: 7001, targetPort: 9000, protocol: TCP}]}}`,
		lease.IPServiceName("game", 7001, lease.TCP), id.Namespace(), toText(t, labels), lease.SharingKey(id.Owner, "public"), subnet))
	if err := unstructured.SetNestedSlice(o.Object, []any{map[string]any{"ip": subnet + "7"}}, "status", "loadBalancer", "ingress"); err != nil {
		t.Fatal(err)
	}
	if _, err := client().Resource(services).Namespace(id.Namespace()).UpdateStatus(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client().Resource(services).Namespace(id.Namespace()).Delete(context.Background(), o.GetName(), metav1.DeleteOptions{})
	})
}
