package commands

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

const metalLB = "metallb-system"

// addressProblems are those of addresses and pools.
func addressProblems() []madeProblem {
	return []madeProblem{
		{state.UnclaimedAddress, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, leased("game", "public", 7001))
			address := addressOf(t, s.id.Owner)
			remove(t, claims, ledger, claimOf(address))
			return produced{thing: address, touched: []string{"leases " + ledger + "/" + claimOf(address)}}
		}},
		{state.UnclaimedAddress, byItself, func(t *testing.T, s scene) produced {
			// The claim has another port of the lease.
			s.apply(t, leased("game", "public", 7001), leased("chat", "public", 7002))
			address := addressOf(t, s.id.Owner)
			change(t, claims, ledger, claimOf(address), func(o *object) {
				annotations := o.GetAnnotations()
				delete(annotations, state.PortKey(lease.TCP, 7002))
				o.SetAnnotations(annotations)
			})
			return produced{thing: address, touched: []string{"leases " + ledger + "/" + claimOf(address)}}
		}},
		{state.StrayRoute, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, leased("game", "public", 7001))
			remove(t, claims, ledger, claimOf(addressOf(t, s.id.Owner)))
			remove(t, services, s.id.Namespace(), lease.IPServiceName("game", 7001, lease.TCP))
			name := lease.LeasedIPName(lease.SharingKey(s.id.Owner, "public"), lease.TCP, 7001)
			return produced{thing: "providerleasedip/" + name, touched: []string{"providerleasedips lease/" + name}}
		}},
		{state.NotServed, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, leased("game", "public", 7001))
			service := lease.IPServiceName("game", 7001, lease.TCP)
			remove(t, services, s.id.Namespace(), service)
			return produced{
				thing:   addressOf(t, s.id.Owner),
				touched: []string{"services " + s.id.Namespace() + "/" + service, "leases " + ledger + "/" + claimOf(addressOf(t, s.id.Owner)), "providerleasedips lease/" + lease.LeasedIPName(lease.SharingKey(s.id.Owner, "public"), lease.TCP, 7001)},
			}
		}},
		{state.NotServed, byItself, func(t *testing.T, s scene) produced {
			// The address was handed on, and the Service of its former lease was deleted by hand.
			s.apply(t, leased("game", "public", 7001))
			address, next := addressOf(t, s.id.Owner), s.id
			next.DSeq++
			mustRun(t, 0, "transfer", "--config", s.plain, "--to", next.String(), address)
			remove(t, services, s.id.Namespace(), lease.IPServiceName("game", 7001, lease.TCP))
			name := lease.LeasedIPName(lease.SharingKey(s.id.Owner, "public"), lease.TCP, 7001)
			return produced{thing: address, touched: []string{"providerleasedips lease/" + name, "leases " + ledger + "/" + claimOf(address)}}
		}},
		{state.NotServed, byName, func(t *testing.T, s scene) produced {
			// The same where MetalLB chooses the address: Akash's IP operator may still serve the port.
			makePool(t, "chosen", s.other+"0/30", "")
			config, next, key := configure(t, "ip: {mode: pool, pool: chosen}"), s.id, lease.SharingKey(s.id.Owner, "public")
			mustRun(t, 0, "apply", "--config", config, "-f", define(t, s.id, leased("game", "public", 7001)))
			next.DSeq++
			mustRun(t, 0, "transfer", "--config", config, "--to", next.String(), "endpoint/"+key)
			remove(t, services, s.id.Namespace(), lease.IPServiceName("game", 7001, lease.TCP))
			return produced{
				thing: key, config: config,
				touched: []string{"providerleasedips lease/" + lease.LeasedIPName(key, lease.TCP, 7001), "leases " + ledger + "/" + state.EndpointName(key)},
			}
		}},
		{state.AddressWithoutPool, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, leased("game", "public", 7001))
			address := addressOf(t, s.id.Owner)
			touched := []string{}
			for _, pool := range poolsOf(t, s.subnet) {
				remove(t, pools, "metallb-system", pool)
				touched = append(touched, "ipaddresspools metallb-system/"+pool)
			}
			return produced{thing: address, touched: touched}
		}},
		{state.SharingKeyMismatch, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, leased("game", "public", 7001))
			change(t, services, s.id.Namespace(), lease.IPServiceName("game", 7001, lease.TCP), func(o *object) {
				o.SetAnnotations(with(o.GetAnnotations(), "metallb.universe.tf/allow-shared-ip", "guessed"))
			})
			return produced{thing: addressOf(t, s.id.Owner), touched: []string{"services " + s.id.Namespace() + "/" + lease.IPServiceName("game", 7001, lease.TCP)}}
		}},
		{state.AddressWithoutPool, byName, func(t *testing.T, s scene) produced {
			// The range of the address is not configured any more.
			mustRun(t, 0, "apply", "--config", configure(t, "ip: {ranges: ["+s.other+"0/30]}"), "-f", define(t, s.id, leased("game", "public", 7001)))
			for _, pool := range poolsOf(t, s.other) {
				remove(t, pools, metalLB, pool)
			}
			pool := "akash-ip-" + strings.ReplaceAll(s.other, ".", "-") + "0"
			removeLater(t, pools, metalLB, pool)
			return produced{
				thing: s.other + "0", touched: []string{"ipaddresspools " + metalLB + "/" + pool},
				after: func(t *testing.T) { s.apply(t, leased("game", "public", 7001)) },
			}
		}},
		{state.GrantDiffers, byItself, func(t *testing.T, s scene) produced {
			// Somebody lets the Service ask for another address, and MetalLB grants it.
			s.apply(t, leased("game", "public", 7001))
			address, service := addressOf(t, s.id.Owner), lease.IPServiceName("game", 7001, lease.TCP)
			change(t, services, s.id.Namespace(), service, func(o *object) {
				o.SetAnnotations(with(o.GetAnnotations(), "metallb.universe.tf/loadBalancerIPs", s.subnet+"6"))
			})
			grants(t, s.id, service, s.subnet+"6")
			return produced{
				thing: address, touched: []string{"services " + s.id.Namespace() + "/" + service},
				after: func(t *testing.T) { grants(t, s.id, service, address) },
			}
		}},
		{state.GrantDiffers, byItself, func(t *testing.T, s scene) produced {
			// It asks for the claimed address, and another program has granted another.
			grantAnother(t, s, "6", "7")
			return produced{thing: s.subnet + "6"}
		}},
		{state.GrantDiffers, byName, func(t *testing.T, s scene) produced {
			// A Service that this program did not write asks for another address.
			name := grantAnother(t, s, "7", "7")
			return produced{thing: s.subnet + "6", touched: []string{"services " + s.id.Namespace() + "/" + name}}
		}},
		{state.AsksForNothing, byItself, func(t *testing.T, s scene) produced {
			// Somebody has written over the Service, and it asks for no address.
			s.apply(t, leased("game", "public", 7001))
			address, service := addressOf(t, s.id.Owner), lease.IPServiceName("game", 7001, lease.TCP)
			change(t, services, s.id.Namespace(), service, func(o *object) {
				annotations := o.GetAnnotations()
				delete(annotations, "metallb.universe.tf/loadBalancerIPs")
				o.SetAnnotations(annotations)
			})
			return produced{
				thing: address, touched: []string{"services " + s.id.Namespace() + "/" + service},
				after: func(t *testing.T) {
					mustRun(t, 0, "apply", "--config", s.plain, "-f", define(t, s.id, leased("game", "public", 7001))).Prints(t, "unchanged")
				},
			}
		}},
		{state.AsksForNothing, withDefinition, func(t *testing.T, s scene) produced {
			// This program has never written the Service.
			s.apply(t, leased("game", "public", 7001))
			address, service := addressOf(t, s.id.Owner), lease.IPServiceName("game", 7001, lease.TCP)
			o := need(t, services, s.id.Namespace(), service)
			remove(t, services, s.id.Namespace(), service)
			spec := map[string]any{"type": "LoadBalancer", "selector": map[string]any{lease.LabelManaged: "true", lease.LabelService: "game"}, "ports": []any{
				map[string]any{"name": service, "protocol": "TCP", "port": int64(7001), "targetPort": int64(9000)},
			}}
			again := &object{Object: map[string]any{"apiVersion": "v1", "kind": "Service", "spec": spec}}
			again.SetNamespace(o.GetNamespace())
			again.SetName(o.GetName())
			again.SetLabels(o.GetLabels())
			again.SetAnnotations(map[string]string{"metallb.universe.tf/allow-shared-ip": o.GetAnnotations()["metallb.universe.tf/allow-shared-ip"]})
			if _, err := harness.Objects.Resource(services).Namespace(o.GetNamespace()).Create(t.Context(), again, metav1.CreateOptions{FieldManager: "provider-services"}); err != nil {
				t.Fatal(err)
			}
			return produced{thing: address, definition: define(t, s.id, leased("game", "public", 7001)), touched: []string{"services " + s.id.Namespace() + "/" + service}}
		}},
		{state.WrongWallet, byOthers, func(t *testing.T, s scene) produced {
			// A pipeline delivers a host of an owner with a typing error, for which another one could have been sent.
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
				remove(t, hosts, "lease", o.GetName())
				mustRun(t, 0, "state", "--problems", "--config", s.plain)
			}}
		}},
		{state.AddressSquatted, byOthers, func(t *testing.T, s scene) produced {
			// A Service of no lease has a claimed address among its external IPs.
			s.apply(t, leased("game", "public", 7001))
			foreignService(t, "squatter", "", "externalIPs: ["+addressOf(t, s.id.Owner)+"]")
			return produced{thing: addressOf(t, s.id.Owner), after: func(t *testing.T) {
				change(t, services, "default", "squatter", func(o *object) { unstructured.RemoveNestedField(o.Object, "spec", "externalIPs") })
				mustRun(t, 0, "state", "--problems", "--config", s.plain)
			}}
		}},
		{state.PoolOverlap, byOthers, func(t *testing.T, s scene) produced {
			makePool(t, "aa-one", s.other+"0/30", "")
			makePool(t, "aa-two", s.other+"2/31", "")
			return produced{thing: "aa-one", after: func(t *testing.T) {
				remove(t, pools, metalLB, "aa-two")
				mustRun(t, 0, "repair", "--crashed-after", "0s", "--assume-crashed", "--config", s.plain)
			}}
		}},
		{state.PoolOverlap, byItself, func(t *testing.T, s scene) produced {
			// An administrator's pool has some of our range.
			ranges := "ip: {ranges: [" + s.other + "0/29"
			definition := define(t, s.id, leased("game", "public", 7001))
			mustRun(t, 0, "apply", "--config", configure(t, ranges+"]}"), "-f", definition)
			ours := "akash-net-" + strings.ReplaceAll(s.other, ".", "-") + "0-29"
			makePool(t, "admin", s.other+"0/31", "")
			removeLater(t, pools, metalLB, ours)
			return produced{
				thing: ours, config: configure(t, ranges+"]}"), touched: []string{"ipaddresspools " + metalLB + "/" + ours},
				after: func(t *testing.T) {
					config := configure(t, ranges+`, "!`+s.other+`0/31"]}`)
					mustRun(t, 0, "apply", "--config", config, "-f", definition).Prints(t, s.other+"0", "unchanged")
					next := leaseOf(newOwner(), 1)
					mustRun(t, 0, "apply", "--config", config, "-f", define(t, next, leased("game", "public", 7001))).Prints(t, "granted "+s.other+"2")
					mustRun(t, 0, "state", "--problems", "--config", config)
					mustRun(t, 0, "release", "--config", config, next.Group().String())
				},
			}
		}},
		{state.PoolOverlap, byItself, func(t *testing.T, s scene) produced {
			// A pool of one address is left from the mode in which each has one.
			s.apply(t, leased("game", "public", 7001))
			left := "akash-ip-" + strings.ReplaceAll(addressOf(t, s.id.Owner), ".", "-")
			makePool(t, left, addressOf(t, s.id.Owner)+"/32", lease.LabelOurs)
			return produced{thing: left, touched: []string{"ipaddresspools " + metalLB + "/" + left}}
		}},
		{state.PoolDiffers, byItself, func(t *testing.T, s scene) produced {
			// The range was narrowed: what is in use stays.
			pool := rangePool(s.other, "0-29")
			removePools(t, s.other)
			mustRun(t, 0, "apply", "--config", configure(t, "ip: {ranges: ["+s.other+"0/29]}"), "-f", define(t, s.id, leased("game", "public", 7001)))
			return produced{
				thing: pool, config: configure(t, "ip: {ranges: ["+s.other+"1-"+s.other+"3]}"), touched: []string{"ipaddresspools " + metalLB + "/" + pool},
				after: func(t *testing.T) {
					grants(t, s.id, "game-ip-7001-tcp", s.other+"0")
					if got := addressesOf(t, pool); len(got) != 1 || got[0] != s.other+"0/30" {
						t.Errorf("pool %s has %q", pool, got)
					}
				},
			}
		}},
		{state.PoolDiffers, byItself, func(t *testing.T, s scene) produced {
			// An address is no longer excluded.
			pool := rangePool(s.other, "0-29")
			removePools(t, s.other)
			mustRun(t, 0, "apply", "--config", configure(t, "ip: {ranges: ["+s.other+`0/29, "!`+s.other+`7"]}`), "-f", define(t, s.id, leased("game", "public", 7001)))
			return produced{
				thing: pool, config: configure(t, "ip: {ranges: ["+s.other+"0/29]}"), touched: []string{"ipaddresspools " + metalLB + "/" + pool},
				after: func(t *testing.T) {
					if got := addressesOf(t, pool); len(got) != 1 || got[0] != s.other+"0/29" {
						t.Errorf("pool %s has %q", pool, got)
					}
				},
			}
		}},
		{state.PoolExhausted, withName, func(t *testing.T, s scene) produced {
			// A hold that is over has the last address.
			passed := before(t, time.Minute)
			want := state.EndpointWant{SharingKey: lease.SharingKey(s.id.Owner, "public"), Ports: []state.PortWant{{Protocol: lease.TCP, ExternalPort: 7001, Service: "game", Port: 9000}}}
			plant(t, want.Hold(s.id, netip.MustParseAddr(s.other+"7")), func(p *state.Part) { p.Expires = passed })
			return produced{
				thing:  "akash-net-" + strings.ReplaceAll(s.other, ".", "-") + "7-32",
				config: configure(t, "ip: {ranges: ["+s.other+"7/32]}"), touched: []string{"leases " + ledger + "/" + claimOf(s.other+"7")},
			}
		}},
		{state.PoolExhausted, byOthers, func(t *testing.T, s scene) produced {
			// All of it is live.
			config := configure(t, "ip: {ranges: ["+s.other+"7/32]}")
			mustRun(t, 0, "reserve", "--config", config, "--lease", s.id.String(), "--address", "auto")
			return produced{thing: "akash-net-" + strings.ReplaceAll(s.other, ".", "-") + "7-32", config: config, after: func(t *testing.T) {
				mustRun(t, 0, "repair", "--crashed-after", "0s", "--assume-crashed", "--config", config) // nothing is broken
				mustRun(t, 0, "state", "--problems", "--config", configure(t, "ip: {ranges: ["+s.other+"6/31]}"))
			}}
		}},
	}
}

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

// grantAnother claims the sixth address of the subnet, and makes a Service for its port, of a class that
// MetalLB leaves alone, that asks for one address and was granted one.
func grantAnother(t *testing.T, s scene, asks, granted string) (name string) {
	t.Helper()
	makeNamespace(t, s.id)
	want := state.EndpointWant{SharingKey: lease.SharingKey(s.id.Owner, "public"), Ports: []state.PortWant{{Protocol: lease.TCP, ExternalPort: 7001, Service: "game", Port: 9000}}}
	plant(t, want.Hold(s.id, netip.MustParseAddr(s.subnet+"6")), func(*state.Part) {})
	labels := with(with(s.id.Labels(), lease.LabelServiceTarget, lease.ServiceTargetMetalLB), lease.LabelService, "game")
	name = lease.IPServiceName("game", 7001, lease.TCP)
	o := create(t, services, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s, labels: %s, annotations: {metallb.universe.tf/allow-shared-ip: %s, metallb.universe.tf/loadBalancerIPs: %s}},
spec: {type: LoadBalancer, loadBalancerClass: example.com/other, ports: [{port: 7001, targetPort: 9000, protocol: TCP}]}}`,
		name, s.id.Namespace(), toText(t, labels), lease.SharingKey(s.id.Owner, "public"), s.subnet+asks))
	if err := unstructured.SetNestedSlice(o.Object, []any{map[string]any{"ip": s.subnet + granted}}, "status", "loadBalancer", "ingress"); err != nil {
		t.Fatal(err)
	}
	if _, err := harness.Objects.Resource(services).Namespace(s.id.Namespace()).UpdateStatus(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	removeLater(t, services, s.id.Namespace(), name)
	return name
}
