package akash_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What waits for an operator that is down ends with 5, says what it waits for and gives nothing up, however often it is called. When the
// operator is back, which does not know of what was deleted meanwhile, the same command ends well.
func TestWhileTheOperatorIsDown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// hosts and port are what the lease has, deployed is what it is to have next; nil if it ends.
		hosts    []string
		port     string
		deployed func(w *world, hosts []string) *operators.Deployment
		// command may have BLUE, GREEN, FILE and the names of hosts as numbers.
		command, says string
		// stays is what the command does not give up, left what the operator leaves, holds is what is held at the end.
		stays, left, holds string
	}{
		"a changed backend": {[]string{"moved"}, "", func(w *world, hosts []string) *operators.Deployment {
			d := routedTo(workload(w.blue, hosts), "api")
			return &d
		}, "apply -f FILE", "to route 0 to api:80", "0", "", "0"},
		"a release": {[]string{"left"}, "public:TCP:443:web", nil,
			"release BLUE", "its claim is kept until then", "0 ep", "ingress/0 service/web-ip-443-tcp", ""},
		"a host that is dropped": {[]string{"stays", "goes"}, "", func(w *world, hosts []string) *operators.Deployment {
			d := workload(w.blue, hosts[:1])
			return &d
		}, "apply -f FILE", "its claim is kept until then", "0 1", "ingress/1", "0"},
		"a transfer": {[]string{"handed"}, "", func(w *world, hosts []string) *operators.Deployment {
			d := workload(w.green, hosts)
			return &d
		}, "transfer 0 --to GREEN -f FILE", "Akash's hostname operator to route 0 to web:80", "0", "", "0"},
		"a transfer by the kept definition": {[]string{"handed"}, "", func(w *world, hosts []string) *operators.Deployment {
			d := workload(w.green, hosts)
			w.apply(d).Exits(w.T, 0).Prints(w.T, "withheld")
			return &d
		}, "transfer 0 --to GREEN", "Akash's hostname operator to route 0 to web:80", "0", "", "0"},
		// It keeps the name of its Service, which the operator does not take over: the new port is declared when that is gone.
		"a port that moves to another endpoint": {nil, "public:TCP:443:web", func(w *world, _ []string) *operators.Deployment {
			d := workload(w.blue, nil, "private:TCP:443:web")
			return &d
		}, "apply -f FILE", "delete service web-ip-443-tcp", "ep", "service/web-ip-443-tcp", "ep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, spec := pooled(t, "")
			w := newWorld(t, o, spec, "--operators=on")
			names := []string{"BLUE", w.blue.Group().String(), "GREEN", w.green.String()}
			var hosts, ports []string
			for i, word := range tt.hosts {
				hosts = append(hosts, newHost(word))
				names = append(names, fmt.Sprint(i), hosts[i])
			}
			if tt.port != "" {
				ports = []string{tt.port}
			}
			w.apply(workload(w.blue, hosts, ports...)).Exits(t, 0)
			var deployed []operators.Deployment
			if tt.deployed != nil {
				d := tt.deployed(w, hosts)
				deployed = append(deployed, *d)
				must(t, w.akash.SendManifest(t.Context(), *d))
				names = append(names, "FILE", w.define(*d))
			}
			words := func(text string) (out []string) {
				for _, word := range strings.Fields(text) {
					kind, name, cut := strings.Cut(word, "/")
					if i := slices.Index(names, kind); !cut && i >= 0 && i%2 == 0 {
						word = names[i+1]
					} else if i := slices.Index(names, name); cut && i >= 0 && i%2 == 0 {
						word = kind + "/" + names[i+1]
					}
					out = append(out, word)
				}
				return out
			}
			w.running.Stop()
			for range 2 {
				w.operated(append(words(tt.command), "--timeout=300ms")...).Exits(t, 5).Tells(t, strings.Join(words(tt.says), " "))
				if held := w.holds(); strings.Join(held, " ") != strings.Join(slices.Sorted(slices.Values(words(tt.stays))), " ") {
					t.Fatalf("it holds %q", held)
				}
			}
			if r := w.run("state", "hosts"); name == "a changed backend" && strings.Contains(line(r.Stdout, hosts[0]), "Active") {
				t.Errorf("the host counts as live: %s", r)
			}
			w.audits("the operator is down")
			for _, thing := range words(tt.left) {
				kind, name, _ := strings.Cut(thing, "/")
				harness.Remove(t, map[string]schema.GroupVersionResource{"ingress": operators.Ingresses, "service": operators.Services}[kind], w.blue.Namespace(), name)
			}
			w.running.Restart()
			w.operated(append(words(tt.command), "--timeout=30s")...).Exits(t, 0)
			w.caughtUp("the operator is back")
			w.settled("the operator is back", words(tt.holds), deployed...)
		})
	}
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

// A host that was transferred and waits for its routes is still served by the former lease's, which the operator made.
// Giving it up while the operator is down keeps the claim as well, however often, and whoever is released.
func TestReleaseOfATransferredHostWhileTheOperatorIsDown(t *testing.T) {
	t.Parallel()
	for name, release := range harness.Drawn(map[string]func(w *world) []string{
		"the new lease":    func(w *world) []string { return []string{w.green.Group().String()} },
		"the host":         func(w *world) []string { return []string{w.green.Group().String(), "HOST"} },
		"both":             func(w *world) []string { return []string{w.blue.Group().String(), w.green.Group().String()} },
		"the former lease": func(w *world) []string { return []string{w.blue.Group().String()} },
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
				w.repairs("NotDeclared/"+host).Exits(t, 0)
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
	t.Parallel()
	for name, down := range map[string]bool{"the operator runs": false, "the operator is down": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
				w.operated("apply", "--timeout=300ms", "-f", w.define(d)).Exits(t, 5).Tells(t, "ingress "+w.blue.Namespace()+"/"+host)
				if find(t, claims, ledger, host) == nil {
					t.Fatal("the host is free, and is served")
				}
			}
			w.repairs("NotDeclared/"+host).Exits(t, 0)
			w.running.Restart()
			w.apply(d).Exits(t, 0)
			w.settled("dropped", []string{other}, d)
		})
	}
}

// An operator that has not yet seen that a ProviderHost is gone makes its route again, and is stopped. Another lease has
// the host by then: the route that nothing stands for goes by name, unless Akash declares it meanwhile.
func TestRouteMadeAfterItsHostWent(t *testing.T) {
	t.Parallel()
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
	w.run("repair", mend[1], mend[2], mend[3], "--namespace", w.blue.Namespace()).Tells(t, "StrayRoute/"+host+" left (", "delete ingress "+w.blue.Namespace()+"/"+host, "kubectl akash-net repair StrayRoute/"+host)

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

// A transfer to a lease that the operator would ignore fails before the claim moves.
func TestTransferToALeaseWithoutManifest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	host := newHost("moves")
	d := workload(w.blue, []string{host})
	w.apply(d).Exits(t, 0)
	w.operated("transfer", host, "--to", w.green.String(), "-f", w.define(workload(w.green, []string{host}))).Exits(t, 1).Tells(t, "no Manifest in namespace lease", "Nothing was changed")
	w.settled("refused", []string{host}, d)
}

// With --operators=off, where they run, what they would write over is refused before anything is claimed:
// both operators, and each alone. Afterwards nothing is there and they are at rest.
func operatorsThatRunAreNotOff(t *testing.T) {
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
			t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	for name, when := range harness.Drawn(map[string]struct {
		request string
		stays   bool // its ProviderHost does too
	}{
		"before the ProviderHost is deleted": {"/ingresses", true},
		"while it is deleted":                {"/providerhosts/", false},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
	harness.Execute(ctx, w.proxy.kubeconfig, append([]string{"apply", "--timeout=2s", "--config", w.config, "-f", w.define(d)}, w.flags...)...)
	close(dead)
	w.proxy.before = nil
	if find(w.T, operators.Hosts, manifests, host) == nil || find(w.T, claims, ledger, host) == nil {
		w.Fatal("the run left nothing")
	}
}
