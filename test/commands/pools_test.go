package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// makeOwnPool makes an administrator's pool, from which only Services that name it are served.
func makeOwnPool(t *testing.T, name, addresses string) {
	t.Helper()
	createAs(t, "administrator", pools, fmt.Sprintf(`{"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
		"metadata": {"name": %q, "namespace": %q}, "spec": {"addresses": [%q], "autoAssign": false}}`, name, metalLB, addresses))
}

// released is a new lease of a new owner, released when the test ends.
func released(t *testing.T) lease.ID {
	t.Helper()
	id := leaseOf(newOwner(t), 1)
	t.Cleanup(func() { run(context.Background(), "release", id.Group().String()) })
	return id
}

// rangePool is the name of the pool of a range of a subnet.
func rangePool(subnet, rest string) string {
	return "akash-net-" + strings.ReplaceAll(subnet+rest, ".", "-")
}

// addressPool is the name of the pool of an address of a subnet.
func addressPool(address string) string { return "akash-ip-" + strings.ReplaceAll(address, ".", "-") }

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
			if strings.HasPrefix(o.GetName(), rangePool(subnet, "")) || strings.HasPrefix(o.GetName(), addressPool(subnet)) {
				_ = harness.Objects.Resource(pools).Namespace(metalLB).Delete(context.Background(), o.GetName(), metav1.DeleteOptions{})
			}
		}
	})
}

// In pool mode MetalLB picks the address from the administrator's pool; ports of one endpoint
// share it. The program makes no pool, and claims the endpoint instead of an address.
func TestPoolMode(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	pool := fmt.Sprint("admin-", harness.Number())
	makeOwnPool(t, pool, v4+"64/28")
	id, r := leaseOf(newTenant(t), 1), record(t)
	r.config = configure(t, "ip: {mode: pool, pool: "+pool+"}")
	definition := define(t, id, leased("web", "public", 443), leased("more", "public", 8443))
	r.do(t, "apply", "-f", definition).Prints(t, "granted "+v4)
	first, second := endpointAddress(t, id, "web-ip-443-tcp"), endpointAddress(t, id, "more-ip-8443-tcp")
	if !strings.HasPrefix(first, v4) || first != second {
		t.Errorf("the two ports have %q and %q, want one address of %s64/28", first, second, v4)
	}
	if got := claimsOf(t, id.Owner); len(got) != 1 || !strings.HasPrefix(got[0], "ep--") {
		t.Errorf("claims %v", got)
	}
	for _, write := range writesOf(r.sent()) {
		if strings.Contains(write, "ipaddresspools") || strings.Contains(write, "l2advertisements") {
			t.Error(write)
		}
	}
	r.do(t, "apply", "-f", definition).Prints(t, "unchanged", first)
	r.do(t, "release", id.Group().String())
	if got := objectsOf(t, id); len(got) > 0 {
		t.Errorf("after the release the lease has %v", got)
	}
	// A pool that would overlap it is refused before MetalLB sees it, and the lease gives back what it had taken.
	for _, mode := range []string{"range", "dedicated"} {
		id := leaseOf(newTenant(t), 1)
		r.config = configure(t, "ip: {mode: "+mode+", ranges: ["+v4+"72/30]}")
		definition := define(t, id, web("web", 80, newDomain()), leased("web2", "public", 443))
		r.run(t, "check", "-f", definition).Exits(t, 1).Says(t, "which overlaps")
		r.run(t, "apply", "-f", definition).Exits(t, 1).Says(t, "IPAddressPool "+pool+" has "+v4+"64/28, which overlaps", "ip.mode: pool")
		if got := append(objectsOf(t, id), claimsOf(t, id.Owner)...); len(got) > 0 || find(t, pools, metalLB, rangePool(v4, "72-30")) != nil {
			t.Errorf("the refused lease has %v", got)
		}
	}
}

// In dedicated mode each address has a pool and an advertisement of its own, which go when the
// last deployment that holds the address leaves.
func TestDedicatedMode(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	address, pool, owner := v4+"80", addressPool(v4+"80"), newTenant(t)
	u := admin().with(configure(t, "ip: {mode: dedicated, ranges: ["+v4+"80/30]}"))
	for dseq := range uint64(2) {
		u.do(t, "apply", "-f", define(t, leaseOf(owner, dseq+1), leased("web", "public", 1000+int(dseq)))).Prints(t, "granted "+address)
	}
	if got := addressesOf(t, pool); !slices.Equal(got, []string{address + "/32"}) {
		t.Errorf("pool %s has %v", pool, got)
	}
	need(t, adverts, metalLB, pool)
	u.do(t, "release", leaseOf(owner, 1).Group().String())
	need(t, pools, metalLB, pool)
	u.do(t, "release", leaseOf(owner, 2).Group().String()).Prints(t, "ipaddresspool/"+pool+" deleted", "address/"+address+" released")
	absent(t, pools, metalLB, pool)
	absent(t, adverts, metalLB, pool)
}

// With ip.advertisement of type bgp a pool comes and goes with a BGPAdvertisement, which MetalLB accepts: the address is granted. After a
// change of the type the next apply writes the other advertisement, and a release deletes both.
func TestAdvertisedByBGP(t *testing.T) {
	t.Parallel()
	subnet, bgp, id := newNet(), kinds.BGPAdvertisement.Resource(), released(t)
	pool, definition := addressPool(subnet+"0"), define(t, id, leased("game", "public", 7001))
	do := func(advertisement string, args ...string) result {
		t.Helper()
		return mustRun(t, 0, append(args, "--config", configure(t, "ip: {mode: dedicated, ranges: ["+subnet+"0/29], advertisement: {"+advertisement+"}}"))...)
	}
	const byBGP = "type: bgp, peers: [tor-a], localPref: 200, communities: ['64500:1'], nodeSelectors: [{matchLabels: {edge: 'true'}}]"
	do(byBGP, "apply", "-f", definition).Prints(t, "ipaddresspool/"+pool+" created", "bgpadvertisement/"+pool+" created", "granted "+subnet+"0")
	want := map[string]any{
		"ipAddressPools": []any{pool}, "peers": []any{"tor-a"}, "localPref": int64(200), "communities": []any{"64500:1"},
		"nodeSelectors":     []any{map[string]any{"matchLabels": map[string]any{"edge": "true"}}},
		"aggregationLength": int64(32), "aggregationLengthV6": int64(128),
	}
	if diff := cmp.Diff(want, need(t, bgp, metalLB, pool).Object["spec"]); diff != "" {
		t.Errorf("the advertisement (-want +got):\n%s", diff)
	}
	absent(t, adverts, metalLB, pool)
	do(byBGP, "apply", "-f", definition).Prints(t, "unchanged, ")
	do("interfaces: [eth0]", "apply", "-f", definition).Prints(t, "l2advertisement/"+pool+" created")
	need(t, bgp, metalLB, pool)
	do("interfaces: [eth0]", "release", id.Group().String()).Prints(t, "bgpadvertisement/"+pool+" deleted", "l2advertisement/"+pool+" deleted", "ipaddresspool/"+pool+" deleted")
	absent(t, bgp, metalLB, pool)
	absent(t, adverts, metalLB, pool)
	absent(t, pools, metalLB, pool)
}

// In range mode the leases of a range share one pool, which stays when they go. A range that is full is widened: its leases keep what they
// have, and the next lease gets an address of the rest, which a pool of its own serves. In another mode an address stays with the pool that
// serves it; one that is leased anew gets the pool of the mode.
func TestChangedRanges(t *testing.T) {
	t.Parallel()
	subnet := newNet()
	removePools(t, subnet)
	full, wide := configure(t, "ip: {ranges: ["+subnet+"0/31]}"), configure(t, "ip: {ranges: ["+subnet+`0/29, "!`+subnet+`4"]}`)
	first, second, third, fourth := released(t), released(t), released(t), released(t)
	of := func(id lease.ID) string { return define(t, id, leased("game", "public", 7001)) }
	do := func(code int, config string, args ...string) result {
		t.Helper()
		return mustRun(t, code, append(args, "--config", config)...)
	}
	small, rest := rangePool(subnet, "0-31"), rangePool(subnet, "0-29")
	do(0, full, "apply", "-f", of(first)).Prints(t, "ipaddresspool/"+small+" created", "granted "+subnet+"0")
	do(0, full, "apply", "-f", of(second)).Prints(t, "ipaddresspool/"+small+" unchanged", "granted "+subnet+"1")
	do(4, full, "apply", "-f", of(third))
	if auto, _, _ := unstructured.NestedBool(need(t, pools, metalLB, small).Object, "spec", "autoAssign"); auto {
		t.Error("the pool gives addresses to Services that do not ask")
	}

	do(0, wide, "apply", "-f", of(first)).Prints(t, subnet+"0", "unchanged, ")
	do(0, wide, "check", "-f", of(third))
	do(0, wide, "apply", "-f", of(third)).Prints(t, "granted "+subnet+"2")
	grants(t, first, "game-ip-7001-tcp", subnet+"0")
	if got := append(addressesOf(t, small), addressesOf(t, rest)...); !slices.Equal(got, []string{subnet + "0/31", subnet + "2/31", subnet + "5-" + subnet + "7"}) {
		t.Errorf("the pools have %q", got)
	}
	if got := strings.Join(strings.Fields(do(0, wide, "state", "pools").Stdout), " "); !strings.Contains(got, subnet+"0/29 7 3 4") {
		t.Errorf("state pools counts %q", got)
	}
	for _, id := range []lease.ID{first, second, third} {
		do(0, wide, "state", "--problems", "-n", id.Namespace())
	}

	// Each address is said to be in the pool that serves it, also where ip.ranges gives it another.
	do(0, wide, "explain", subnet+"0").Prints(t, "Pool "+small+" serves it. By ip.ranges it would be in pool "+rest)
	do(0, wide, "explain", subnet+"2").Prints(t, "Pool "+rest+" serves it.\n")
	do(0, wide, "release", first.Group().String()) // a reservation has no grant that names the pool
	do(0, wide, "reserve", "--address", subnet+"0", "--endpoint", "public", "--lease", first.String())
	for address, pool := range map[string]string{"0": small, "1": small, "2": rest} {
		if got := strings.TrimSpace(do(0, wide, "state", "ips", subnet+address, "-o", "custom-columns=POOL:.pool", "--no-headers").Stdout); got != pool {
			t.Errorf("state names pool %s for %s%s, want %s", got, subnet, address, pool)
		}
	}
	// What is rendered from the cluster is what apply has left there.
	if r := do(0, wide, "render", "pools", "--ledger", "cluster").Prints(t, small, subnet+"0/31", subnet+"2/31"); strings.Contains(r.Stdout, subnet+"0/29") {
		t.Errorf("the whole range is rendered beside the former pool: %s", r)
	}

	dedicated := configure(t, "ip: {mode: dedicated, ranges: ["+subnet+"0/29]}")
	do(0, dedicated, "apply", "-f", of(third)).Prints(t, subnet+"2", "unchanged, ")
	do(0, dedicated, "apply", "-f", of(fourth)).Prints(t, "granted "+subnet+"3")
	grants(t, third, "game-ip-7001-tcp", subnet+"2")
}
