package akash_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// world is an owner with two deployments beside operators of its own.
type world struct {
	*testing.T
	owner       string
	blue, green lease.ID
	running     *operators.Operators
	akash       operators.Provider
	proxy       *counter
	config      string
	flags       []string
}

// newWorld is beside operators; spec is of the provider's configuration.
func newWorld(t *testing.T, o operators.Options, spec string, flags ...string) *world {
	t.Helper()
	w := &world{T: t, owner: newTenant(t), proxy: count(t), flags: flags}
	w.blue, w.green = leaseOf(w.owner, 1), leaseOf(w.owner, 2)
	o.Owner = w.owner
	w.running, w.akash = start(t, o)
	w.config = file(t, "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nmetadata: {name: harness.Provider}\nspec: "+spec+"\n")
	return w
}

// pooled is a pool of its own and the configuration that leaves addresses to MetalLB.
func pooled(t *testing.T, more string) (operators.Options, string) {
	t.Helper()
	n := harness.Number()
	pool := fmt.Sprint("pool-", n)
	harness.Create(t, "admin", pools, fmt.Sprintf(
		`{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: %s, namespace: metallb-system}, spec: {addresses: [10.78.%d.0/28], autoAssign: false}}`, pool, n))
	return operators.Options{Pool: pool}, fmt.Sprintf("{ip: {mode: pool, pool: %s}%s}", pool, more)
}

// define writes the definition of a deployment.
func (w *world) define(d operators.Deployment) string {
	w.Helper()
	var services, endpoints []string
	for _, s := range d.Services {
		var exposes []string
		for _, e := range s.Expose {
			ip := ""
			if e.IP != "" {
				endpoints, ip = append(endpoints, "{name: "+e.IP+"}"), ", ip: "+e.IP
			}
			if len(e.Hosts) > 0 || e.IP != "" {
				exposes = append(exposes, fmt.Sprintf("{port: %d, as: %d, protocol: %s, global: true, hosts: [%s]%s}", e.Port, e.As, e.Protocol, strings.Join(e.Hosts, ", "), ip))
			}
		}
		if len(exposes) > 0 {
			services = append(services, fmt.Sprintf("{name: %s, expose: [%s]}", s.Name, strings.Join(exposes, ", ")))
		}
	}
	slices.Sort(endpoints)
	return harness.Define(w.T, d.Lease, services, slices.Compact(endpoints))
}

// routed waits until the operator has routed a host to a lease, unrouted until it has removed that route.
func (w *world) routed(id lease.ID, host string)   { w.waits(operators.Ingresses, id, host, true) }
func (w *world) unrouted(id lease.ID, host string) { w.waits(operators.Ingresses, id, host, false) }

// waits waits until a lease has an object of the operators, or has it no more.
func (w *world) waits(resource schema.GroupVersionResource, id lease.ID, name string, there bool) {
	w.Helper()
	eventually(w.T, fmt.Sprintf("%s of %s: there %t", name, id.Group(), there), func() bool { return w.has(resource, id, name) == there })
}

// has is true where a lease has an object.
func (w *world) has(resource schema.GroupVersionResource, id lease.ID, name string) bool {
	return find(w.T, resource, id.Namespace(), name) != nil
}

// run runs the program by the world's configuration.
func (w *world) run(args ...string) result {
	w.Helper()
	return run(w.Context(), w.proxy.kubeconfig, append(args, "--config", w.config)...)
}

// operated runs a command that has to do with operators.
func (w *world) operated(args ...string) result {
	w.Helper()
	return w.run(append(args, w.flags...)...)
}

// apply sends the manifest of a deployment and applies its definition. No controller says that a route serves.
func (w *world) apply(d operators.Deployment) result {
	w.Helper()
	must(w.T, w.akash.SendManifest(w.Context(), d))
	return w.operated("apply", "--timeout=30s", "--assume-serving", "-f", w.define(d))
}

// problems are those that the program shows of the owner.
func (w *world) problems() (out []string) {
	w.Helper()
	r := w.run("state", "--problems", "--crashed-after=0s", "-o", "json")
	var book struct {
		Problems []struct{ Problem, Thing, Lease, Message string }
	}
	if err := json.Unmarshal([]byte(r.Stdout), &book); err != nil {
		w.Fatalf("%v: %s", err, r)
	}
	for _, p := range book.Problems {
		if strings.Contains(p.Lease+p.Thing, w.owner) || strings.Contains(p.Message, w.owner) {
			out = append(out, p.Problem+" "+p.Thing+" "+p.Message)
		}
	}
	return out
}

// audits compares what the program shows with what the audit finds; the answer is the latter. It does not know when the definition that the
// ledger keeps of a lease is over.
func (w *world) audits(when string) []finding {
	w.Helper()
	found, shown := readAudit(w.T, w.owner).found, w.problems()
	about := func(problem string, f finding) bool { return slices.Contains(f.things, strings.Fields(problem)[1]) }
	for _, f := range found {
		if !slices.ContainsFunc(shown, func(p string) bool { return about(p, f) }) {
			w.Errorf("%s: state --problems does not show %s", when, f)
		}
	}
	for _, p := range shown {
		if !slices.ContainsFunc(found, func(f finding) bool { return about(p, f) }) && !strings.Contains(p, " definition/") {
			w.Errorf("%s: the audit does not find what state --problems shows: %s", when, p)
		}
	}
	return found
}

// holds are the owner's claims: the names of hosts, and ip or ep for an address or an endpoint.
func (w *world) holds() (held []string) {
	w.Helper()
	for _, c := range list(w.T, claims, "net.akash.network/owner="+w.owner) {
		held = append(held, strings.SplitN(c.GetName(), "--", 2)[0])
	}
	slices.Sort(held)
	return held
}

// repairs mends problems by name, whatever is at work, with the operators as they are in this world.
func (w *world) repairs(problems ...string) result {
	w.Helper()
	return w.operated(append([]string{"repair", "--crashed-after=0s", "--assume-crashed"}, problems...)...)
}

// settled fails the test unless all is as it should be after a step: the owner holds the things and
// nothing else, nothing is wrong, and applying the deployments again writes nothing.
func (w *world) settled(when string, holds []string, deployed ...operators.Deployment) {
	w.Helper()
	for _, f := range w.audits(when) {
		w.Errorf("%s: %s", when, f)
	}
	held := w.holds()
	if slices.Sort(holds); !slices.Equal(held, holds) {
		w.Errorf("%s: the claims are %q, want %q", when, held, holds)
	}
	for _, d := range deployed {
		w.proxy.sent()
		w.operated("apply", "--assume-serving", "-f", w.define(d)).Exits(w.T, 0)
		if writes := w.proxy.sent(); len(writes) > 0 {
			w.Errorf("%s: the next apply of %s writes %q", when, d.Lease.Group(), writes)
		}
	}
}

// caughtUp waits until the operators have done what is to be done, so that the audit finds nothing.
func (w *world) caughtUp(when string) {
	w.Helper()
	eventually(w.T, when+": the operators catch up", func() bool { return len(readAudit(w.T, w.owner).found) == 0 })
}
