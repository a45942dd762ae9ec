package commands

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// bound is a user with a role of the cluster and one of the ledger's namespace. It returns the user's kubeconfig.
func bound(t *testing.T, clusterRole, role string) string {
	t.Helper()
	name := fmt.Sprint("user-", harness.Number())
	_, kubeconfig, err := harness.Plane.AddUser(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"create", "clusterrolebinding", name, "--clusterrole=" + clusterRole, "--user=" + name},
		{"-n", ledger, "create", "rolebinding", name, "--role=" + role, "--user=" + name},
	} {
		if err := harness.Kubectl(t.Context(), "", nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the roles are bound", func(ctx context.Context) (bool, error) {
		return runAs(ctx, kubeconfig, "state", "hosts").Code == 0, nil
	})
	return kubeconfig
}

// The tests of Akash's migration API (provider: gateway/rest/router_migrate_test.go), by their numbers in the issues. There the
// gateway refuses what the other deployment does not use, since nothing would route it. Here the host changes hands, and the old
// route serves until the other deployment's definition names it.
func TestUpstreamMigration(t *testing.T) {
	t.Parallel()
	t.Run("MG-1", func(t *testing.T) {
		t.Parallel()
		owner, host := newOwner(), "shop."+newDomain()
		blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
		mustRun(t, 0, "apply", "-f", define(t, blue, web("blue", 8080, host)))
		mustRun(t, 0, "transfer", host, "--to", green.String()).Tells(t, "until then the old ones serve")
		held(t, host, "2 /")
		need(t, ingresses, blue.Namespace(), host)
		mustRun(t, 2, "transfer", host, "--to", leasetest.Wallet("nobody")+"/1/1").Says(t, "OWNER/DSEQ/GSEQ/OSEQ/PROVIDER")
	})
	t.Run("MG-2", func(t *testing.T) {
		t.Parallel()
		owner, domain := newOwner(), newDomain()
		blue, green, host := leaseOf(owner, 1), leaseOf(owner, 2), "foobar."+domain
		mustRun(t, 0, "apply", "-f", define(t, blue, web("blue", 8080, host)))
		mustRun(t, 0, "apply", "-f", define(t, green, web("green", 8080, "other."+domain)))
		mustRun(t, 0, "transfer", host, "--to", green.String()).Tells(t, "until then the old ones serve")
		need(t, ingresses, blue.Namespace(), host)
		mustRun(t, 1, "transfer", "nobody."+domain, "--to", green.String()).Says(t, "nobody."+domain)
	})
	t.Run("MG-3", func(t *testing.T) {
		t.Parallel()
		b := newBlueGreen(t, "ingress")
		mustRun(t, 0, b.hands...)
		b.isGreen(t)
		if spec := toText(t, need(t, hosts, "lease", b.host).Object["spec"]); !strings.Contains(spec, `"service_name":"green"`) || !strings.Contains(spec, `"external_port":80`) {
			t.Errorf("the ProviderHost leads elsewhere: %s", spec)
		}
	})
	t.Run("MG-4", func(t *testing.T) {
		t.Parallel()
		b := newBlueGreen(t, "ingress")
		runAs(t.Context(), bound(t, "akash-net-operator", "akash-net-viewer"), b.hands...).Exits(t, 1).Says(t, "not allowed")
		held(t, b.host, "1 /")
		need(t, ingresses, b.blue.Namespace(), b.host)
		if find(t, ingresses, b.green.Namespace(), b.host) != nil {
			t.Error("the other deployment serves the host")
		}
	})
	t.Run("MG-5", func(t *testing.T) {
		t.Parallel()
		b := newBlueGreen(t, "ingress")
		runAs(t.Context(), bound(t, "akash-net-viewer", "akash-net-operator"), b.hands...).Exits(t, 1).Says(t, "not allowed")
		need(t, ingresses, b.blue.Namespace(), b.host)
		mustRun(t, 0, b.hands...)
		b.isGreen(t)
	})
	t.Run("MG-6", func(t *testing.T) {
		t.Parallel()
		subnet, owner := newNet(), newOwner()
		config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
		blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
		do := func(args ...string) { t.Helper(); mustRun(t, 0, append(args, "--config", config)...) }
		do("apply", "-f", define(t, blue, leased("game", "public", 7001), leased("chat", "other", 7002)))
		do("apply", "-f", define(t, green, leased("web", "public", 7001), leased("talk", "other", 7002)))
		do("transfer", "public", "--to", green.String())
		of := func(endpoint string, port int) string {
			return toText(t, need(t, leasedIPs, "lease", strings.ToLower(fmt.Sprintf("%s-TCP-%d", lease.SharingKey(owner, endpoint), port))).Object["spec"])
		}
		if spec := of("public", 7001); !strings.Contains(spec, `"dseq":"2"`) || !strings.Contains(spec, `"service_name":"web"`) {
			t.Errorf("the endpoint that was named: %s", spec)
		}
		if spec := of("other", 7002); !strings.Contains(spec, `"dseq":"1"`) || !strings.Contains(spec, `"service_name":"chat"`) {
			t.Errorf("another endpoint, which Akash's provider would move too: %s", spec)
		}
	})
	t.Run("MG-7", func(t *testing.T) {
		t.Parallel()
		b := newBlueGreen(t, "ingress")
		mustRun(t, 0, b.hands...)
		mustRun(t, 0, "state", "hosts", b.host, "-o", "jsonpath={.hosts[0].lease} {.hosts[0].state}", "--config", b.config).Prints(t, b.green.String()+" Active")
		mustRun(t, 0, "release", b.blue.String(), "--config", b.config, "--delete-namespace")
		b.isGreen(t)
	})
}
