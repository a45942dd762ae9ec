package commands

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The Manifests of a cluster are those of many tenants: a bad one is named with its mend, and stops no other.
func TestABadManifestStopsNoOther(t *testing.T) {
	t.Parallel()
	namespace, blocked, domain := fmt.Sprint("manifests-", harness.Number()), newDomain(), newDomain()
	create(t, namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	cfg := configure(t, "manifestNamespace: "+namespace, "hosts: {blocked: ["+blocked+"]}")
	manifest := func(id lease.ID, expose string) string {
		t.Helper()
		labels, err := json.Marshal(id.Labels())
		if err != nil {
			t.Fatal(err)
		}
		create(t, kinds.Manifest.Resource(), fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: Manifest, metadata: {name: %s, namespace: %s, labels: %s},
			spec: {lease_id: {owner: %s, dseq: "%d", gseq: 1, oseq: %d, provider: %s},
			group: {name: dcloud, services: [{name: web, image: nginx, count: 1, expose: [%s]}]}}}`,
			id.Namespace(), namespace, labels, id.Owner, id.DSeq, id.OSeq, id.Provider, expose))
		return id.Namespace()
	}
	serves := func(host string) string {
		return "{port: 8080, external_port: 80, proto: TCP, global: true, hosts: [" + host + "], endpoint_sequence_number: 0}"
	}
	good, upper, forbidden, empty, twice := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1), leaseOf(newOwner(), 1), leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
	again := twice
	again.OSeq++
	manifest(good, serves("good."+domain))
	bad := map[string]string{
		manifest(upper, serves("UPPER."+domain)):                "is not lower case",
		manifest(forbidden, serves(blocked)):                    "blocked",
		manifest(empty, "{port: 22, proto: TCP, global: true}"): "defines no host and no address",
		manifest(twice, serves("twice."+domain)):                "has 2 Manifests, and nothing is changed for it; delete that of a lease that is over: kubectl -n " + namespace + " delete manifests.akash.network " + twice.Namespace(),
		manifest(again, serves("twice."+domain)):                "has 2 Manifests",
	}
	named := func(out result) result {
		t.Helper()
		for name, why := range bad {
			line := ""
			for l := range strings.Lines(out.Stderr) {
				if strings.HasPrefix(l, "manifests/"+name) {
					line += l
				}
			}
			if !strings.Contains(line, why) {
				t.Errorf("Manifest %s: %q, want %q: %s", name, line, why, out)
			}
			if mend := "kubectl -n " + namespace + " edit manifests.akash.network " + name; !strings.Contains(out.Stderr, mend) && !strings.Contains(line, "; ") {
				t.Errorf("Manifest %s: no mend: %s", name, out)
			}
		}
		return out
	}
	named(mustRun(t, 3, "diff", "--from-cluster", "--config", cfg)).Prints(t, "good."+domain)
	named(mustRun(t, 3, "apply", "--from-cluster", "--config", cfg, "--dry-run=client")).Prints(t, "host/good."+domain+" claimed (dry run)")
	named(mustRun(t, 3, "apply", "--from-cluster", "--config", cfg, "--wait=false")).Prints(t, "host/good."+domain+" claimed")
	held(t, "good."+domain, "1 /")
	held(t, "twice."+domain)
	mustRun(t, 3, "reserve", "--from-cluster", "--config", cfg).Prints(t, "lease "+good.Group().String()+" is reserved: 1 host, unchanged").Says(t, "UPPER."+domain)
	mustRun(t, 3, "repair", "--from-cluster", "--config", cfg, "-n", good.Namespace()).Says(t, "Nothing to repair.", "UPPER."+domain)

	// A bad one alone is an error of its lease alone, and so are those in files.
	mustRun(t, 3, "apply", "--from-cluster", "--lease", upper.String(), "--config", cfg).Says(t, "is not lower case", "is left out")
	mustRun(t, 0, "apply", "--from-cluster", "--lease", good.String(), "--config", cfg, "--wait=false")
}
