package commands

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/state"
)

const solverLabel = "acme.cert-manager.io/http01-solver"

// No label takes a lease's route out of the ledger's sight: a definition may not set cert-manager's, and
// one that somebody else has set hides nothing.
func TestLabelOfSolverHidesNoRoute(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(), 1), newDomain()
	labelled := define(t, id, `{name: web, expose: [{port: 8080, as: 80, global: true, hosts: [`+host+`], labels: {`+solverLabel+`: "true"}}]}`)
	mustRun(t, 3, "apply", "-f", labelled).Says(t, labelled+":7:", "the domain cert-manager.io is reserved")
	held(t, host)

	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, host)))
	change(t, ingresses, id.Namespace(), host, func(o *object) { o.SetLabels(with(o.GetLabels(), solverLabel, "true")) })
	remove(t, claims, ledger, host)
	mustRun(t, 4, "apply", "-f", define(t, leaseOf(newOwner(), 1), web("web", 8080, host))).Says(t, host, id.Group().String())
	if kinds := problemsOf(t, configure(t, "{}"), host); len(kinds) != 1 || kinds[0] != state.RouteWithoutClaim {
		t.Errorf("state --problems shows %q", kinds)
	}
	mustRun(t, 0, "release", id.Group().String())
	if find(t, ingresses, id.Namespace(), host) != nil {
		t.Error("the Ingress is still there")
	}
}
