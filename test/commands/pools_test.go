package commands

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// In pool mode MetalLB picks the address from the administrator's pool; ports of one endpoint
// share it. The program makes no pool, and claims the endpoint instead of an address.
func TestPoolMode(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	pool := fmt.Sprint("admin-", harness.Number())
	makeOwnPool(t, pool, v4+"64/28")
	id := leaseOf(newTenant(), 1)
	r := record(t)
	r.config = configure(t, "ip: {mode: pool, pool: "+pool+"}")
	definition := defineParts(t, id, service("web", leasedPart("public", "TCP", 443), leasedPart("public", "TCP", 8443)), endpoint("public"))
	r.do(t, "apply", "-f", definition).Prints(t, "granted "+v4)
	first, second := endpointAddress(t, id, "web-ip-443-tcp"), endpointAddress(t, id, "web-ip-8443-tcp")
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
}

// In dedicated mode each address has a pool and an advertisement of its own, which go when the
// last deployment that holds the address leaves.
func TestDedicatedMode(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	address := v4 + "80"
	pool := "akash-ip-" + strings.ReplaceAll(address, ".", "-")
	owner := newTenant()
	u := admin().with(configure(t, "ip: {mode: dedicated, ranges: ["+v4+"80/30]}"))
	for dseq := range uint64(2) {
		u.do(t, "apply", "-f", defineParts(t, leaseOf(owner, dseq+1), service("web", leasedPart("public", "TCP", 1000+int(dseq))), endpoint("public"))).
			Prints(t, "granted "+address)
	}
	addresses, _, _ := unstructured.NestedStringSlice(need(t, pools, metalLB, pool).Object, "spec", "addresses")
	if !slices.Equal(addresses, []string{address + "/32"}) {
		t.Errorf("pool %s has %v", pool, addresses)
	}
	need(t, adverts, metalLB, pool)
	u.do(t, "release", leaseOf(owner, 1).Group().String())
	need(t, pools, metalLB, pool)
	u.do(t, "release", leaseOf(owner, 2).Group().String()).Prints(t, "ipaddresspool/"+pool+" deleted", "address/"+address+" released")
	absent(t, pools, metalLB, pool)
	absent(t, adverts, metalLB, pool)
}

// A reservation that gives up an address which nothing serves any more deletes its pool, though it asks for none.
func TestReservationWithoutTheAddressDeletesItsPool(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	address, id, host := v4+"80", leaseOf(newTenant(), 1), newHost("reserved")
	pool := "akash-ip-" + strings.ReplaceAll(address, ".", "-")
	u := admin().with(configure(t, "ip: {mode: dedicated, ranges: ["+v4+"80/30]}"))
	u.do(t, "apply", "-f", defineParts(t, id, service("web", leasedPart("public", "TCP", 1000)), endpoint("public"))).Prints(t, "granted "+address)
	kubectl(t, "-n", id.Namespace(), "delete", "services", "--all").Exits(t, 0)
	kubectl(t, "-n", "lease", "delete", "providerleasedip", lease.LeasedIPName(lease.SharingKey(id.Owner, "public"), lease.TCP, 1000)).Exits(t, 0)
	u.do(t, "reserve", "--lease", id.String(), host).Prints(t, "host/"+host, "ipaddresspool/"+pool+" deleted", "address/"+address+" released")
	absent(t, pools, metalLB, pool)
	absent(t, adverts, metalLB, pool)
}

// In range mode the leases of a range share one pool, which stays when they go.
func TestRangeMode(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	pool := "akash-net-" + strings.ReplaceAll(v4, ".", "-") + "96-29"
	u := admin().with(configure(t, `ip: {ranges: [`+v4+`96/29, "!`+v4+`97"]}`))
	one, two := leaseOf(newTenant(), 1), leaseOf(newTenant(), 1)
	u.do(t, "apply", "-f", defineParts(t, one, service("web", leasedPart("public", "TCP", 443)), endpoint("public"))).
		Prints(t, "ipaddresspool/"+pool+" created", "granted "+v4+"96")
	u.do(t, "apply", "-f", defineParts(t, two, service("web", leasedPart("public", "TCP", 443)), endpoint("public"))).
		Prints(t, "ipaddresspool/"+pool+" unchanged", "granted "+v4+"98")
	u.do(t, "release", one.Group().String(), two.Group().String())
	if spec, _, _ := unstructured.NestedBool(need(t, pools, metalLB, pool).Object, "spec", "autoAssign"); spec {
		t.Error("the pool gives addresses to Services that do not ask")
	}
}

// A pool that would overlap an administrator's is refused before MetalLB sees it, and the lease
// gives back what it had taken.
func TestPoolOverlapIsRefused(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	pool := fmt.Sprint("admin-", harness.Number())
	makeOwnPool(t, pool, v4+"112/28")
	for _, mode := range []string{"range", "dedicated"} {
		id := leaseOf(newTenant(), 1)
		r := record(t)
		r.config = configure(t, "ip: {mode: "+mode+", ranges: ["+v4+"120/30]}")
		r.run(t, "check", "-f", defineParts(t, id, service("web2", leasedPart("public", "TCP", 443)), endpoint("public"))).Exits(t, 1).Says(t, "which overlaps")
		r.run(t, "apply", "-f", defineParts(t, id, webPart(newHost("over")), service("web2", leasedPart("public", "TCP", 443)), endpoint("public"))).
			Exits(t, 1).Says(t, "IPAddressPool "+pool+" has "+v4+"112/28, which overlaps", "ip.mode: pool")
		if got := append(objectsOf(t, id), claimsOf(t, id.Owner)...); len(got) > 0 {
			t.Errorf("the refused lease has %v", got)
		}
		for _, write := range writesOf(r.sent()) {
			if strings.Contains(write, "pools") || strings.Contains(write, "advertisements") {
				t.Errorf("%s mode: %s", mode, write)
			}
		}
	}
}
