package commands

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// madeProblem makes a problem of a kind.
type madeProblem struct {
	kind string
	way  way
	make func(t *testing.T, s scene) produced
}

// oneCPU is an SDL of a service that asks for one CPU, and for no host.
const oneCPU = `version: "2.0"
services: {web: {image: nginx, expose: [{port: 7777, to: [{global: true}]}]}}
profiles:
  compute: {web: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}
  placement: {dc: {pricing: {web: {denom: uakt, amount: 1}}}}
deployment: {web: {dc: {profile: web, count: 1}}}
`

// rival is an Ingress of somebody else for the scene's host.
func (s scene) rival(t *testing.T) {
	t.Helper()
	create(t, ingresses, ingressFor(s.host, "default", nil))
	removeLater(t, ingresses, "default", "by-hand-"+s.host)
}

// game lets the scene's lease have an address, and says which, and by which Service.
func (s scene) game(t *testing.T) (address, service string) {
	t.Helper()
	s.apply(t, leased("game", "public", 7001))
	return addressOf(t, s.id.Owner), lease.IPServiceName("game", 7001, lease.TCP)
}

// madeProblems makes one of each kind.
func madeProblems() []madeProblem {
	return []madeProblem{
		{state.CrashedRun, byItself, func(t *testing.T, s scene) produced {
			plant(t, state.HostWant{Host: s.host}.Hold(s.id), func(p *state.Part) { p.Run = "crashed" })
			return produced{thing: s.host, after: func(t *testing.T) { held(t, s.host) }}
		}},
		{state.HoldEnded, byItself, func(t *testing.T, s scene) produced {
			passed := before(t, time.Minute)
			plant(t, state.HostWant{Host: s.host}.Hold(s.id), func(p *state.Part) { p.Expires = passed })
			return produced{thing: s.host, after: func(t *testing.T) { held(t, s.host) }}
		}},
		{state.RoomGone, byOthers, func(t *testing.T, s scene) produced {
			harness.Node(t, "roomgone", nil, harness.Amounts("4", "8Gi"))
			order := s.id.Order().String()
			mustRun(t, 0, "order", "reserve", "--config", s.plain, order, "-f", file(t, oneCPU)).Prints(t, "on roomgone")
			if err := harness.Client().CoreV1().Nodes().Delete(t.Context(), "roomgone", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			return produced{thing: "order/" + order, after: func(t *testing.T) { mustRun(t, 0, "order", "release", order) }}
		}},
		{state.NodeAddress, byOthers, func(t *testing.T, s scene) produced {
			harness.Node(t, "nodeaddress", nil, harness.Amounts("100m", "64Mi"))
			if err := harness.Kubectl(t.Context(), "", nil, "patch", "node", "nodeaddress", "--subresource=status", "-p",
				`{"status":{"addresses":[{"type":"InternalIP","address":"`+s.other+`1"}]}}`); err != nil {
				t.Fatal(err)
			}
			return produced{thing: s.other + "1"}
		}},
		{state.RouteWithoutClaim, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			if r := mustRun(t, 0, "state", "hosts", "-n", s.id.Namespace()); r.Stderr != "" {
				t.Errorf("it is claimed: %s", r)
			}
			remove(t, claims, ledger, s.host)
			mustRun(t, 0, "state", "hosts", "-n", s.id.Namespace()).Says(t, "Note: leases use 1 host that nobody has claimed. To see what to do: kubectl akash-net state --problems")
			return produced{thing: s.host, after: func(t *testing.T) { held(t, s.host, "1 /") }}
		}},
		{state.StrayRoute, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			remove(t, claims, ledger, s.host)
			remove(t, hosts, "lease", s.host)
			other := leaseOf(newOwner(t), 9)
			plant(t, state.HostWant{Host: s.host}.Hold(other), func(*state.Part) {})
			return produced{thing: s.host, after: func(t *testing.T) {
				absent(t, ingresses, s.id.Namespace(), s.host)
				mustRun(t, 0, "release", other.Group().String())
			}}
		}},
		{state.Drift, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			setByHand(t, ingresses, s.id.Namespace(), s.host, "kubectl-edit", `{"spec":{"rules":[{"host":"x.`+s.host+`","http":{"paths":[`+
				`{"path":"/","pathType":"Prefix","backend":{"service":{"name":"web","port":{"number":80}}}}]}}]}}`)
			mustRun(t, 0, "state", "hosts", "-n", s.id.Namespace(), "-o", "jsonpath={.hosts[0].state} {.hosts[0].routed}").Prints(t, "Pending false")
			mustRun(t, 0, "explain", s.host).Prints(t, s.host+" is held by "+s.id.Group().String()+". Not routed: ingress ", " takes x."+s.host+", not "+s.host)
			return produced{thing: "ingress/" + s.host, after: func(t *testing.T) {
				mustRun(t, 0, "explain", s.host).Prints(t, "Routed: ingress")
				absent(t, claims, ledger, "x."+s.host)
			}}
		}},
		{state.RouteDiffers, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			change(t, ingresses, s.id.Namespace(), s.host, func(o *object) {
				rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
				path := rules[0].(map[string]any)["http"].(map[string]any)["paths"].([]any)[0].(map[string]any)
				path["backend"].(map[string]any)["service"].(map[string]any)["name"] = "elsewhere"
				_ = unstructured.SetNestedSlice(o.Object, rules, "spec", "rules")
			})
			return produced{thing: s.host}
		}},
		{state.Terminating, byOthers, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			change(t, claims, ledger, s.host, func(o *object) { o.SetFinalizers([]string{"example.com/stays"}) })
			mustRun(t, 0, "release", "--config", s.plain, s.id.Group().String())
			mustRun(t, 0, "explain", "--config", s.plain, s.host).Prints(t, "kept by its finalizers example.com/stays")
			return produced{thing: s.host, after: func(t *testing.T) {
				change(t, claims, ledger, s.host, func(o *object) { o.SetFinalizers(nil) })
				mustRun(t, 0, "reserve", "--lease", s.id.String(), s.host)
			}}
		}},
		{state.StaleReport, byItself, func(t *testing.T, s scene) produced {
			mustRun(t, 0, "apply", "--config", s.plain, "--target=httproute", "--wait=false", "-f", define(t, s.id, web("web", 8080, s.host)))
			setStatus(t, httpRoutes, s.id.Namespace(), s.host, `{parents: [{parentRef: {name: gone}, controllerName: example.com/gone, conditions: [
				{type: Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"}]}]}`)
			return produced{thing: "httproute/" + s.host}
		}},
		{state.NamespaceGone, byItself, func(t *testing.T, s scene) produced { // a ProviderHost outlives the namespace of its lease
			s.apply(t, web("web", 8080, s.host))
			remove(t, ingresses, s.id.Namespace(), s.host)
			removeNamespace(t, s.id.Namespace())
			return produced{thing: s.host, after: func(t *testing.T) { held(t, s.host); absent(t, hosts, "lease", s.host) }}
		}},
		{state.OldManagedFields, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			change(t, hosts, "lease", s.host, func(o *object) {
				fields := o.GetManagedFields()
				for i := range fields {
					fields[i].APIVersion = "akash.network/v2beta1"
				}
				o.SetManagedFields(fields)
			})
			return produced{thing: "providerhost/" + s.host}
		}},
		{state.LostMarks, byItself, func(t *testing.T, s scene) produced { // restored from a backup, without the labels
			s.apply(t, web("web", 8080, s.host))
			restore(t, ingresses, s.id.Namespace(), s.host)
			change(t, ingresses, s.id.Namespace(), s.host, func(o *object) { o.SetLabels(nil) })
			return produced{thing: "ingress/" + s.host, after: func(t *testing.T) { s.apply(t, web("web", 8080, s.host)) }}
		}},
		{state.NotServed, byItself, func(t *testing.T, s scene) produced {
			// A route that was deleted by hand: the definition that is kept brings it back. What the lease has reserved since stays reserved.
			s.apply(t, web("web", 8080, s.host))
			mustRun(t, 0, "reserve", "--config", s.plain, "--prune=false", "--lease", s.id.String(), "later."+s.host)
			remove(t, ingresses, s.id.Namespace(), s.host)
			return produced{thing: s.host, after: func(t *testing.T) {
				need(t, ingresses, s.id.Namespace(), s.host)
				held(t, "later."+s.host, "1 /")
			}}
		}},
		{state.MissingRoute, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host), "{name: api, expose: [{port: 8080, as: 80, global: true, hosts: ["+s.host+"], path: /v1}]}")
			remove(t, ingresses, s.id.Namespace(), lease.RouteName(s.host, "/v1"))
			return produced{thing: s.host, after: func(t *testing.T) { need(t, ingresses, s.id.Namespace(), lease.RouteName(s.host, "/v1")) }}
		}},
		{state.StrayWorkload, byOthers, func(t *testing.T, s scene) produced {
			// What a command has written after the release, which took it for crashed.
			harness.Run(t.Context(), "apply", "--config", s.plain, "--workloads", "--wait=false", "--lease", s.id.String(), "-f", file(t, oneCPU)).Exits(t, 0)
			remove(t, claims, ledger, kept.Name(s.id.Group()))
			g := s.id.Group().String()
			return produced{thing: g, after: func(t *testing.T) {
				need(t, kinds.Deployment.Resource(), s.id.Namespace(), "web")
				harness.Run(t.Context(), "release", g).Exits(t, 0).Prints(t, "deployment/web deleted", "manifest/"+s.id.Namespace()+" deleted")
			}}
		}},
		{state.StrayDefinition, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			remove(t, ingresses, s.id.Namespace(), s.host)
			remove(t, hosts, "lease", s.host)
			remove(t, claims, ledger, s.host)
			removeNamespace(t, s.id.Namespace())
			return produced{thing: "definition/" + kept.Name(s.id.Group())}
		}},
		{state.UnreadableDefinition, byName, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			name := kept.Name(s.id.Group())
			change(t, claims, ledger, name, func(o *object) {
				o.SetAnnotations(with(o.GetAnnotations(), lease.AnnotationDefinition, "another"))
			})
			return produced{thing: "definition/" + name}
		}},
		{state.NotDeclared, byItself, func(t *testing.T, s scene) produced { // Akash's provider has purged the ProviderHost
			s.apply(t, web("web", 8080, s.host))
			remove(t, hosts, "lease", s.host)
			return produced{thing: s.host, after: func(t *testing.T) { need(t, hosts, "lease", s.host) }}
		}},
		{state.NothingLeft, byName, func(t *testing.T, s scene) produced { // it has purged the lease, and its namespace stays
			s.apply(t, web("web", 8080, s.host))
			remove(t, ingresses, s.id.Namespace(), s.host)
			remove(t, hosts, "lease", s.host)
			return produced{thing: s.host, after: func(t *testing.T) { need(t, hosts, "lease", s.host) }}
		}},
		{state.BlockedHost, byName, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			return produced{thing: s.host, after: func(t *testing.T) { held(t, s.host) }}
		}},
		{state.TwoRoutes, byName, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			s.rival(t)
			return produced{thing: s.host, after: func(t *testing.T) { absent(t, ingresses, "default", "by-hand-"+s.host) }}
		}},
		{state.MigrationUnderWay, withDefinition, func(t *testing.T, s scene) produced {
			definition := define(t, s.id, web("web", 8080, s.host, "too."+s.host)) // two problems, mended by one application
			mustRun(t, 0, "apply", "--config", s.plain, "-f", definition)
			mustRun(t, 0, "migrate", "--config", s.plain, "--to=httproute", "--keep-old", "--wait=false", s.id.Group().String())
			return produced{thing: s.host, definition: definition, after: func(t *testing.T) { absent(t, httpRoutes, s.id.Namespace(), s.host) }}
		}},
		{state.MixedDefinitions, byName, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, "gone."+s.host))
			mustRun(t, 0, "apply", "--config", s.plain, "--prune=false", "-f", define(t, s.id, web("web", 8080, s.host)))
			return produced{thing: s.id.Group().String(), after: func(t *testing.T) {
				held(t, "gone."+s.host)
				held(t, s.host, "1 /")
			}}
		}},
		{state.UnreadableClaim, byName, func(t *testing.T, s scene) produced {
			create(t, claims, `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: `+s.host+`, namespace: `+ledger+`,
labels: {net.akash.network/kind: address}, annotations: {net.akash.network/ledger: v1}}}`)
			return produced{thing: s.host}
		}},
		{state.UnclaimedAddress, byItself, func(t *testing.T, s scene) produced {
			address, _ := s.game(t)
			remove(t, claims, ledger, claimOf(address))
			return produced{thing: address, after: func(t *testing.T) { held(t, claimOf(address), "1 7001/tcp") }}
		}},
		{state.AddressWithoutPool, byName, func(t *testing.T, s scene) produced { // the range of the address is not configured any more
			mustRun(t, 0, "apply", "--config", configure(t, "ip: {ranges: ["+s.other+"0/30]}"), "-f", define(t, s.id, leased("game", "public", 7001)))
			for _, pool := range poolsOf(t, s.other) {
				remove(t, pools, metalLB, pool)
			}
			removeLater(t, pools, metalLB, "akash-ip-"+strings.ReplaceAll(s.other, ".", "-")+"0")
			return produced{thing: s.other + "0"}
		}},
		{state.SharingKeyMismatch, byItself, func(t *testing.T, s scene) produced {
			address, service := s.game(t)
			change(t, services, s.id.Namespace(), service, func(o *object) {
				o.SetAnnotations(with(o.GetAnnotations(), "metallb.universe.tf/allow-shared-ip", "guessed"))
			})
			return produced{thing: address}
		}},
		{state.GrantDiffers, byItself, func(t *testing.T, s scene) produced { // somebody lets the Service ask for another address, and MetalLB grants it
			address, service := s.game(t)
			change(t, services, s.id.Namespace(), service, func(o *object) {
				o.SetAnnotations(with(o.GetAnnotations(), "metallb.universe.tf/loadBalancerIPs", s.subnet+"30"))
			})
			grants(t, s.id, service, s.subnet+"30")
			return produced{thing: address, after: func(t *testing.T) { grants(t, s.id, service, address) }}
		}},
		{state.AsksForNothing, byItself, func(t *testing.T, s scene) produced { // somebody has written over the Service
			address, service := s.game(t)
			change(t, services, s.id.Namespace(), service, func(o *object) {
				annotations := o.GetAnnotations()
				delete(annotations, "metallb.universe.tf/loadBalancerIPs")
				o.SetAnnotations(annotations)
			})
			return produced{thing: address, after: func(t *testing.T) {
				mustRun(t, 0, "apply", "--config", s.plain, "-f", define(t, s.id, leased("game", "public", 7001))).Prints(t, "unchanged")
			}}
		}},
		{state.WrongWallet, byOthers, func(t *testing.T, s scene) produced { // a pipeline delivers a host of an owner with a typing error
			s.apply(t, web("web", 8080, s.host))
			o, mistyped := need(t, hosts, "lease", s.host), s.id
			mistyped.Owner = "akash1" + strings.Repeat("q", 38)
			o.SetName("typo." + s.host)
			o.SetLabels(mistyped.Labels())
			o.SetResourceVersion("")
			o.SetAnnotations(nil)
			o.SetManagedFields(nil)
			_ = unstructured.SetNestedField(o.Object, mistyped.Owner, "spec", "owner")
			if _, err := harness.Objects.Resource(hosts).Namespace("lease").Create(t.Context(), o, metav1.CreateOptions{FieldManager: "pipeline"}); err != nil {
				t.Fatal(err)
			}
			removeLater(t, hosts, "lease", o.GetName())
			return produced{thing: "providerhost/" + o.GetName(), after: func(t *testing.T) {
				mustRun(t, 1, "state", "--problems", "--config", s.plain).Prints(t, mistyped.Owner, "checksum", "kubectl -n lease delete providerhost.akash.network "+o.GetName())
				s.apply(t, web("web", 8080, s.host)) // it stops nobody
			}}
		}},
		{state.AddressSquatted, byOthers, func(t *testing.T, s scene) produced { // a Service of no lease has a claimed address among its external IPs
			address, _ := s.game(t)
			foreignService(t, "squatter", "", "externalIPs: ["+address+"]")
			return produced{thing: address, after: func(t *testing.T) { remove(t, services, "default", "squatter") }}
		}},
		{state.PoolDiffers, byItself, func(t *testing.T, s scene) produced { // an address is no longer excluded
			pool := rangePool(s.other, "0-29")
			removePools(t, s.other)
			mustRun(t, 0, "apply", "--config", configure(t, "ip: {ranges: ["+s.other+`0/29, "!`+s.other+`7"]}`), "-f", define(t, s.id, leased("game", "public", 7001)))
			return produced{thing: pool, after: func(t *testing.T) {
				if got := addressesOf(t, pool); len(got) != 1 || got[0] != s.other+"0/29" {
					t.Errorf("pool %s has %q", pool, got)
				}
			}}
		}},
		{state.PoolExhausted, byOthers, func(t *testing.T, s scene) produced { // all of it is live
			config := configure(t, "ip: {ranges: ["+s.other+"7/32]}")
			mustRun(t, 0, "reserve", "--config", config, "--lease", s.id.String(), "--address", "auto")
			return produced{thing: "akash-net-" + strings.ReplaceAll(s.other, ".", "-") + "7-32"}
		}},
		{state.PoolOverlap, byItself, func(t *testing.T, s scene) produced { // left from the mode in which each address has one. It comes last: MetalLB takes nothing more up then
			address, _ := s.game(t)
			left := "akash-ip-" + strings.ReplaceAll(address, ".", "-")
			makePool(t, left, address+"/32", lease.LabelOurs)
			return produced{thing: left, after: func(t *testing.T) { absent(t, pools, metalLB, left) }}
		}},
	}
}

const metalLB = "metallb-system"

// makePool makes an IPAddressPool until the test ends. A label says whose it is.
func makePool(t *testing.T, name, addresses, label string) {
	t.Helper()
	labels := "{}"
	if label != "" {
		labels = "{" + label + `: "true"}`
	}
	create(t, pools, `{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: `+name+`, namespace: `+metalLB+`, labels: `+labels+`}, spec: {addresses: [`+addresses+`], autoAssign: false}}`)
	removeLater(t, pools, metalLB, name)
}

// addressOf is the address that an owner holds.
func addressOf(t *testing.T, owner string) string {
	t.Helper()
	list, err := harness.Objects.Resource(claims).Namespace(ledger).List(t.Context(), metav1.ListOptions{LabelSelector: "net.akash.network/kind=address,net.akash.network/owner=" + owner})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d addresses: %v", len(list.Items), err)
	}
	return strings.ReplaceAll(strings.TrimPrefix(list.Items[0].GetName(), "ip--"), "-", ".")
}

// poolsOf are the pools with addresses of a subnet.
func poolsOf(t *testing.T, subnet string) (names []string) {
	t.Helper()
	list, err := harness.Objects.Resource(pools).List(t.Context(), metav1.ListOptions{})
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

// removeNamespace removes a namespace as the control plane would with its namespace controller.
func removeNamespace(t *testing.T, name string) {
	t.Helper()
	remove(t, namespaces, "", name)
	if o := find(t, namespaces, "", name); o != nil {
		_ = unstructured.SetNestedSlice(o.Object, nil, "spec", "finalizers")
		_, err := harness.Objects.Resource(namespaces).Update(t.Context(), o, metav1.UpdateOptions{}, "finalize")
		if now := find(t, namespaces, "", name); now != nil && err != nil {
			t.Fatal(err)
		}
	}
}
