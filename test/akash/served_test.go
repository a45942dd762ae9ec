package akash_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
)

// claimed fails the test unless the host is claimed and its live route is the one that was there before.
func (w *world) claimed(when string, id lease.ID, host string, do func()) {
	w.Helper()
	route := find(w.T, operators.Ingresses, id.Namespace(), host)
	if do(); find(w.T, claims, ledger, host) == nil {
		w.Errorf("%s: the claim is gone, and the host is served", when)
	}
	if now := find(w.T, operators.Ingresses, id.Namespace(), host); now == nil || now.GetUID() != route.GetUID() {
		w.Errorf("%s: the live route is gone", when)
	}
}

// What Akash's provider declares stays claimed for as long as it does, whoever gives it up, whether it was transferred without routes or Akash
// has migrated what this program wrote first. No release advises an outage.
func TestReleaseOfWhatAkashDeclares(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{}", "--operators=on")
	blue, green := w.blue.Group().String(), w.green.Group().String()
	declared, migrated, other := newHost("declared"), newHost("migrated"), newHost("other")
	kept := func(id lease.ID, host, says string, args ...string) {
		t.Helper()
		w.claimed("released", id, host, func() {
			r := w.operated(append([]string{"release", "--timeout=300ms"}, args...)...).Exits(t, 4).Tells(t, "providerhost lease/"+host, says)
			if strings.Contains(r.Stderr, " delete ") {
				t.Errorf("it advises to delete what is live: %s", r)
			}
		})
	}
	d := workload(w.blue, []string{declared})
	must(t, w.akash.Deploy(t.Context(), d))
	w.routed(w.blue, declared)
	w.apply(d).Exits(t, 0)
	w.operated("transfer", declared, "--to", w.green.String()).Exits(t, 0)
	w.claimed("the new lease is applied without the host", w.blue, declared, func() { w.apply(workload(w.green, []string{other})).Exits(t, 0) })
	back := "kubectl akash-net transfer " + declared + " --to " + w.blue.String()
	kept(w.blue, declared, back, green)
	kept(w.blue, declared, back, green, declared)
	kept(w.blue, declared, back, blue, green)
	must(t, w.akash.PurgeDeclaredHostname(t.Context(), w.blue, declared))
	w.unrouted(w.blue, declared)
	w.operated("release", "--timeout=30s", green).Exits(t, 0)
	w.settled("released", nil)

	w.apply(workload(w.blue, []string{migrated})).Exits(t, 0)
	must(t, w.akash.SendManifest(t.Context(), workload(w.green, []string{migrated})))
	must(t, w.akash.TransferHostname(t.Context(), w.green, migrated, "web", 80))
	w.routed(w.green, migrated)
	kept(w.green, migrated, "transfer "+migrated+" --to "+w.green.String(), blue)
	w.repairs("StrayRoute/"+migrated).Exits(t, 0)
	kept(w.green, migrated, "Akash's provider declares it", green)
	must(t, w.akash.PurgeDeclaredHostname(t.Context(), w.green, migrated))
	w.unrouted(w.green, migrated)
	w.operated("release", "--timeout=30s", green).Exits(t, 0)
	w.settled("released", nil)
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
	apply := []string{"apply", "--timeout=30s", "--assume-serving", "-f", definition}
	must(t, w.akash.SendManifest(t.Context(), d))
	if r := w.operated(apply...).Exits(t, 0).Prints(t, differs); strings.Contains(r.Stdout, " is live") {
		t.Errorf("the lease counts as live: %s", r)
	}
	w.operated("diff", "-f", definition).Exits(t, 1).Prints(t, "kept: Akash's hostname operator", differs)
	w.operated("apply", "--dry-run=client", "-f", definition).Exits(t, 0).Prints(t, differs)
	w.run("explain", host).Exits(t, 0).Prints(t, differs, "a manifest with these options")

	options.MaxBodySize = 1048576
	must(t, w.akash.SendManifest(t.Context(), d))
	eventually(t, "the operator writes the route with the new options", func() bool {
		must(t, w.akash.DeclareHostname(t.Context(), w.blue, host, "web", 80)) // as the provider does for every manifest
		route := find(t, operators.Ingresses, w.blue.Namespace(), host)
		return route != nil && route.GetAnnotations()["nginx.ingress.kubernetes.io/proxy-body-size"] == "1048576"
	})
	w.operated(apply...).Exits(t, 0).Prints(t, " is live")
	w.operated("diff", "-f", definition).Exits(t, 0)
	if r := w.run("explain", host).Exits(t, 0); strings.Contains(r.Stdout, "proxy-body-size") {
		t.Errorf("it is as defined: %s", r)
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
