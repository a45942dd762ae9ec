package commands

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// event is a line of -o events.
type event struct {
	Schema, Time, Action, Lease, Kind, Namespace, Name, Error string
	Hosts, Addresses                                          []string
	Changed                                                   *bool
	DryRun                                                    bool
}

// eventsOf reads the lines, each of which has to be an event.
func eventsIn(t *testing.T, r result) []event {
	t.Helper()
	var out []event
	for line := range strings.Lines(r.Stdout) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		if _, err := time.Parse(time.RFC3339, e.Time); err != nil || e.Schema != "net.akash.network/events/v1" || e.Action == "" {
			t.Errorf("not an event: %s", line)
		}
		out = append(out, e)
	}
	return out
}

func TestEvents(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	u := admin().with(configure(t, "ip: {ranges: ["+v4+"0/28]}"))
	id, host := leaseOf(newTenant(t), 1), newHost("events")
	definition := defineParts(t, id, service("web", served(host), leasedPart("public", "TCP", 443)), endpoint("public"))
	happened := func(id lease.ID, args ...string) (out []string, last event) {
		for _, e := range eventsIn(t, u.run(t, append(args, "-o", "events")...)) {
			if e.Lease != "" && !strings.HasPrefix(e.Lease, id.Group().String()) {
				t.Errorf("an event of another lease: %v", e)
			}
			out, last = append(out, e.Action+" "+e.Kind+"/"+e.Name), e
		}
		return out, last
	}
	got, last := happened(id, "apply", "-f", definition)
	want := []string{
		"claimed address/" + v4 + "0", "claimed host/" + host,
		"created ipaddresspool/", "created l2advertisement/", "created namespace/" + id.Namespace(),
		"created providerhost/" + host, "created providerleasedip/" + id.Owner + "-ip-public-tcp-443",
		"created ingress/" + host, "created service/web-ip-443-tcp", "granted service/web-ip-443-tcp", "done lease/" + id.String(),
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b string) bool {
		return a == b || strings.HasPrefix(a, "created ipaddresspool/") && strings.HasPrefix(b, "created ipaddresspool/") ||
			strings.HasPrefix(a, "created l2advertisement/") && strings.HasPrefix(b, "created l2advertisement/")
	})); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if !slices.Equal(last.Hosts, []string{host}) || !slices.Equal(last.Addresses, []string{v4 + "0"}) || last.Changed == nil || !*last.Changed {
		t.Errorf("the last event is %+v", last)
	}
	if _, last = happened(id, "apply", "-f", definition); last.Changed == nil || *last.Changed {
		t.Errorf("the last event of the second run is %+v", last)
	}
	other := leaseOf(newTenant(t), 1)
	if _, last = happened(other, "apply", "-f", defineParts(t, other, webPart(host))); last.Action != "failed" || !strings.Contains(last.Error, id.String()) {
		t.Errorf("the last event of the refused run is %+v", last)
	}
	if _, last = happened(id, "release", id.Group().String(), "--dry-run=server"); last.Action != "kept" || last.Name != id.Namespace() || !last.DryRun {
		t.Errorf("the last event of the dry run is %+v", last)
	}
}
