package commands

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// delivery is a lease whose definition loses settings after its objects were delivered.
type delivery struct {
	id             lease.ID
	host, old, new string
}

func newDelivery(t *testing.T) delivery {
	t.Helper()
	d := delivery{id: leaseOf(newOwner(t), 1), host: "shop." + newDomain()}
	with := func(settings string) string {
		return file(t, fmt.Sprintf(`apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: shop}
spec:
  lease: {owner: %s, dseq: %d, gseq: %d, oseq: %d, provider: %s}
  services:
  - name: web
    expose:
    - {port: 80, global: true, hosts: [%s], %s}
`, d.id.Owner, d.id.DSeq, d.id.GSeq, d.id.OSeq, d.id.Provider, d.host, settings))
	}
	d.old, d.new = with("tls: {insecure: Allow}, sticky: {cookie: session}, labels: {shard: public}"), with("tls: {}")
	mustRun(t, 0, "reserve", "-f", d.old)
	return d
}

// deliver applies what is rendered of the old definition.
func (d delivery) deliver(t *testing.T, as ...string) {
	t.Helper()
	objects := mustRun(t, 0, "render", "-f", d.old, "--ledger", "cluster", "--with-namespace").Stdout
	if err := harness.Kubectl(t.Context(), objects, nil, append([]string{"apply", "-f", "-"}, as...)...); err != nil {
		t.Fatal(err)
	}
}

func (d delivery) apply(t *testing.T, code int, definition string, more ...string) result {
	t.Helper()
	return mustRun(t, code, append([]string{"apply", "--wait=false", "-f", definition}, more...)...)
}

// has fails the test unless the Ingress has all or nothing of what the new definition lacks.
func (d delivery) has(t *testing.T, old bool) {
	t.Helper()
	o := need(t, ingresses, d.id.Namespace(), d.host)
	text := fmt.Sprint(o.GetAnnotations(), o.GetLabels())
	for _, one := range []string{"ssl-redirect:false", "affinity:cookie", "session-cookie-name:session", "shard:public"} {
		if strings.Contains(text, one) != old {
			t.Errorf("the Ingress has %s: %v; it has %s", one, !old, text)
		}
	}
	for _, e := range o.GetManagedFields() {
		if !old && strings.HasPrefix(e.Manager, "kubectl") {
			t.Errorf("%s still manages fields: %s", e.Manager, e.FieldsV1)
		}
	}
	if _, found, _ := unstructured.NestedString(o.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"); found && !old {
		t.Error("kubectl's annotation is still there")
	}
}

// What kubectl has delivered goes with the definition that a lease is applied with, at the first apply or later.
func TestDeliveredByKubectl(t *testing.T) {
	t.Parallel()
	for _, as := range [][]string{nil, {"--server-side"}} {
		d := newDelivery(t)
		d.deliver(t, as...)
		d.apply(t, 0, d.old)
		d.has(t, true)
		mustRun(t, 1, "diff", "-f", d.new).Prints(t, `-     nginx.ingress.kubernetes.io/ssl-redirect: "false"`, "-     shard: public")
		d.apply(t, 0, d.new)
		d.has(t, false)
		mustRun(t, 0, "diff", "-f", d.new)

		other := newDelivery(t)
		other.deliver(t, as...)
		other.apply(t, 0, other.new, "--dry-run=server")
		other.has(t, true)
		other.apply(t, 0, other.new)
		other.has(t, false)
		mustRun(t, 0, "state", "--problems", "-n", other.id.Namespace())
	}
}

// What is delivered again beside the lease is a conflict that each command names, and --force-conflicts takes it back.
func TestDeliveredAgain(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	d.apply(t, 0, d.old)
	d.deliver(t, "--server-side")
	d.apply(t, 0, d.old)
	d.apply(t, 1, d.new, "--dry-run=server").Says(t, "fields are managed by kubectl", "--force-conflicts")
	for _, dry := range []string{"none", "client"} {
		d.apply(t, 1, d.new, "--dry-run="+dry).Says(t, `ssl-redirect: "false", set by akash-net since `, ", kubectl; the lease does not want it", "--force-conflicts")
	}
	mustRun(t, 1, "diff", "-f", d.new).Prints(t, "ssl-redirect", "owned by")
	d.has(t, true)
	d.apply(t, 0, d.new, "--force-conflicts").Prints(t, `taken back: `, `ssl-redirect: "false"`)
	d.has(t, false)
	mustRun(t, 0, "state", "--problems", "-n", d.id.Namespace())
}

// What a controller that applies files has delivered stays its own until somebody says that it has ended.
func TestDeliveredByController(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	d.deliver(t, "--server-side", "--field-manager=kustomize-controller")
	d.apply(t, 0, d.old)
	d.apply(t, 1, d.new, "--force-conflicts").Says(t, `ssl-redirect: "false", set by akash-net, kustomize-controller since `, "the lease does not want it", "--adopt")
	mustRun(t, 1, "diff", "-f", d.new).Prints(t, "ssl-redirect", "owned by")
	d.has(t, true)
	d.apply(t, 0, d.new, "--adopt")
	d.has(t, false)
	mustRun(t, 0, "state", "--problems", "-n", d.id.Namespace())
}

// With --adopt, what kubectl has delivered of a lease's workloads goes with its definition, too.
func TestDeliveredWorkloads(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(t), 1), "www."+newDomain()
	with := func(env string) string {
		return file(t, strings.NewReplacer("WEBS", "1", "HOST", host, "    expose: [{port: 80,", env+"    expose: [{port: 80,").Replace(sdl))
	}
	old, now := with("    env: [TOKEN=old]\n"), with("")
	run := func(code int, args ...string) harness.Result {
		t.Helper()
		return harness.Run(t.Context(), args...).Exits(t, code)
	}
	objects := run(0, "render", "-f", old, "--lease", id.String(), "--workloads", "--with-namespace").Stdout
	if err := harness.Kubectl(t.Context(), objects, nil, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	run(0, "apply", "-f", old, "--lease", id.String(), "--workloads", "--adopt", "--wait=false")
	run(1, "diff", "-f", now, "--lease", id.String(), "--workloads").Prints(t, "TOKEN")
	run(0, "apply", "-f", now, "--lease", id.String(), "--workloads", "--wait=false")
	if text := fmt.Sprint(need(t, kinds.Deployment.Resource(), id.Namespace(), "web").Object["spec"]); strings.Contains(text, "TOKEN") {
		t.Errorf("the removed variable is still there: %s", text)
	}
}
