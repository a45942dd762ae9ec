package commands

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

func claimOf(address string) string {
	return "ip--" + strings.ReplaceAll(address, ".", "-")
}

// grants waits until MetalLB has granted the address to the Service.
func grants(t *testing.T, id lease.ID, service, address string) {
	t.Helper()
	grantsIn(t, id.Namespace(), service, address)
}

// grantsIn is grants for a Service of any namespace.
func grantsIn(t *testing.T, namespace, service, address string) {
	t.Helper()
	last := ""
	eventually(t, "MetalLB to grant "+address, func(context.Context) (bool, error) {
		ingress, _, err := unstructured.NestedSlice(need(t, services, namespace, service).Object, "status", "loadBalancer", "ingress")
		if len(ingress) == 1 {
			last, _, err = unstructured.NestedString(ingress[0].(map[string]any), "ip")
		}
		return last == address, err
	})
}

// What was reserved is what a later apply uses.
func TestReservedAddressIsUsed(t *testing.T) {
	t.Parallel()
	subnet, id := newNet(), leaseOf(newOwner(), 1)
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	mustRun(t, 0, "reserve", "--config", config, "--lease", id.String(), "--address", subnet+"5")
	held(t, claimOf(subnet+"5"), "1 (no port yet)")
	uid := claim(t, claimOf(subnet+"5")).UID
	mustRun(t, 4, "reserve", "--config", config, "--lease", leaseOf(newOwner(), 9).String(), "--address", subnet+"5").Says(t, subnet+"5", id.Owner)

	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, leased("game", "public", 7777)))
	held(t, claimOf(subnet+"5"), "1 7777/tcp")
	if claim(t, claimOf(subnet+"5")).UID != uid {
		t.Error("the address was let go and claimed anew")
	}
	grants(t, id, lease.IPServiceName("game", 7777, lease.TCP), subnet+"5")
}

// An apply that is refused makes nothing for a new port: the address keeps the port that it had.
func TestRefusedPortIsGivenBack(t *testing.T) {
	t.Parallel()
	subnet, id, host := newNet(), leaseOf(newOwner(), 1), harness.NewHost("refused")
	config := configure(t, "ip: {ranges: ["+subnet+"0/30]}")
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, web("web", 8080, host), leased("game", "public", 7001)))
	grants(t, id, lease.IPServiceName("game", 7001, lease.TCP), subnet+"0")
	change(t, ingresses, id.Namespace(), host, func(o *object) {
		if err := unstructured.SetNestedField(o.Object, "another", "spec", "ingressClassName"); err != nil {
			t.Error(err)
		}
	})
	more := define(t, id, web("web", 8080, host, "second."+host), leased("game", "public", 7001), leased("chat", "public", 7002))
	mustRun(t, 1, "apply", "--config", config, "-f", more).Prints(t, "address/"+subnet+"0 released (in part: the lease keeps the rest of it)")
	if o := find(t, services, id.Namespace(), lease.IPServiceName("chat", 7002, lease.TCP)); o != nil {
		t.Error("the refused port has a Service")
	}
	held(t, claimOf(subnet+"0"), "1 7001/tcp")
	held(t, "second."+host)
}

// The next free address is taken, the same for the same endpoint; when none is left the exit code
// is 4 and nothing has changed.
func TestNextAddress(t *testing.T) {
	t.Parallel()
	subnet, owner := newNet(), newOwner()
	config := configure(t, "ip: {ranges: ["+subnet+"0/30]}")
	reserve := func(code int, id lease.ID, endpoint string) result {
		return mustRun(t, code, "reserve", "--config", config, "--lease", id.String(), "--address", "auto", "--endpoint", endpoint)
	}
	reserve(0, leaseOf(owner, 1), "public").Prints(t, "address/"+subnet+"0 claimed")
	reserve(0, leaseOf(owner, 1), "public").Prints(t, "unchanged")
	reserve(0, leaseOf(newOwner(), 2), "public").Prints(t, "address/"+subnet+"1 claimed")
	reserve(0, leaseOf(newOwner(), 3), "public").Prints(t, "address/"+subnet+"2 claimed")
	reserve(0, leaseOf(newOwner(), 4), "public").Prints(t, "address/"+subnet+"3 claimed")

	late := leaseOf(newOwner(), 5)
	reserve(4, late, "public").Says(t, "no address left in "+subnet+"0/30")
	mustRun(t, 4, "check", "--config", config, "--lease", late.String(), "--address", "auto").Says(t, "no address left")
	domain := newDomain()
	mustRun(t, 4, "reserve", "--config", config, "--lease", late.String(), "x."+domain, "--address", "auto")
	held(t, "x."+domain)

	mustRun(t, 0, "release", "--config", config, leaseOf(owner, 1).String())
	reserve(0, late, "public").Prints(t, "address/"+subnet+"0 claimed")
}

func TestAddressOutsideTheRanges(t *testing.T) {
	t.Parallel()
	subnet := newNet()
	config := configure(t, "ip: {ranges: ["+subnet+"0/30]}")
	id := leaseOf(newOwner(), 1).String()
	mustRun(t, 3, "reserve", "--config", config, "--lease", id, "--address", subnet+"9").Says(t, "ip.ranges")
	mustRun(t, 3, "reserve", "--config", config, "--lease", id, "--address", "nonsense")
	mustRun(t, 3, "reserve", "--lease", id, "--address", "auto").Says(t, "ip.ranges")
}

// Deployments of an owner that name an endpoint alike share its address, a port each. They come
// and go in any order, and the address stays as long as one is left.
func TestCoHolders(t *testing.T) {
	t.Parallel()
	subnet, owner := newNet(), newOwner()
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	one, two := leaseOf(owner, 1), leaseOf(owner, 2)
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, one, leased("game", "public", 7001)))
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, two, leased("chat", "public", 7002)))
	address := subnet + "0"
	held(t, claimOf(address), "1 7001/tcp", "2 7002/tcp")
	grants(t, two, lease.IPServiceName("chat", 7002, lease.TCP), address)
	uid := claim(t, claimOf(address)).UID

	// The same port is withheld.
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, two, leased("chat", "public", 7002), leased("more", "public", 7001))).
		Prints(t, address+" 7001/tcp withheld")
	mustRun(t, 0, "explain", "--config", config, address).Prints(t, "7001/tcp is withheld from lease", "transfer "+address)

	mustRun(t, 0, "release", "--config", config, one.String())
	if got := holders(t, claimOf(address)); len(got) != 1 || got[0] != "2 7002/tcp" {
		t.Errorf("the address is held by %q", got)
	}
	mustRun(t, 4, "reserve", "--config", config, "--lease", leaseOf(newOwner(), 9).String(), "--address", address)
	if claim(t, claimOf(address)).UID != uid {
		t.Error("the address was let go")
	}
	mustRun(t, 0, "release", "--config", config, two.String())
	held(t, claimOf(address))
}

// eventuallyPending waits until a Service has no address.
func eventuallyPending(t *testing.T, id lease.ID, service string) {
	t.Helper()
	eventually(t, "MetalLB to take the address away", func(context.Context) (bool, error) {
		ingress, _, err := unstructured.NestedSlice(need(t, services, id.Namespace(), service).Object, "status", "loadBalancer", "ingress")
		return len(ingress) == 0, err
	})
}
