package commands

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Two services of one tenant share an address: MetalLB gives both the same, also one port in TCP
// and UDP.
func TestServicesOfATenantShareAnAddress(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	id := leaseOf(newTenant(), 1)
	u := admin().with(configure(t, "ip: {ranges: ["+v4+"16/28]}"))
	u.do(t, "apply", "-f", defineParts(t, id,
		service("web", leasedPart("public", "TCP", 443), leasedPart("public", "UDP", 443)),
		service("mail", leasedPart("public", "TCP", 25)),
		endpoint("public"))).Prints(t, "granted "+v4+"16")
	for _, name := range []string{"web-ip-443-tcp", "web-ip-443-udp", "mail-ip-25-tcp"} {
		if got := endpointAddress(t, id, name); got != v4+"16" {
			t.Errorf("%s has %q", name, got)
		}
		if key := need(t, services, id.Namespace(), name).GetAnnotations()["metallb.universe.tf/allow-shared-ip"]; key != id.Owner+"-ip-public" {
			t.Errorf("%s has the sharing key %q", name, key)
		}
	}
	if diff := cmp.Diff([]string{claimName(v4 + "16")}, claimsOf(t, id.Owner)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

// Two tenants name one address: the second is refused and gets no Service.
func TestSecondTenantsAddressIsRefused(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	first, second := leaseOf(newTenant(), 1), leaseOf(newTenant(), 1)
	u := admin().with(configure(t, "ip: {ranges: ["+v4+"0/28]}"))
	want := func(id lease.ID, port int) string {
		return defineParts(t, id, service("web", leasedPart("public", "TCP", port)), endpoint("public", v4+"3"))
	}
	u.do(t, "apply", "-f", want(first, 443)).Prints(t, "address/"+v4+"3 claimed", "granted "+v4+"3")
	u.run(t, "apply", "-f", want(second, 8443)).Exits(t, 4).Says(t,
		v4+"3 is held by another lease", first.Group().String(), first.Namespace(), "Nothing was changed")
	if got := append(objectsOf(t, second), claimsOf(t, second.Owner)...); len(got) > 0 {
		t.Errorf("the refused lease has %v", got)
	}
	u.do(t, "release", first.Group().String())
	u.do(t, "apply", "-f", want(second, 8443)).Prints(t, "granted "+v4+"3")
}

// Two deployments of one owner hold ports of one address. Either may leave; the other stays.
func TestDeploymentsOfAnOwnerShareAnAddress(t *testing.T) {
	for _, leaver := range []uint64{1, 2} {
		t.Run(fmt.Sprint("deployment ", leaver, " leaves"), func(t *testing.T) {
			t.Parallel()
			v4, _ := newRanges()
			owner := newTenant()
			u := admin().with(configure(t, "ip: {ranges: ["+v4+"0/28]}"))
			for dseq := range uint64(2) {
				u.do(t, "apply", "-f", defineParts(t, leaseOf(owner, dseq+1),
					service("web", leasedPart("public", "TCP", 441+int(dseq))), endpoint("public"))).Prints(t, "granted "+v4+"0")
			}
			claim := claimName(v4 + "0")
			uid := need(t, claims, ledger, claim).GetUID()
			stayer := 3 - leaver
			u.do(t, "release", leaseOf(owner, leaver).Group().String())
			left := need(t, claims, ledger, claim)
			if left.GetUID() != uid {
				t.Error("the claim was made anew")
			}
			for dseq, want := range map[uint64]bool{leaver: false, stayer: true} {
				key := fmt.Sprintf("port.net.akash.network/tcp-%d", 440+dseq)
				if _, has := left.GetAnnotations()[key]; has != want {
					t.Errorf("%s is held: %t, want %t", key, has, want)
				}
			}
			if got := endpointAddress(t, leaseOf(owner, stayer), fmt.Sprintf("web-ip-%d-tcp", 440+stayer)); got != v4+"0" {
				t.Errorf("the other deployment's Service has %q", got)
			}
			if got := objectsOf(t, leaseOf(owner, leaver)); len(got) > 0 {
				t.Errorf("the released lease has %v", got)
			}
			u.do(t, "release", leaseOf(owner, stayer).Group().String())
			absent(t, claims, ledger, claim)
		})
	}
}

// The address that MetalLB grants is the one that is claimed, in each family; where a port has
// both, there are two Services.
func TestAddressIsGranted(t *testing.T) {
	for families, want := range map[string]map[string]string{
		"[IPv4]":       {"web-ip-443-tcp": "v4"},
		"[IPv6]":       {"web-ip-443-tcp": "v6"},
		"[IPv4, IPv6]": {"web-ip-443-tcp": "v4", "web-ip-443-tcp-v6": "v6"},
	} {
		t.Run(families, func(t *testing.T) {
			t.Parallel()
			v4, v6 := newRanges()
			lowest := map[string]string{"v4": v4 + "32", "v6": v6 + "40"}
			id := leaseOf(newTenant(), 1)
			u := admin().with(configure(t, fmt.Sprintf("ip: {families: %s, ranges: [%s32/28, %q]}", families, v4, v6+"40/124")))
			u.do(t, "apply", "-f", defineParts(t, id, service("web", leasedPart("public", "TCP", 443)), endpoint("public")))
			claimed := []string{}
			for name, family := range want {
				if got := endpointAddress(t, id, name); got != lowest[family] {
					t.Errorf("%s was granted %q, want %s", name, got, lowest[family])
				}
				claimed = append(claimed, claimName(lowest[family]))
			}
			slices.Sort(claimed)
			if diff := cmp.Diff(claimed, claimsOf(t, id.Owner)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

// When all addresses of the ranges are taken, the next tenant is told so and gets nothing, not
// even its host.
func TestNoAddressLeft(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	u := admin().with(configure(t, "ip: {ranges: ["+v4+"8/31]}"))
	want := func(id lease.ID) string {
		return defineParts(t, id, webPart(newHost("full")), service("game", leasedPart("public", "UDP", 27015)), endpoint("public"))
	}
	first := leaseOf(newTenant(), 1)
	u.do(t, "apply", "-f", want(first)).Prints(t, v4+"8")
	u.do(t, "apply", "-f", want(leaseOf(newTenant(), 1))).Prints(t, v4+"9")
	late := leaseOf(newTenant(), 1)
	u.run(t, "apply", "-f", want(late)).Exits(t, 4).Says(t, "no address left in "+v4+"8/31", `"public"`, "Nothing was changed")
	if got := append(objectsOf(t, late), claimsOf(t, late.Owner)...); len(got) > 0 {
		t.Errorf("the refused lease has %v", got)
	}
	u.do(t, "release", first.Group().String())
	u.do(t, "apply", "-f", want(late)).Prints(t, "granted "+v4+"8")
}

// claimName is the name of the claim on an address.
func claimName(address string) string {
	return "ip--" + strings.NewReplacer(".", "-", ":", "-").Replace(netip.MustParseAddr(address).StringExpanded())
}
