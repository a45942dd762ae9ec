package commands

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// An endpoint whose name begins with another's is released by its own name only.
func TestReleaseOfOneEndpoint(t *testing.T) {
	t.Parallel()
	id, subnet := leaseOf(newOwner(), 1), newNet()
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	mustRun(t, 0, "apply", "--wait=false", "--config", config, "-f", define(t, id, leased("one", "ab", 7001), leased("two", "ab-c", 7002)))

	mustRun(t, 0, "release", "--config", config, "-y", id.Group().String(), "endpoint/ab")
	for endpoint, stays := range map[string]bool{"ab": false, "ab-c": true} {
		port := map[string]uint16{"ab": 7001, "ab-c": 7002}[endpoint]
		name := lease.LeasedIPName(lease.SharingKey(id.Owner, endpoint), lease.TCP, port)
		if there := find(t, leasedIPs, "lease", name) != nil; there != stays {
			t.Errorf("ProviderLeasedIP of endpoint %s is there: %v", endpoint, there)
		}
	}
	mustRun(t, 0, "state", "--problems", "--config", config, "-n", id.Namespace())
}

// What Akash's provider writes while an apply is refused is not overwritten: the apply goes by the managers
// of the object that it has read since.
func TestAkashWritesWhileAnApplyIsRefused(t *testing.T) {
	t.Parallel()
	owner, host := newOwner(), newDomain()
	former, next := leaseOf(owner, 1), leaseOf(owner, 2)
	mustRun(t, 0, "apply", "-f", define(t, former, web("web", 8080, host)))
	mustRun(t, 0, "transfer", "host/"+host, "--to", next.String())
	asAkash := func(service string) {
		o := need(t, hosts, "lease", host)
		o.SetLabels(next.Labels())
		spec, _, _ := unstructured.NestedMap(o.Object, "spec")
		spec["dseq"], spec["service_name"] = int64(next.DSeq), service
		o.Object["spec"] = spec
		if _, err := harness.Objects.Resource(hosts).Namespace("lease").Update(t.Context(), o, metav1.UpdateOptions{FieldManager: akash}); err != nil {
			t.Fatal(err)
		}
	}
	asAkash("web")
	wrote := false
	p := startProxy(t, func(write string) bool {
		if write == "PATCH providerhosts/"+host && !wrote {
			wrote = true
			asAkash("other")
		}
		return false
	})
	out := mustRun(t, 1, "apply", "--kubeconfig", p.kubeconfig, "-f", define(t, next, web("web", 8080, host)))
	if service, _, _ := unstructured.NestedString(need(t, hosts, "lease", host).Object, "spec", "service_name"); !wrote || service != "other" {
		t.Errorf("Akash's provider wrote: %v; the ProviderHost names service %q: %s", wrote, service, out)
	}
	if !strings.Contains(out.Stderr, akash) {
		t.Errorf("the error does not name who has written it: %s", out)
	}
}
