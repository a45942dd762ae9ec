package plugin

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Every command accepts the names that -o name prints for things of its kinds.
func TestPrintedNames(t *testing.T) {
	id, err := lease.ParseID(testLease)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := session.New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	e := console.NewEvents(&c.Console, console.OutputName, "")
	for _, hold := range []state.Hold{
		state.HostWant{Host: "shop.example.com", Path: "/"}.Hold(id), state.HostWant{Host: "*.example.com", Path: "/"}.Hold(id),
		state.EndpointWant{Name: "public", SharingKey: lease.SharingKey(id.Owner, "public")}.Hold(id, netip.MustParseAddr("2001:db8::7")),
	} {
		e.Report(report.Event{Action: report.Claimed, Kind: string(hold.Kind), Name: hold.Thing, Lease: id})
	}
	e.Report(report.Event{Action: report.Skipped, Kind: "lease", Name: id.Group().String()})
	e.Report(report.Event{Action: report.Repaired, Kind: state.BlockedHost, Name: "bad.example.com"})
	f := printing.NewFlags()
	f.Output = "name"
	subjects := []view.Subject{view.SubjectHosts, view.SubjectIPs, view.SubjectLeases, view.SubjectProblems}
	show, err := f.Printer(subjects, &out, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	tenant := &view.Tenant{Owner: id.Owner, DSeq: id.DSeq, GSeq: id.GSeq, OSeq: id.OSeq, Provider: id.Provider, Lease: id.String()}
	if err := show(&view.Book{
		Hosts:    []view.HostRow{{Tenant: tenant, Host: "shop.example.com", Path: "/api"}, {Tenant: tenant, Host: "*.example.com"}},
		IPs:      []view.IPRow{{Tenant: tenant, Address: netip.MustParseAddr("203.0.113.7")}},
		Leases:   []view.LeaseRow{{Tenant: tenant}},
		Problems: []state.Problem{{Problem: state.BlockedHost, Thing: "bad.example.com"}},
	}); err != nil {
		t.Fatal(err)
	}
	takes := map[string][]string{
		"host":    {"state NAME", "state hosts NAME", "explain NAME", "reserve NAME --lease LEASE", "check NAME --lease LEASE", "release LEASE NAME", "transfer NAME --to LEASE"},
		"address": {"state NAME", "state ips NAME", "explain NAME", "reserve NAME --lease LEASE", "reserve --address NAME --lease LEASE", "release LEASE NAME", "transfer NAME --to LEASE"},
		"lease":   {"state NAME", "state leases NAME", "explain NAME", "release NAME", "migrate --to route NAME"},
		"problem": {"repair NAME"},
	}
	names := strings.Fields(out.String())
	if len(names) != 10 {
		t.Errorf("printed are %q", names)
	}
	for _, name := range names {
		kind, _, _ := strings.Cut(name, "/")
		if takes[kind] == nil {
			t.Errorf("%s is printed, and no command takes it", name)
		}
		for _, line := range takes[kind] {
			if strings.Contains(name, "/api") && (strings.HasPrefix(line, "release") || strings.HasPrefix(line, "transfer")) {
				continue // a host is given up, and handed on, with all its paths
			}
			line = long.Replace(strings.ReplaceAll(line, "NAME", name))
			if code, _, errOut := main1(t, "", strings.Fields(line)...); code != codeFailed || !strings.Contains(errOut, "no cluster is configured") {
				t.Errorf("%s: exit code %d, %q; want it to ask for a cluster", line, code, errOut)
			}
		}
	}
}
