package commands

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A dry run that would wait for what is not there says so, and not that the lease is live or migrated. Once it is there, nothing is said.
func TestDryRunForeseesWhatIsMissing(t *testing.T) {
	t.Parallel()
	owner, host, moved := newOwner(), newDomain(), newDomain()
	id, other := leaseOf(owner, 1), leaseOf(owner, 2)
	gateways := kinds.Gateway.Resource()
	isTrue := func(condition string) map[string]any {
		return map[string]any{"type": condition, "status": "True", "reason": condition, "message": "", "lastTransitionTime": "2026-11-21T10:00:00Z"}
	}
	gateway := "gw-" + id.Namespace()[:8]
	config := configure(t, "gateway: {implementation: standard, namespace: default, name: "+gateway+"}", "ip: {mode: pool, pool: none-such}")
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, web("web", 8080, host)))
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, other, web("web", 8080, moved)))
	definition := define(t, id, web("web", 8080, host, "b."+host))
	migrate := []string{"migrate", "--config", config, "--to", "httproute", id.Group().String()}
	of := "lease " + id.Group().String()
	const lacks = "there is no Gateway default/"
	for _, dry := range []string{"--dry-run=client", "--dry-run=server"} {
		mustRun(t, 0, append(migrate, dry)...).Prints(t, of+" would not be migrated: "+lacks+gateway+"; create it, or configure", "1 create, 1 delete\n")
		mustRun(t, 0, append(migrate, dry, "-o", "events")...).Prints(t, `"lacks":["`+lacks)
		mustRun(t, 0, "apply", "--config", config, "--target", "httproute", "-f", definition, dry).Prints(t, of+" would not be live: "+lacks)
		mustRun(t, 0, "apply", "--config", config, "-f", definition, dry).Prints(t, of+" is applied: ")
		mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, web("web", 8080, host), leased("game", "public", 7001)), dry).
			Prints(t, of+" would not be live: there is no IPAddressPool metallb-system/none-such (ip.pool)")
		mustRun(t, 0, "transfer", "--config", config, "--target", "httproute", moved, "--to", id.String(), "-f",
			define(t, id, web("web", 8080, host, moved)), dry).Prints(t, of+" would not be live: "+lacks)
	}
	create(t, gateways, "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: "+gateway+", namespace: default}, spec: {gatewayClassName: none, "+
		"listeners: [{name: http, port: 80, protocol: HTTP}, {name: https-wildcard, port: 443, protocol: HTTP}, {name: https-custom, port: 444, protocol: HTTP}]}}")
	removeLater(t, gateways, "default", gateway)
	mustRun(t, 0, append(migrate, "--dry-run")...).Prints(t, of+" would not be migrated: Gateway default/"+gateway+" is not Accepted")
	status := need(t, gateways, "default", gateway)
	status.Object["status"] = map[string]any{"conditions": []any{isTrue("Accepted"), isTrue("Programmed")}}
	if _, err := harness.Objects.Resource(gateways).Namespace("default").UpdateStatus(t.Context(), status, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	mustRun(t, 0, append(migrate, "--dry-run")...).Prints(t, of+" is migrated: 1 host")
}
