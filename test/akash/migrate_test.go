package akash_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What Akash's provider migrates to another deployment of its owner is a problem. Until the claim has followed
// the former deployment is refused it, and nothing is written over what Akash wrote; repair lets it follow.
func TestClaimsFollowMigrations(t *testing.T) {
	t.Parallel()
	for name, flag := range harness.Drawn(map[string]string{"beside operators": "on", "without operators": "off"}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, spec := pooled(t, "")
			w := newWorld(t, o, spec, "--operators="+flag)
			if flag == "off" {
				w.running.Stop()
			}
			host := newHost("migrates")
			blue := workload(w.blue, []string{host}, "public:TCP:443:web", "public:UDP:53:web")
			green := routedTo(workload(w.green, []string{host}, "public:TCP:443:api", "public:UDP:53:api"), "api")
			w.apply(blue).Exits(t, 0)
			w.settled("applied", []string{"ep", host}, blue)

			key := lease.SharingKey(w.owner, "public")
			must(t, w.akash.SendManifest(t.Context(), green))
			must(t, w.akash.TransferHostname(t.Context(), w.green, host, "api", 80))
			must(t, w.akash.DeclareIP(t.Context(), w.green, "api", 9000, 443, "TCP", key, true))
			must(t, w.akash.DeclareIP(t.Context(), w.green, "api", 9000, 53, "UDP", key, true))
			if flag == "on" {
				w.routed(w.green, host)
				w.waits(operators.Services, w.green, "api-ip-443-tcp", true)
				w.waits(operators.Services, w.green, "api-ip-53-udp", true)
			}
			w.audits("migrated")
			before := find(t, operators.Hosts, manifests, host)
			w.proxy.sent()
			w.operated("apply", "-f", w.define(blue)).Exits(t, 4).Tells(t, "Akash's provider has moved providerhost lease/"+host+" there", w.green.Group().String())
			if writes := w.proxy.sent(); len(writes) > 0 {
				t.Errorf("the apply of the former deployment writes %q", writes)
			}
			if now := find(t, operators.Hosts, manifests, host); now.GetResourceVersion() != before.GetResourceVersion() {
				t.Error("what Akash wrote is written over")
			}

			w.repairs("StrayRoute/"+host, "StrayRoute/"+key).Exits(t, 0).
				Tells(t, "StrayRoute/"+host+" repaired (let the claim follow to "+w.green.Group().String(), "StrayRoute/"+key+" repaired")
			if flag == "on" {
				w.settled("followed", []string{"ep", host})
			}
			w.apply(blue).Exits(t, 0).Tells(t, "withheld", w.green.Group().String())
			w.apply(green).Exits(t, 0)
			w.settled("applied again", []string{"ep", host}, blue, green)
			if errs := w.running.Errors(); len(errs) > 0 {
				t.Errorf("the operators' loops ended: %v", errs)
			}
		})
	}
}

// A reconciler lets the claim follow what Akash has moved by itself, before it applies anything, also if only the former deployment is due;
// nothing is withheld from the new one then.
func TestReconcilerFollowsMigrations(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"on", "off"} {
		t.Run("--operators="+flag, func(t *testing.T) {
			t.Parallel()
			o, spec := pooled(t, "")
			w := newWorld(t, o, spec, "--operators="+flag)
			if flag == "off" {
				w.running.Stop()
			}
			host := newHost("follows")
			blue, green := workload(w.blue, []string{host}, "public:TCP:443:web"), workload(w.green, []string{host}, "public:TCP:443:web")
			w.apply(blue).Exits(t, 0)
			must(t, w.akash.SendManifest(t.Context(), green))
			must(t, w.akash.TransferHostname(t.Context(), w.green, host, "web", 80))
			must(t, w.akash.DeclareIP(t.Context(), w.green, "web", 9000, 443, "TCP", lease.SharingKey(w.owner, "public"), true))
			if flag == "on" {
				w.routed(w.green, host)
				w.waits(operators.Services, w.green, "web-ip-443-tcp", true)
			}
			w.operated("reconcile", "-f", w.define(blue)).Exits(t, 0).Tells(t, "let the claim follow to "+w.green.Group().String())
			w.operated("reconcile", "--assume-serving", "-f", w.define(blue), "-f", w.define(green)).Exits(t, 0)
			w.settled("followed", []string{"ep", host}, blue, green)
			if errs := w.running.Errors(); len(errs) > 0 {
				t.Errorf("the operators' loops ended: %v", errs)
			}
		})
	}
}

// An operator that is restarted with the other --ingress-mode makes routes of the other kind, and leaves the old ones: migrate deletes these,
// and so does the repair of what is shown, as soon as each has a successor. Before that nothing moves.
func TestOperatorWithAnotherIngressMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{target: httproute}", "--operators=on")
	host := newHost("mode")
	must(t, w.akash.Deploy(t.Context(), workload(w.blue, []string{host})))
	w.routed(w.blue, host)
	w.operated("migrate", "--to=httproute", w.blue.Group().String()).Exits(t, 1).Tells(t, "--ingress-mode", "change that")
	w.running.RestartAs(true)
	w.waits(operators.HTTPRoutes, w.blue, host, true)
	w.shows("MigrationUnderWay "+host, "serve it")
	w.operated("migrate", "--to=httproute", "--assume-serving", w.blue.Group().String()).Exits(t, 0)
	w.unrouted(w.blue, host)
	if !w.has(operators.HTTPRoutes, w.blue, host) {
		t.Error("the new route is gone")
	}
	if errs := w.running.Errors(); len(errs) > 0 {
		t.Errorf("the operators' loops ended: %v", errs)
	}
}

// A host that goes to another owner is left, with the command: nobody but they can say whose it is. One that
// Akash has declared back for its holder is no problem any more.
func TestMigrationsThatAreLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, operators.Options{}, "{}", "--operators=off")
	w.running.Stop()
	host, back := newHost("seized"), newHost("back")
	d := workload(w.blue, []string{host, back})
	w.apply(d).Exits(t, 0)
	other := leaseOf(newTenant(t), 1)
	must(t, w.akash.SendManifest(t.Context(), workload(w.green, []string{back})))
	must(t, w.akash.DeclareHostname(t.Context(), other, host, "web", 80))
	must(t, w.akash.TransferHostname(t.Context(), w.green, back, "web", 80))
	must(t, w.akash.TransferHostname(t.Context(), w.blue, back, "web", 80))
	r := w.repairs("StrayRoute/" + host)
	r.Exits(t, 1).Tells(t, "StrayRoute/"+host+" skipped (", "two owners want it", "kubectl akash-net release "+w.blue.Group().String()+" "+host)
	w.proxy.sent()
	w.operated("apply", "-f", w.define(d)).Exits(t, 4).Tells(t, "Akash's provider has moved providerhost lease/"+host, "another owner", other.Owner)
	if writes := w.proxy.sent(); len(writes) > 0 {
		t.Errorf("the apply writes %q", writes)
	}
	for _, name := range []string{host, back} {
		if c := find(t, claims, ledger, name); c.GetLabels()["net.akash.network/owner"] != w.owner || !strings.Contains(fmt.Sprint(c.GetAnnotations()), w.blue.String()) {
			t.Errorf("the claim on %s has changed: %v", name, c.GetAnnotations())
		}
	}
	if p := w.problems(); slices.ContainsFunc(p, func(p string) bool { return strings.Contains(p, back) }) {
		t.Errorf("the problems are %q", p)
	}
	harness.Remove(t, operators.Hosts, manifests, host)
}
