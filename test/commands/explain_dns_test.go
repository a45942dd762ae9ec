package commands

import (
	"strings"
	"testing"
)

// explain says which record stands for a host, of the host and of its lease, and why it is not served.
func TestExplainRecord(t *testing.T) {
	t.Parallel()
	roads := newCrossroads(t)
	u := roads.by(t, gardener5m)
	id, host := leaseOf(newTenant(), 1), newHost("explain")
	u.do(t, "apply", "-f", defineParts(t, id, webPart(host)), "--wait=false")
	for _, thing := range []string{host, id.Group().String()} {
		u.do(t, "explain", thing).Prints(t, "DNS: no record leads to it: its record is written once the ingress controller has said")
	}
	extend(t, id, "no hosted zone for the name")
	publish(t, id.Namespace(), host, map[string]any{"ip": "192.0.2.7"})
	u.run(t, "apply", "-f", defineParts(t, id, webPart(host))).Exits(t, 1)
	for _, thing := range []string{host, id.Group().String()} {
		u.do(t, "explain", thing).Prints(t, "DNS: "+host+" A 192.0.2.7, TTL 300 s, in zone Z-found (dnsrecord "+id.Namespace()+"/"+host+"-a).",
			"could not make it (Reconcile Error): no hosted zone for the name", "annotate --overwrite dnsrecords.extensions.gardener.cloud "+host+"-a gardener.cloud/operation=reconcile")
	}
	if out := admin().do(t, "explain", host); strings.Contains(out.Stdout, "DNS") {
		t.Errorf("without records in the configuration: %s", out)
	}
}
