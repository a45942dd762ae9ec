package commands

import (
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A claim is kept as long as a route for it is there, however it is given up, and whether or not the command waits: another
// finalizer than a record's keeps it as well. The same command goes on.
func TestClaimOutlivesRoute(t *testing.T) {
	t.Parallel()
	goes, stays := "goes."+newDomain(), "stays."+newDomain()
	id, other := leaseOf(newOwner(), 1), leaseOf(newOwner(), 2)
	both, one := define(t, id, web("web", 80, goes, stays)), define(t, id, web("web", 80, stays))
	ends := map[string][]string{
		"pruned":   {"apply", "-f", one, "--assume-serving"},
		"released": {"release", id.String(), goes},
		"all":      {"release", id.String()},
	}
	for _, name := range []string{"pruned", "released", "all"} {
		t.Run(name, func(t *testing.T) {
			mustRun(t, 0, "apply", "-f", both, "--wait=false")
			change(t, ingresses, id.Namespace(), goes, func(o *object) { o.SetFinalizers([]string{"example.com/held"}) })
			kept := "ingress " + id.Namespace() + "/" + goes + " to be gone (finalizers [example.com/held]); its claim is kept until then"
			r := mustRun(t, 5, append(ends[name], "--wait=false")...).Says(t, "not waited for:", kept)
			// The server has not said that it is gone.
			if r.Prints(t, "ingress/"+goes+" deleting (finalizers [example.com/held])"); regexp.MustCompile("ingress/" + goes + " (deleted|pruned)").MatchString(r.Stdout) {
				t.Errorf("said to be gone: %s", r)
			}
			mustRun(t, 5, append(ends[name], "--timeout=3s")...).Says(t, "timed out after 3s", kept,
				"lease/"+id.Group().String()+" waiting for ingress "+id.Namespace()+"/"+goes+" to be gone (since ")
			mustRun(t, 4, "reserve", "--lease", other.String(), goes)
			mustRun(t, 1, "state", "--problems", "-n", id.Namespace()).Prints(t, "Terminating", "ingress/"+goes,
				"it is being deleted, and kept by its finalizers example.com/held", "kubectl -n "+id.Namespace()+" edit ingress/"+goes)
			change(t, ingresses, id.Namespace(), goes, func(o *object) { o.SetFinalizers(nil) })
			mustRun(t, 0, append(ends[name], "--wait=false")...)
			mustRun(t, 0, "reserve", "--lease", other.String(), goes)
			mustRun(t, 0, "release", other.String())
		})
	}
}

// An object with finalizers is deleting, and deleted once it is gone.
func TestDeletingBeforeDeleted(t *testing.T) {
	t.Parallel()
	host := "ends." + newDomain()
	id := leaseOf(newOwner(), 1)
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 80, host)), "--wait=false")
	change(t, ingresses, id.Namespace(), host, func(o *object) { o.SetFinalizers([]string{"example.com/held"}) })
	p := startProxy(t, nil)
	var taken atomic.Bool
	p.before = func(request string) {
		switch request {
		case "DELETE ingresses/" + host:
			taken.Store(true)
		case "GET ingresses/" + host:
			if taken.CompareAndSwap(true, false) {
				change(t, ingresses, id.Namespace(), host, func(o *object) { o.SetFinalizers(nil) })
			}
		}
	}
	runAs(t.Context(), p.kubeconfig, "release", id.String()).Exits(t, 0).
		Prints(t, "ingress/"+host+" deleting (finalizers [example.com/held])\n", "ingress/"+host+" deleted\n", "host/"+host+" released")
}

// What an apply has written before it is refused stays, with its claims; the next apply goes on from there.
func TestObjectsOfARefusedApplyStay(t *testing.T) {
	t.Parallel()
	domain := newDomain()
	first, second := "a."+domain, "b."+domain
	id, other := leaseOf(newOwner(), 1), leaseOf(newOwner(), 2)
	def := define(t, id, web("web", 80, first, second))
	p := startProxy(t, nil)
	p.before = func(request string) {
		if request == "PATCH ingresses/"+second {
			harness.Create(t, "somebody", ingresses, `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: `+second+`, namespace: `+id.Namespace()+`},
				spec: {ingressClassName: other, defaultBackend: {service: {name: web, port: {number: 80}}}}}`)
		}
	}
	runAs(t.Context(), p.kubeconfig, "apply", "-f", def, "--concurrency=1", "--timeout=1s").Exits(t, 1).
		Prints(t, "ingress/"+first+" created").Says(t, "ingress/"+second+": fields are managed by somebody")
	held(t, first, "1 /")
	held(t, second, "1 /")
	mustRun(t, 4, "reserve", "--lease", other.String(), second)
	remove(t, ingresses, id.Namespace(), second)
	mustRun(t, 0, "apply", "-f", def, "--wait=false").Prints(t, "ingress/"+first+" unchanged", "ingress/"+second+" created")
	mustRun(t, 0, "state", "--problems", "-n", id.Namespace())
}

// What repair gives up it gives up when all that stood for it is gone.
func TestRepairedClaimOutlivesObjects(t *testing.T) {
	t.Parallel()
	host := "gone." + newDomain()
	id, other := leaseOf(newOwner(), 1), leaseOf(newOwner(), 2)
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 80, host)), "--wait=false")
	change(t, hosts, "lease", host, func(o *object) { o.SetFinalizers([]string{"example.com/held"}) })
	remove(t, ingresses, id.Namespace(), host)
	removeNamespace(t, id.Namespace())
	name := state.NamespaceGone + "/" + host
	for range 2 {
		r := mustRun(t, 1, "repair", name, "--timeout=1s")
		if !strings.Contains(r.Stdout+r.Stderr, "to be gone (finalizers [example.com/held]); its claim is kept until then") {
			t.Errorf("it does not say what keeps it: %s", r)
		}
		mustRun(t, 4, "reserve", "--lease", other.String(), host)
	}
	change(t, hosts, "lease", host, func(o *object) { o.SetFinalizers(nil) })
	mustRun(t, 0, "repair", name, "--timeout=1m")
	mustRun(t, 0, "reserve", "--lease", other.String(), host)
}
