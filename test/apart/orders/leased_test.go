package orders

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// takes reserves an address for a lease, chosen or named, and releases it after the test.
func takes(t *testing.T, code int, id lease.ID, address, cfg string) harness.Result {
	t.Helper()
	releases(t, id, cfg)
	return harness.Run(t.Context(), "reserve", "--lease", id.String(), "--address", address, "--endpoint", "e0", "--config", cfg).Exits(t, code)
}

// addressed is the definition of a lease with a port on an address.
func addressed(t *testing.T, id lease.ID) string {
	t.Helper()
	return harness.Define(t, id, []string{"{name: web, expose: [{port: 443, global: true, ip: public}]}"}, []string{"{name: public}"})
}

func releases(t *testing.T, id lease.ID, cfg string) {
	t.Helper()
	t.Cleanup(func() {
		harness.Run(context.WithoutCancel(t.Context()), "release", id.String(), "--ignore-not-found", "--config", cfg)
	})
}

// A lease leaves the addresses that orders have reserved, chosen or named, and its claim is given back. That of its own
// order it may take; one that is over is in nobody's way, and goes.
func TestALeaseLeavesWhatOrdersHaveReserved(t *testing.T) {
	free(t)
	harness.Node(t, "leased-1", nil, harness.Amounts("4", "8Gi"))
	cfg, file := harness.Configure(t, `ip: {ranges: ["203.0.113.80/31"]}`), sdl(t, group{resources: small, addresses: 1})
	order := newOrder(t)
	reserve(t, 0, order, file, "--config", cfg)
	takes(t, 0, harness.LeaseOf(harness.NewOwner(t), 1), "auto", cfg)
	late := harness.LeaseOf(harness.NewOwner(t), 2)
	for _, address := range []string{"auto", "203.0.113.81"} {
		takes(t, 4, late, address, cfg).Says(t, "no address is free for lease "+late.String(), "reserved by order "+order.String())
	}
	if held := harness.List(t, leases, "net.akash.network/owner="+late.Owner); len(held) > 0 {
		t.Errorf("the refused lease holds %d claims", len(held))
	}
	harness.Run(t.Context(), "check", "--lease", late.String(), "--address", "auto", "--endpoint", "e0", "--config", cfg).
		Exits(t, 4).Says(t, "reserved by order "+order.String())
	definition := addressed(t, late)
	harness.Run(t.Context(), "apply", "-f", definition, "--config", cfg).Exits(t, 4).Says(t, "reserved by order "+order.String())
	harness.Run(t.Context(), "diff", "-f", definition, "--config", cfg).Exits(t, 1).Prints(t, "refused: no address is free")
	own := leaseOf(order)
	takes(t, 0, own, "auto", cfg)
	takes(t, 0, own, "auto", cfg)
	harness.Run(t.Context(), "release", own.String(), "--config", cfg).Exits(t, 0)
	takes(t, 4, late, "auto", cfg)
	ends(t, order, harness.ServerTime(t).Add(-time.Minute))
	takes(t, 0, late, "auto", cfg)
	if claimOf(t, order) != nil {
		t.Error("the reservation that is over is left")
	}
}

// A lease waits for an order that is about to bind, says so once, and removes what a crashed run has left pending once its time is
// over.
func TestALeaseWaitsForWhatIsPending(t *testing.T) {
	free(t)
	harness.Node(t, "pending-1", nil, harness.Amounts("4", "8Gi"))
	cfg, order := harness.Configure(t, `ip: {ranges: ["203.0.113.84/32"]}`), newOrder(t)
	reserve(t, 0, order, sdl(t, group{resources: small, addresses: 1}), "--config", cfg)
	part := *claimOf(t, order).Bound
	part.Expires = harness.ServerTime(t).Add(2*time.Second - state.Margin).UTC().Format(time.RFC3339)
	edit(t, order, map[string]any{reserved.AnnotationBound: nil, reserved.AnnotationPending: encoded(t, part)})
	id := harness.LeaseOf(harness.NewOwner(t), 1)
	result := takes(t, 0, id, "auto", cfg)
	if said := fmt.Sprintf("lease/%s waiting (for commands that reserve or claim", id.Group()); strings.Count(result.Stderr, said) != 1 {
		t.Errorf("want once %q:\n%s", said, result.Stderr)
	}
	if claimOf(t, order) != nil {
		t.Error("what was pending is left")
	}
}

// Where MetalLB chooses addresses an endpoint has one in use before it is granted: a lease leaves what orders have reserved of the
// configured pool, and no order is promised what a lease has claimed, nor an address of another pool.
func TestALeaseLeavesWhatIsReservedOfAPool(t *testing.T) {
	free(t)
	harness.Node(t, "pool-1", nil, harness.Amounts("4", "8Gi"))
	pools := schema.GroupVersionResource{Group: "metallb.io", Version: "v1beta1", Resource: "ipaddresspools"}
	for _, name := range []string{"ours", "routers"} {
		harness.Create(t, "administrator", pools, fmt.Sprintf(
			`{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: %s, namespace: metallb-system}, spec: {addresses: [%s]}}`, name, map[string]string{"ours": "203.0.113.120/31", "routers": "198.51.100.0/24"}[name]))
		t.Cleanup(func() {
			_ = harness.Objects.Resource(pools).Namespace("metallb-system").Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
		})
	}
	cfg, file := harness.Configure(t, `ip: {mode: pool, pool: ours}`), sdl(t, group{resources: small, addresses: 1})
	wants := func(code int, id lease.ID) harness.Result {
		t.Helper()
		releases(t, id, cfg)
		return harness.Run(t.Context(), "reserve", "-f", addressed(t, id), "--config", cfg).Exits(t, code)
	}
	first, late := harness.LeaseOf(harness.NewOwner(t), 1), harness.LeaseOf(harness.NewOwner(t), 2)
	wants(0, first)
	order := newOrder(t)
	reserve(t, 0, order, file, "--config", cfg)
	reserve(t, 4, newOrder(t), file, "--config", cfg).Says(t, "1 leased address wanted, none is free")
	wants(4, late).Says(t, "no address is free for lease "+late.String(), "reserved by order "+order.String())
	harness.Run(t.Context(), "release", first.String(), "--config", cfg).Exits(t, 0)
	wants(0, late)
}

// Orders and leases want the last two addresses: what is reserved and what is claimed is never more than there is, and not all lose.
func TestOrdersAndLeasesForTheLastAddresses(t *testing.T) {
	free(t)
	harness.Node(t, "mixed-1", nil, harness.Amounts("64", "64Gi"))
	cfg, file := harness.Configure(t, `ip: {ranges: ["203.0.113.96/31"]}`), sdl(t, group{resources: small, addresses: 1})
	const each = 6
	var runs [][]string
	for i := range 2 * each {
		order, id := newOrder(t), harness.LeaseOf(harness.NewOwner(t), uint64(i+1))
		args := []string{"order", "reserve", order.String(), "-f", file, "--config", cfg}
		if i < each {
			releases(t, id, cfg)
			args = []string{"reserve", "--lease", id.String(), "--address", "auto", "--endpoint", "e0", "--config", cfg}
		}
		runs = append(runs, args)
	}
	var won []string
	for i, r := range atOnce(t, runs...) {
		switch {
		case r.Code == 0:
			won = append(won, fmt.Sprint(i))
		case r.Code != 4:
			t.Error(r)
		}
	}
	if len(won) == 0 || len(won) > 2 {
		t.Errorf("two fit, and %s have won (leases are 0 to %d)", strings.Join(won, ", "), each-1)
	}
}
