package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// blueGreen are two deployments of an owner of which the first serves a host, and the second has
// asked for it with options of its own.
type blueGreen struct {
	host, config string
	blue, green  lease.ID
	greenFile    string
	// hands is the transfer; no controller is here that would report on routes.
	hands  []string
	routes schema.GroupVersionResource
}

func newBlueGreen(t *testing.T, target string) blueGreen {
	t.Helper()
	owner := newOwner()
	b := blueGreen{
		host: "shop." + newDomain(), config: configure(t, "target: "+target),
		blue: leaseOf(owner, 1), green: leaseOf(owner, 2), routes: ingresses,
	}
	if target == "httproute" {
		b.routes = httpRoutes
	}
	b.hands = []string{"transfer", b.host, "--to", b.green.String(), "--config", b.config, "--assume-serving"}
	b.greenFile = define(t, b.green, "{name: green, expose: [{port: 9090, as: 80, global: true, hosts: ["+b.host+"], http: {maxBodySize: 7777777}}]}")
	mustRun(t, 0, "apply", "--config", b.config, "-f", define(t, b.blue, web("blue", 8080, b.host)))
	mustRun(t, 0, "apply", "--config", b.config, "-f", b.greenFile).Prints(t, "host/"+b.host+" withheld")
	return b
}

// isGreen fails the test unless the host is the second deployment's in every respect.
func (b blueGreen) isGreen(t *testing.T) {
	t.Helper()
	held(t, b.host, "2 /")
	c := claim(t, b.host)
	if c.Marked() {
		t.Error("the claim carries the mark of a run")
	}
	if c.Parts[0].Service != "green" || c.Parts[0].Port != 80 {
		t.Errorf("the claim names %s:%d", c.Parts[0].Service, c.Parts[0].Port)
	}
	route := need(t, b.routes, b.green.Namespace(), b.host)
	if text := toText(t, route.Object); !strings.Contains(text, "7777777") || !strings.Contains(text, `"green"`) {
		t.Errorf("the route does not have the options that were asked for: %s", text)
	}
	if find(t, b.routes, b.blue.Namespace(), b.host) != nil {
		t.Error("the old route is still there")
	}
	if dseq := need(t, hosts, "lease", b.host).GetLabels()[lease.LabelDSeq]; dseq != "2" {
		t.Errorf("the ProviderHost is deployment %s's", dseq)
	}
	for manager, fields := range ours(t, b.host) {
		if manager != b.green.Group().FieldManager() {
			t.Errorf("%s owns %s", manager, fields)
		}
	}
}

func TestBlueGreen(t *testing.T) {
	t.Parallel()
	for target, order := range map[string][]string{
		"ingress":   {"PATCH", "DELETE"},
		"httproute": {"PATCH", "DELETE"},
	} {
		t.Run(target, func(t *testing.T) {
			b := newBlueGreen(t, target)
			uid := claim(t, b.host).UID
			mustRun(t, 0, "explain", "--config", b.config, b.host).
				Prints(t, b.host+" is held by "+b.blue.Group().String(), "Withheld from lease "+b.green.String(), "transfer "+b.host+" --to "+b.green.String())

			untouched := fingerprint(t)
			for _, mode := range []string{"client", "server"} {
				mustRun(t, 0, append(b.hands, "--dry-run="+mode)...)
				if now := claim(t, b.host); untouched["leases "+ledger+"/"+b.host] != string(now.UID)+" "+now.ResourceVersion {
					t.Errorf("--dry-run=%s changed the claim", mode)
				}
			}

			p := startProxy(t, nil)
			if r := runAs(t.Context(), p.kubeconfig, b.hands...); r.Code != 0 {
				t.Fatal(r)
			}
			var want []string
			for _, method := range order {
				want = append(want, method+" "+b.routes.Resource+"/"+b.host)
			}
			if diff := cmp.Diff(want, p.sent(b.routes.Resource)); diff != "" {
				t.Errorf("writes of routes (-want +got):\n%s", diff)
			}
			all := slices.DeleteFunc(p.sent("leases", b.routes.Resource), func(write string) bool { return strings.Contains(write, "leases/run--") })
			if first := "PATCH leases/" + b.host; all[0] != first || slices.Contains(all, "DELETE leases/"+b.host) {
				t.Errorf("the claim did not change hands first: %q", all)
			}
			if claim(t, b.host).UID != uid {
				t.Error("the claim was let go")
			}
			b.isGreen(t)

			mustRun(t, 0, "apply", "--config", b.config, "-f", define(t, b.blue, web("blue", 8080, b.host))).Prints(t, "host/"+b.host+" withheld")
			b.isStillGreen(t)
		})
	}
}

func (b blueGreen) isStillGreen(t *testing.T) {
	t.Helper()
	held(t, b.host, "2 /")
	need(t, b.routes, b.green.Namespace(), b.host)
	if find(t, b.routes, b.blue.Namespace(), b.host) != nil {
		t.Error("the old deployment serves the host again")
	}
}

// Of several hosts one is another owner's: nothing is written.
func TestTransferIsAllOrNothing(t *testing.T) {
	t.Parallel()
	domain, owner, other := newDomain(), newOwner(), newOwner()
	mustRun(t, 0, "reserve", "--lease", leaseOf(owner, 1).String(), "a."+domain, "z."+domain)
	mustRun(t, 0, "reserve", "--lease", leaseOf(other, 9).String(), "m."+domain)
	p := startProxy(t, nil)
	r := runAs(t.Context(), p.kubeconfig, "transfer", "a."+domain, "m."+domain, "z."+domain, "--to", leaseOf(owner, 2).String())
	if r.Code != 4 || len(p.sent("leases")) > 0 {
		t.Errorf("want exit code 4 and no writes, not %q: %s", p.sent("leases"), r)
	}
	r.Says(t, "m."+domain, other)
}

// One claim of several goes to another owner while the transfer goes on: what was transferred is handed
// back.
func TestTransferHandsBack(t *testing.T) {
	t.Parallel()
	domain, owner, other := newDomain(), newOwner(), newOwner()
	first, last := "a."+domain, "z."+domain
	mustRun(t, 0, "reserve", "--lease", leaseOf(owner, 1).String(), first, last)
	once := false
	p := startProxy(t, func(write string) bool {
		if write == "PATCH leases/"+first && !once {
			once = true
			remove(t, claims, ledger, last) // by hand
			mustRun(t, 0, "reserve", "--lease", leaseOf(other, 1).String(), last)
		}
		return false
	})
	r := runAs(t.Context(), p.kubeconfig, "transfer", first, last, "--to", leaseOf(owner, 2).String())
	if r.Code != 4 {
		t.Errorf("want exit code 4: %s", r)
	}
	r.Says(t, last, other)
	held(t, first, "1 /")
	for manager := range ours(t, first) {
		if manager == leaseOf(owner, 2).Group().FieldManager() {
			t.Errorf("the new lease's manager owns fields of %s", first)
		}
	}
	if claim(t, first).Marked() {
		t.Errorf("%s carries the mark of a run", first)
	}
}

// A transfer that is cut after any of its writes leaves the host held by its owner, and the same
// command, run again, completes it.
func TestTransferCompletesAfterCrash(t *testing.T) {
	t.Parallel()
	for cut := 1; ; cut++ {
		b := newBlueGreen(t, "httproute")
		n, isCut, ended := 0, make(chan struct{}), make(chan result, 1)
		announced := false
		p := startProxy(t, func(write string) bool {
			if strings.HasPrefix(write, "PATCH leases/run--") {
				if announced {
					return false // the announcement is renewed
				}
				announced = true
			}
			if n++; n == cut {
				close(isCut)
			}
			return n == cut
		})
		go func() {
			ended <- runAs(t.Context(), p.kubeconfig, b.hands...)
		}()
		select {
		case <-isCut: // what is left of the run reaches nobody any more
		case r := <-ended: // it had no more writes
			if r.Code != 0 || cut < 4 {
				t.Errorf("it ended after %d writes: %s", cut-1, r)
			}
			return
		}
		if owner := claim(t, b.host).Owner; owner != b.blue.Owner {
			t.Fatalf("the host is %s's", owner)
		}
		mustRun(t, 0, append(slices.Clip(b.hands), "--assume-crashed")...)
		b.isGreen(t)
		if t.Failed() {
			return
		}
	}
}

// An address goes by its endpoint's name too.
func TestTransferOfAddress(t *testing.T) {
	t.Parallel()
	subnet, owner := newNet(), newOwner()
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, blue, leased("game", "public", 7001)))
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, green, leased("next", "public", 7001))).Prints(t, "7001/tcp withheld")
	mustRun(t, 0, "transfer", "--config", config, "public", "--to", green.String())
	held(t, claimOf(subnet+"0"), "2 7001/tcp")
	grants(t, green, lease.IPServiceName("next", 7001, lease.TCP), subnet+"0")
	if find(t, services, blue.Namespace(), lease.IPServiceName("game", 7001, lease.TCP)) != nil {
		t.Error("the old Service is still there")
	}
	mustRun(t, 0, "transfer", "--config", config, "public", "--to", green.String()).Prints(t, "address/"+subnet+"0 left (the lease holds it already)")
}
