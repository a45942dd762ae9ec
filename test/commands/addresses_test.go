package commands

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// claimOf and claimName are the name of the claim on an address.
func claimOf(address string) string { return claimName(address) }

func claimName(address string) string {
	return "ip--" + strings.NewReplacer(".", "-", ":", "-").Replace(netip.MustParseAddr(address).StringExpanded())
}

// grants waits until MetalLB has granted the address to the Service.
func grants(t *testing.T, id lease.ID, service, address string) {
	t.Helper()
	grantsIn(t, id.Namespace(), service, address)
}

// grantsIn is grants for a Service of any namespace; without an address it waits until the Service has none.
func grantsIn(t *testing.T, namespace, service, address string) {
	t.Helper()
	eventually(t, "MetalLB to grant "+address, func(context.Context) (bool, error) {
		return addressIn(t, namespace, service) == address, nil
	})
}

// endpointAddress are the addresses in a Service's status.
func endpointAddress(t *testing.T, id lease.ID, name string) string {
	t.Helper()
	return addressIn(t, id.Namespace(), name)
}

func addressIn(t *testing.T, namespace, name string) string {
	t.Helper()
	ingress, _, err := unstructured.NestedSlice(need(t, services, namespace, name).Object, "status", "loadBalancer", "ingress")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range ingress {
		out = append(out, fmt.Sprint(i.(map[string]any)["ip"]))
	}
	return strings.Join(out, ",")
}

// foreignService makes a Service of no lease in namespace default, with further metadata and spec.
func foreignService(t *testing.T, name, metadata, spec string) {
	t.Helper()
	create(t, services, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: default%s}, spec: {%s, ports: [{port: 7001}]}}`, name, metadata, spec))
	removeLater(t, services, "default", name)
}

// What was reserved is what a later apply uses, and what another tenant is refused.
func TestReservedAddressIsUsed(t *testing.T) {
	t.Parallel()
	subnet, id, other := newNet(), leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 9)
	config, five := configure(t, "ip: {ranges: ["+subnet+"0/29]}"), subnet+"5"
	mustRun(t, 0, "reserve", "--config", config, "--lease", id.String(), "--address", five)
	held(t, claimOf(five), "1 (no port yet)")
	uid := claim(t, claimOf(five)).UID
	mustRun(t, 4, "reserve", "--config", config, "--lease", other.String(), "--address", five).Says(t, five, id.Owner)
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, leased("game", "public", 7777)))
	held(t, claimOf(five), "1 7777/tcp")
	if claim(t, claimOf(five)).UID != uid {
		t.Error("the address was let go and claimed anew")
	}
	grants(t, id, lease.IPServiceName("game", 7777, lease.TCP), five)
	definition := defineParts(t, other, webPart(newHost("spare")), service("game", leasedPart("public", "TCP", 8443)), endpoint("public", five))
	mustRun(t, 4, "apply", "--config", config, "-f", definition).Says(t, five+" is held by another lease", id.Group().String(), id.Namespace(), "Nothing was changed")
	if got := append(objectsOf(t, other), claimsOf(t, other.Owner)...); len(got) > 0 {
		t.Errorf("the refused lease has %v", got)
	}
	mustRun(t, 3, "reserve", "--config", config, "--lease", other.String(), "--address", subnet+"9").Says(t, "ip.ranges")
	mustRun(t, 3, "reserve", "--config", config, "--lease", other.String(), "--address", "nonsense")
	mustRun(t, 3, "reserve", "--config", configure(t, "{}"), "--lease", other.String(), "--address", "auto").Says(t, "ip.ranges")
}

// The next free address is taken, the same for the same endpoint; when none is free the exit code
// is 4 and nothing has changed.
func TestNextAddress(t *testing.T) {
	t.Parallel()
	subnet, first, late, host := newNet(), leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 5), newHost("full")
	config := configure(t, "ip: {ranges: ["+subnet+"0/31]}")
	reserve := func(code int, id lease.ID, more ...string) result {
		t.Helper()
		return mustRun(t, code, append([]string{"reserve", "--config", config, "--lease", id.String(), "--address", "auto", "--endpoint", "public"}, more...)...)
	}
	reserve(0, first).Prints(t, "address/"+subnet+"0 claimed")
	reserve(0, first).Prints(t, "unchanged")
	reserve(0, leaseOf(newOwner(t), 2)).Prints(t, "address/"+subnet+"1 claimed")
	reserve(4, late, host).Says(t, "no address is free in "+subnet+"0/31")
	mustRun(t, 4, "check", "--config", config, "--lease", late.String(), "--address", "auto").Says(t, "no address is free")
	definition := defineParts(t, late, webPart(host), service("game", leasedPart("public", "UDP", 27015)), endpoint("public"))
	mustRun(t, 4, "apply", "--config", config, "-f", definition).Says(t, "no address is free in "+subnet+"0/31", `"public"`, "Nothing was changed")
	if got := append(objectsOf(t, late), claimsOf(t, late.Owner)...); len(got) > 0 {
		t.Errorf("the refused lease has %v", got)
	}
	mustRun(t, 0, "release", "--config", config, first.String())
	mustRun(t, 0, "apply", "--config", config, "-f", definition).Prints(t, "granted "+subnet+"0")
}

// Services of a tenant that name an endpoint alike share its address, also of several deployments, and one port in TCP and UDP. They come
// and go in any order, and the address stays as long as one is left.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	for _, leaver := range []uint64{1, 2} {
		t.Run(fmt.Sprint("deployment ", leaver, " leaves"), func(t *testing.T) {
			t.Parallel()
			subnet, owner := newNet(), newOwner(t)
			config, address := configure(t, "ip: {ranges: ["+subnet+"0/29]}"), subnet+"0"
			do := func(args ...string) result { t.Helper(); return mustRun(t, 0, append(args, "--config", config)...) }
			one, two := leaseOf(owner, 1), leaseOf(owner, 2)
			do("apply", "-f", defineParts(t, one, service("game", leasedPart("public", "TCP", 7001), leasedPart("public", "UDP", 7001)),
				service("mail", leasedPart("public", "TCP", 25), leasedPart("public-b", "TCP", 26)), endpoint("public"), endpoint("public-b"))).Prints(t, "granted "+address)
			for _, name := range []string{"game-ip-7001-tcp", "game-ip-7001-udp", "mail-ip-25-tcp"} {
				if got := endpointAddress(t, one, name); got != address {
					t.Errorf("%s has %q", name, got)
				}
				if key := need(t, services, one.Namespace(), name).GetAnnotations()["metallb.universe.tf/allow-shared-ip"]; key != owner+"-ip-public" {
					t.Errorf("%s has the sharing key %q", name, key)
				}
			}
			do("release", one.Group().String(), "endpoint/public-b") // whose name begins with the other's
			held(t, claimOf(subnet+"1"))
			do("apply", "-f", define(t, two, leased("chat", "public", 7002), leased("more", "public", 7001))).Prints(t, address+" 7001/tcp withheld", "granted "+address)
			do("explain", address).Prints(t, "7001/tcp is withheld from lease", "transfer "+address)
			held(t, claimOf(address), "1 25/tcp", "1 7001/tcp", "1 7001/udp", "2 7002/tcp")

			uid, stayer := claim(t, claimOf(address)).UID, leaseOf(owner, 3-leaver)
			do("release", leaseOf(owner, leaver).Group().String())
			held(t, claimOf(address), map[uint64][]string{1: {"2 7002/tcp"}, 2: {"1 25/tcp", "1 7001/tcp", "1 7001/udp"}}[leaver]...)
			mustRun(t, 4, "reserve", "--config", config, "--lease", leaseOf(newOwner(t), 9).String(), "--address", address)
			if claim(t, claimOf(address)).UID != uid {
				t.Error("the claim was made anew")
			}
			if got := endpointAddress(t, stayer, map[uint64]string{1: "chat-ip-7002-tcp", 2: "mail-ip-25-tcp"}[leaver]); got != address {
				t.Errorf("the other deployment's Service has %q", got)
			}
			if got := objectsOf(t, leaseOf(owner, leaver)); len(got) > 0 {
				t.Errorf("the released lease has %v", got)
			}
			do("release", stayer.Group().String())
			absent(t, claims, ledger, claimOf(address))
		})
	}
}

// The address that MetalLB grants is the one that is claimed, in each family; where a port has
// both, there are two Services.
func TestAddressIsGranted(t *testing.T) {
	t.Parallel()
	for families, want := range map[string]map[string]string{
		"[IPv4]":       {"web-ip-443-tcp": "v4"},
		"[IPv6]":       {"web-ip-443-tcp": "v6"},
		"[IPv4, IPv6]": {"web-ip-443-tcp": "v4", "web-ip-443-tcp-v6": "v6"},
	} {
		t.Run(families, func(t *testing.T) {
			t.Parallel()
			v4, v6 := newRanges()
			lowest := map[string]string{"v4": v4 + "32", "v6": v6 + "40"}
			id := leaseOf(newTenant(t), 1)
			mustRun(t, 0, "apply", "--config", configure(t, fmt.Sprintf("ip: {families: %s, ranges: [%s32/28, %q]}", families, v4, v6+"40/124")),
				"-f", define(t, id, leased("web", "public", 443)))
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

// A Service that uses a claimed address and is not the holder's is named: by explain, among the problems, and where the holder's apply
// waits in vain.
func TestApplyNamesWhoHasTheAddress(t *testing.T) {
	t.Parallel()
	subnet, id, other := newNet(), leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 1)
	address, config := subnet+"3", configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, other, leased("game", "public", 7001))) // the pool is there
	mustRun(t, 0, "reserve", "--config", config, "--lease", id.String(), "--address", address)
	squatter := "squatter-" + id.Owner[len(id.Owner)-8:]
	foreignService(t, squatter, ", annotations: {metallb.io/loadBalancerIPs: "+address+"}", "type: LoadBalancer")
	grantsIn(t, "default", squatter, address)
	mustRun(t, 0, "explain", "--config", config, address).Prints(t, "service default/"+squatter+" was granted it, for no lease: it is not the holder's.", "kubectl -n default edit service "+squatter)
	run(t.Context(), "state", "--problems", "--config", config, "-n", id.Namespace()).Prints(t, address, "AddressSquatted", "service default/"+squatter+" ")
	mustRun(t, 5, "apply", "--config", config, "--timeout", "300ms", "-f", define(t, id, leased("game", "public", 7001))).
		Says(t, "service default/"+squatter+" was granted "+address)
}
