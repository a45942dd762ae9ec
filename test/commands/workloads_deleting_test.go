package commands

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// holding is an object that a finalizer of somebody else keeps once it is deleted.
type holding struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

func (x *tenant) hold(t *testing.T, kind kinds.Kind, name string) holding {
	t.Helper()
	h := holding{kind.Resource(), x.Namespace(), name}
	if kind == kinds.Manifest || kind == kinds.ProviderHost {
		h.namespace = "lease"
	}
	h.keptBy(t, "example.com/held")
	return h
}

func (h holding) keptBy(t *testing.T, finalizers ...string) {
	t.Helper()
	harness.Edit(t, "somebody", h.resource, h.namespace, h.name, func(o *unstructured.Unstructured) { o.SetFinalizers(finalizers) })
}

// release waits for what finalizers keep, says which, and has the claims until then; run again it goes on. The Manifest
// goes last here too.
func TestReleaseWaitsForFinalizers(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1")
	x.apply(t)
	service, manifest := x.hold(t, kinds.Service, "web"), x.hold(t, kinds.Manifest, x.Namespace())
	release := func(code int, more ...string) harness.Result {
		return harness.Run(t.Context(), append([]string{"release", x.String()}, more...)...).Exits(t, code)
	}
	claimed := func() bool { return strings.Contains(harness.Run(t.Context(), "explain", x.host).Stdout, x.Owner) }
	for range 2 {
		release(5, "--timeout=1s").Says(t, "timed out after 1s", "service "+x.Namespace()+"/web to be gone (finalizers [example.com/held])")
		if got := harness.Need(t, manifest.resource, manifest.namespace, manifest.name); got.GetDeletionTimestamp() != nil || !claimed() {
			t.Fatalf("what tells that there is more has gone before: the claim is there: %v", claimed())
		}
	}
	service.keptBy(t)
	for range 2 {
		release(5, "--timeout=1s").Says(t, "manifest lease/"+x.Namespace()+" to be gone (finalizers [example.com/held])")
		if !claimed() {
			t.Fatal("the claim was given up")
		}
	}
	release(0, "--dry-run=client", "--timeout=1s").Prints(t, x.host)
	manifest.keptBy(t)
	release(0, "--timeout=1m").Prints(t, "host/"+x.host+" released")
	release(1).Prints(t, "holds nothing")
}

// With --wait=false a release looks once at what finalizers keep. All that can go has gone.
func TestReleaseLooksAtFinalizers(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1")
	x.apply(t)
	manifest := x.hold(t, kinds.Manifest, x.Namespace())
	for range 2 {
		harness.Run(t.Context(), "release", x.String(), "--wait=false").Exits(t, 5).
			Says(t, "not waited for:", "manifest lease/"+x.Namespace()+" to be gone (finalizers [example.com/held])")
		if got := names(x.objects(t)); strings.Join(got, " ") != "manifest/NS" {
			t.Errorf("left are %q", got)
		}
	}
	manifest.keptBy(t)
	harness.Run(t.Context(), "release", x.String(), "--wait=false").Exits(t, 0).Prints(t, "host/"+x.host+" released")
}

// What is being deleted is not there as it should be, however it looks: apply waits until it is gone, and makes it anew.
// It says what keeps it where it does not wait, or not for so long.
func TestApplyOverDeleted(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1")
	x.apply(t)
	harness.Runs(t, harness.Pods(t, x.Namespace(), "web", 2)...)
	x.do(t, 0, "apply", "--timeout=1m")
	for _, h := range []holding{
		x.hold(t, kinds.Manifest, x.Namespace()), x.hold(t, kinds.Service, "web"), x.hold(t, kinds.Secret, "docker-creds-web"),
		x.hold(t, kinds.Ingress, x.host), x.hold(t, kinds.ProviderHost, x.host),
	} {
		t.Run(h.resource.Resource, func(t *testing.T) {
			harness.Remove(t, h.resource, h.namespace, h.name)
			old := harness.Need(t, h.resource, h.namespace, h.name)
			x.do(t, 1, "diff").Prints(t, h.name)
			for _, dry := range []string{"client", "server"} {
				x.do(t, 0, "apply", "--dry-run="+dry, "--timeout=1s").Prints(t, h.name+" created")
			}
			x.do(t, 1, "apply", "--wait=false").Says(t, h.name, "is being deleted (finalizers [example.com/held]); apply again when it is gone")
			x.do(t, 5, "apply", "--timeout=1s").Says(t, "timed out after 1s", h.name+" to be gone (finalizers [example.com/held])")
			end := harness.Start(harness.Command(t.Context(), harness.Plane.Kubeconfig, x.args(t, "apply", "--timeout=1m")...))
			h.keptBy(t)
			silent(t, end().Exits(t, 0)).Prints(t, h.name+" created")
			if now := harness.Need(t, h.resource, h.namespace, h.name); now.GetUID() == old.GetUID() || now.GetDeletionTimestamp() != nil {
				t.Errorf("it is the one that was deleted: %v", now)
			}
		})
	}
}
