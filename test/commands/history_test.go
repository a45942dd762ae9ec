package commands

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var events = eventsv1.SchemeGroupVersion.WithResource("events")

// storyOf returns the Events that commands have written of a lease, as "REASON NOTE", in no order.
func storyOf(t *testing.T, id lease.ID) (all []string) {
	t.Helper()
	for _, e := range eventsOf(t, id) {
		all = append(all, e.Reason+" "+e.Note)
	}
	return all
}

func eventsOf(t *testing.T, id lease.ID) (all []eventsv1.Event) {
	t.Helper()
	for _, o := range harness.List(t, events, lease.LabelDSeq+"="+fmt.Sprint(id.DSeq)+","+lease.LabelOwner+"="+id.Owner) {
		var e eventsv1.Event
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &e); err != nil {
			t.Fatal(err)
		}
		if e.Namespace != id.Namespace() || e.Regarding.Name != id.Namespace() || e.ReportingController != "akash-net" {
			t.Errorf("an Event of lease %s: %+v", id, e)
		}
		all = append(all, e)
	}
	return all
}

// rows fails the test unless the rows of a table that are about leases begin, after the time, with these words, in this order.
func rows(t *testing.T, r result, want ...string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(r.Exits(t, 0).Stdout) {
		fields := strings.Fields(line)
		if len(fields) > 4 && fields[0] != "LAST" {
			from := 1
			for fields[from] != "Normal" && fields[from] != "Warning" { // "5s (x2 over 9s)"
				from++
			}
			if strings.HasPrefix(fields[from+2], "lease/") { // others are told of by controllers
				got = append(got, strings.Join(fields[from:], " "))
			}
		}
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("the story is\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
}

// What happens to a lease is told by "events", by kubectl, and by the API: what it gets, what it is refused and by whom, what it loses
// and gains, what is repaired, and what it gives up.
func TestHistory(t *testing.T) {
	t.Parallel()
	subnet, owner, rival := newNet(), newOwner(t), newOwner(t)
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	blue, green, theirs := leaseOf(owner, 1), leaseOf(owner, 2), leaseOf(rival, 3)
	shop, other, own := "shop."+newDomain(), "other."+newDomain(), "own."+newDomain()
	apply := func(code int, id lease.ID, services ...string) {
		t.Helper()
		mustRun(t, code, "apply", "--config", config, "--assume-serving", "-f", define(t, id, services...))
	}
	lost, won, others := "lease/"+blue.Group().String(), "lease/"+green.Group().String(), "lease/"+theirs.Group().String()

	apply(0, blue, web("web", 80, shop), leased("game", "public", 7001))
	apply(0, blue, web("web", 80, shop), leased("game", "public", 7001)) // changes nothing, and tells nothing
	rows(t, mustRun(t, 0, "events", blue.String(), "--config", config),
		"Normal Claimed "+lost+" address/"+subnet, "Normal Granted "+lost+" service/game-ip-7001-tcp ("+subnet)

	apply(0, theirs, web("web", 80, own))
	for range 3 { // the same refusal is one Event that counts
		apply(4, theirs, web("web", 80, own, shop))
	}
	rows(t, mustRun(t, 0, "events", theirs.Group().String()), "Normal Claimed "+others,
		"Warning Refused "+others+" host "+shop+" is held by lease "+blue.String())
	mustRun(t, 0, "events", shop, "--config", config).Prints(t, "(x3 over ")

	apply(0, green, web("web", 80, shop, other))
	mustRun(t, 0, "transfer", shop, "--to", green.String(), "--config", config, "--assume-serving")
	rows(t, mustRun(t, 0, "events", other, "--config", config), "Normal Claimed "+won+" host/"+other)
	found := mustRun(t, 0, "events", "host/"+strings.ToUpper(shop), "--config", config)
	found.Prints(t, "Warning   Lost", lost+" ", "host/"+shop+" (transferred to lease "+green.Group().String()+")", "Normal    Transferred", "host/"+shop+" (from "+blue.Group().String()+")",
		"Warning   Withheld", "host/"+shop+" (held by ")

	remove(t, ingresses, green.Namespace(), other)
	remove(t, claims, ledger, other)
	mustRun(t, 0, "repair", "--config", config, "-f", define(t, green, web("web", 80, shop, other)), "RouteWithoutClaim/"+other)
	mustRun(t, 0, "events", other, "--config", config).Prints(t, "Repaired", "/"+other)
	mustRun(t, 0, "release", blue.Group().String(), "--config", config)
	mustRun(t, 0, "events", subnet+"0", "--config", config, "--ignore-not-found").Prints(t, "Claimed", "Granted", "Released")

	kubectl(t, "-n", theirs.Namespace(), "events", "--for", "namespace/"+theirs.Namespace()).Exits(t, 0).
		Prints(t, "Namespace/"+theirs.Namespace(), shop+" is held by lease "+blue.String())
	for _, e := range eventsOf(t, theirs) {
		if e.Reason == "Claimed" && (e.Related == nil || e.Related.Kind != "Lease" || e.Related.Name != own) {
			t.Errorf("%s is related to %+v", e.Note, e.Related)
		}
	}
}

// What writes nothing tells nothing, and who may not write Events, or whose lease has no namespace, gets and prints the same.
func TestNoHistory(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(t), 1), "shop."+newDomain()
	definition := define(t, id, web("web", 80, host))
	mustRun(t, 0, "reserve", host, "--lease", id.String())
	mustRun(t, 0, "events", host).Says(t, "No events found for host/"+host+".\n")
	mustRun(t, 0, "events", id.Group().String()).Says(t, "No events are kept of lease/"+id.Group().String()+": it has no namespace.\n")

	makeNamespace(t, id)
	for _, args := range [][]string{{"apply", "--dry-run", "-f", definition}, {"apply", "--dry-run=server", "-f", definition}, {"check", "-f", definition}, {"diff", "-f", definition}, {"release", "--dry-run", id.Group().String()}} {
		run(t.Context(), args...)
	}
	lacks := without(t, "create", "events")
	r := runAs(t.Context(), lacks, "apply", "-f", definition).Exits(t, 0)
	if r.Stderr != "" {
		t.Errorf("who may not write Events is told: %s", r)
	}
	runAs(t.Context(), lacks, "release", id.Group().String()).Exits(t, 0)
	if said := storyOf(t, id); len(said) > 0 {
		t.Errorf("the story is %q", said)
	}

	gone := newDomain()
	mustRun(t, 1, "events", gone).Says(t, "host/"+gone+" not found")
	mustRun(t, 1, "events", gone, "-o", "json").Says(t, "not found").Prints(t, `"items": []`)
	mustRun(t, 1, "events", leaseOf(newOwner(t), 7).Group().String()).Says(t, "nothing runs for lease")
	mustRun(t, 0, "events", gone, "--ignore-not-found").Says(t, "No events found for host/"+gone)
	mustRun(t, 2, "events", "a_b.example.com").Says(t, "is not a host name")
}

// A story is written with the operator's rights, and shown to who may look, and not to others. What somebody else has written into it
// gets to no terminal, and is believed only in the namespace of its lease.
func TestHistoryIsShown(t *testing.T) {
	t.Parallel()
	id, host, theirs := leaseOf(newOwner(t), 1), "shop."+newDomain(), "theirs."+newDomain()
	mustRun(t, 0, "reserve", theirs, "--lease", leaseOf(newOwner(t), 1).String())
	operator := bound(t, "akash-net-operator", "akash-net-operator")
	runAs(t.Context(), operator, "apply", "-f", define(t, id, web("web", 80, host))).Exits(t, 0)
	for range 2 {
		runAs(t.Context(), operator, "apply", "-f", define(t, id, web("web", 80, host, theirs))).Exits(t, 4)
	}
	runAs(t.Context(), operator, "events", id.Group().String()).Exits(t, 0).Prints(t, "Claimed", "(x2 over ", "Refused")
	runAs(t.Context(), operator, "events", "--all").Exits(t, 0).Prints(t, "LEASE", id.Owner[:9]+"…", "lease/"+id.Group().String(), theirs+" is held")
	forge := func(namespace, name string) {
		labels, err := json.Marshal(id.Labels())
		if err != nil {
			t.Fatal(err)
		}
		create(t, kinds.Event.Resource(), fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {name: %s, namespace: %s, labels: %s, annotations: {net.akash.network/names: "%s \u001b[31m"}},
involvedObject: {kind: "Name\u001b[2Jspace", name: "x\n\u202ey", namespace: %[2]s}, reason: "Claimed\u001b]0;x\u0007\nNormal", type: "Normal\u009b2J", message: "a\u001b[2J\r\nforged%[1]s\u202e",
reportingComponent: akash-net, reportingInstance: "x\u001b[2J", source: {component: "c\u001b[2J\nd"}, count: 2147483647}`, name, namespace, labels, host))
	}
	forge(id.Namespace(), "forged")
	forge("default", "elsewhere-"+host)
	viewer := bound(t, "akash-net-viewer", "akash-net-viewer")
	for _, output := range []string{"", "wide", "json", "yaml", "name"} {
		r := runAs(t.Context(), viewer, "events", host, "-o", output).Exits(t, 0)
		if i := strings.IndexFunc(r.Stdout+r.Stderr, func(c rune) bool { return c != '\n' && unicode.IsControl(c) || c == '\u202e' }); i >= 0 && (output == "" || output == "wide") {
			t.Errorf("-o %s prints %q", output, r.Stdout)
		}
		if !strings.Contains(r.Stdout, "forged") || strings.Contains(r.Stdout, "elsewhere") {
			t.Errorf("-o %s prints %s", output, r.Stdout)
		}
		if rows := strings.Count(r.Stdout, "\n"); output == "" && rows != 3 {
			t.Errorf("%d lines: %s", rows, r.Stdout)
		}
	}
	nobody, _ := stranger(t)
	runAs(t.Context(), nobody.kubeconfig, "events", host, "--config", configure(t)).Exits(t, 1).Says(t, "not allowed to list events", "akash-net-viewer")
}
