package commands

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
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

// madeProblems are all of them.
func madeProblems() []madeProblem { return append(hostProblems(), addressProblems()...) }

// oneCPU is an SDL of a service that asks for one CPU, and for no host.
const oneCPU = `version: "2.0"
services: {web: {image: nginx, expose: [{port: 7777, to: [{global: true}]}]}}
profiles:
  compute: {web: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}
  placement: {dc: {pricing: {web: {denom: uakt, amount: 1}}}}
deployment: {web: {dc: {profile: web, count: 1}}}
`

// rival is an Ingress of somebody else for the scene's host.
func (s scene) rival(t *testing.T, namespace string, labels map[string]string) string {
	t.Helper()
	create(t, ingresses, ingressFor(s.host, namespace, labels))
	removeLater(t, ingresses, namespace, "by-hand-"+s.host)
	return "ingresses " + namespace + "/by-hand-" + s.host
}

// recorded is the plain configuration, with DNS records.
func (s scene) recorded(t *testing.T) string {
	t.Helper()
	return configure(t, "dns: {form: endpoint, targets: [lb.example.net]}", "ip: {ranges: ["+s.subnet+"0/29]}")
}

// transferWithoutRoute applies the scene's lease, transfers its host to another deployment, and deletes by hand the
// route with which the former one was to serve it.
func (s scene) transferWithoutRoute(t *testing.T, services ...string) (next lease.ID) {
	t.Helper()
	s.apply(t, services...)
	next = s.id
	next.DSeq++
	mustRun(t, 0, "transfer", "--config", s.plain, "--to", next.String(), s.host)
	remove(t, ingresses, s.id.Namespace(), s.host)
	return next
}

// hostProblems are those of hosts, routes and claims.
func hostProblems() []madeProblem {
	return []madeProblem{
		{state.CrashedRun, byItself, func(t *testing.T, s scene) produced {
			plant(t, state.HostWant{Host: s.host}.Hold(s.id), func(p *state.Part) { p.Run = "crashed" })
			return produced{thing: s.host, touched: []string{"leases " + ledger + "/" + s.host}}
		}},
		{state.HoldEnded, byItself, func(t *testing.T, s scene) produced {
			passed := before(t, time.Minute)
			plant(t, state.HostWant{Host: s.host}.Hold(s.id), func(p *state.Part) { p.Expires = passed })
			return produced{thing: s.host, touched: []string{"leases " + ledger + "/" + s.host}}
		}},
		{state.RoomGone, byOthers, func(t *testing.T, s scene) produced {
			harness.Node(t, "roomgone", nil, harness.Amounts("4", "8Gi"))
			order := s.id.Order().String()
			mustRun(t, 0, "reserve", "--config", s.plain, "--order", order, "-f", file(t, oneCPU)).Prints(t, "on roomgone")
			if err := harness.Client().CoreV1().Nodes().Delete(t.Context(), "roomgone", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			return produced{thing: "order/" + order, after: func(t *testing.T) { mustRun(t, 0, "unreserve", "--order", order) }}
		}},
		{state.NodeAddress, byOthers, func(t *testing.T, s scene) produced {
			harness.Node(t, "nodeaddress", nil, harness.Amounts("4", "8Gi"))
			if err := harness.Kubectl(t.Context(), "", nil, "patch", "node", "nodeaddress", "--subresource=status", "-p",
				`{"status":{"addresses":[{"type":"InternalIP","address":"`+s.other+`1"}]}}`); err != nil {
				t.Fatal(err)
			}
			return produced{thing: s.other + "1", config: configure(t, "ip: {ranges: ["+s.other+"0/29]}"), after: func(*testing.T) {}}
		}},
		{state.RouteWithoutClaim, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			if r := mustRun(t, 0, "state", "hosts", "-n", s.id.Namespace()); r.Stderr != "" {
				t.Errorf("it is claimed: %s", r)
			}
			remove(t, claims, ledger, s.host)
			mustRun(t, 0, "state", "hosts", "-n", s.id.Namespace()).Says(t, "Note: leases use 1 host that nobody has claimed. To see what to do: kubectl akash-net state --problems")
			return produced{thing: s.host, touched: []string{"leases " + ledger + "/" + s.host}}
		}},
		{state.StrayRoute, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			remove(t, claims, ledger, s.host)
			remove(t, hosts, "lease", s.host)
			plant(t, state.HostWant{Host: s.host}.Hold(leaseOf(newOwner(), 9)), func(*state.Part) {})
			return produced{thing: s.host, touched: []string{"ingresses " + s.id.Namespace() + "/" + s.host}}
		}},
		{state.RouteDiffers, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			change(t, ingresses, s.id.Namespace(), s.host, func(o *object) {
				rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
				path := rules[0].(map[string]any)["http"].(map[string]any)["paths"].([]any)[0].(map[string]any)
				path["backend"].(map[string]any)["service"].(map[string]any)["name"] = "elsewhere"
				_ = unstructured.SetNestedSlice(o.Object, rules, "spec", "rules")
			})
			return produced{thing: s.host, touched: []string{"ingresses " + s.id.Namespace() + "/" + s.host}}
		}},
		{state.Terminating, byOthers, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			change(t, claims, ledger, s.host, func(o *object) { o.SetFinalizers([]string{"example.com/stays"}) })
			mustRun(t, 0, "release", "--config", s.plain, s.id.Group().String())
			mustRun(t, 0, "explain", "--config", s.plain, s.host).Prints(t, "kept by its finalizers example.com/stays")
			return produced{thing: s.host, after: func(t *testing.T) {
				change(t, claims, ledger, s.host, func(o *object) { o.SetFinalizers(nil) })
				mustRun(t, 0, "reserve", "--lease", leaseOf(newOwner(), 1).String(), s.host)
			}}
		}},
		{state.StaleReport, byItself, func(t *testing.T, s scene) produced {
			mustRun(t, 0, "apply", "--config", s.plain, "--target=httproute", "--wait=false", "-f", define(t, s.id, web("web", 8080, s.host)))
			reports(t, s.id.Namespace(), s.host, `[{parentRef: {name: gone}, controllerName: example.com/gone, conditions: [
				{type: Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"}]}]`)
			return produced{thing: "httproute/" + s.host, touched: []string{"httproutes " + s.id.Namespace() + "/" + s.host}}
		}},
		{state.NamespaceGone, byItself, func(t *testing.T, s scene) produced {
			// A ProviderHost outlives the namespace of its lease.
			s.apply(t, web("web", 8080, s.host))
			remove(t, ingresses, s.id.Namespace(), s.host)
			removeNamespace(t, s.id.Namespace())
			return produced{thing: s.host, touched: []string{"leases " + ledger + "/" + s.host, "providerhosts lease/" + s.host}}
		}},
		{state.NamespaceGone, byItself, func(t *testing.T, s scene) produced {
			// Nothing but the claim is left of the lease.
			s.apply(t, web("web", 8080, s.host))
			remove(t, ingresses, s.id.Namespace(), s.host)
			remove(t, hosts, "lease", s.host)
			removeNamespace(t, s.id.Namespace())
			return produced{thing: s.host, touched: []string{"leases " + ledger + "/" + s.host}, after: func(t *testing.T) { held(t, s.host) }}
		}},
		{state.NotServed, byName, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			remove(t, ingresses, s.id.Namespace(), s.host)
			change(t, hosts, "lease", s.host, func(o *object) {
				o.SetAnnotations(with(o.GetAnnotations(), lease.AnnotationUpdatedAt, "2026-11-21T10:00:00Z"))
			})
			// The claim is a reservation again, as the line says.
			return produced{thing: s.host, touched: []string{"providerhosts lease/" + s.host, "leases " + ledger + "/" + s.host}}
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
			return produced{thing: "providerhost/" + s.host, touched: []string{"providerhosts lease/" + s.host}}
		}},
		{state.LostMarks, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			strip(t, ingresses, s.id.Namespace(), s.host)
			return produced{thing: "ingress/" + s.host, touched: []string{"ingresses " + s.id.Namespace() + "/" + s.host}}
		}},
		{state.LostMarks, byItself, func(t *testing.T, s scene) produced {
			// Akash's provider has deployed the host as well.
			s.apply(t, web("web", 8080, s.host))
			strip(t, hosts, "lease", s.host)
			return produced{thing: "providerhost/" + s.host, touched: []string{"providerhosts lease/" + s.host}}
		}},
		{state.LostMarks, byItself, func(t *testing.T, s scene) produced {
			// Restored from a backup, without the labels.
			s.apply(t, web("web", 8080, s.host))
			restore(t, ingresses, s.id.Namespace(), s.host)
			change(t, ingresses, s.id.Namespace(), s.host, func(o *object) { o.SetLabels(nil) })
			return produced{
				thing: "ingress/" + s.host, touched: []string{"ingresses " + s.id.Namespace() + "/" + s.host},
				after: func(t *testing.T) {
					s.apply(t, web("web", 8080, s.host))
					mustRun(t, 0, "state", "--problems", "--config", s.plain)
				},
			}
		}},
		{state.LostMarks, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			restore(t, claims, ledger, s.host)
			return produced{thing: s.host, touched: []string{"leases " + ledger + "/" + s.host}}
		}},
		{state.LostMarks, byName, func(t *testing.T, s scene) produced {
			// What a release had to leave: nobody holds the host.
			s.apply(t, web("web", 8080, s.host))
			strip(t, ingresses, s.id.Namespace(), s.host)
			remove(t, claims, ledger, s.host)
			remove(t, hosts, "lease", s.host)
			return produced{
				thing: s.host, touched: []string{"ingresses " + s.id.Namespace() + "/" + s.host},
				after: func(t *testing.T) {
					if find(t, ingresses, s.id.Namespace(), s.host) != nil {
						t.Error("the Ingress is still there")
					}
				},
			}
		}},
		{state.NotServed, byItself, func(t *testing.T, s scene) produced {
			// A route that was deleted by hand: nothing else of the lease goes, and the definition that is kept brings
			// it back. What the lease has reserved since stays reserved.
			s.apply(t, web("web", 8080, s.host))
			mustRun(t, 0, "reserve", "--config", s.plain, "--prune=false", "--lease", s.id.String(), "later."+s.host)
			remove(t, ingresses, s.id.Namespace(), s.host)
			return produced{
				thing: s.host, touched: []string{"ingresses " + s.id.Namespace() + "/" + s.host, "providerhosts lease/" + s.host, "leases " + ledger + "/" + s.host},
				after: func(t *testing.T) {
					need(t, ingresses, s.id.Namespace(), s.host)
					held(t, "later."+s.host, "1 /")
				},
			}
		}},
		{state.NotServed, byDefinition, func(t *testing.T, s scene) produced {
			// No definition is kept: an older version has applied it.
			s.apply(t, web("web", 8080, s.host))
			remove(t, ingresses, s.id.Namespace(), s.host)
			remove(t, claims, ledger, kept.Name(s.id.Group()))
			return produced{
				thing: s.host, definition: define(t, s.id, web("web", 8080, s.host)), touched: []string{"ingresses " + s.id.Namespace() + "/" + s.host, "leases " + ledger + "/" + kept.Name(s.id.Group())},
				after: func(t *testing.T) { need(t, ingresses, s.id.Namespace(), s.host) },
			}
		}},
		{state.NotServed, byItself, func(t *testing.T, s scene) produced {
			// As where the apply of the former lease has died before the transfer.
			next := s.transferWithoutRoute(t, web("web", 8080, s.host, "stays."+s.host))
			return produced{
				thing: s.host, touched: []string{"providerhosts lease/" + s.host, "leases " + ledger + "/" + s.host},
				after: func(t *testing.T) {
					if find(t, hosts, "lease", s.host) != nil {
						t.Error("the ProviderHost is still there")
					}
					held(t, s.host, strconv.FormatUint(next.DSeq, 10)+" /")
					need(t, ingresses, s.id.Namespace(), "stays."+s.host)
				},
			}
		}},
		{state.NotServed, byItself, func(t *testing.T, s scene) produced {
			// The route of a path serves on.
			s.transferWithoutRoute(t, web("web", 8080, s.host), "{name: api, expose: [{port: 8080, as: 80, global: true, hosts: ["+s.host+"], path: /v1}]}")
			return produced{
				thing: s.host, touched: []string{"providerhosts lease/" + s.host, "leases " + ledger + "/" + s.host},
				after: func(t *testing.T) { need(t, ingresses, s.id.Namespace(), lease.RouteName(s.host, "/v1")) },
			}
		}},
		{state.MissingRoute, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host), "{name: api, expose: [{port: 8080, as: 80, global: true, hosts: ["+s.host+"], path: /v1}]}")
			remove(t, ingresses, s.id.Namespace(), lease.RouteName(s.host, "/v1"))
			return produced{
				thing: s.host, touched: []string{
					"ingresses " + s.id.Namespace() + "/" + lease.RouteName(s.host, "/v1"), "ingresses " + s.id.Namespace() + "/" + s.host, "providerhosts lease/" + s.host, "leases " + ledger + "/" + s.host,
				},
				after: func(t *testing.T) { need(t, ingresses, s.id.Namespace(), lease.RouteName(s.host, "/v1")) },
			}
		}},
		{state.CrashedRun, byItself, func(t *testing.T, s scene) produced {
			// A run that died between its claims and its routes has kept its definition: it is finished.
			mustRun(t, 0, "reserve", "--config", s.plain, "--lease", s.id.String(), "other."+s.host)
			died := startProxy(t, func(write string) bool { return write == "PATCH leases/"+kept.Name(s.id.Group()) })
			runAs(t.Context(), died.kubeconfig, "apply", "--config", s.plain, "--request-timeout=500ms", "-f", define(t, s.id, web("web", 8080, s.host)))
			return produced{
				thing: s.host, touched: []string{
					"leases " + ledger + "/" + s.host, "providerhosts lease/" + s.host, "ingresses " + s.id.Namespace() + "/" + s.host, "namespaces /" + s.id.Namespace(),
				},
				after: func(t *testing.T) {
					need(t, ingresses, s.id.Namespace(), s.host)
					held(t, s.host, "1 /")
					held(t, "other."+s.host, "1 /")
				},
			}
		}},
		{state.CrashedRun, byItself, func(t *testing.T, s scene) produced {
			// A run that died before it had kept its definition has made nothing: what it took goes.
			died := startProxy(t, func(write string) bool { return write == "PATCH leases/"+s.host })
			runAs(t.Context(), died.kubeconfig, "apply", "--config", s.plain, "--request-timeout=500ms", "-f", define(t, s.id, web("web", 8080, s.host)))
			return produced{
				thing: s.host, touched: []string{"leases " + ledger + "/" + s.host},
				after: func(t *testing.T) { held(t, s.host) },
			}
		}},
		{state.StrayWorkload, byOthers, func(t *testing.T, s scene) produced {
			// What a command has written after the release, which took it for crashed (test/workloads makes it so).
			// Who may do that has a role in the lease's namespace (test/workloads); here it is the administrator.
			harness.Run(t.Context(), "apply", "--config", s.plain, "--workloads", "--wait=false", "--lease", s.id.String(), "-f", file(t, oneCPU)).Exits(t, 0)
			remove(t, claims, ledger, kept.Name(s.id.Group()))
			g := s.id.Group().String()
			return produced{thing: g, after: func(t *testing.T) {
				need(t, kinds.Deployment.Resource(), s.id.Namespace(), "web")
				harness.Run(t.Context(), "release", g).Exits(t, 0).Prints(t, "deployment/web deleted", "manifest/"+s.id.Namespace()+" deleted")
				if got := problemsOf(t, s.plain, g); len(got) > 0 {
					t.Errorf("after the release there are %q", got)
				}
			}}
		}},
		{state.StrayDefinition, byItself, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			name := kept.Name(s.id.Group())
			remove(t, ingresses, s.id.Namespace(), s.host)
			remove(t, hosts, "lease", s.host)
			remove(t, claims, ledger, s.host)
			removeNamespace(t, s.id.Namespace())
			return produced{thing: "definition/" + name, touched: []string{"leases " + ledger + "/" + name}}
		}},
		{state.UnreadableDefinition, byName, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			name := kept.Name(s.id.Group())
			change(t, claims, ledger, name, func(o *object) {
				o.SetAnnotations(with(o.GetAnnotations(), lease.AnnotationDefinition, "another"))
			})
			return produced{thing: "definition/" + name, touched: []string{"leases " + ledger + "/" + name}}
		}},
		{state.NotDeclared, byItself, func(t *testing.T, s scene) produced {
			// Akash's provider has purged the ProviderHost; what this program made serves on.
			s.apply(t, web("web", 8080, s.host))
			remove(t, hosts, "lease", s.host)
			return produced{
				thing: s.host, touched: []string{"providerhosts lease/" + s.host, "leases " + ledger + "/" + s.host, "ingresses " + s.id.Namespace() + "/" + s.host},
				after: func(t *testing.T) { need(t, hosts, "lease", s.host) },
			}
		}},
		{state.NothingLeft, byName, func(t *testing.T, s scene) produced {
			// Akash's provider has purged the lease, and its namespace stays.
			s.apply(t, web("web", 8080, s.host))
			remove(t, ingresses, s.id.Namespace(), s.host)
			remove(t, hosts, "lease", s.host)
			return produced{
				thing: s.host, touched: []string{"providerhosts lease/" + s.host, "ingresses " + s.id.Namespace() + "/" + s.host, "leases " + ledger + "/" + s.host},
				after: func(t *testing.T) { need(t, hosts, "lease", s.host) },
			}
		}},
		{state.BlockedHost, byName, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			return produced{
				thing: s.host, config: configure(t, "hosts: {blocked: ["+s.host+"]}", "ip: {ranges: ["+s.subnet+"0/29]}"),
				touched: []string{"ingresses " + s.id.Namespace() + "/" + s.host, "providerhosts lease/" + s.host, "leases " + ledger + "/" + s.host},
				after:   func(t *testing.T) { held(t, s.host) },
			}
		}},
		{state.BlockedHost, byName, func(t *testing.T, s scene) produced {
			// Nobody holds it: no lease is to.
			s.apply(t, web("web", 8080, s.host))
			remove(t, claims, ledger, s.host)
			return produced{
				thing: s.host, config: configure(t, "hosts: {blocked: ["+s.host+"]}", "ip: {ranges: ["+s.subnet+"0/29]}"),
				touched: []string{"ingresses " + s.id.Namespace() + "/" + s.host, "providerhosts lease/" + s.host},
				after:   func(t *testing.T) { held(t, s.host) },
			}
		}},
		{state.StrayRoute, byItself, func(t *testing.T, s scene) produced {
			// Nobody holds it, and another owner holds the wildcard above it.
			s.apply(t, web("web", 8080, s.host))
			remove(t, claims, ledger, s.host)
			_, domain, _ := strings.Cut(s.host, ".")
			plant(t, state.HostWant{Host: "*." + domain}.Hold(leaseOf(newOwner(), 9)), func(p *state.Part) { p.Bound = true })
			return produced{thing: s.host, touched: []string{"ingresses " + s.id.Namespace() + "/" + s.host, "providerhosts lease/" + s.host}}
		}},
		{state.TwoRoutes, byName, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			return produced{thing: s.host, touched: []string{s.rival(t, "default", nil)}}
		}},
		{state.TwoRoutes, byName, func(t *testing.T, s scene) produced {
			// Nobody holds the host: the oldest route stays, and of two of one second the first by its namespace.
			for s.id.Namespace() > "kube-public" {
				s.id.DSeq++
			}
			makeNamespace(t, s.id)
			s.rival(t, s.id.Namespace(), s.id.Labels())
			return produced{thing: s.host, touched: []string{s.rival(t, "kube-public", nil)}}
		}},
		{state.TwoRoutes, byName, func(t *testing.T, s scene) produced {
			// The second one says that it is the holder's, in the namespace of another tenant.
			s.apply(t, web("web", 8080, s.host))
			other := leaseOf(newOwner(), 1)
			makeNamespace(t, other)
			return produced{thing: s.host, touched: []string{s.rival(t, other.Namespace(), s.id.Labels())}}
		}},
		{state.TwoRoutes, withDefinition, func(t *testing.T, s scene) produced {
			// The order after: the lease's namespace is another.
			s.apply(t, web("web", 8080, s.host))
			next := s.id
			next.OSeq++
			definition := define(t, next, web("web", 8080, s.host))
			mustRun(t, 0, "apply", "--config", s.plain, "--prune=false", "-f", definition)
			return produced{thing: s.host, definition: definition, touched: []string{"ingresses " + s.id.Namespace() + "/" + s.host}}
		}},
		{state.MigrationUnderWay, byName, func(t *testing.T, s scene) produced {
			s.apply(t, web("web", 8080, s.host))
			mustRun(t, 0, "migrate", "--config", s.plain, "--to=httproute", "--keep-old", "--wait=false", s.id.Group().String())
			// The migration's mark moves the claim, and goes again.
			return produced{thing: s.host, touched: []string{"httproutes " + s.id.Namespace() + "/" + s.host, "leases " + ledger + "/" + s.host}}
		}},
		{state.MigrationUnderWay, withDefinition, func(t *testing.T, s scene) produced {
			// Two hosts are two problems, and mended by one application.
			definition := define(t, s.id, web("web", 8080, s.host, "too."+s.host))
			mustRun(t, 0, "apply", "--config", s.plain, "-f", definition)
			mustRun(t, 0, "migrate", "--config", s.plain, "--to=httproute", "--keep-old", "--wait=false", s.id.Group().String())
			return produced{
				thing: s.host, definition: definition,
				touched: []string{"httproutes " + s.id.Namespace() + "/" + s.host, "httproutes " + s.id.Namespace() + "/too." + s.host},
			}
		}},
		{state.MixedDefinitions, byName, func(t *testing.T, s scene) produced {
			gone := "gone." + s.host
			s.apply(t, web("web", 8080, gone))
			mustRun(t, 0, "apply", "--config", s.plain, "--prune=false", "-f", define(t, s.id, web("web", 8080, s.host)))
			return produced{
				thing: s.id.Group().String(), touched: []string{
					"ingresses " + s.id.Namespace() + "/" + gone, "providerhosts lease/" + gone, "leases " + ledger + "/" + gone, "leases " + ledger + "/" + s.host,
				},
				after: func(t *testing.T) {
					held(t, gone)
					held(t, s.host, "1 /")
				},
			}
		}},
		{state.MixedDefinitions, withDefinition, func(t *testing.T, s scene) produced {
			gone := "gone." + s.host
			s.apply(t, web("web", 8080, gone))
			definition := define(t, s.id, web("web", 8080, s.host))
			mustRun(t, 0, "apply", "--config", s.plain, "--prune=false", "-f", definition)
			return produced{thing: s.id.Group().String(), definition: definition, touched: []string{
				"ingresses " + s.id.Namespace() + "/" + gone, "providerhosts lease/" + gone, "leases " + ledger + "/" + gone,
			}}
		}},
		{state.UnreadableClaim, byName, func(t *testing.T, s scene) produced {
			plant(t, state.HostWant{Host: s.host}.Hold(s.id), func(*state.Part) {})
			change(t, claims, ledger, s.host, func(o *object) {
				o.SetAnnotations(with(o.GetAnnotations(), state.AnnotationLedger, "v9"))
			})
			return produced{thing: s.host, touched: []string{"leases " + ledger + "/" + s.host}}
		}},
		{state.UnreadableClaim, byName, func(t *testing.T, s scene) produced {
			create(t, claims, `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: `+s.host+`, namespace: `+ledger+`,
labels: {net.akash.network/kind: address}, annotations: {net.akash.network/ledger: v1}}}`)
			return produced{thing: s.host, touched: []string{"leases " + ledger + "/" + s.host}}
		}},
		{state.StrayRecord, byItself, func(t *testing.T, s scene) produced {
			mustRun(t, 0, "apply", "--wait=false", "--config", s.recorded(t), "-f", define(t, s.id, web("web", 8080, s.host)))
			return produced{thing: s.host, touched: []string{"dnsendpoints " + s.id.Namespace() + "/" + s.host}}
		}},
		{state.RecordDiffers, byItself, func(t *testing.T, s scene) produced {
			mustRun(t, 0, "apply", "--wait=false", "--config", s.recorded(t), "-f", define(t, s.id, web("web", 8080, s.host)))
			t.Cleanup(func() { run(context.Background(), "release", "--config", s.recorded(t), s.id.Group().String()) })
			change(t, dnsEndpoints, s.id.Namespace(), s.host, func(o *object) {
				_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{
					"dnsName": s.host, "recordType": "CNAME", "targets": []any{"elsewhere.example.net"},
				}}, "spec", "endpoints")
			})
			return produced{
				thing: s.host, config: s.recorded(t), touched: []string{"dnsendpoints " + s.id.Namespace() + "/" + s.host},
				after: func(t *testing.T) {
					if need(t, dnsEndpoints, s.id.Namespace(), s.host).GetAnnotations()[lease.AnnotationDefinition] == "" {
						t.Error("repair has taken the definition's hash off the record")
					}
				},
			}
		}},
	}
}
