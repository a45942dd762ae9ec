package akash_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// claimed fails the test unless the host is claimed and its live route is the one that was there before.
func (w *world) claimed(when, host string, route metav1.Object) {
	w.Helper()
	if find(w.T, claims, ledger, host) == nil {
		w.Errorf("%s: the claim is gone, and the host is served", when)
	}
	if now := find(w.T, operators.Ingresses, route.GetNamespace(), host); now == nil || now.GetUID() != route.GetUID() {
		w.Errorf("%s: the live route is gone", when)
	}
}

// A host that Akash's provider declares for one deployment and that was transferred to another without routes stays
// claimed for as long as the provider declares it, whoever gives it up.
func TestClaimOfWhatAkashDeclaresForTheFormerLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	host, other := newHost("declared"), newHost("other")
	blue := workload(w.blue, []string{host})
	must(t, w.akash.Deploy(t.Context(), blue))
	eventually(t, "the host is routed", func() bool { return find(t, operators.Ingresses, w.blue.Namespace(), host) != nil })
	w.apply(blue).Exits(t, 0)
	w.operated("transfer", host, "--to", w.green.String()).Exits(t, 0)
	route := find(t, operators.Ingresses, w.blue.Namespace(), host)

	back := "kubectl akash-net transfer " + host + " --to " + w.blue.String()
	w.apply(workload(w.green, []string{other})).Exits(t, 0)
	w.claimed("the new lease is applied without the host", host, route)
	for _, args := range [][]string{{w.green.Group().String()}, {w.green.Group().String(), host}, {w.blue.Group().String(), w.green.Group().String()}} {
		r := w.operated(append([]string{"release", "--timeout=300ms"}, args...)...).Exits(t, 4).Tells(t, host+" is kept", "providerhost lease/"+host, back)
		if strings.Contains(r.Stderr, " delete ") {
			t.Errorf("it advises to delete what is live: %s", r)
		}
		w.claimed("released", host, route)
	}
	must(t, w.akash.PurgeDeclaredHostname(t.Context(), w.blue, host))
	eventually(t, "the operator removes the route", func() bool { return find(t, operators.Ingresses, w.blue.Namespace(), host) == nil })
	w.operated("release", "--timeout=30s", w.green.Group().String()).Exits(t, 0)
	w.settled("released", nil)
}

// What Akash's provider has migrated to another deployment is declared by the provider, also if this program wrote it
// first: a release keeps its claim at once, whether the claim has followed or not, and advises nothing that is an outage.
func TestReleaseOfWhatAkashHasMigrated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	host := newHost("migrated")
	w.apply(workload(w.blue, []string{host})).Exits(t, 0)
	must(t, w.akash.SendManifest(t.Context(), workload(w.green, []string{host})))
	must(t, w.akash.TransferHostname(t.Context(), w.green, host, "web", 80))
	eventually(t, "the operator moves the route", func() bool { return find(t, operators.Ingresses, w.green.Namespace(), host) != nil })
	route := find(t, operators.Ingresses, w.green.Namespace(), host)

	w.operated("release", w.blue.Group().String()).Exits(t, 4).Tells(t, "Akash's provider declares it for lease "+w.green.String(), "transfer "+host+" --to "+w.green.String())
	w.claimed("the former lease is released", host, route)
	w.repairs("StrayRoute/"+host).Exits(t, 0)
	for range 2 {
		r := w.operated("release", w.green.Group().String()).Exits(t, 4).Tells(t, "Akash's provider declares it", "providerhost lease/"+host)
		if strings.Contains(r.Stderr, " delete ") {
			t.Errorf("it advises to delete what is live: %s", r)
		}
		w.claimed("released", host, route)
	}
	must(t, w.akash.PurgeDeclaredHostname(t.Context(), w.green, host))
	eventually(t, "the operator removes the route", func() bool { return find(t, operators.Ingresses, w.green.Namespace(), host) == nil })
	w.operated("release", "--timeout=30s", w.green.Group().String()).Exits(t, 0)
	w.settled("released", nil)
}

// What Akash's provider has moved is one problem with one advice: the claim follows. The holder is not told to apply or to
// release it.
func TestOneAdviceOnWhatAkashHasMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{}", "--operators=off")
	w.running.Stop()
	host := newHost("moved")
	w.apply(workload(w.blue, []string{host})).Exits(t, 0)
	must(t, w.akash.SendManifest(t.Context(), workload(w.green, []string{host})))
	harness.Remove(t, operators.Ingresses, w.blue.Namespace(), host)
	must(t, w.akash.TransferHostname(t.Context(), w.green, host, "web", 80))
	if p := w.problems(); len(p) != 1 || !strings.HasPrefix(p[0], "StrayRoute "+host) {
		t.Errorf("the problems are %q", p)
	}
}

// The operators take the HTTP options from the lease's Manifest. Where the definition has others no command says that it is
// as defined.
func TestHTTPOptionsOfTheManifest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	host := newHost("options")
	d := workload(w.blue, []string{host})
	definition := w.define(d)
	options := operators.HTTPOptions{MaxBodySize: 20971520, ReadTimeout: 60000, SendTimeout: 60000, NextTries: 3, NextCases: []string{"error", "timeout"}}
	d.Services[0].Expose[0].HTTP = &options
	differs := `proxy-body-size is "20971520", the definition says "1048576"`
	must(t, w.akash.SendManifest(t.Context(), d))
	apply := func() result {
		return w.operated("apply", "--timeout=30s", "--assume-serving", "-f", definition).Exits(t, 0)
	}
	for range 2 {
		if r := apply().Prints(t, differs); strings.Contains(r.Stdout, " is live") {
			t.Errorf("the lease counts as live: %s", r)
		}
	}
	w.operated("diff", "-f", definition).Exits(t, 1).Prints(t, "left: Akash's hostname operator", differs)
	w.operated("apply", "--dry-run=client", "-f", definition).Exits(t, 0).Prints(t, differs)
	w.run("explain", host).Exits(t, 0).Prints(t, differs, "a manifest with these options")

	options.MaxBodySize = 1048576
	must(t, w.akash.SendManifest(t.Context(), d))
	eventually(t, "the operator writes the route with the new options", func() bool {
		must(t, w.akash.DeclareHostname(t.Context(), w.blue, host, "web", 80)) // as the provider does for every manifest
		route := find(t, operators.Ingresses, w.blue.Namespace(), host)
		return route != nil && route.GetAnnotations()["nginx.ingress.kubernetes.io/proxy-body-size"] == "1048576"
	})
	if r := apply().Prints(t, " is live"); strings.Contains(r.Stdout, "proxy-body-size") {
		t.Errorf("it is as defined: %s", r)
	}
	w.operated("diff", "-f", definition).Exits(t, 0)
	if r := w.run("explain", host).Exits(t, 0); strings.Contains(r.Stdout, "proxy-body-size") {
		t.Errorf("it is as defined: %s", r)
	}
}

// A problem that goes with the repair of another one is not left.
func TestProblemThatGoesWithAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{}", "--operators=off")
	w.running.Stop()
	host, mine := newHost("taken"), newHost("mine")
	w.apply(workload(w.green, []string{host})).Exits(t, 0)
	w.apply(workload(w.blue, []string{mine})).Exits(t, 0)
	stray := find(t, operators.Ingresses, w.blue.Namespace(), mine)
	text, err := stray.MarshalJSON()
	must(t, err)
	stray = parse(strings.ReplaceAll(string(text), mine, host))
	annotations := stray.GetAnnotations()
	annotations["net.akash.network/definition"] = strings.Repeat("a", len(annotations["net.akash.network/definition"]))
	stray.SetAnnotations(annotations)
	stray.SetManagedFields(nil)
	stray.SetResourceVersion("")
	stray.SetUID("")
	_, err = harness.Objects.Resource(operators.Ingresses).Namespace(w.blue.Namespace()).Apply(t.Context(), host, stray, metav1.ApplyOptions{FieldManager: "akash-net"})
	must(t, err)
	if p := strings.Join(w.problems(), "\n"); !strings.Contains(p, "StrayRoute "+host) || !strings.Contains(p, "MixedDefinitions ") {
		t.Fatalf("the problems are %q", p)
	}
	r := w.run("repair", "--operators=off", "--namespace", w.blue.Namespace(), "--crashed-after=0s", "--assume-crashed").Exits(t, 0).Prints(t, "StrayRoute/"+host+" repaired")
	if strings.Contains(r.Stdout+r.Stderr, " left (") {
		t.Errorf("what is gone is left: %s", r)
	}
}

// A dry run assumes that the operators remove what they have made.
func TestDryRunOfWhatOperatorsServe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	stays, goes := newHost("stays"), newHost("goes")
	w.apply(workload(w.blue, []string{stays, goes})).Exits(t, 0)
	w.operated("apply", "--dry-run=client", "-f", w.define(workload(w.blue, []string{stays}))).Exits(t, 0).Prints(t, "host/"+goes+" pruned")
	for _, mode := range []string{"client", "server"} {
		w.operated("release", "--dry-run="+mode, w.blue.Group().String()).Exits(t, 0).Prints(t, "host/"+stays+" released", "host/"+goes+" released")
	}
	w.settled("nothing has changed", []string{stays, goes})
}
