package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// installs puts a configuration into the cluster until the test ends.
func installs(t *testing.T, lines ...string) {
	t.Helper()
	t.Cleanup(func() {
		_ = harness.Objects.Resource(configMaps).Namespace(ledger).Delete(context.Background(), "config", metav1.DeleteOptions{})
		run(context.Background(), "install")
	})
	mustRun(t, 0, "install", "--config", configure(t, lines...))
}

// released is a new lease of a new owner, released when the test ends.
func released(t *testing.T) lease.ID {
	t.Helper()
	id := leaseOf(newOwner(), 1)
	t.Cleanup(func() { run(context.Background(), "release", id.Group().String()) })
	return id
}

// rangePool is the name of the pool of a range of a subnet.
func rangePool(subnet, rest string) string {
	return "akash-net-" + strings.ReplaceAll(subnet+rest, ".", "-")
}

// addressesOf are those of a pool, as MetalLB is told them.
func addressesOf(t *testing.T, pool string) []string {
	t.Helper()
	texts, _, _ := unstructured.NestedStringSlice(need(t, pools, metalLB, pool).Object, "spec", "addresses")
	return texts
}

// removePools removes the pools of a subnet when the test ends.
func removePools(t *testing.T, subnet string) {
	t.Helper()
	t.Cleanup(func() {
		list, err := harness.Objects.Resource(pools).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return
		}
		for _, o := range list.Items {
			if strings.HasPrefix(o.GetName(), rangePool(subnet, "")) || strings.HasPrefix(o.GetName(), "akash-ip-"+strings.ReplaceAll(subnet, ".", "-")) {
				_ = harness.Objects.Resource(pools).Namespace(metalLB).Delete(context.Background(), o.GetName(), metav1.DeleteOptions{})
			}
		}
	})
}

// A range that is full is widened: its leases keep what they have, and the next lease gets an address of
// the rest, which a pool of its own serves.
func TestWidenedRange(t *testing.T) {
	subnet := newNet()
	removePools(t, subnet)
	installs(t, "ip: {ranges: ["+subnet+"0/31]}")
	first, second, third := released(t), released(t), released(t)
	definition := define(t, first, leased("game", "public", 7001))
	mustRun(t, 0, "apply", "-f", definition).Prints(t, "granted "+subnet+"0")
	mustRun(t, 0, "apply", "-f", define(t, second, leased("game", "public", 7001))).Prints(t, "granted "+subnet+"1")
	mustRun(t, 4, "apply", "-f", define(t, third, leased("game", "public", 7001)))

	mustRun(t, 0, "install", "--config", configure(t, "ip: {ranges: ["+subnet+"0/29]}"))
	was := fingerprint(t)
	mustRun(t, 0, "apply", "-f", definition).Prints(t, subnet+"0", "unchanged")
	if now := changed(was, fingerprint(t)); len(now) > 0 {
		t.Errorf("the unchanged lease has written %q", now)
	}
	mustRun(t, 0, "state", "--problems")
	next := define(t, third, leased("game", "public", 7001))
	mustRun(t, 0, "check", "-f", next)
	mustRun(t, 0, "apply", "-f", next).Prints(t, "granted "+subnet+"2")
	grants(t, first, "game-ip-7001-tcp", subnet+"0")
	grants(t, second, "game-ip-7001-tcp", subnet+"1")
	grants(t, third, "game-ip-7001-tcp", subnet+"2")
	if got := addressesOf(t, rangePool(subnet, "0-31")); !slices.Equal(got, []string{subnet + "0/31"}) {
		t.Errorf("the former pool has %q", got)
	}
	if got := addressesOf(t, rangePool(subnet, "0-29")); !slices.Equal(got, []string{subnet + "2-" + subnet + "7"}) {
		t.Errorf("the pool of the rest has %q", got)
	}
	if got := strings.Join(strings.Fields(mustRun(t, 0, "state", "pools").Stdout), " "); !strings.Contains(got, subnet+"0/29 8 3 5") {
		t.Errorf("state pools counts %q", got)
	}
	mustRun(t, 0, "state", "--problems")

	// Each address is said to be in the pool that serves it, also where ip.ranges gives it another.
	mustRun(t, 0, "explain", subnet+"0").Prints(t, "Pool "+rangePool(subnet, "0-31")+" serves it. By ip.ranges it would be in pool "+rangePool(subnet, "0-29"))
	mustRun(t, 0, "explain", subnet+"2").Prints(t, "Pool "+rangePool(subnet, "0-29")+" serves it.\n")
	mustRun(t, 0, "release", first.Group().String()) // a reservation has no grant that names the pool
	mustRun(t, 0, "reserve", "--address", subnet+"0", "--endpoint", "public", "--lease", first.String())
	for address, pool := range map[string]string{"0": "0-31", "1": "0-31", "2": "0-29"} {
		r := mustRun(t, 0, "state", "ips", subnet+address, "-o", "custom-columns=POOL:.pool", "--no-headers")
		if got := strings.TrimSpace(r.Stdout); got != rangePool(subnet, pool) {
			t.Errorf("state names pool %s for %s%s, want %s", got, subnet, address, rangePool(subnet, pool))
		}
	}
	// What is rendered from the cluster is what apply has left there.
	before := addressesOf(t, rangePool(subnet, "0-29"))
	r := mustRun(t, 0, "render", "pools", "--ledger", "cluster")
	for _, text := range append(before, rangePool(subnet, "0-31"), subnet+"0/31") {
		r.Prints(t, text)
	}
	if strings.Contains(r.Stdout, subnet+"0/29") {
		t.Errorf("the whole range is rendered beside the former pool: %s", r)
	}
}

// In another mode an address stays with the pool that serves it; one that is leased anew gets the pool of
// the mode.
func TestChangedMode(t *testing.T) {
	subnet := newNet()
	removePools(t, subnet)
	ranges := "ranges: [" + subnet + "0/30]"
	installs(t, "ip: {"+ranges+"}")
	first, second, third := released(t), released(t), released(t)
	mustRun(t, 0, "apply", "-f", define(t, first, leased("game", "public", 7001))).Prints(t, "granted "+subnet+"0")
	mustRun(t, 0, "install", "--config", configure(t, "ip: {mode: dedicated, "+ranges+"}"))
	mustRun(t, 0, "apply", "-f", define(t, first, leased("game", "public", 7001))).Prints(t, subnet+"0", "unchanged")
	mustRun(t, 0, "apply", "-f", define(t, second, leased("game", "public", 7001))).Prints(t, "granted "+subnet+"1")
	mustRun(t, 0, "state", "--problems")

	other := newNet()
	removePools(t, other)
	ranges = "ranges: [" + subnet + "0/30, " + other + "0/30]"
	mustRun(t, 0, "install", "--config", configure(t, "ip: {mode: dedicated, "+ranges+"}"))
	named := fmt.Sprintf("akash-ip-%s0", strings.ReplaceAll(other, ".", "-"))
	makePool(t, named, other+"0/32", lease.LabelOurs)
	mustRun(t, 0, "install", "--config", configure(t, "ip: {ranges: ["+subnet+"0/31, "+other+"0/30]}"))
	mustRun(t, 0, "apply", "-f", define(t, third, leased("game", "public", 7001))).Prints(t, "granted "+other+"0")
	fourth := released(t)
	mustRun(t, 0, "apply", "-f", define(t, fourth, leased("game", "public", 7001))).Prints(t, "granted "+other+"1")
	grants(t, first, "game-ip-7001-tcp", subnet+"0")
	grants(t, second, "game-ip-7001-tcp", subnet+"1")
}

// A configuration that would strand addresses in use is refused, with the leases that use them.
func TestInstallKeepsAddressesInUse(t *testing.T) {
	subnet := newNet()
	removePools(t, subnet)
	installs(t, "ip: {ranges: ["+subnet+"0/29]}")
	id := released(t)
	mustRun(t, 0, "apply", "-f", define(t, id, leased("game", "public", 7001)))
	for name, lines := range map[string]string{
		"narrowed": "ip: {ranges: [" + subnet + "4/30]}", "excluded": "ip: {ranges: [" + subnet + `0/29, "!` + subnet + `0"]}`,
		"no ranges": "hosts: {wildcards: true}", "mode pool": "ip: {mode: pool, pool: admin}",
	} {
		t.Run(name, func(t *testing.T) {
			config, was := configure(t, lines), need(t, configMaps, ledger, "config").GetResourceVersion()
			for _, args := range [][]string{{"install", "--config", config}, {"install", "--dry-run=client", "--config", config}} {
				r := run(t.Context(), args...)
				if r.Code != 4 {
					t.Errorf("exit code %d: %s", r.Code, r)
				}
				if !strings.Contains(r.Stderr, subnet+"0, used by lease "+id.String()) {
					t.Errorf("the error does not name the lease: %s", r)
				}
			}
			if now := need(t, configMaps, ledger, "config").GetResourceVersion(); now != was {
				t.Error("the refused configuration is in the cluster")
			}
		})
	}
	mustRun(t, 0, "install", "--config", configure(t, "ip: {ranges: ["+subnet+"0/30]}")) // what is in use stays
	makePool(t, "admin", subnet+"64/30", "")
	mustRun(t, 0, "release", id.Group().String())
	mustRun(t, 0, "install", "--config", configure(t, "ip: {mode: pool, pool: admin}"))
}
