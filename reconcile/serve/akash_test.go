package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

const owner, provider = "akash1owner", "akash1provider"

func someLease(dseq uint64) lease.ID {
	return lease.ID{Owner: owner, DSeq: dseq, GSeq: 1, OSeq: 1, Provider: provider}
}

func tenant(id lease.ID) *view.Tenant {
	return &view.Tenant{
		Lease: id.String(), Owner: id.Owner, DSeq: id.DSeq, GSeq: id.GSeq, OSeq: id.OSeq, Provider: id.Provider, Namespace: id.Namespace(),
	}
}

var at = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// toJSON is a value in JSON.
func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A host is managed if it has a route, whatever its path; the holder of the root path stands for it.
func TestManagedHostnames(t *testing.T) {
	one, two := someLease(1), someLease(2)
	row := func(id lease.ID, host, path, target, state string) view.HostRow {
		return view.HostRow{Host: host, Path: path, Tenant: tenant(id), Service: "web", Port: 80, Target: target, Routed: target != "" && state == view.StateActive, State: state, Since: metav1.NewTime(at)}
	}
	got := managedHostnames([]view.HostRow{
		row(one, "active.example.com", "", "ingress", view.StateActive),
		row(two, "active.example.com", "", "", view.StateWithheld),
		row(one, "moving.example.com", "", "ingress", view.StateTransferring),
		row(one, "paths.example.com", "/a", "httproute", view.StatePending),
		row(two, "paths.example.com", "/b", "httproute", view.StateActive),
		row(one, "reserved.example.com", "", "", view.StateReserved),
		row(one, "root.example.com", "", "ingress", view.StateActive),
		row(two, "root.example.com", "/b", "ingress", view.StateActive),
	})
	golden.Check(t, "testdata/managed-hostnames.json", toJSON(t, got))
	if text := toJSON(t, managedHostnames(nil)); text != "{}" {
		t.Errorf("no hosts are %s", text)
	}
}

// definition is a definition of a lease with hosts, and with an IP endpoint called public.
func definition(id lease.ID, hosts ...string) *lease.Definition {
	def := &lease.Definition{Lease: id, IPEndpoints: []lease.IPEndpoint{{Name: "public"}}}
	for _, h := range hosts {
		def.Services = append(def.Services, lease.Service{Name: "web", Expose: []lease.Expose{{Port: 80, Global: true, Protocol: lease.TCP, Hosts: []lease.Host{{Name: h}}}}})
	}
	return def
}

// A lease that fails is listed by its ID with what failed, however it is wrapped, and flagged after the third time. Its text is bounded.
func TestIgnoreList(t *testing.T) {
	id := someLease(1)
	held := &report.HeldError{Lease: id, Held: []report.HeldThing{{Kind: "host", Thing: "a.example.com"}}}
	failing := reconcile.Failing{
		Group: id.Group(), Definition: definition(id, "b.example.com", "a.example.com", "b.example.com"), Count: 2, Since: at, Last: at, Next: at.Add(time.Minute),
		Err: errors.Join(&report.LeaseError{Lease: id.Group(), Err: held}),
	}
	golden.Check(t, "testdata/ignore-list.json", toJSON(t, ignoreList([]reconcile.Failing{failing})))
	if text := toJSON(t, ignoreList(nil)); text != "{}" {
		t.Errorf("no failures are %s", text)
	}
	failing.Count, failing.Definition, failing.Err = 3, nil, errors.New(strings.Repeat("ä\x1b", 10000))
	got := ignoreList([]reconcile.Failing{failing})["akash1owner/1/1"]
	if !got.Flagged || got.Hostnames == nil || got.Namespace != "" {
		t.Errorf("%+v", got)
	}
	if text := toJSON(t, got); len(text) > 4*maxText || strings.Contains(text, "\x1b") {
		t.Errorf("%d bytes: %.100s", len(text), text)
	}
}

// What Akash's provider computes as left, Available - InUse, is what is left (IN-2, IN-4).
func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		of   *inventory.Addresses
		want usage
	}{
		{nil, usage{}}, {&inventory.Addresses{Total: 10, InUse: 4}, usage{10, 4, 6}}, {&inventory.Addresses{Total: 5, InUse: 5}, usage{5, 5, 0}},
		{&inventory.Addresses{Total: 5, InUse: 9}, usage{5, 5, 0}}, // a range that was made smaller
	} {
		if got := usageOf(tt.of); got != tt.want {
			t.Errorf("%+v: %+v", tt.of, got)
		}
	}
}

// The ports of an order's lease that have an address are listed, beside those that wait for one; nobody else's are.
func TestLeaseIPs(t *testing.T) {
	id := someLease(1)
	row := func(id lease.ID, service string, port uint16, protocol lease.Protocol, address, state string) view.IPRow {
		r := view.IPRow{Tenant: tenant(id), Service: service, Port: port, ContainerPort: port + 8000, Protocol: protocol, State: state}
		if address != "" {
			r.Address = netip.MustParseAddr(address)
		}
		return r
	}
	rows := []view.IPRow{
		row(id, "web", 443, lease.TCP, "203.0.113.7", view.StateActive),
		row(id, "web", 53, lease.UDP, "203.0.113.7", view.StateActive),
		row(id, "web", 53, lease.TCP, "203.0.113.7", view.StateActive),
		row(id, "web", 80, lease.TCP, "203.0.113.8", view.StatePending), // claimed, and not granted yet
		row(id, "web", 81, lease.TCP, "", view.StatePending),
		row(id, "api", 80, lease.TCP, "2001:db8::1", view.StateActive),
		row(id, "api", 81, lease.TCP, "203.0.113.9", view.StateWithheld),
		row(someLease(2), "web", 443, lease.TCP, "203.0.113.10", view.StateActive),
		{Address: netip.MustParseAddr("203.0.113.11"), State: view.StateActive, Tenant: &view.Tenant{Owner: owner}},
	}
	golden.Check(t, "testdata/lease-ips.json", toJSON(t, leaseIPs(rows, id.Order())))
	if got := leaseIPs(rows, someLease(3).Order()); got != nil {
		t.Errorf("a lease without addresses has %v", got)
	}
}

// An address counts once, whatever ports it has, and an endpoint that waits for one too.
func TestAddressStates(t *testing.T) {
	address := netip.MustParseAddr
	got := addressStates([]view.IPRow{
		{Address: address("203.0.113.7"), State: view.StateActive}, {Address: address("203.0.113.7"), State: view.StateActive},
		{Address: address("203.0.113.8"), State: view.StateActive}, {Address: address("203.0.113.8"), State: view.StatePending},
		{Address: address("203.0.113.8"), State: view.StateActive}, {Address: address("203.0.113.7"), State: view.StateWithheld},
		{SharingKey: "a-ip-b", State: view.StatePending}, {SharingKey: "a-ip-b", State: view.StatePending},
	})
	slices.Sort(got)
	if fmt.Sprint(got) != "[Active Partial Pending]" {
		t.Error(got)
	}
}
