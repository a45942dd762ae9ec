package akash_test

import (
	"strings"
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
	w.waits(operators.Services, w.blue, "dns-ip-53-tcp", true)
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

// A tenant moves a leased port to another service. Akash's provider, which never rewrites a ProviderLeasedIP, has declared it: that stays,
// and all else of the update is applied. The IP operator goes on to serve what is declared.
func TestPortThatMovesByAnUpdate(t *testing.T) {
	t.Parallel()
	for flag, served := range map[string]string{"off": "api-ip-443-tcp", "on": "web-ip-443-tcp"} {
		o, spec := pooled(t, "")
		w := newWorld(t, o, spec, "--operators="+flag)
		if flag == "off" {
			w.running.Stop()
		}
		before, after := workload(w.blue, nil, "public:TCP:443:web"), workload(w.blue, []string{newHost("news")}, "public:TCP:443:api")
		must(t, w.akash.Deploy(t.Context(), before))
		w.operated("apply", "--timeout=30s", "-f", w.define(before)).Exits(t, 0)
		must(t, w.akash.Deploy(t.Context(), after))
		w.operated("apply", "--timeout=30s", "--assume-serving", "-f", w.define(after)).Exits(t, 0).Tells(t, "Akash's provider has declared it, for service web")
		host := after.Services[0].Expose[0].Hosts[0]
		if leadsTo(find(t, operators.Ingresses, w.blue.Namespace(), host)) != "web:80" {
			t.Errorf("%s: the new host is not routed", flag)
		}
		if find(t, operators.Services, w.blue.Namespace(), served) == nil {
			t.Errorf("%s: the port is not served", flag)
		}
	}
}
