package orders

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// connect is a connection of its own.
func connect(t *testing.T, through ...func(*rest.Config)) *cluster.Cluster {
	t.Helper()
	to := rest.CopyConfig(harness.Plane.Config)
	for _, f := range through {
		f(to)
	}
	c, err := cluster.Connect(to, 8)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// asked is what the group of a file asks for.
func asked(t *testing.T, file string, id lease.ID) (group resources.Group) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	problems, err := input.Read(t.Context(), f, file, input.Options{Lease: &id, Workloads: true}, func(d *lease.Definition) error {
		group = d.ResourceGroup()
		return nil
	})
	if err != nil || problems.Failed() {
		t.Fatal(err, problems)
	}
	return group
}

// claimOf is the reservation of an order; nil where it has none.
func claimOf(t *testing.T, order lease.Order) *reserved.Claim {
	t.Helper()
	claim, err := reservation.New(connect(t), config.Default()).Reservation(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func encoded(t *testing.T, o any) string {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// edit writes annotations of an order's reservation; nil removes one.
func edit(t *testing.T, order lease.Order, annotations map[string]any) {
	t.Helper()
	harness.Merge(t, leases, "akash-net", reserved.Name(order), encoded(t, map[string]any{"metadata": map[string]any{"annotations": annotations}}))
}

// ends gives what an order has bound another end, as if it had been reserved earlier.
func ends(t *testing.T, order lease.Order, at time.Time) {
	t.Helper()
	part := *claimOf(t, order).Bound
	part.Expires = at.UTC().Format(time.RFC3339)
	edit(t, order, map[string]any{reserved.AnnotationBound: encoded(t, part)})
}

// The order that is won keeps what its bid reserved: the object is the same, without end, and names the provider, also where another group
// of the lease does not fit. A lease without a bid reserves as a bid does.
func TestTheLeaseTakesTheReservationOver(t *testing.T) {
	free(t)
	harness.Node(t, "won-1", rtx4090, harness.Amounts("4", "8Gi", "nvidia.com/gpu", "2"))
	id, alone := harness.LeaseOf(harness.NewOwner(t), 7), newOrder(t)
	file := sdl(t, group{resources: oneGPU})
	reserve(t, 0, id.Order(), file, "--expires", "5m")
	bid := claimOf(t, id.Order())
	for range 2 {
		params, err := reservation.Claim(t.Context(), connect(t), config.Default(), id, asked(t, file, id), nil)
		if p := params[1]; err != nil || len(params) != 1 || p == nil || p.RuntimeClass != "nvidia" || p.GPU().Model != "rtx4090" {
			t.Errorf("the cards are %+v, %v", params, err)
		}
	}
	harness.Run(t.Context(), "state", "orders").Exits(t, 0).Prints(t, "Leased")
	reserve(t, 1, id.Order(), file, "--expires", "5m").Says(t, "for good")
	big := asked(t, sdl(t, group{resources: "cpu: {units: 64}, memory: {size: 1Gi}, storage: {size: 1Gi}"}), id)
	_, err := reservation.Claim(t.Context(), connect(t), config.Default(), id, big, nil)
	if err == nil || !strings.Contains(err.Error(), "node won-1 has 4 free; what it has reserved stays") {
		t.Errorf("of a lease that does not fit it is said: %v", err)
	}
	won := claimOf(t, id.Order())
	if won.UID != bid.UID || won.Bound.Expires != "" || won.Bound.Provider != id.Provider || won.Pending != nil || won.Bound.Hold.Total().CPU != 1000 {
		t.Errorf("the lease has %+v", won)
	}
	if err := takesOver(t, file)(t.Context(), connect(t), alone); err != nil || claimOf(t, alone) == nil {
		t.Errorf("without a bid: %v", err)
	}
}

// Another group for the same order: what it has is free to it, and is held until the new one is.
func TestAReservationMovesInPlace(t *testing.T) {
	free(t)
	harness.Node(t, "move-1", nil, harness.Amounts("4", "8Gi"))
	order := newOrder(t)
	cpus := func(n int) string {
		return sdl(t, group{resources: fmt.Sprintf("cpu: {units: %d}, memory: {size: 1Gi}, storage: {size: 1Gi}", n)})
	}
	reserve(t, 0, order, cpus(3), "--expires", "5m")
	was := claimOf(t, order)
	reserve(t, 0, order, cpus(4), "--expires", "5m").Prints(t, "moved (4 CPU")
	if now := claimOf(t, order); now.UID != was.UID || now.Bound.Hold.Total().CPU != 4000 || now.Pending != nil {
		t.Errorf("it has moved to %+v", now)
	}
	reserve(t, 4, order, cpus(5)).Says(t, "what it has reserved stays")
	reserve(t, 0, order, cpus(1)).Prints(t, "moved (1 CPU")
	reserve(t, 0, newOrder(t), cpus(3))
}

// What is over is freed by whoever needs the room, by a renewal of its own, or by repair; which of them is first wins.
func TestWhatIsOverIsFreed(t *testing.T) {
	free(t)
	harness.Node(t, "over-1", nil, harness.Amounts("4", "8Gi"))
	whole := sdl(t, group{resources: "cpu: {units: 4}, memory: {size: 1Gi}, storage: {size: 1Gi}"})
	first, second := newOrder(t), newOrder(t)
	reserve(t, 0, first, whole, "--expires", "5m")
	reserve(t, 4, second, whole)
	ends(t, first, time.Now().Add(-time.Hour))
	harness.Run(t.Context(), "state", "orders").Exits(t, 0).Prints(t, "Expired")
	harness.Run(t.Context(), "state", "--problems").Exits(t, 1).Prints(t, "HoldEnded", "order/"+first.String())
	reserve(t, 0, first, whole, "--expires", "5m").Prints(t, "renewed") // its own, before anybody needed it
	ends(t, first, time.Now().Add(-time.Hour))
	reserve(t, 0, second, whole, "--expires", "5m").Prints(t, "reserved")
	if claimOf(t, first) != nil {
		t.Error("what was in the way is still there")
	}
	reserve(t, 4, first, whole)
	ends(t, second, time.Now().Add(-time.Hour))
	harness.Run(t.Context(), "repair").Exits(t, 0).Prints(t, "order/"+second.String()+" repaired")
	if claimOf(t, second) != nil {
		t.Error("repair has left it")
	}
}

// A reservation that nobody can read stops its own order, and nobody else; its name frees it.
func TestWhatCannotBeReadStopsItsOrder(t *testing.T) {
	free(t)
	harness.Node(t, "spoilt-1", nil, harness.Amounts("4", "8Gi"))
	order, file := newOrder(t), sdl(t, group{resources: small})
	reserve(t, 0, order, file)
	edit(t, order, map[string]any{reserved.AnnotationBound: `{"asked":"x","hold":{},"of":"a later version"}`})
	reserve(t, 0, newOrder(t), file)
	reserve(t, 1, order, file).Says(t, reserved.Name(order), "cannot be read", `unknown field "of"`, "kubectl akash-net repair UnreadableClaim/"+reserved.Name(order))
	harness.Run(t.Context(), "order", "fit", "-f", file).Exits(t, 0).Says(t, "Warning: reservation "+reserved.Name(order)+" does not count")
	harness.Run(t.Context(), "state", "orders").Exits(t, 0).Prints(t, "Unreadable")
	harness.Run(t.Context(), "state").Exits(t, 0)
	harness.Run(t.Context(), "repair", "UnreadableClaim/"+reserved.Name(order)).Exits(t, 0)
	reserve(t, 0, order, file)

	// What is bound counts as long as it can be read.
	whole := sdl(t, group{resources: "cpu: {units: 3}, memory: {size: 1Gi}, storage: {size: 1Gi}"})
	edit(t, order, map[string]any{reserved.AnnotationPending: "x"})
	reserve(t, 4, newOrder(t), whole)
}

// An interrupted run takes back what it has announced, and leaves what was reserved before.
func TestInterrupted(t *testing.T) {
	free(t)
	harness.Node(t, "cut-1", nil, harness.Amounts("4", "8Gi"))
	order, file := newOrder(t), sdl(t, group{resources: small})
	for _, before := range []bool{false, true} {
		if before {
			reserve(t, 0, order, sdl(t, group{resources: small, addresses: 0, count: 2}))
		}
		ctx, interrupt := context.WithCancel(t.Context())
		c := connect(t, atWrite(1, true, interrupt))
		if _, _, err := reservation.New(c, config.Default()).Reserve(ctx, order, groupOf(t, file, order), reservation.Options{}); err == nil {
			t.Fatal("it was not interrupted")
		}
		switch now := claimOf(t, order); {
		case !before && now != nil:
			t.Errorf("left is %+v", now)
		case before && (now == nil || now.Pending != nil || now.Bound.Hold.Total().CPU != 2000):
			t.Errorf("of what was reserved there is %+v", now)
		}
	}
}

// An apply takes over what its order has reserved, once the lease has what it claims: where that is refused the hold ends as it
// did. It reserves nothing by itself.
func TestApplyTakesOverAndMakesNone(t *testing.T) {
	free(t)
	harness.Node(t, "applied-1", nil, harness.Amounts("4", "8Gi"))
	harness.Run(t.Context(), "install", "--workloads").Exits(t, 0)
	host := harness.NewHost("applied")
	file := sdl(t, group{resources: small, host: host})
	apply := func(id lease.ID) harness.Result {
		t.Cleanup(func() { harness.Run(context.WithoutCancel(t.Context()), "release", id.String()) })
		return harness.Run(t.Context(), "apply", "-f", file, "--lease", id.String(), "--workloads", "--wait=false")
	}
	alone, won := harness.LeaseOf(harness.NewOwner(t), 7), harness.LeaseOf(harness.NewOwner(t), 7)
	apply(alone).Exits(t, 0)
	if now := claimOf(t, alone.Order()); now != nil {
		t.Errorf("it has reserved %+v", now)
	}
	reserve(t, 0, won.Order(), file, "--expires", "5m")
	bid := claimOf(t, won.Order())
	apply(won).Exits(t, 4).Says(t, host+" is held by")
	if now := claimOf(t, won.Order()); now == nil || now.ResourceVersion != bid.ResourceVersion {
		t.Errorf("a refused apply has changed the reservation: %+v", now)
	}
	harness.Run(t.Context(), "release", alone.String()).Exits(t, 0)
	apply(won).Exits(t, 0).Prints(t, "order/"+won.Order().String()+" claimed")
	if now := claimOf(t, won.Order()); now == nil || now.Bound.Provider != won.Provider || now.Bound.Expires != "" {
		t.Errorf("it has reserved %+v", now)
	}
	if r := apply(won).Exits(t, 0); strings.Contains(r.Stdout, "order/") {
		t.Errorf("it takes over what it has: %s", r)
	}
}

// A lease may have taken over what its order has reserved and have nothing else: an apply that was killed, or refused later, left it so.
// A release gives that up, and neither a bid's nor that of another group.
func TestReleaseGivesUpWhatALeaseHasReserved(t *testing.T) {
	free(t)
	harness.Node(t, "released-1", nil, harness.Amounts("8", "8Gi"))
	file, bid := sdl(t, group{resources: small}), newOrder(t)
	won, beside := newOrder(t), newOrder(t)
	beside.Owner, beside.DSeq = won.Owner, won.DSeq+1
	group := func(o lease.Order) string { return o.Group().String() }
	for _, o := range []lease.Order{bid, won, beside} {
		reserve(t, 0, o, file, "--expires", "5m")
	}
	for _, o := range []lease.Order{won, beside} {
		if err := takesOver(t, file)(t.Context(), connect(t), o); err != nil {
			t.Fatal(err)
		}
	}
	thing := "order/" + won.String() + " released"
	was := claimOf(t, won)
	for how, said := range map[string]string{"client": "(dry run)", "server": "(server dry run)"} {
		harness.Run(t.Context(), "release", group(won), "--dry-run="+how).Exits(t, 0).Prints(t, thing+" "+said)
	}
	harness.Run(t.Context(), "release", group(won), "a.example.com").Exits(t, 1).Prints(t, "holds nothing of that name")
	harness.Run(t.Context(), "release", group(bid)).Exits(t, 1).Prints(t, "holds nothing")
	for o, old := range map[lease.Order]*reserved.Claim{won: was, bid: nil, beside: nil} {
		if now := claimOf(t, o); now == nil || old != nil && now.ResourceVersion != old.ResourceVersion {
			t.Errorf("of %s there is %+v", o, now)
		}
	}
	harness.Run(t.Context(), "release", "--all", "-y", "--dry-run=server").Exits(t, 0).Prints(t, thing, "order/"+beside.String()+" released")
	if r := harness.Run(t.Context(), "release", group(won)).Exits(t, 0).Prints(t, thing); strings.Count(r.Stdout, "order/") != 1 {
		t.Errorf("not one line for one order: %s", r)
	}
	if now := claimOf(t, won); now != nil {
		t.Errorf("left is %+v", now)
	}
	if claimOf(t, beside) == nil || claimOf(t, bid) == nil {
		t.Error("what others have reserved is gone")
	}
	harness.Run(t.Context(), "release", group(won)).Exits(t, 1).Prints(t, "holds nothing")
}
