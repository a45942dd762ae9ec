package commands

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Two tenants ask for one host: the second is refused, is told who has it, and changes nothing;
// when the first has released it, the second gets it.
func TestSecondTenantIsRefused(t *testing.T) {
	host, spare := newHost("shop"), newHost("a-spare")
	first, second := leaseOf(newTenant(), 1), leaseOf(newTenant(), 7)
	admin().do(t, "apply", "-f", defineParts(t, first, webPart(host))).Prints(t,
		"host/"+host+" claimed", "providerhost/"+host+" created", "ingress/"+host+" created", "is live: 1 host")
	steal := defineParts(t, second, webPart(spare, host))

	before := fingerprints(t)
	since := need(t, claims, ledger, host).GetCreationTimestamp().UTC().Format(time.RFC3339)
	admin().run(t, "apply", "-f", steal).Exits(t, 4).Says(t,
		host+" is held by another lease", first.Group().String(), first.Namespace(), since, "web:80", "Nothing was changed")
	if diff := cmp.Diff(before, fingerprints(t)); diff != "" {
		t.Errorf("the refused run changed the cluster (-before +after):\n%s", diff)
	}

	admin().do(t, "release", first.Group().String()).Prints(t, "ingress/"+host+" deleted", "host/"+host+" released")
	absent(t, claims, ledger, host)
	admin().do(t, "apply", "-f", steal)
	if diff := cmp.Diff([]string{spare, host}, claimsOf(t, second.Owner)); diff != "" {
		t.Errorf("claims of the second tenant (-want +got):\n%s", diff)
	}
	unmarked(t, second.Owner)
}

// A host that another deployment of the same owner has is withheld: named, not taken, no error.
func TestSameOwnersHostIsWithheld(t *testing.T) {
	t.Parallel()
	host, own := newHost("shop"), newHost("own")
	first := leaseOf(newTenant(), 1)
	second := leaseOf(first.Owner, 2)
	admin().do(t, "apply", "-f", defineParts(t, first, webPart(host)))
	admin().do(t, "apply", "-f", defineParts(t, second, webPart(host, own))).Prints(t,
		"host/"+host+" withheld (held by deployment "+first.Group().String()+")", "1 withheld")
	if got := objectsOf(t, second); !slices.Equal(got, []string{"ingresses/" + own, "providerhosts/" + own}) {
		t.Errorf("the second lease has %v", got)
	}
	if id := need(t, hosts, manifests, host).GetLabels()["akash.network/lease.id.dseq"]; id != "1" {
		t.Errorf("the ProviderHost belongs to deployment %s", id)
	}
}

// An Ingress that says nothing of a lease holds its hosts too; one with which cert-manager answers
// a challenge does not.
func TestForeignIngress(t *testing.T) {
	t.Parallel()
	ingress := func(host, path, metadata string) string {
		return fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress,
			metadata: {name: %q, namespace: default%s},
			spec: {rules: [{host: %s, http: {paths: [{path: %s, pathType: Prefix, backend: {service: {name: site, port: {number: 80}}}}]}}]}}`,
			host, metadata, host, path)
	}
	const solverLabel = `, labels: {acme.cert-manager.io/http01-solver: "true"}`
	t.Run("holds", func(t *testing.T) {
		host, id := newHost("foreign"), leaseOf(newTenant(), 1)
		createAs(t, "administrator", ingresses, ingress(host, "/", ""))
		admin().run(t, "apply", "-f", defineParts(t, id, webPart(host))).Exits(t, 4).Says(t, host, "ingress default/"+host, "site:80")
		absent(t, claims, ledger, host)
	})
	t.Run("Route holds", func(t *testing.T) {
		host, id := newHost("foreign"), leaseOf(newTenant(), 1)
		createAs(t, "administrator", routes, fmt.Sprintf(`{apiVersion: route.openshift.io/v1, kind: Route,
			metadata: {name: site, namespace: default}, spec: {host: %s, to: {kind: Service, name: site}}}`, host))
		admin().run(t, "apply", "-f", defineParts(t, id, webPart(host))).Exits(t, 4).Says(t, host, "route default/site", "site")
		absent(t, claims, ledger, host)
	})
	t.Run("solver", func(t *testing.T) {
		host, id := newHost("solver"), leaseOf(newTenant(), 1)
		createAs(t, "cert-manager", ingresses, ingress(host, "/.well-known/acme-challenge/token", solverLabel+
			`, ownerReferences: [{apiVersion: acme.cert-manager.io/v1, kind: Challenge, name: site, uid: 7b3ff6fc-1b3b-4b8e-8a2c-0d2f6e1a9c11}]`))
		admin().do(t, "apply", "-f", defineParts(t, id, webPart(host))).Prints(t, "host/"+host+" claimed")
	})
	t.Run("solver by its label alone", func(t *testing.T) {
		host, id := newHost("solver"), leaseOf(newTenant(), 1)
		createAs(t, "somebody", ingresses, ingress(host, "/", solverLabel))
		admin().run(t, "apply", "-f", defineParts(t, id, webPart(host))).Exits(t, 4).Says(t, "ingress default/"+host)
	})
}

// Of owners who race for one host exactly one gets it. The others keep nothing, not even the host
// of their own that they took first.
func TestRaceForOneHost(t *testing.T) {
	t.Parallel()
	const racers = 8
	host := newHost("prize")
	r := record(t)
	// Nobody goes on before all have read that the host is free. (Wildcards are read later, by
	// their label.)
	all := make(chan struct{})
	var arrived sync.WaitGroup
	arrived.Add(racers)
	var reads atomic.Int32 // a run reads the wildcards too, when it has taken its hosts
	go func() {
		arrived.Wait()
		close(all)
	}()
	r.hold(nil, func(ctx context.Context, q request) {
		if q.String() == "LIST leases" && reads.Add(1) <= racers {
			arrived.Done()
			await(ctx, t, all)
		}
	})
	var results [racers]result
	var tenants, files, own [racers]string
	for i := range racers {
		tenants[i], own[i] = newTenant(), newHost("a-own")
		files[i] = defineParts(t, leaseOf(tenants[i], 1), webPart(own[i], host))
	}
	var group sync.WaitGroup
	for i := range racers {
		group.Go(func() { results[i] = r.execute(t.Context(), nil, "apply", "-f", files[i]) })
	}
	group.Wait()
	winners := 0
	for i, result := range results {
		want := []string{}
		if result.Code == 0 {
			winners++
			want = []string{own[i], host}
		} else {
			result.Exits(t, 4).Says(t, host+" is held by another lease")
		}
		if diff := cmp.Diff(want, claimsOf(t, tenants[i])); diff != "" {
			t.Errorf("claims (-want +got):\n%s%s", diff, result)
		}
		if got := objectsOf(t, leaseOf(tenants[i], 1)); len(got) != 2*len(want) {
			t.Errorf("objects %v: %s", got, result)
		}
		unmarked(t, tenants[i])
	}
	if winners != 1 {
		t.Errorf("%d winners", winners)
	}
}

// With the Gateway API as target an HTTPRoute serves the host, in place of the Ingress.
func TestTargetHTTPRoute(t *testing.T) {
	t.Parallel()
	host, id := newHost("gateway"), leaseOf(newTenant(), 1)
	definition := defineParts(t, id, webPart(host))
	admin().do(t, "apply", "-f", definition)
	admin().do(t, "apply", "-f", definition, "--target", "httproute", "--assume-serving").Prints(t, "httproute/"+host+" created", "ingress/"+host+" pruned")
	need(t, httpRoutes, id.Namespace(), host)
	absent(t, ingresses, id.Namespace(), host)
	admin().do(t, "release", id.String()).Prints(t, "httproute/"+host+" deleted")
}
