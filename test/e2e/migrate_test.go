package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A route goes to the Gateway API and back, and is byte for byte what it was.
func TestMigrateThereAndBack(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("migrate")
	definition := define(t, id, web(host))
	admin().do(t, "apply", "-f", definition)
	was := need(t, ingresses, id.Namespace(), host)
	claim, providerHost := need(t, claims, ledger, host), need(t, hosts, manifests, host)
	user := admin().with(configure(t, "gateway: {name: none, namespace: default}"))
	user.do(t, "migrate", "--to=httproute", "--overlap=0", id.Group().String()).prints(t, "httproute/"+host+" created", "ingress/"+host+" deleted", "is migrated: 1 host")
	absent(t, ingresses, id.Namespace(), host)
	now := need(t, httpRoutes, id.Namespace(), host)
	admin().with(configure(t, "gateway: {name: none, namespace: default}", "target: httproute")).do(t, "apply", "-f", definition).prints(t, "unchanged")
	if need(t, httpRoutes, id.Namespace(), host).GetResourceVersion() != now.GetResourceVersion() {
		t.Error("apply writes the migrated route again")
	}
	user.do(t, "migrate", "--to=httproute", "--overlap=0", id.Group().String()).prints(t, "unchanged")

	user.do(t, "migrate", "--to=ingress", "--overlap=0", id.Group().String()).prints(t, "ingress/"+host+" created", "httproute/"+host+" deleted")
	absent(t, httpRoutes, id.Namespace(), host)
	is := need(t, ingresses, id.Namespace(), host)
	for _, diff := range []string{
		cmp.Diff(was.Object["spec"], is.Object["spec"]), cmp.Diff(was.GetAnnotations(), is.GetAnnotations()), cmp.Diff(was.GetLabels(), is.GetLabels()),
		cmp.Diff(claim.Object, need(t, claims, ledger, host).Object), cmp.Diff(providerHost.Object, need(t, hosts, manifests, host).Object),
	} {
		if diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	}
}
