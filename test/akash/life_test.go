package akash_test

import (
	"fmt"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// backed is a deployment whose hosts lead to a service, and whose port 443 leads to another.
func backed(id lease.ID, service, leased string, hosts ...string) operators.Deployment {
	return routedTo(workload(id, hosts, "public:TCP:443:"+leased), service)
}

// The life of leases beside Akash's operators: whoever made the objects first, however the operators are
// known, with Ingresses and with the Gateway API; in the short run two of these, drawn anew by the date.
func lifeBesideOperators(t *testing.T) {
	for i, first := range []string{"us", "akash"} {
		for j, flag := range []string{"auto", "on"} {
			for k, gateway := range []bool{false, true} {
				if !harness.Long() && (i+2*j+k+today)%4 != 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s first, --operators=%s, gateway %v", first, flag, gateway), func(t *testing.T) {
					t.Parallel()
					o, spec := pooled(t, map[bool]string{true: ", target: httproute"}[gateway])
					o.Gateway = gateway
					live(newWorld(t, o, spec, "--operators="+flag), first == "akash")
				})
			}
		}
	}
}

func live(w *world, akashFirst bool) {
	stays, goes := newHost("stays"), newHost("goes")
	d := backed(w.blue, "web", "web", stays, goes)
	if akashFirst {
		must(w.T, w.akash.Deploy(w.Context(), d))
		eventually(w.T, "the operators make what Akash deploys", func() bool {
			return len(list(w.T, operators.Services, lease.LabelOwner+"="+w.owner)) == 1 && len(list(w.T, operators.Ingresses, lease.LabelOwner+"="+w.owner))+len(list(w.T, operators.HTTPRoutes, lease.LabelOwner+"="+w.owner)) == 2
		})
	}
	w.apply(d).Exits(w.T, 0)
	w.settled("applied", []string{"ep", stays, goes}, d)

	w.running.Restart()
	w.caughtUp("the operators are restarted")
	w.settled("the operators were restarted", []string{"ep", stays, goes}, d)

	// Another backend. What Akash declared it declares anew itself.
	d = backed(w.blue, "api", "web", stays, goes)
	if akashFirst {
		must(w.T, w.akash.Deploy(w.Context(), d))
	}
	w.apply(d).Exits(w.T, 0)
	w.settled("changed", []string{"ep", stays, goes}, d)

	// The port moves to another service.
	d = backed(w.blue, "api", "api", stays, goes)
	if akashFirst {
		w.apply(d).Exits(w.T, 1).Tells(w.T, "provider-services")
		d = backed(w.blue, "api", "web", stays, goes)
		w.apply(d).Exits(w.T, 0)
	} else {
		w.apply(d).Exits(w.T, 0)
	}
	w.settled("the port has moved", []string{"ep", stays, goes}, d)

	// A host is dropped.
	accepts(d, stays)
	if akashFirst {
		must(w.T, w.akash.PurgeDeclaredHostname(w.Context(), w.blue, goes))
	}
	w.apply(d).Exits(w.T, 0)
	w.settled("a host is dropped", []string{"ep", stays}, d)

	// It comes back, by Akash's redeploy or by apply.
	accepts(d, stays, goes)
	if akashFirst {
		must(w.T, w.akash.Deploy(w.Context(), d))
	}
	w.apply(d).Exits(w.T, 0)
	w.settled("redeployed", []string{"ep", stays, goes}, d)

	// A host goes to another deployment of the owner; Akash's own migration is followed.
	to := workload(w.green, []string{stays})
	must(w.T, w.akash.SendManifest(w.Context(), to))
	if akashFirst {
		must(w.T, w.akash.TransferHostname(w.Context(), w.green, stays, "web", 80))
		eventually(w.T, "the operator moves the route", func() bool {
			return find(w.T, operators.Ingresses, w.green.Namespace(), stays) != nil || find(w.T, operators.HTTPRoutes, w.green.Namespace(), stays) != nil
		})
		if found := w.audits("Akash has migrated a host"); len(found) == 0 {
			w.Error("the audit finds nothing after the migration")
		}
	}
	w.operated("transfer", stays, "--to", w.green.String(), "-f", w.define(to)).Exits(w.T, 0)
	w.caughtUp("a host is transferred")
	accepts(d, goes)
	w.apply(d).Exits(w.T, 0)
	w.settled("a host is transferred", []string{"ep", stays, goes}, d, to)

	if akashFirst { // its own objects stay until it purges them
		must(w.T, w.akash.PurgeDeclaredHostnames(w.Context(), w.green))
		must(w.T, w.akash.PurgeDeclaredHostnames(w.Context(), w.blue))
		must(w.T, w.akash.PurgeDeclaredIP(w.Context()))
		eventually(w.T, "the operators remove what was purged", func() bool {
			return len(list(w.T, operators.Services, lease.LabelOwner+"="+w.owner))+len(list(w.T, operators.Ingresses, lease.LabelOwner+"="+w.owner))+len(list(w.T, operators.HTTPRoutes, lease.LabelOwner+"="+w.owner)) == 0
		})
		if found := w.audits("Akash has purged all"); len(found) != 3 {
			w.Errorf("the audit finds %v", found)
		}
	}
	w.operated("release", w.blue.Group().String(), w.green.Group().String()).Exits(w.T, 0)
	w.settled("released", nil)
	if n := len(list(w.T, operators.Services, lease.LabelOwner+"="+w.owner)); n > 0 {
		w.Errorf("%d Services are left", n)
	}
	if errs := w.running.Errors(); len(errs) > 0 {
		w.Errorf("the operators' loops ended: %v", errs)
	}
}
