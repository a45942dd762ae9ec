package commands

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// restore deletes an object and makes it again as a restore from a backup does: nobody has applied
// anything of it.
func restore(t *testing.T, resource schema.GroupVersionResource, namespace, name string) *object {
	t.Helper()
	o := need(t, resource, namespace, name)
	remove(t, resource, namespace, name)
	eventually(t, "the deletion of "+name, func(context.Context) (bool, error) { return find(t, resource, namespace, name) == nil, nil })
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	o.SetUID("")
	made, err := harness.Objects.Resource(resource).Namespace(namespace).Create(t.Context(), o, metav1.CreateOptions{FieldManager: "velero-server"})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Of a claim that was restored from a backup each lease gives up its part, and no other.
func TestReleaseOfRestoredClaim(t *testing.T) {
	t.Parallel()
	owner, host := newOwner(), newDomain()
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	mustRun(t, 0, "reserve", "--lease", blue.String(), host)
	mustRun(t, 0, "reserve", "--lease", green.String(), host+"/v2")
	restore(t, claims, ledger, host)
	mustRun(t, 0, "release", blue.Group().String()).Prints(t, "host/"+host+" released")
	held(t, host, "2 /v2")
	mustRun(t, 1, "release", blue.Group().String()).Prints(t, "holds nothing")
	mustRun(t, 0, "release", green.Group().String()).Prints(t, "host/"+host+" released")
	held(t, host)
}

// A restored claim can be worked with as any other: it says itself whose it is.
func TestRestoredClaimIsUsed(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(t *testing.T, id lease.ID, host string){
		"a run that crashed is ended": func(t *testing.T, id lease.ID, host string) {
			mustRun(t, 0, "repair", "--crashed-after", "0s", "--assume-crashed", state.CrashedRun+"/"+host).Prints(t, "repaired")
			held(t, host)
		},
		"apply ends the run": func(t *testing.T, id lease.ID, host string) {
			mustRun(t, 0, "apply", "--wait=false", "-f", define(t, id, web("web", 8080, host)))
			held(t, host, "1 /")
			if c := claim(t, host); c.Marked() || c.Part(state.RouteKey("/")).Service != "web" {
				t.Errorf("the claim is %+v", c)
			}
			mustRun(t, 0, "release", id.Group().String())
		},
		"transfer moves it": func(t *testing.T, id lease.ID, host string) {
			mustRun(t, 0, "transfer", host, "--to", leaseOf(id.Owner, 2).String())
			held(t, host, "2 /")
			mustRun(t, 0, "release", leaseOf(id.Owner, 2).Group().String())
			held(t, host)
		},
	} {
		t.Run(name, func(t *testing.T) {
			id, host := leaseOf(newOwner(), 1), newDomain()
			plant(t, state.HostWant{Host: host}.Hold(id), func(p *state.Part) { p.Run = "crashed" })
			restore(t, claims, ledger, host)
			work(t, id, host)
		})
	}
}

// Another owner's apply does not get a restored claim.
func TestRestoredClaimIsHeld(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(), 1), newDomain()
	mustRun(t, 0, "reserve", "--lease", id.String(), host)
	restore(t, claims, ledger, host)
	mustRun(t, 4, "reserve", "--lease", leaseOf(newOwner(), 1).String(), host).Says(t, id.Group().String())
	mustRun(t, 0, "release", id.Group().String())
}
