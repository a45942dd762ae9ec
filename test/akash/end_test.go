package akash_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Where the operators' Deployments are, they are found. All that needs them is tried at the same time.
func TestFoundOperators(t *testing.T) {
	deploy(t, "operator-hostname", "operator-ip")
	t.Run("found", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"delivered before the Manifest": deliveredBeforeTheManifest, "they are not off": operatorsThatRunAreNotOff, "life": lifeBesideOperators,
			"a reconciler": reconcilerBesideOperators,
			"end":          func(t *testing.T) { endOfLeases(t, "auto"); endOfLeases(t, "on") },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
}

// With --operators=off they do not run, and addresses may be of a range.
func TestEndOfLeases(t *testing.T) {
	t.Parallel()
	endOfLeases(t, "off")
}

// today draws what the short run tries of many.
var today = harness.Today()

// The other half of the life of leases: what Akash's provider does to them, and how they end. With the operators in all ways and, where they
// do not run, with addresses of a range and of MetalLB's choice; in the short run one of these each, drawn anew by the date.
func endOfLeases(t *testing.T, flag string) {
	type way struct {
		mode, first string
		gateway     bool
	}
	var ways []way
	for _, mode := range []string{"pool", "range"} {
		for _, first := range []string{"us", "akash"} {
			for _, gateway := range []bool{false, true} {
				if mode == "range" && flag != "off" || gateway && flag == "auto" || !gateway && flag == "on" {
					continue // refused: operatorsThatRunAreNotOff; how they are found has nothing to do with the routes: lifeBesideOperators
				}
				ways = append(ways, way{mode, first, gateway})
			}
		}
	}
	if !harness.Long() {
		ways = ways[today%len(ways):][:1]
	}
	for _, x := range ways {
		t.Run(fmt.Sprintf("--operators=%s, %s, %s first, gateway %v", flag, x.mode, x.first, x.gateway), func(t *testing.T) {
			t.Parallel()
			target := map[bool]string{true: ", target: httproute"}[x.gateway]
			o, spec := pooled(t, target)
			e := &ending{akash: x.first == "akash", on: flag != "off", address: "ep"}
			if x.mode == "range" {
				spec, e.address = strings.Replace(ranged(), "}}", "}"+target+"}", 1), "ip"
			}
			o.Gateway = x.gateway
			if e.world = newWorld(t, o, spec, "--operators="+flag); !e.on {
				e.running.Stop()
			}
			e.live()
		})
	}
}

// ending is a world in which Akash's provider may have declared what is applied (akash), beside operators that
// are on or do not run. Address is how the claim of the leased port begins.
type ending struct {
	*world
	akash   bool
	on      bool
	address string
}

// deploys is what a tenant's manifest leads to: Akash declares it, where it does, and it is applied.
func (e *ending) deploys(d operators.Deployment) {
	e.Helper()
	if e.akash {
		must(e.T, e.world.akash.Deploy(e.Context(), d))
		if e.on {
			eventually(e.T, "the operators make what Akash declares", func() bool { return e.serving(d.Lease) == e.wanted(d) })
		}
	}
	e.apply(d).Exits(e.T, 0)
}

// mends repairs all problems of the owner, by name. A test beside this one may have mended some of them meanwhile,
// which are no owner's alone: then nothing is changed, and what is left is named anew.
func (e *ending) mends() {
	e.Helper()
	for {
		var names []string
		for _, p := range e.problems() {
			if name := strings.Join(strings.Fields(p)[:2], "/"); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			return
		}
		r := e.run(append([]string{"repair", e.flags[0], "--crashed-after=0s", "--assume-crashed"}, names...)...)
		if !strings.Contains(r.Stderr, " of this cluster now, and nothing was changed") {
			r.Exits(e.T, 0)
			return
		}
	}
}

// serving counts the routes and Services of a lease.
func (e *ending) serving(id lease.ID) (n int) {
	of := fmt.Sprintf("%s=%s,%s=%d", lease.LabelOwner, id.Owner, lease.LabelDSeq, id.DSeq)
	return len(list(e.T, operators.Ingresses, of)) + len(list(e.T, operators.HTTPRoutes, of)) + len(list(e.T, operators.Services, of))
}

// wanted counts what a deployment has.
func (e *ending) wanted(d operators.Deployment) (n int) {
	for _, s := range d.Services {
		for _, x := range s.Expose {
			n += len(x.Hosts)
			if x.IP != "" {
				n++
			}
		}
	}
	return n
}

func (e *ending) live() {
	stays, goes := newHost("stays"), newHost("goes")
	d := backed(e.blue, "web", "web", stays, goes)
	e.deploys(d)
	e.settled("applied", []string{e.address, stays, goes}, d)

	// The operators are down while Akash deploys again, and come up.
	if e.on {
		e.running.Stop()
	}
	if e.akash {
		must(e.T, e.world.akash.Deploy(e.Context(), d))
	}
	e.audits("the operators are down")
	if e.on {
		e.running.Restart()
		e.caughtUp("the operators are up")
	}
	e.settled("the operators were down", []string{e.address, stays, goes}, d)

	// Another backend.
	d = backed(e.blue, "api", "web", stays, goes)
	e.deploys(d)
	e.settled("changed", []string{e.address, stays, goes}, d)

	// Akash purges all that stands for the lease, and deploys it again.
	must(e.T, e.world.akash.PurgeDeclaredHostnames(e.Context(), e.blue))
	must(e.T, e.world.akash.PurgeDeclaredIP(e.Context()))
	if e.on {
		eventually(e.T, "the operators remove what was purged", func() bool { return e.serving(e.blue) == 0 })
	}
	if found := e.audits("purged"); len(found) != 3 {
		e.Errorf("the audit finds %v", found)
	}
	e.deploys(d)
	e.settled("deployed again", []string{e.address, stays, goes}, d)

	// A host is transferred, and Akash migrates it back.
	to := workload(e.green, []string{stays})
	must(e.T, e.world.akash.SendManifest(e.Context(), to))
	if e.akash {
		must(e.T, e.world.akash.TransferHostname(e.Context(), e.green, stays, "web", 80))
		if e.on {
			eventually(e.T, "the operator moves the route", func() bool { return e.serving(e.green) == 1 })
		}
		e.audits("migrated")
	}
	e.operated("transfer", stays, "--to", e.green.String(), "-f", e.define(to), "--assume-serving").Exits(e.T, 0) // there is no controller
	if e.on {
		e.caughtUp("transferred")
	}
	accepts(d, goes)
	e.apply(d).Exits(e.T, 0)
	e.settled("transferred", []string{e.address, stays, goes}, d, to)

	accepts(d, stays, goes)
	must(e.T, e.world.akash.SendManifest(e.Context(), d))
	must(e.T, e.world.akash.TransferHostname(e.Context(), e.blue, stays, "api", 80))
	if e.on {
		eventually(e.T, "the operator moves the route back", func() bool { return e.serving(e.green) == 0 })
	}
	e.audits("migrated back")
	e.repairs("StrayRoute/"+stays).Exits(e.T, 0)
	e.apply(d).Exits(e.T, 0)
	if e.on {
		e.caughtUp("migrated back")
	}
	e.settled("migrated back", []string{e.address, stays, goes}, d)

	// Akash tears the leases down, with what it has declared.
	for _, id := range []lease.ID{e.blue, e.green} {
		must(e.T, e.world.akash.TeardownLease(e.Context(), id))
		eventually(e.T, "the namespace goes", func() bool { return find(e.T, operators.Namespaces, "", id.Namespace()) == nil })
		if e.akash {
			must(e.T, e.world.akash.PurgeDeclaredHostnames(e.Context(), id))
		}
	}
	if e.akash {
		must(e.T, e.world.akash.PurgeDeclaredIP(e.Context()))
	}
	if found := e.audits("torn down"); len(found) == 0 {
		e.Error("the audit finds nothing")
	}
	e.mends()
	e.settled("torn down", nil)
	if left := append(list(e.T, operators.Hosts, lease.LabelOwner+"="+e.owner), list(e.T, operators.LeasedIPs, lease.LabelOwner+"="+e.owner)...); len(left) > 0 {
		e.Errorf("%d objects are left", len(left))
	}
	if errs := e.running.Errors(); len(errs) > 0 {
		e.Errorf("the operators' loops ended: %v", errs)
	}
}
