package akash_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// While the hostname operator is down a changed backend is not granted, and does not count as live.
func TestChangeWhileTheOperatorIsDown(t *testing.T) {
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	host := newHost("down")
	w.apply(workload(w.blue, []string{host})).Exits(t, 0)
	w.running.Stop()
	changed := routedTo(workload(w.blue, []string{host}), "api")
	must(t, w.akash.SendManifest(t.Context(), changed))
	definition := w.define(changed)
	w.operated("apply", "--timeout=300ms", "-f", definition).Exits(t, 5).Tells(t, "to route "+host+" to api:80")
	w.operated("apply", "--timeout=300ms", "-f", definition).Exits(t, 5).Tells(t, "to route "+host+" to api:80")
	if r := w.run("state", "hosts"); strings.Contains(line(r.Stdout, host), "Active") {
		t.Errorf("the host counts as live: %s", r)
	}
	if r := w.run("explain", host); strings.Contains(r.Stdout, "Live:") {
		t.Errorf("the host counts as live: %s", r)
	}
	w.audits("the operator is down")
	w.running.Restart()
	w.operated("apply", "-f", definition).Exits(t, 0)
	w.settled("the operator is up", []string{host}, changed)
}

// line is the line of a table that has a word.
func line(table, word string) string {
	for l := range strings.Lines(table) {
		if strings.Contains(l, word) {
			return l
		}
	}
	return ""
}

// While a route stands that an operator has left, its claim is kept, however often the lease is released.
func TestReleaseWhileTheOperatorIsDown(t *testing.T) {
	o, spec := pooled(t, "")
	w := newWorld(t, o, spec, "--operators=on")
	host := newHost("left")
	d := workload(w.blue, []string{host}, "public:TCP:443:web")
	w.apply(d).Exits(t, 0)
	w.running.Stop()
	for range 3 {
		w.operated("release", "--timeout=300ms", w.blue.Group().String()).Exits(t, 5).Tells(t, "its claim is kept until then", "ingress "+w.blue.Namespace()+"/"+host)
		if n := len(list(t, claims, "net.akash.network/owner="+w.owner)); n != 2 {
			t.Fatalf("there are %d claims", n)
		}
		w.audits("the operator is down")
	}
	// One that comes back does not know of what was deleted meanwhile.
	w.running.Restart()
	w.operated("release", "--timeout=300ms", w.blue.Group().String()).Exits(t, 5).Tells(t, "kubectl -n "+w.blue.Namespace()+" delete ingress "+host)
	must(t, harness.Objects.Resource(operators.Ingresses).Namespace(w.blue.Namespace()).Delete(t.Context(), host, metav1.DeleteOptions{}))
	must(t, harness.Objects.Resource(operators.Services).Namespace(w.blue.Namespace()).Delete(t.Context(), "web-ip-443-tcp", metav1.DeleteOptions{}))
	w.operated("release", "--timeout=300ms", w.blue.Group().String()).Exits(t, 0)
	w.settled("released", nil)
}

// The same for a host that is dropped from the definition.
func TestDropWhileTheOperatorIsDown(t *testing.T) {
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	stays, goes := newHost("stays"), newHost("goes")
	w.apply(workload(w.blue, []string{stays, goes})).Exits(t, 0)
	w.running.Stop()
	d := workload(w.blue, []string{stays})
	for range 2 {
		w.operated("apply", "--timeout=300ms", "-f", w.define(d)).Exits(t, 5).Tells(t, goes, "its claim is kept until then")
		if find(t, claims, ledger, goes) == nil {
			t.Fatal("the claim is given up while its route stands")
		}
	}
	must(t, harness.Objects.Resource(operators.Ingresses).Namespace(w.blue.Namespace()).Delete(t.Context(), goes, metav1.DeleteOptions{}))
	w.running.Restart()
	w.operated("apply", "-f", w.define(d)).Exits(t, 0)
	w.settled("dropped", []string{stays}, d)
}

// A host that was transferred and waits for its routes is still served by the former lease's, which the operator made.
// Giving it up while the operator is down keeps the claim as well, however often, and whoever is released.
func TestReleaseOfATransferredHostWhileTheOperatorIsDown(t *testing.T) {
	for name, release := range map[string]func(w *world) []string{
		"the new lease":    func(w *world) []string { return []string{w.green.Group().String()} },
		"the host":         func(w *world) []string { return []string{w.green.Group().String(), "HOST"} },
		"both":             func(w *world) []string { return []string{w.blue.Group().String(), w.green.Group().String()} },
		"the former lease": func(w *world) []string { return []string{w.blue.Group().String()} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, operators.Options{}, "{}", "--operators=on")
			host := newHost("handed")
			w.apply(workload(w.blue, []string{host})).Exits(t, 0)
			w.operated("transfer", host, "--to", w.green.String()).Exits(t, 0)
			w.running.Stop()
			args := append([]string{"release", "--timeout=300ms"}, release(w)...)
			if i := slices.Index(args, "HOST"); i >= 0 {
				args[i] = host
			}
			for range 3 {
				r := w.operated(args...)
				if find(t, operators.Ingresses, w.blue.Namespace(), host) != nil && find(t, claims, ledger, host) == nil {
					t.Fatalf("the host is free, and is served: %s", r)
				}
			}
			if r := w.operated(args...); r.Code != 5 && name != "the former lease" {
				t.Errorf("it does not say that it waits: %s", r)
			}
			if name != "the former lease" { // its ProviderHost is gone, and the operator never removes the route
				if p := w.problems(); !slices.ContainsFunc(p, func(p string) bool { return strings.HasPrefix(p, "NotDeclared "+host) }) {
					t.Errorf("the problems are %q", p)
				}
				w.run("repair", "--operators=on", "--crashed-after=0s", "--assume-crashed", "NotDeclared/"+host).Exits(t, 0)
			}
			w.running.Restart()
			w.operated("release", "--ignore-not-found", "--timeout=30s", w.blue.Group().String(), w.green.Group().String()).Exits(t, 0)
			w.settled("released", nil)
		})
	}
}

// An apply that drops a host which was transferred, and waits for its routes, removes what stands for the former lease, and
// waits until the operator has removed its route.
func TestDropOfATransferredHost(t *testing.T) {
	for name, down := range map[string]bool{"the operator runs": false, "the operator is down": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, operators.Options{}, "{}", "--operators=on")
			host, other := newHost("dropped"), newHost("stays")
			w.apply(workload(w.blue, []string{host})).Exits(t, 0)
			w.operated("transfer", host, "--to", w.green.String()).Exits(t, 0)
			d := workload(w.green, []string{other})
			if !down {
				w.apply(d).Exits(t, 0).Tells(t, "host/"+host+" pruned")
				w.settled("dropped", []string{other}, d)
				return
			}
			w.running.Stop()
			must(t, w.akash.SendManifest(t.Context(), d))
			for range 2 {
				w.operated("apply", "--timeout=1s", "-f", w.define(d)).Exits(t, 5).Tells(t, "ingress "+w.blue.Namespace()+"/"+host)
				if find(t, claims, ledger, host) == nil {
					t.Fatal("the host is free, and is served")
				}
			}
			w.run("repair", "--operators=on", "--crashed-after=0s", "--assume-crashed", "NotDeclared/"+host).Exits(t, 0)
			w.running.Restart()
			w.apply(d).Exits(t, 0)
			w.settled("dropped", []string{other}, d)
		})
	}
}

// An operator that has not yet seen that a ProviderHost is gone makes its route again, and is stopped. Another lease has
// the host by then: the route that nothing stands for goes by name, unless Akash declares it meanwhile.
func TestRouteMadeAfterItsHostWent(t *testing.T) {
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	host := newHost("late")
	first, second := workload(w.blue, []string{host}), workload(w.green, []string{host})
	w.apply(first).Exits(t, 0)
	late := find(t, operators.Ingresses, w.blue.Namespace(), host)
	w.operated("release", "--timeout=30s", w.blue.Group().String()).Exits(t, 0)
	w.apply(second).Exits(t, 0)
	w.running.Stop()
	for _, field := range []string{"uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(late.Object, "metadata", field)
	}
	if _, err := harness.Objects.Resource(operators.Ingresses).Namespace(w.blue.Namespace()).Create(t.Context(), late, metav1.CreateOptions{FieldManager: "provider-services"}); err != nil {
		t.Fatal(err)
	}
	if found := w.audits("made late"); len(found) == 0 {
		t.Error("the audit finds nothing")
	}
	mend := []string{"repair", "--operators=on", "--crashed-after=0s", "--assume-crashed", "StrayRoute/" + host}
	w.run("repair", mend[1], mend[2], mend[3]).Tells(t, "StrayRoute/"+host+" left (", "delete ingress "+w.blue.Namespace()+"/"+host, "kubectl akash-net repair StrayRoute/"+host)

	reads := 0
	w.proxy.reads = func(path string) {
		if strings.HasSuffix(path, "/providerhosts/"+host) {
			if reads++; reads == 1 {
				must(t, w.akash.TransferHostname(t.Context(), w.blue, host, "web", 80))
			}
		}
	}
	w.run(mend...).Tells(t, "StrayRoute/"+host+" left (")
	w.proxy.reads = nil
	if reads == 0 || find(t, operators.Ingresses, w.blue.Namespace(), host) == nil {
		t.Fatalf("a route that Akash has declared is deleted; %d reads", reads)
	}
	must(t, w.akash.TransferHostname(t.Context(), w.green, host, "web", 80))
	w.run(mend...).Exits(t, 0).Tells(t, "StrayRoute/"+host+" repaired")
	if find(t, operators.Ingresses, w.blue.Namespace(), host) != nil {
		t.Error("the late route is there")
	}
	w.running.Restart()
	w.apply(second).Exits(t, 0)
	w.settled("repaired", []string{host}, second)
}

// A release of what Akash's provider declared does not wait for a route that stays: the host goes on being
// served, and is kept until the provider has purged it.
func TestReleaseOfWhatAkashDeclared(t *testing.T) {
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	host := newHost("declared")
	d := workload(w.blue, []string{host})
	must(t, w.akash.Deploy(t.Context(), d))
	w.apply(d).Exits(t, 0)
	w.operated("release", "--timeout=30s", w.blue.Group().String()).Exits(t, 4).Tells(t, "host "+host+" is kept")
	if find(t, operators.Ingresses, w.blue.Namespace(), host) == nil || find(t, operators.Hosts, manifests, host) == nil {
		t.Error("what Akash declared is gone")
	}
	must(t, w.akash.PurgeDeclaredHostnames(t.Context(), w.blue))
	eventually(t, "the operator removes the route", func() bool { return find(t, operators.Ingresses, w.blue.Namespace(), host) == nil })
	w.operated("release", w.blue.Group().String()).Exits(t, 0)
	w.settled("released", nil)
}

// A transfer to a lease that the operator would ignore fails before the claim moves.
func TestTransferToALeaseWithoutManifest(t *testing.T) {
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	host := newHost("moves")
	d := workload(w.blue, []string{host})
	w.apply(d).Exits(t, 0)
	w.operated("transfer", host, "--to", w.green.String(), "-f", w.define(workload(w.green, []string{host}))).Exits(t, 1).Tells(t, "no Manifest in namespace lease", "Nothing was changed")
	w.settled("refused", []string{host}, d)
}

// With --operators=off, where they run, what they would write over is refused before anything is claimed:
// both operators, and each alone. Afterwards nothing is there and they are at rest.
func TestOperatorsThatRunAreNotOff(t *testing.T) {
	deploy(t, "operator-hostname", "operator-ip")
	o, pool := pooled(t, "")
	const ranged = "{ip: {ranges: [203.0.113.0/28]}}"
	for name, test := range map[string]struct {
		spec, flag string
		hosts      []string
		ports      []string
		code       int
		says       string
	}{
		"a host":                   {"{}", "off", []string{newHost("off")}, nil, 1, "--operators=off, but Akash's hostname operator runs"},
		"a port, pool mode":        {pool, "off", nil, []string{"public:TCP:443:web"}, 1, "--operators=off, but Akash's IP operator runs"},
		"a port, range mode":       {ranged, "off", nil, []string{"public:TCP:443:web"}, 1, "ip.mode"},
		"a port, range mode, auto": {ranged, "auto", nil, []string{"public:TCP:443:web"}, 1, "ip.mode"},
		"a port, range mode, on":   {ranged, "on", nil, []string{"public:TCP:443:web"}, 1, "ip.mode"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, o, test.spec, "--operators="+test.flag)
			d := workload(w.blue, test.hosts, test.ports...)
			r := w.apply(d).Exits(t, test.code).Tells(t, test.says)
			if strings.Contains(r.Stderr, "With --operators=off") {
				t.Errorf("it advises what does harm: %s", r)
			}
			w.settled("refused", nil)
			if n := len(list(t, operators.Hosts, lease.LabelOwner+"="+w.owner)) + len(list(t, operators.LeasedIPs, lease.LabelOwner+"="+w.owner)); n > 0 {
				t.Errorf("%d objects that operators read are there", n)
			}
			if errs := w.running.Errors(); len(errs) > 0 {
				t.Error(errs)
			}
		})
	}
}

// A route that an operator has made and that nothing stands for any more, neither a ProviderHost nor a claim,
// is shown and can be deleted by name.
func TestRouteThatAnOperatorHasLeft(t *testing.T) {
	o, spec := pooled(t, "")
	w := newWorld(t, o, spec, "--operators=on")
	host := newHost("orphan")
	d := workload(w.blue, []string{host}, "public:TCP:443:web")
	w.apply(d).Exits(t, 0)
	w.running.Stop()
	must(t, harness.Objects.Resource(operators.Hosts).Namespace(manifests).Delete(t.Context(), host, metav1.DeleteOptions{}))
	must(t, w.akash.PurgeDeclaredIP(t.Context()))
	for _, c := range list(t, claims, "net.akash.network/owner="+w.owner) {
		must(t, harness.Objects.Resource(claims).Namespace(ledger).Delete(t.Context(), c.GetName(), metav1.DeleteOptions{}))
	}
	w.running.Restart()
	if found := w.audits("left"); len(found) == 0 {
		t.Error("the audit finds nothing")
	}
	for _, thing := range []string{host, lease.SharingKey(w.owner, "public")} {
		w.run("repair", "--crashed-after=0s", "--assume-crashed", "NotDeclared/"+thing).Exits(t, 0).Tells(t, "NotDeclared/"+thing+" repaired")
	}
	w.settled("repaired", nil)
	if n := len(list(t, operators.Ingresses, lease.LabelOwner+"="+w.owner)) + len(list(t, operators.Services, lease.LabelOwner+"="+w.owner)); n > 0 {
		t.Errorf("%d objects are left", n)
	}
}

// What stands for the claim of a run that was killed goes with the claim only while nothing serves it: an operator
// that routes it when it is being deleted keeps the claim.
func TestOperatorRoutesWhatACrashedRunLeft(t *testing.T) {
	for name, when := range map[string]struct {
		request string
		stays   bool // its ProviderHost does too
	}{
		"before the ProviderHost is deleted": {"/ingresses", true},
		"while it is deleted":                {"/providerhosts/", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, operators.Options{}, "{}", "--operators=on")
			host := newHost("crashed")
			d := workload(w.blue, []string{host})
			w.apply(d).Exits(t, 0)
			route := find(t, operators.Ingresses, w.blue.Namespace(), host)
			for _, field := range []string{"uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"} {
				unstructured.RemoveNestedField(route.Object, "metadata", field)
			}
			w.operated("release", "--timeout=30s", w.blue.Group().String()).Exits(t, 0)
			w.running.Stop()
			w.killAt(d, host)
			harness.Remove(t, claims, ledger, kept.Name(w.blue.Group())) // else repair finishes the run

			reads := 0
			made := func(path string) {
				if strings.Contains(path, when.request) {
					if reads++; reads == 3 || !when.stays && reads == 1 {
						_, err := harness.Objects.Resource(operators.Ingresses).Namespace(w.blue.Namespace()).Create(t.Context(), route, metav1.CreateOptions{FieldManager: "provider-services"})
						must(t, err)
					}
				}
			}
			if w.proxy.reads = made; !when.stays {
				w.proxy.reads, w.proxy.before = nil, func(method, path string) {
					if method == http.MethodDelete {
						made(path)
					}
				}
			}
			w.run("repair", "--crashed-after=0s", "--assume-crashed", "CrashedRun/"+host).Tells(t, "CrashedRun/"+host+" left (")
			w.proxy.reads, w.proxy.before = nil, nil
			if find(t, operators.Ingresses, w.blue.Namespace(), host) == nil {
				t.Fatal("no route was made")
			}
			if find(t, claims, ledger, host) == nil {
				t.Error("the claim of a host that is served is given up")
			}
			if (find(t, operators.Hosts, manifests, host) != nil) != when.stays {
				t.Errorf("its ProviderHost stays: want %v", when.stays)
			}
		})
	}
}

// killAt applies a deployment and kills the run when it has declared the host and is about to end its work on it.
func (w *world) killAt(d operators.Deployment, host string) {
	w.Helper()
	must(w.T, w.akash.SendManifest(w.Context(), d))
	ctx, kill := context.WithCancel(w.Context())
	defer kill()
	dead := make(chan struct{})
	w.proxy.before = func(method, path string) {
		if method == http.MethodDelete && strings.Contains(path, "/leases/run--") && find(w.T, operators.Hosts, manifests, host) != nil {
			kill()
			<-dead
			panic(http.ErrAbortHandler) // what it was about to write dies with it
		}
	}
	run(ctx, w.proxy.kubeconfig, append([]string{"apply", "--timeout=2s", "--config", w.config, "-f", w.define(d)}, w.flags...)...)
	close(dead)
	w.proxy.before = nil
	if find(w.T, operators.Hosts, manifests, host) == nil || find(w.T, claims, ledger, host) == nil {
		w.Fatal("the run left nothing")
	}
}
