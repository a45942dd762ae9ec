package akash_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Where MetalLB chooses the addresses, a port of an endpoint is one deployment's all the same: the second
// is withheld it, check says so, a transfer moves it, and what Akash declared for another is not taken.
func TestPortsOfAnEndpoint(t *testing.T) {
	t.Parallel()
	o, spec := pooled(t, "")
	w := newWorld(t, o, spec, "--operators=off") // their Deployments are not here
	w.running.Stop()
	first, second := workload(w.blue, nil, "public:TCP:443:web"), workload(w.green, nil, "public:TCP:443:web")
	key := lease.SharingKey(w.owner, "public")
	w.apply(first).Exits(t, 0).Tells(t, "endpoint/"+key+" claimed")
	w.settled("applied", []string{"ep"}, first)
	w.run("check", "-f", w.define(second)).Tells(t, "withheld", w.blue.Group().String())
	w.apply(second).Exits(t, 0).Tells(t, key+" 443/tcp withheld", w.blue.Group().String())
	w.settled("withheld", []string{"ep"}, first, second)
	w.run("state", "ips").Tells(t, "Withheld", "Active")
	for _, name := range []string{"endpoint/public", "endpoint/" + key} { // what is printed can be typed
		w.run("explain", name).Tells(t, "is held by "+w.blue.Group().String())
	}
	w.operated("transfer", "public", "--to", w.green.String()).Exits(t, 0).Tells(t, "endpoint/"+key+" transferred")
	w.apply(first).Exits(t, 0).Tells(t, "withheld")
	w.apply(second).Exits(t, 0)
	w.settled("transferred", []string{"ep"}, first, second)
	w.operated("release", w.green.Group().String(), "public").Exits(t, 0).Tells(t, "endpoint/"+key+" released")
	w.settled("released", nil)

	// A port that Akash's provider declared for another deployment.
	must(t, w.akash.DeclareIP(t.Context(), w.green, "web", 9000, 443, "TCP", key, false))
	w.apply(first).Exits(t, 0).Tells(t, "withheld", w.green.Group().String())
	if n := len(list(t, claims, "net.akash.network/owner="+w.owner)); n > 0 {
		t.Errorf("there are %d claims", n)
	}
	must(t, w.akash.PurgeDeclaredIP(t.Context()))
}

// Beside Akash's IP operator TCP and UDP of one number are one port: it keys a port by its number, and would delete
// the Service of the first deployment for that of the second. The second is withheld until the first gives it up.
func TestProtocolsOfOnePort(t *testing.T) {
	t.Parallel()
	o, spec := pooled(t, "")
	w := newWorld(t, o, spec, "--operators=on")
	first, second := workload(w.blue, nil, "public:TCP:53:dns"), workload(w.green, nil, "public:UDP:53:dns")
	key := lease.SharingKey(w.owner, "public")
	w.apply(first).Exits(t, 0)
	eventually(t, "the first is served", func() bool { return find(t, operators.Services, w.blue.Namespace(), "dns-ip-53-tcp") != nil })
	served := find(t, operators.Services, w.blue.Namespace(), "dns-ip-53-tcp").GetUID()
	must(t, w.akash.SendManifest(t.Context(), second))
	w.operated("check", "-f", w.define(second)).Tells(t, "withheld", w.blue.Group().String())
	w.apply(second).Exits(t, 0).Tells(t, key+" 53/udp withheld", w.blue.Group().String())
	w.settled("withheld", []string{"ep"}, first, second)
	if now := find(t, operators.Services, w.blue.Namespace(), "dns-ip-53-tcp"); now == nil || now.GetUID() != served {
		t.Fatal("the Service of the first deployment was not left alone")
	}
	w.operated("release", w.blue.Group().String()).Exits(t, 0)
	w.apply(second).Exits(t, 0)
	w.settled("released", []string{"ep"}, second)
	w.operated("release", w.green.Group().String()).Exits(t, 0)

	// A port that Akash's provider declared for another deployment counts as well.
	must(t, w.akash.DeclareIP(t.Context(), w.blue, "dns", 9000, 53, "TCP", key, false))
	w.apply(second).Exits(t, 0).Tells(t, key+" 53/udp withheld", w.blue.Group().String())
	must(t, w.akash.PurgeDeclaredIP(t.Context()))
}

// Of two deployments that take the protocols of one port at once, one gets it: the other's write is pinned to what it
// had read.
func TestProtocolsOfOnePortAtOnce(t *testing.T) {
	t.Parallel()
	o, spec := pooled(t, "")
	w := newWorld(t, o, spec, "--operators=on")
	first, second := workload(w.blue, nil, "public:TCP:53:dns"), workload(w.green, nil, "public:TCP:443:web", "public:UDP:53:dns")
	w.apply(workload(w.green, nil, "public:TCP:443:web")).Exits(t, 0)
	must(t, w.akash.SendManifest(t.Context(), first))
	var begun atomic.Bool
	w.proxy.before = func(_, path string) {
		if strings.Contains(path, "/leases/ep--") && begun.CompareAndSwap(false, true) {
			w.operated("apply", "--timeout=30s", "-f", w.define(first)).Exits(t, 0)
		}
	}
	w.apply(second).Exits(t, 0).Tells(t, "53/udp withheld", "held by deployment "+w.blue.Group().String())
	w.proxy.before = nil
	if find(t, operators.LeasedIPs, manifests, lease.LeasedIPName(lease.SharingKey(w.owner, "public"), lease.UDP, 53)) != nil {
		t.Error("the second has declared its port")
	}
	w.settled("at once", []string{"ep"}, first, second)
}

// Both protocols were reserved before the operator was there: who is applied first has the port.
func TestProtocolsReservedBeforeTheOperator(t *testing.T) {
	t.Parallel()
	o, spec := pooled(t, "")
	w := newWorld(t, o, spec, "--operators=on")
	first, second := workload(w.blue, nil, "public:TCP:53:dns"), workload(w.green, nil, "public:UDP:53:dns")
	for _, d := range []operators.Deployment{first, second} {
		w.run("reserve", "--operators=off", "-f", w.define(d)).Exits(t, 0)
	}
	w.apply(second).Exits(t, 0)
	w.apply(first).Exits(t, 0).Tells(t, "53/tcp withheld", "held by deployment "+w.green.Group().String())
	w.settled("applied", []string{"ep"}, first, second)
	if find(t, operators.LeasedIPs, manifests, lease.LeasedIPName(lease.SharingKey(w.owner, "public"), lease.TCP, 53)) != nil {
		t.Error("the first has declared its port")
	}
}

// What Akash's provider purges while what this program made still serves is a problem, which the lease's
// definition mends.
func TestPurgedByAkash(t *testing.T) {
	o, spec := pooled(t, "")
	w := newWorld(t, o, spec, "--operators=off")
	w.running.Stop()
	host := newHost("purged")
	d := workload(w.blue, []string{host}, "public:TCP:443:web")
	w.apply(d).Exits(t, 0)
	must(t, w.akash.PurgeDeclaredIP(t.Context()))
	must(t, w.akash.PurgeDeclaredHostnames(t.Context(), w.blue))
	if found := w.audits("purged"); len(found) != 2 {
		t.Errorf("the audit finds %v", found)
	}
	if shown := w.problems(); !slices.ContainsFunc(shown, func(p string) bool { return strings.HasPrefix(p, "NotDeclared "+host) }) {
		t.Errorf("the problems are %q", shown)
	}
	w.run("repair", "--operators=off", "--assume-crashed", "-f", w.define(d)).Tells(t, "NotDeclared/"+host)
	w.settled("repaired", []string{"ep", host}, d)
	if find(t, operators.Hosts, manifests, host) == nil {
		t.Error("the host is not declared")
	}
}

// The port of an endpoint that is served and that nobody has claimed is claimed for the lease that serves it.
func TestUnclaimedPortIsClaimed(t *testing.T) {
	o, spec := pooled(t, "")
	w := newWorld(t, o, spec, "--operators=off") // their Deployments are not here
	w.running.Stop()
	d := workload(w.blue, nil, "public:TCP:443:web")
	w.apply(d).Exits(t, 0)
	for _, c := range list(t, claims, "net.akash.network/owner="+w.owner) {
		must(t, harness.Objects.Resource(claims).Namespace(ledger).Delete(t.Context(), c.GetName(), metav1.DeleteOptions{}))
	}
	if found := w.audits("the claim is deleted"); len(found) == 0 {
		t.Error("the audit finds nothing")
	}
	w.run("repair", "--crashed-after=0s", "--assume-crashed").Tells(t, "UnclaimedAddress/"+lease.SharingKey(w.owner, "public")+" repaired")
	w.settled("repaired", []string{"ep"}, d)
}

// What serves a port that moves to another service stays where what is to come would be refused.
func TestPortStaysWhereItsMoveIsRefused(t *testing.T) {
	t.Parallel()
	o, spec := pooled(t, "")
	w := newWorld(t, o, spec, "--operators=on")
	first, second := workload(w.blue, nil, "public:TCP:443:web"), workload(w.blue, nil, "public:TCP:443:api")
	w.apply(first).Exits(t, 0)
	declared, key := lease.LeasedIPName(lease.SharingKey(w.owner, "public"), lease.TCP, 443), lease.SharingKey(w.owner, "public")
	was := find(t, operators.LeasedIPs, manifests, declared)
	allow := harness.Refuse(t, operators.LeasedIPs, "CREATE", "object.spec.sharing_key != '"+key+"'", "no new ports today")
	probe := was.DeepCopy()
	probe.SetResourceVersion("")
	eventually(t, "the policy refuses", func() bool {
		_, err := harness.Objects.Resource(operators.LeasedIPs).Namespace(manifests).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "no new ports today")
	})

	must(t, w.akash.SendManifest(t.Context(), second))
	w.operated("apply", "-f", w.define(second)).Exits(t, 1).Tells(t, "no new ports today")
	if now := find(t, operators.LeasedIPs, manifests, declared); now == nil || now.GetUID() != was.GetUID() {
		t.Errorf("what is declared of the port is not what it was: %v", now)
	}
	allow()
	eventually(t, "the policy ends", func() bool { return w.operated("apply", "-f", w.define(second)).Code == 0 })
	w.settled("moved", []string{"ep"}, second)
}
