package akash_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// shows fails the test unless the problems include one that begins with these words and says all of this; it returns it.
func (w *world) shows(problem string, says ...string) string {
	w.Helper()
	shown := w.problems()
	i := slices.IndexFunc(shown, func(p string) bool { return strings.HasPrefix(p, problem) })
	if i < 0 {
		w.Fatalf("no problem %s is shown: %q", problem, shown)
	}
	for _, text := range says {
		if !strings.Contains(shown[i], text) {
			w.Errorf("it does not say %q: %s", text, shown[i])
		}
	}
	return shown[i]
}

// A tenant's update by Akash's provider moves a host to another service that this program has declared. Nothing is wrong then, and repair
// deletes nothing.
func TestUpdateByTheProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	host := newHost("updated")
	d := workload(w.blue, []string{host})
	w.apply(d).Exits(t, 0)
	d = routedTo(d, "api")
	must(t, w.akash.Deploy(t.Context(), d))
	eventually(t, "the operator follows", func() bool {
		return leadsTo(find(t, operators.Ingresses, w.blue.Namespace(), host)) == "api:80"
	})
	route, declared := find(t, operators.Ingresses, w.blue.Namespace(), host), find(t, operators.Hosts, manifests, host)
	if p := w.problems(); len(p) > 0 {
		t.Errorf("the problems are %q", p)
	}
	w.repairs("RouteDiffers/"+host).Exits(t, 1)
	if now := find(t, operators.Ingresses, w.blue.Namespace(), host); now == nil || now.GetUID() != route.GetUID() {
		t.Error("repair has deleted the live route")
	}
	if now := find(t, operators.Hosts, manifests, host); now == nil || now.GetUID() != declared.GetUID() {
		t.Error("repair has deleted the ProviderHost")
	}
	w.apply(d).Exits(t, 0)
	w.settled("applied", []string{host}, d)
}

// A declaration of this program that somebody has edited, and that the operator has followed, is a problem whose mend forces
// nothing and deletes nothing.
func TestEditedDeclaration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	host := newHost("edited")
	d := workload(w.blue, []string{host})
	w.apply(d).Exits(t, 0)
	must(t, w.akash.SendManifest(t.Context(), operators.Deployment{Lease: w.blue, Services: append(slices.Clone(d.Services[:1]),
		operators.Service{Name: "api", Expose: d.Services[0].Expose}, d.Services[2], d.Services[3])}))
	edits := func(service string) {
		harness.Edit(t, "somebody", operators.Hosts, manifests, host, func(o *unstructured.Unstructured) { o.Object["spec"].(map[string]any)["service_name"] = service })
		eventually(t, "the operator follows", func() bool {
			return leadsTo(find(t, operators.Ingresses, w.blue.Namespace(), host)) == service+":80"
		})
	}
	edits("api")
	route := find(t, operators.Ingresses, w.blue.Namespace(), host).GetUID()
	w.shows("RouteDiffers "+host, "providerhost lease/"+host+" routes it to api:80, the claim says web:80")
	w.repairs("RouteDiffers/"+host, "-f", w.define(d)).Exits(t, 1).Tells(t, "set by somebody since ", "Nothing is forced")
	if now := find(t, operators.Ingresses, w.blue.Namespace(), host); now == nil || now.GetUID() != route {
		t.Error("repair has deleted the live route")
	}
	edits("web")
	w.settled("edited back", []string{host}, d)
}

// A port is transferred while the IP operator is down, which then leaves the former lease's Service: two Services with two
// addresses on one endpoint. They are shown at once, with a mend that keeps the holder's, and never the advice to transfer
// the port back.
func TestPortTransferredWhileTheOperatorIsDown(t *testing.T) {
	t.Parallel()
	for name, routes := range harness.Drawn(map[string]bool{"with its routes": true, "without": false}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, spec := pooled(t, "")
			w := newWorld(t, o, spec, "--operators=on")
			first, second := workload(w.blue, nil, "public:TCP:443:web"), workload(w.green, nil, "public:TCP:443:web")
			key := lease.SharingKey(w.owner, "public")
			w.apply(first).Exits(t, 0)
			must(t, w.akash.SendManifest(t.Context(), second))
			w.running.Stop()
			args := []string{"transfer", "--timeout=300ms", "public", "--to", w.green.String()}
			if routes {
				args = append(args, "-f", w.define(second))
			}
			w.operated(args...)
			if !routes {
				w.operated("apply", "--timeout=300ms", "-f", w.define(second)).Exits(t, 5)
			}
			w.running.Restart()
			serves := func(id lease.ID) bool { return find(t, operators.Services, id.Namespace(), "web-ip-443-tcp") != nil }
			eventually(t, "the holder's Service is made", func() bool { return serves(w.green) })
			if !serves(w.blue) {
				t.Fatal("the operator has removed the former lease's Service")
			}
			holders := find(t, operators.Services, w.green.Namespace(), "web-ip-443-tcp").GetUID()
			for _, r := range []result{w.run("state", "--problems"), w.run("state", "--problems", "--crashed-after=0s")} {
				if strings.Contains(r.Stdout, "transfer public --to "+w.blue.String()) || strings.Contains(r.Stdout, "transfer "+key+" --to "+w.blue.String()) {
					t.Errorf("it advises to transfer back: %s", r)
				}
			}
			w.audits("two Services")
			w.shows("StrayRoute "+key, "service "+w.blue.Namespace()+"/web-ip-443-tcp serves it, and "+w.green.Group().String()+" holds it")
			w.repairs("StrayRoute/"+key).Exits(t, 0)
			if s := find(t, operators.Services, w.green.Namespace(), "web-ip-443-tcp"); serves(w.blue) || s == nil || s.GetUID() != holders {
				t.Error("not the former lease's Service alone is gone")
			}
			w.apply(first).Exits(t, 0).Tells(t, "withheld")
			w.apply(second).Exits(t, 0)
			w.settled("repaired", []string{"ep"}, first, second)
		})
	}
}

// A host that a pipeline delivers for a lease without Manifest stops the hostname operator for all tenants. It is said
// before, and shown after.
func deliveredBeforeTheManifest(t *testing.T) {
	w := newWorld(t, operators.Options{}, "{}")
	host := newHost("delivered")
	d := workload(w.blue, []string{host})
	definition := w.define(d)
	const stops = "has no Manifest: Akash's hostname operator stops at its ProviderHost, for all tenants"
	w.run("check", "-f", definition).Exits(t, 0).Tells(t, "Warning: ", host, w.blue.String(), stops)
	w.run("check", host, "--lease", w.blue.String()).Exits(t, 0).Tells(t, stops)
	w.run("reserve", "-f", definition).Exits(t, 0).Tells(t, stops)
	rendered := w.run("render", "--ledger=cluster", "-f", definition).Exits(t, 0).Tells(t, stops)
	for _, text := range strings.Split(rendered.Stdout, "---\n") {
		if o := parse(text); o.GetKind() == "ProviderHost" {
			_, err := harness.Objects.Resource(operators.Hosts).Namespace(manifests).Create(t.Context(), o, metav1.CreateOptions{FieldManager: "pipeline"})
			must(t, err)
		}
	}
	eventually(t, "the operator has stopped", func() bool {
		return slices.ContainsFunc(w.running.Errors(), func(err error) bool { return strings.Contains(err.Error(), "resource not found: manifest") })
	})
	w.shows("OperatorStops "+host, "providerhost lease/"+host, "no Manifest", "for all tenants")
	for _, flag := range []string{"auto", "on"} {
		w.repairs("--operators="+flag, "OperatorStops/"+host, "--dry-run=client").Tells(t, host)
	}

	// The service that the Manifest does not have stops it as well.
	must(t, w.akash.SendManifest(t.Context(), operators.Deployment{Lease: w.blue, Services: []operators.Service{{Name: "web"}}}))
	w.run("check", "-f", definition).Exits(t, 0).Tells(t, "has no service web with instances and a global port 80 in its Manifest")
	w.shows("OperatorStops "+host, "no service web with instances and a global port 80")
	w.run("repair", "--crashed-after=0s", "--assume-crashed", "OperatorStops/"+host).Exits(t, 0)
	if find(t, operators.Hosts, manifests, host) != nil || find(t, claims, ledger, host) == nil {
		t.Error("not the ProviderHost alone is gone")
	}

	must(t, w.akash.TeardownLease(t.Context(), w.blue))
	eventually(t, "the namespace goes", func() bool { return find(t, operators.Namespaces, "", w.blue.Namespace()) == nil })
	w.running.Restart()
	if r := w.apply(d).Exits(t, 0); strings.Contains(r.Stderr, "Manifest") {
		t.Errorf("it warns of nothing: %s", r)
	}
	if r := w.run("reserve", "-f", definition).Exits(t, 0); strings.Contains(r.Stderr, "Manifest") {
		t.Errorf("it warns of nothing: %s", r)
	}
	w.settled("applied", []string{host}, d)
}

// Akash's provider declares the other protocol of a port for another deployment, and its IP operator serves that one: the
// problem names it, and no repair waits for what does not come.
func TestOtherProtocolDeclaredByAkash(t *testing.T) {
	t.Parallel()
	o, spec := pooled(t, "")
	w := newWorld(t, o, spec, "--operators=on")
	d := workload(w.blue, nil, "public:UDP:53:dns")
	key := lease.SharingKey(w.owner, "public")
	w.apply(d).Exits(t, 0)
	must(t, w.akash.SendManifest(t.Context(), workload(w.green, nil, "public:TCP:53:dns")))
	must(t, w.akash.DeclareIP(t.Context(), w.green, "dns", 9000, 53, "TCP", key, false))
	eventually(t, "the operator serves the other", func() bool {
		return find(t, operators.Services, w.green.Namespace(), "dns-ip-53-tcp") != nil && find(t, operators.Services, w.blue.Namespace(), "dns-ip-53-udp") == nil
	})
	theirs := lease.LeasedIPName(key, lease.TCP, 53)
	w.shows("NotServed "+key, "declares the other protocol of the port for "+w.green.Group().String(), "providerleasedip lease/"+theirs)
	w.repairs("NotServed/"+key).Exits(t, 1).
		Tells(t, "providerleasedip lease/"+theirs, "kubectl akash-net release "+w.blue.Group().String()+" "+key)
	w.operated("apply", "--timeout=300ms", "-f", w.define(d)).Exits(t, 5).Tells(t, "providerleasedip lease/"+theirs+" declares the other for "+w.green.Group().String())

	must(t, harness.Objects.Resource(operators.LeasedIPs).Namespace(manifests).Delete(t.Context(), theirs, metav1.DeleteOptions{}))
	eventually(t, "the operator removes it", func() bool { return find(t, operators.Services, w.green.Namespace(), "dns-ip-53-tcp") == nil })
	w.running.Restart()
	w.apply(d).Exits(t, 0)
	w.settled("given up", []string{"ep"}, d)
}
