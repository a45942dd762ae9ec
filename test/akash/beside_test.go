package akash_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// A problem that goes with the repair of another one is not left: here an Ingress that is a stray, and of another definition than what its
// lease has beside it.
func TestProblemThatGoesWithAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{}", "--operators=off")
	w.running.Stop()
	host, mine := newHost("taken"), newHost("mine")
	w.apply(workload(w.green, []string{host})).Exits(t, 0)
	w.apply(workload(w.blue, []string{mine})).Exits(t, 0)
	text, err := find(t, operators.Ingresses, w.blue.Namespace(), mine).MarshalJSON()
	must(t, err)
	stray := bare(parse(strings.ReplaceAll(string(text), mine, host)))
	annotations := stray.GetAnnotations()
	annotations["net.akash.network/definition"] = strings.Repeat("a", len(annotations["net.akash.network/definition"]))
	stray.SetAnnotations(annotations)
	_, err = harness.Objects.Resource(operators.Ingresses).Namespace(w.blue.Namespace()).Apply(t.Context(), host, stray, metav1.ApplyOptions{FieldManager: "akash-net"})
	must(t, err)
	w.shows("MixedDefinitions ")
	r := w.run("repair", "--operators=off", "--namespace", w.blue.Namespace(), "--crashed-after=0s", "--assume-crashed").Exits(t, 0).Prints(t, "StrayRoute/"+host+" repaired")
	if strings.Contains(r.Stderr, "not repaired") {
		t.Errorf("what is gone is left: %s", r)
	}
}

// A port is transferred while the IP operator is down, which then leaves the former lease's Service: two Services with two
// addresses on one endpoint. They are shown at once, with a mend that keeps the holder's, and never the advice to transfer
// the port back.
func TestPortTransferredWhileTheOperatorIsDown(t *testing.T) {
	t.Parallel()
	o, spec := pooled(t, "")
	w := newWorld(t, o, spec, "--operators=on")
	const service = "web-ip-443-tcp"
	first, second := workload(w.blue, nil, "public:TCP:443:web"), workload(w.green, nil, "public:TCP:443:web")
	key := lease.SharingKey(w.owner, "public")
	w.apply(first).Exits(t, 0)
	must(t, w.akash.SendManifest(t.Context(), second))
	w.running.Stop()
	w.operated("transfer", "--timeout=300ms", "public", "--to", w.green.String(), "-f", w.define(second))
	w.running.Restart()
	w.waits(operators.Services, w.green, service, true)
	holders := find(t, operators.Services, w.green.Namespace(), service).GetUID()
	if r := w.run("state", "--problems"); strings.Contains(r.Stdout, " --to "+w.blue.String()) {
		t.Errorf("it advises to transfer back: %s", r)
	}
	w.audits("two Services")
	w.shows("StrayRoute "+key, "service "+w.blue.Namespace()+"/"+service+" serves it, and "+w.green.Group().String()+" holds it")
	w.repairs("StrayRoute/"+key).Exits(t, 0)
	if s := find(t, operators.Services, w.green.Namespace(), service); w.has(operators.Services, w.blue, service) || s == nil || s.GetUID() != holders {
		t.Error("not the former lease's Service alone is gone")
	}
	w.apply(first).Exits(t, 0).Tells(t, "withheld")
	w.apply(second).Exits(t, 0)
	w.settled("repaired", []string{"ep"}, first, second)
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
			harness.Create(t, "pipeline", operators.Hosts, text)
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
	w.waits(operators.Services, w.green, "dns-ip-53-tcp", true)
	w.waits(operators.Services, w.blue, "dns-ip-53-udp", false)
	theirs := lease.LeasedIPName(key, lease.TCP, 53)
	w.shows("NotServed "+key, "declares the other protocol of the port for "+w.green.Group().String(), "providerleasedip lease/"+theirs)
	w.repairs("NotServed/"+key).Exits(t, 1).
		Tells(t, "providerleasedip lease/"+theirs, "kubectl akash-net release "+w.blue.Group().String()+" "+key)
	w.operated("apply", "--timeout=300ms", "-f", w.define(d)).Exits(t, 5).Tells(t, "providerleasedip lease/"+theirs+" declares the other for "+w.green.Group().String())

	harness.Remove(t, operators.LeasedIPs, manifests, theirs)
	w.waits(operators.Services, w.green, "dns-ip-53-tcp", false)
	w.running.Restart()
	w.apply(d).Exits(t, 0)
	w.settled("given up", []string{"ep"}, d)
}
