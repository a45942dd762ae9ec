package guard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// run is an announcement as somebody who may write Leases makes it.
func run(name, groups, phase, renewed string, seconds int64) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: object("coordination.k8s.io/v1", "Lease", name)}
	o.SetLabels(map[string]string{state.LabelKind: state.KindRun, state.LabelOwner: state.OwnerRun})
	o.SetAnnotations(map[string]string{state.AnnotationLedger: state.LedgerVersion, state.AnnotationGroups: groups, state.AnnotationPhase: phase})
	o.Object["spec"] = map[string]any{"holderIdentity": "mallory@laptop", "leaseDurationSeconds": seconds, "acquireTime": renewed, "renewTime": renewed}
	return o
}

// reservationOf is a reservation as somebody who may write Leases makes it.
func reservationOf(name, order, bound string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: object("coordination.k8s.io/v1", "Lease", name)}
	o.SetLabels(map[string]string{state.LabelKind: state.KindResources, state.LabelOwner: alice})
	o.SetAnnotations(map[string]string{state.AnnotationLedger: state.LedgerVersion, reserved.AnnotationOrder: order, reserved.AnnotationBound: bound})
	o.Object["spec"] = map[string]any{"holderIdentity": alice}
	return o
}

// bid is an SDL for which an order can be reserved.
func bid(t *testing.T, count int) string {
	t.Helper()
	return harness.File(t, fmt.Sprintf(`version: "2.0"
services: {web: {image: nginx, expose: [{port: 80, as: 80, to: [{global: true}]}]}}
profiles:
  compute: {web: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}
  placement: {dc: {pricing: {web: {denom: uakt, amount: 1}}}}
deployment: {web: {dc: {profile: web, count: %d}}}
`, count))
}

// Objects that somebody writes into the ledger stop nobody whom they do not name: each command of another owner goes on, and each object is a
// problem with a repair. With the guard they cannot be written: rules.
func oneObjectStopsNobody(t *testing.T) {
	harness.Node(t, "stops-1", nil, harness.Amounts("8", "16Gi"))
	soon := at(0)
	with := func(change func(*unstructured.Unstructured), o *unstructured.Unstructured) *unstructured.Unstructured {
		change(o)
		return o
	}
	var unreadable []string
	for _, o := range []*unstructured.Unstructured{
		run("run--mmmmmmmmmmmma", "", "closing", soon, 15), // two uninstalls that are none, which are no problem by themselves
		run("run--mmmmmmmmmmmmb", "", "closing", "9999-01-01T00:00:00.000000Z", 2147483647),
		run("run--mmmmmmmmmmmmc", alice+"/99999999999999999999999/1", "active", soon, 15),
		run("run--mmmmmmmmmmmmd", "", "active", soon, 15),
		run("run--mmmmmmmmmmmme", alice+"/1/1", "asleep", soon, 15),
		with(annotate(state.AnnotationLedger, "v2"), run("run--mmmmmmmmmmmmf", alice+"/1/1", "active", soon, 15)),
		with(unset("spec"), run("run--mmmmmmmmmmmmg", alice+"/1/1", "active", soon, 15)),
		reservationOf("rs--yyy", alice+"/7/1/8", `{"asked":"a","hold":{}}`), // a name that is no hash
		reservationOf(reserved.Name(lease.Order{Owner: alice, DSeq: 7, GSeq: 1, OSeq: 8}), alice+"/7/1/8", "x"),
		reservationOf("rs--"+strings.Repeat("v", 52), "x", `{"asked":"a","hold":{}}`),
	} {
		r := ref{leases, "akash-net", o.GetName()}
		if _, err := r.client().Create(t.Context(), o, metav1.CreateOptions{FieldManager: lease.FieldManager}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := r.client().Delete(context.WithoutCancel(t.Context()), r.name, metav1.DeleteOptions{}); ignoreNotFound(err) != nil {
				t.Error(err)
			}
		})
		if o.GetAnnotations()[state.AnnotationPhase] != "closing" {
			unreadable = append(unreadable, "UnreadableClaim/"+r.name)
		}
	}
	id := harness.LeaseOf(bob, uint64(100+harness.Number()))
	next := harness.LeaseOf(bob, id.DSeq+1000).String()
	order := fmt.Sprintf("%s/%d/1/1", bob, id.DSeq)
	host := harness.NewHost("web")
	file := harness.Define(t, id, []string{"{name: web, expose: [{port: 80, global: true, hosts: [" + host + "]}]}"}, nil)
	for _, args := range [][]string{
		{"reserve", "-f", file}, {"apply", "-f", file}, {"check", "-f", file}, {"state"}, {"state", "lease", id.String()}, {"explain", host},
		{"reserve", "--order", order, "-f", bid(t, 1)}, {"state", "orders"}, {"unreserve", "--order", order},
		{"transfer", host, "--to", next}, {"release", next}, {"release", id.String(), "--ignore-not-found"},
	} {
		must(t, args...)
	}
	harness.Run(t.Context(), "state", "--problems", "-o", "name").Prints(t, unreadable...)
	for _, problem := range unreadable {
		must(t, "repair", problem)
		if name := strings.TrimPrefix(problem, "UnreadableClaim/"); harness.Find(t, leases, "akash-net", name) != nil {
			t.Errorf("the repair has left %s", name)
		}
	}
}

// Who is named waits, and is told what for.
func whoIsNamedWaits(t *testing.T) {
	id := harness.LeaseOf(bob, uint64(100+harness.Number()))
	file := harness.Define(t, id, []string{"{name: web, expose: [{port: 80, global: true, hosts: [" + harness.NewHost("web") + "]}]}"}, nil)
	o := run("run--nnnnnnnnnnnnn", id.Group().String()+" "+alice+"/99999999999999999999999/1", "active", at(0), 15)
	r := ref{leases, "akash-net", o.GetName()}
	if _, err := r.client().Create(t.Context(), o, metav1.CreateOptions{FieldManager: lease.FieldManager}); err != nil {
		t.Fatal(err)
	}
	harness.Run(t.Context(), "apply", "-f", file).Exits(t, 1).Says(t, r.name, "99999999999999999999999", "kubectl akash-net repair UnreadableClaim/"+r.name)
	must(t, "repair", "UnreadableClaim/"+r.name)
	must(t, "apply", "-f", file)
	must(t, "release", id.String())
}

// The program's own work with holds, transfers and orders passes the guard, and so does what a run gives back.
func workThatChangesPartsGoesOn(t *testing.T) {
	harness.Node(t, "goes-1", nil, harness.Amounts("8", "16Gi"))
	first := harness.LeaseOf(bob, uint64(200+harness.Number()))
	second := harness.LeaseOf(bob, first.DSeq+1000)
	host, wildcard := harness.NewHost("web"), "*."+harness.NewDomain()
	cfg := harness.Configure(t, "hosts: {wildcards: true}")
	work := func(args ...string) {
		t.Helper()
		must(t, append(args, "--config", cfg)...)
	}
	define := func(id lease.ID, hosts ...string) string {
		return harness.Define(t, id, []string{"{name: web, expose: [{port: 80, global: true, hosts: [\"" + strings.Join(hosts, `", "`) + "\"]}]}"}, nil)
	}
	end := func(host string) string {
		r := ref{leases, "akash-net", state.HostName(host)}
		claim, _ := state.ReadClaim(meta(r.get(t)))
		return claim.Parts[0].Expires
	}
	file := define(first, host, wildcard)
	work("reserve", "-f", file, "--expires", "1h")
	work("reserve", "-f", file, "--expires", "2h")
	was := end(host)
	// A run that cannot get all gives back the hold as it was.
	harness.Run(t.Context(), "apply", "-f", define(first, host, wildcard, shop), "--config", cfg).Exits(t, 4)
	if got := end(host); got != was || was == "" {
		t.Errorf("the hold ends at %q, and ended at %q", got, was)
	}
	work("transfer", host, "--to", second.String())
	if got := end(host); got != "" {
		t.Errorf("after the transfer the claim ends at %q", got)
	}
	work("transfer", host, "--to", first.String())
	work("apply", "-f", file)
	if got := end(host) + end(wildcard); got != "" {
		t.Errorf("after the apply the claims end at %q", got)
	}
	work("apply", "-f", define(second, host, "b."+host)) // the host is withheld, which is noted
	work("transfer", host, wildcard, "--to", second.String())
	work("apply", "-f", define(second, host, "b."+host, wildcard))
	work("apply", "-f", define(first, "c."+host))
	work("apply", "-f", define(second, host))
	next := first
	next.OSeq = 2
	work("apply", "-f", define(next, "c."+host))
	work("release", next.String())
	work("release", second.String())

	order := fmt.Sprintf("%s/%d/1/1", bob, first.DSeq)
	must(t, "reserve", "--order", order, "-f", bid(t, 1), "--expires", "5m")
	must(t, "reserve", "--order", order, "-f", bid(t, 1), "--expires", "10m")
	must(t, "reserve", "--order", order, "-f", bid(t, 1))
	must(t, "reserve", "--order", order, "-f", bid(t, 2))
	must(t, "unreserve", "--order", order)
}

// What a crashed run has left can be taken over with the guard: it is fenced, and repaired.
func crashedRunsAreTakenOver(t *testing.T) {
	id := harness.LeaseOf(bob, uint64(300+harness.Number()))
	host := harness.NewHost("web")
	file := harness.Define(t, id, []string{"{name: web, expose: [{port: 80, global: true, hosts: [" + host + "]}]}"}, nil)
	crash := func() {
		t.Helper()
		nonce := state.NewNonce(time.Now())
		dead := &state.Announcement{
			Nonce: nonce, Groups: []lease.Group{id.Group()}, By: "bob@laptop", Version: "v1",
			Begun: time.Unix(1790000000, 0), Renewed: time.Unix(1790000000, 0), Lasts: time.Second, Phase: state.Active,
		}
		claim := &state.Claim{Kind: state.Host, Thing: host, Owner: bob}
		part := state.Part{Key: rootPath, Lease: id, Path: "/", Service: "web", Port: 80, Run: nonce}
		if err := applied(t.Context(), dead.Name(), lease.FieldManager, dead.Configuration("akash-net")); err != nil {
			t.Fatal(err)
		}
		if err := applied(t.Context(), host, id.Group().FieldManager(), claim.Configuration("akash-net", []state.Part{part})); err != nil {
			t.Fatal(err)
		}
	}
	crash()
	must(t, "apply", "-f", file)
	must(t, "release", id.String())
	crash()
	must(t, "repair", "CrashedRun/"+host)
	if _, err := (ref{leases, "akash-net", host}).client().Get(t.Context(), host, metav1.GetOptions{}); !isNotFound(err) {
		t.Errorf("the claim is still there: %v", err)
	}
}
