package akash_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
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
	toGreen := func(w *world, hosts []string) *operators.Deployment { return new(workload(w.green, hosts)) }
	for name, tt := range map[string]struct {
		// hosts and port are what the lease has, deployed is what it is to have next; nil if it ends.
		hosts    []string
		port     string
		deployed func(w *world, hosts []string) *operators.Deployment
		// before is run while the operator is there. command may have BLUE, GREEN, FILE and the names of hosts as numbers.
		before, command, says string
		// stays is what the command does not give up, left what the operator leaves, holds is what is held at the end.
		stays, left, holds string
	}{
		"a changed backend": {[]string{"moved"}, "", func(w *world, hosts []string) *operators.Deployment {
			return new(routedTo(workload(w.blue, hosts), "api"))
		}, "", "apply -f FILE", "to route 0 to api:80", "0", "", "0"},
		"a release": {[]string{"left"}, "public:TCP:443:web", nil,
			"", "release BLUE", "its claim is kept until then", "0 ep", "ingress/0 service/web-ip-443-tcp", ""},
		"a host that is dropped": {[]string{"stays", "goes"}, "", func(w *world, hosts []string) *operators.Deployment { return new(workload(w.blue, hosts[:1])) },
			"", "apply -f FILE", "its claim is kept until then", "0 1", "ingress/1", "0"},
		"a transfer": {[]string{"handed"}, "", toGreen, "", "transfer 0 --to GREEN -f FILE", "Akash's hostname operator to route 0 to web:80", "0", "", "0"},
		"a transfer by the kept definition": {[]string{"handed"}, "", func(w *world, hosts []string) *operators.Deployment {
			d := workload(w.green, hosts)
			w.apply(d).Exits(w.T, 0).Prints(w.T, "withheld")
			return &d
		}, "", "transfer 0 --to GREEN", "Akash's hostname operator to route 0 to web:80", "0", "", "0"},
		// It keeps the name of its Service, which the operator does not take over: the new port is declared when that is gone.
		"a port that moves to another endpoint": {nil, "public:TCP:443:web", func(w *world, _ []string) *operators.Deployment {
			return new(workload(w.blue, nil, "private:TCP:443:web"))
		}, "", "apply -f FILE", "delete service web-ip-443-tcp", "ep", "service/web-ip-443-tcp", "ep"},
		// What was transferred and waits for its routes is still served by the former lease's.
		"the release of a transferred host": {[]string{"handed"}, "", nil, "transfer 0 --to GREEN", "release GREEN", "", "0", "ingress/0", ""},
		"the release of it alone":           {[]string{"handed"}, "", nil, "transfer 0 --to GREEN", "release GREEN 0", "", "0", "ingress/0", ""},
		"the release of both leases":        {[]string{"handed"}, "", nil, "transfer 0 --to GREEN", "release BLUE GREEN --ignore-not-found", "", "0", "ingress/0", ""},
		"the drop of a transferred host": {[]string{"dropped"}, "", func(w *world, _ []string) *operators.Deployment {
			return new(workload(w.green, nil, "public:TCP:443:web"))
		}, "transfer 0 --to GREEN", "apply -f FILE", "", "0 ep", "ingress/0", "ep"},
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
			w.apply(workload(w.blue, hosts, ports...)).Exits(t, 0)
			if tt.before != "" {
				w.operated(words(tt.before)...).Exits(t, 0)
			}
			var deployed []operators.Deployment
			if tt.deployed != nil {
				d := tt.deployed(w, hosts)
				deployed = append(deployed, *d)
				must(t, w.akash.SendManifest(t.Context(), *d))
				names = append(names, "FILE", w.define(*d))
			}
			w.running.Stop()
			for range 2 {
				w.operated(append(words(tt.command), "--timeout=300ms")...).Exits(t, 5).Tells(t, strings.Join(words(tt.says), " "))
				if held := w.holds(); strings.Join(held, " ") != strings.Join(slices.Sorted(slices.Values(words(tt.stays))), " ") {
					t.Fatalf("it holds %q", held)
				}
			}
			if r := w.run("state", "hosts"); name == "a changed backend" && regexp.MustCompile(hosts[0]+" .*Active").MatchString(r.Stdout) {
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

// bare is an object without what the API server adds.
func bare(o *unstructured.Unstructured) *unstructured.Unstructured {
	for _, field := range []string{"uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	return o
}

// makes makes a route again that an operator had made.
func (w *world) makes(route *unstructured.Unstructured) {
	w.Helper()
	made := bare(route)
	_, err := harness.Objects.Resource(operators.Ingresses).Namespace(made.GetNamespace()).Create(w.Context(), made, metav1.CreateOptions{FieldManager: operators.Manager})
	must(w.T, err)
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
	w.makes(late)
	if found := w.audits("made late"); len(found) == 0 {
		t.Error("the audit finds nothing")
	}
	w.repairs("--namespace", w.blue.Namespace()).
		Tells(t, "StrayRoute/"+host+" skipped (", "delete ingress "+w.blue.Namespace()+"/"+host, "kubectl akash-net repair StrayRoute/"+host)

	var once sync.Once
	w.proxy.reads = func(path string) {
		if strings.HasSuffix(path, "/providerhosts/"+host) {
			once.Do(func() { must(t, w.akash.TransferHostname(t.Context(), w.blue, host, "web", 80)) })
		}
	}
	w.repairs("StrayRoute/"+host).Tells(t, "StrayRoute/"+host+" refused (")
	w.proxy.reads = nil
	if !w.has(operators.Ingresses, w.blue, host) {
		t.Fatal("a route that Akash has declared is deleted")
	}
	must(t, w.akash.TransferHostname(t.Context(), w.green, host, "web", 80))
	w.repairs("StrayRoute/"+host).Exits(t, 0).Tells(t, "StrayRoute/"+host+" repaired")
	if w.has(operators.Ingresses, w.blue, host) {
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
	w.operated("transfer", host, "--to", w.green.String(), "-f", w.define(workload(w.green, []string{host}))).Exits(t, 1).
		Tells(t, "no Manifest in namespace lease", "Nothing was changed")
	w.settled("refused", []string{host}, d)
}

// With --operators=off, where they run, what they would write over is refused before anything is claimed:
// both operators, and each alone. Afterwards nothing is there and they are at rest.
func operatorsThatRunAreNotOff(t *testing.T) {
	o, pool := pooled(t, "")
	for name, test := range map[string]struct {
		spec, flag string
		hosts      []string
		ports      []string
		says       string
	}{
		"a host":             {"{}", "off", []string{newHost("off")}, nil, "--operators=off, but Akash's hostname operator runs"},
		"a port, pool mode":  {pool, "off", nil, []string{"public:TCP:443:web"}, "--operators=off, but Akash's IP operator runs"},
		"a port, range mode": {"{ip: {ranges: [203.0.113.0/28]}}", "auto", nil, []string{"public:TCP:443:web"}, "ip.mode"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, o, test.spec, "--operators="+test.flag)
			if r := w.apply(workload(w.blue, test.hosts, test.ports...)).Exits(t, 1).Tells(t, test.says); strings.Contains(r.Stderr, "With --operators=off") {
				t.Errorf("it advises what does harm: %s", r)
			}
			w.settled("refused", nil)
			if n := len(list(t, operators.Hosts, lease.LabelOwner+"="+w.owner)) + len(list(t, operators.LeasedIPs, lease.LabelOwner+"="+w.owner)); n > 0 {
				t.Errorf("%d objects that operators read are there", n)
			}
		})
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
			w.operated("release", "--timeout=30s", w.blue.Group().String()).Exits(t, 0)
			w.running.Stop()
			w.killAt(d, host)
			harness.Remove(t, claims, ledger, kept.Name(w.blue.Group())) // else repair finishes the run

			reads := 0
			made := func(path string) {
				if strings.Contains(path, when.request) {
					if reads++; reads == 3 || !when.stays && reads == 1 {
						w.makes(route)
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
			w.run("repair", "--crashed-after=0s", "--assume-crashed", "CrashedRun/"+host).Tells(t, "CrashedRun/"+host+" refused (")
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
