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
			"delivered before the Manifest": deliveredBeforeTheManifest, "they are not off": operatorsThatRunAreNotOff,
			"life": func(t *testing.T) { lifeOfLeases(t, "pool", "auto", "on") },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	t.Run("a reconciler", reconcilerBesideOperators) // alone: it follows what Akash moves of any lease
}

// With --operators=off they do not run, and addresses may be of a range.
func TestLifeWithoutOperators(t *testing.T) {
	t.Parallel()
	lifeOfLeases(t, "pool", "off")
	lifeOfLeases(t, "range", "off")
}

// The life of leases: whoever made the objects first, however the operators are known, with Ingresses and with the Gateway API; in the short
// run one of these for each way in which they are known, drawn anew by the date.
func lifeOfLeases(t *testing.T, mode string, flags ...string) {
	for i, flag := range flags {
		for n := range 4 {
			akash, gateway := n&1 > 0, n&2 > 0
			if !harness.Long() && (n+i+harness.Today())%4 != 0 {
				continue
			}
			t.Run(fmt.Sprintf("--operators=%s, %s, akash first %t, gateway %t", flag, mode, akash, gateway), func(t *testing.T) {
				t.Parallel()
				target := map[bool]string{true: ", target: httproute"}[gateway]
				o, spec := pooled(t, target)
				l := &life{akash: akash, on: flag != "off", address: "ep"}
				if mode == "range" {
					spec, l.address = fmt.Sprintf("{ip: {ranges: [10.79.%d.0/28]}%s}", harness.Number(), target), "ip"
				}
				o.Gateway = gateway
				if l.world = newWorld(t, o, spec, "--operators="+flag); !l.on {
					l.running.Stop()
				}
				l.live()
			})
		}
	}
}

// life is a world in which Akash's provider may declare what is applied (akash), beside operators that
// are on or do not run. address is how the claim of the leased port begins.
type life struct {
	*world
	akash, on bool
	address   string
}

// backed is a deployment whose hosts lead to a service, and whose port 443 leads to another.
func backed(id lease.ID, service, leased string, hosts ...string) operators.Deployment {
	return routedTo(workload(id, hosts, "public:TCP:443:"+leased), service)
}

// deploys is what a tenant's manifest leads to: Akash declares it, where it does, and it is applied.
func (l *life) deploys(d operators.Deployment) {
	l.Helper()
	if l.akash {
		must(l.T, l.world.akash.Deploy(l.Context(), d))
		wanted := 0
		for _, s := range d.Services {
			for _, x := range s.Expose {
				if wanted += len(x.Hosts); x.IP != "" {
					wanted++
				}
			}
		}
		l.serve("the operators make what Akash declares", d.Lease, wanted)
	}
	l.apply(d).Exits(l.T, 0)
}

// serve waits until the operators, where they run, have made n routes and Services of a lease.
func (l *life) serve(when string, id lease.ID, n int) {
	l.Helper()
	if l.on {
		eventually(l.T, when, func() bool { return l.serving(id) == n })
	}
}

// serving counts the routes and Services of a lease.
func (l *life) serving(id lease.ID) (n int) {
	of := fmt.Sprintf("%s=%s,%s=%d", lease.LabelOwner, id.Owner, lease.LabelDSeq, id.DSeq)
	return len(list(l.T, operators.Ingresses, of)) + len(list(l.T, operators.HTTPRoutes, of)) + len(list(l.T, operators.Services, of))
}

// mends repairs all problems of the owner, by name. A test beside this one may have mended some of them meanwhile,
// which are no owner's alone: then nothing is changed, and what is left is named anew.
func (l *life) mends() {
	l.Helper()
	for {
		var names []string
		for _, p := range l.problems() {
			if name := strings.Join(strings.Fields(p)[:2], "/"); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			return
		}
		if r := l.repairs(names...); !strings.Contains(r.Stderr, " of this cluster now, and nothing was changed") {
			r.Exits(l.T, 0)
			return
		}
	}
}

// purges removes what Akash's provider has declared of the leases, or all that is declared.
func (l *life) purges(ids ...lease.ID) {
	l.Helper()
	for _, id := range ids {
		must(l.T, l.world.akash.PurgeDeclaredHostnames(l.Context(), id))
	}
	must(l.T, l.world.akash.PurgeDeclaredIP(l.Context()))
	for _, id := range ids {
		l.serve("the operators remove what was purged", id, 0)
	}
}

func (l *life) live() {
	stays, goes := newHost("stays"), newHost("goes")
	d := backed(l.blue, "web", "web", stays, goes)
	all := func(when string, deployed ...operators.Deployment) {
		l.Helper()
		if l.on {
			l.caughtUp(when)
		}
		l.settled(when, []string{l.address, stays, goes}, deployed...)
	}
	l.deploys(d)
	all("applied", d)

	// The operators are down while Akash deploys again, and come up.
	if l.on {
		l.running.Stop()
	}
	if l.akash {
		must(l.T, l.world.akash.Deploy(l.Context(), d))
	}
	l.audits("the operators are down")
	if l.on {
		l.running.Restart()
	}
	all("the operators were down", d)

	// Another backend. What Akash declared it declares anew itself.
	d = backed(l.blue, "api", "web", stays, goes)
	l.deploys(d)
	all("changed", d)

	// The port moves to another service.
	if d = backed(l.blue, "api", "api", stays, goes); l.akash {
		l.apply(d).Exits(l.T, 0).Tells(l.T, "Akash's provider has declared it, for service web, and never changes that")
		d = backed(l.blue, "api", "web", stays, goes)
	}
	l.apply(d).Exits(l.T, 0)
	all("the port has moved", d)

	// A host is dropped, and comes back.
	if accepts(d, stays); l.akash {
		must(l.T, l.world.akash.PurgeDeclaredHostname(l.Context(), l.blue, goes))
	}
	l.apply(d).Exits(l.T, 0)
	l.settled("a host is dropped", []string{l.address, stays}, d)
	accepts(d, stays, goes)
	l.deploys(d)
	all("it is back", d)

	// Akash purges all that stands for the lease, and deploys it again.
	l.purges(l.blue)
	if found := l.audits("purged"); len(found) != 3 {
		l.Errorf("the audit finds %v", found)
	}
	l.deploys(d)
	all("deployed again", d)

	// A host goes to another deployment of the owner; Akash's own migration is followed. Akash migrates it back.
	to := workload(l.green, []string{stays})
	must(l.T, l.world.akash.SendManifest(l.Context(), to))
	if l.akash {
		must(l.T, l.world.akash.TransferHostname(l.Context(), l.green, stays, "web", 80))
		l.serve("the operator moves the route", l.green, 1)
		if found := l.audits("migrated"); len(found) == 0 {
			l.Error("the audit finds nothing after the migration")
		}
	}
	l.operated("transfer", stays, "--to", l.green.String(), "-f", l.define(to), "--assume-serving").Exits(l.T, 0) // there is no controller
	if l.on {
		l.caughtUp("transferred")
	}
	accepts(d, goes)
	l.apply(d).Exits(l.T, 0)
	all("transferred", d, to)
	accepts(d, stays, goes)
	must(l.T, l.world.akash.SendManifest(l.Context(), d))
	must(l.T, l.world.akash.TransferHostname(l.Context(), l.blue, stays, "api", 80))
	l.serve("the operator moves the route back", l.green, 0)
	l.audits("migrated back")
	l.repairs("StrayRoute/"+stays).Exits(l.T, 0)
	l.apply(d).Exits(l.T, 0)
	all("migrated back", d)

	// The leases are released. Akash's own objects stay until it purges them.
	l.purges(l.green, l.blue)
	if found := l.audits("Akash has purged all"); len(found) != 3 {
		l.Errorf("the audit finds %v", found)
	}
	l.operated("release", l.blue.Group().String(), l.green.Group().String()).Exits(l.T, 0)
	l.settled("released", nil)
	if n := l.serving(l.blue) + l.serving(l.green); n > 0 {
		l.Errorf("%d routes and Services are left", n)
	}

	// Akash tears them down, with what it has declared.
	l.deploys(d)
	for _, id := range []lease.ID{l.blue, l.green} {
		must(l.T, l.world.akash.TeardownLease(l.Context(), id))
		eventually(l.T, "the namespace goes", func() bool { return find(l.T, operators.Namespaces, "", id.Namespace()) == nil })
	}
	if l.akash {
		l.purges(l.blue, l.green)
	}
	if found := l.audits("torn down"); len(found) == 0 {
		l.Error("the audit finds nothing")
	}
	l.mends()
	l.settled("torn down", nil)
	if left := append(list(l.T, operators.Hosts, lease.LabelOwner+"="+l.owner), list(l.T, operators.LeasedIPs, lease.LabelOwner+"="+l.owner)...); len(left) > 0 {
		l.Errorf("%d objects are left", len(left))
	}
	if errs := l.running.Errors(); len(errs) > 0 {
		l.Errorf("the operators' loops ended: %v", errs)
	}
}
