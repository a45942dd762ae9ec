package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// reservation returns a claim of an order of the test's owner.
func reservation(dseq uint64, bound, pending *reserved.Part) *reserved.Claim {
	o := lease.Order{Owner: statetest.Shop.Owner, DSeq: dseq, GSeq: 1, OSeq: 1}
	return &reserved.Claim{Order: o, ObjectName: reserved.Name(o), Bound: bound, Pending: pending, Created: statetest.Minute(1)}
}

// The row of an order says what matters to other orders: how long the reservation lasts and whether something is in the
// way.
func TestOrders(t *testing.T) {
	ends := func(minute int) string { return statetest.Minute(minute).Format(time.RFC3339) }
	hold := inventory.Hold{Nodes: map[string]inventory.Amounts{"n1": {CPU: 1}}, Addresses: 1}
	card := map[uint32]*inventory.SchedulerParams{1: {Resources: inventory.SchedulerResources{GPU: inventory.SchedulerGPU{Vendor: "nvidia", Model: "t4"}}}}
	going := reservation(6, &reserved.Part{Asked: "a"}, nil)
	going.Deleting = true
	spoiled := reservation(1, nil, nil)
	spoiled.Unreadable = "annotation is not JSON"
	in := Contents{Now: statetest.Minute(9), Reservations: []*reserved.Claim{
		going,
		reservation(5, nil, &reserved.Part{Asked: "a", Expires: ends(10)}),
		reservation(4, nil, &reserved.Part{Asked: "a", Expires: ends(8)}),
		reservation(3, &reserved.Part{Asked: "a", Hold: hold, Params: card, Expires: ends(10), By: "ann@laptop", HTTP: 1}, nil),
		reservation(2, &reserved.Part{Asked: "a", Provider: statetest.Shop.Provider}, &reserved.Part{Asked: "b", By: "bob@laptop", Hold: hold}),
		spoiled,
	}}
	cfg := config.Default()
	cfg.IP.Mode = config.ModePool
	book := NewBook(cfg, in, SubjectOrders)
	type said struct {
		DSeq                    uint64
		State, Expires, Message string
	}
	var got []said
	for _, r := range book.Orders {
		got = append(got, said{r.DSeq, r.State, r.Expires, r.Message})
	}
	if diff := cmp.Diff([]said{
		{0, StateUnreadable, "", "annotation is not JSON"},
		{2, StateLeased, "", "is being moved, by bob@laptop"}, {3, StateReserved, ends(10), ""}, {4, StateExpired, ends(8), ""}, {5, StatePending, ends(10), ""}, {6, StateTerminating, "", ""},
	}, got); diff != "" {
		t.Error(diff)
	}
	want := OrderRow{Order: statetest.Shop.Owner + "/3/1/1", Tenant: &Tenant{Owner: statetest.Shop.Owner, DSeq: 3, GSeq: 1, OSeq: 1}, State: StateReserved, Hold: hold,
		Models: []string{"nvidia/t4"}, HTTP: 1, By: "ann@laptop", Since: metav1.NewTime(statetest.Minute(1)), Expires: ends(10), Claim: reservation(3, nil, nil).ObjectName}
	if diff := cmp.Diff(want, book.Orders[2]); diff != "" {
		t.Error(diff)
	}
	if l := book.Orders[1].Lease; l != statetest.Shop.Owner+"/2/1/1/"+statetest.Shop.Provider {
		t.Errorf("the lease is %s", l)
	}
	if end := book.NextEnd(in.Now); !end.After(statetest.Minute(10)) || end.After(statetest.Minute(11)) {
		t.Errorf("the next end is %s", end)
	}

	later := in
	later.Reservations = in.Reservations[:4]
	changed := NewBook(config.Default(), later, SubjectOrders).Changes(book)
	if len(changed.Orders) != 2 || changed.Orders[0].State != StateReleased || changed.Orders[1].State != StateReleased {
		t.Errorf("what has changed is %+v", changed.Orders)
	}
	selector, _ := labels.Parse("akash.network/lease.id.dseq=2")
	if book.Select(selector, ""); len(book.Orders) != 1 || book.Orders[0].DSeq != 2 {
		t.Errorf("selected is %+v", book.Orders)
	}
	if NewBook(config.Default(), Contents{}, SubjectOrders).Orders == nil {
		t.Error("a list that was asked for is not there")
	}
}

// Reservations in files count against what is left, except unreadable ones and ones that are being deleted.
func TestReservationsInFiles(t *testing.T) {
	c := reservation(3, &reserved.Part{Asked: "a", Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{"n1": {CPU: 3000}}, Addresses: 2}}, nil)
	ac := c.Configuration("akash-net")
	var in Contents
	for _, text := range []string{
		`{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4"}, conditions: [{type: Ready, status: "True"}]}}`,
		`{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: default}, spec: {addresses: [203.0.113.0/30]}}`,
		`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: rs--x, namespace: akash-net, labels: {net.akash.network/kind: resources}}}`,
		`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: rs--y, namespace: elsewhere, labels: {net.akash.network/kind: resources}}}`,
		`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: ip--203-0-113-0, namespace: akash-net, labels: {net.akash.network/kind: address, net.akash.network/owner: ` + c.Order.Owner + `}, annotations: {net.akash.network/ledger: v1, net.akash.network/sharing-key: ` +
			c.Order.Owner + `-ip-public, port.net.akash.network/tcp-443: '{"lease":"` + c.Order.String() + "/" + statetest.Shop.Provider + `"}'}}}`,
	} {
		in.Add(objectOf(t, text), "akash-net")
	}
	o := objectOf(t, `{apiVersion: coordination.k8s.io/v1, kind: Lease}`)
	o.SetName(*ac.Name)
	o.SetLabels(ac.Labels)
	o.SetAnnotations(ac.Annotations)
	in.Add(o, "akash-net")
	cfg := config.Default()
	cfg.IP.Mode = config.ModePool
	book := NewBook(cfg, in, SubjectOrders, SubjectResources, SubjectIPs)
	if len(book.Orders) != 2 || len(book.IPs) != 1 {
		t.Fatalf("orders %+v, addresses %+v", book.Orders, book.IPs)
	}
	if cpu := book.Resources[0]; cpu.Reserved != 3000 || cpu.Available != 1000 {
		t.Errorf("of the CPU there is %+v", cpu)
	}
	if a := book.Resources[4]; a.Resource != "addresses" || a.InUse != 1 || a.Reserved != 1 || a.Available != 2 { // its lease has one of the two
		t.Errorf("of the addresses there are %+v", a)
	}
}
