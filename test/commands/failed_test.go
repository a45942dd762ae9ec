package commands

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// killer stands before the API server and kills a command when it has sent its nth write: before the server gets it, or
// after.
type killer struct {
	kubeconfig string
	nth        atomic.Int64
	after      atomic.Bool
	writes     atomic.Int64
	kill       atomic.Pointer[func()]
}

func newKiller(t *testing.T) *killer {
	k := &killer{}
	k.kubeconfig = harness.Kubeconfig(t, harness.Proxy(t, harness.Plane.Config, func(p *httputil.ReverseProxy) {
		next := p.Transport
		p.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			due := r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events.k8s.io/") && k.writes.Add(1) == k.nth.Load()
			if due && !k.after.Load() {
				(*k.kill.Load())()
				return nil, context.Canceled
			}
			answer, err := next.RoundTrip(r)
			if due {
				(*k.kill.Load())()
			}
			return answer, err
		})
	}))
	return k
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// run runs a command that is killed at its nth write. It is false where the command had fewer writes.
func (k *killer) run(t *testing.T, nth int64, after bool, args []string) (killed bool) {
	t.Helper()
	k.nth.Store(nth)
	k.after.Store(after)
	k.writes.Store(0)
	cmd := harness.Command(t.Context(), k.kubeconfig, args...)
	kill := func() { killed = true; killProcess(cmd) }
	k.kill.Store(&kill)
	r := harness.Finish(cmd)
	if !killed && r.Code != 0 {
		t.Fatalf("before write %d: %s", nth, r)
	}
	return killed
}

func killProcess(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it is to be gone, however
}

// A command that is killed at any of its writes leaves a lease that the same command finishes: an apply of a new lease, of
// a changed one with a service that becomes stateful, the adoption of Akash's, and a release.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, then func(*testing.T, *tenant)
		command      func(*testing.T, *tenant) []string
		want         func(*tenant) []string
	}{
		"new": {
			then: func(*testing.T, *tenant) {},
			command: func(t *testing.T, x *tenant) []string {
				return x.args(t, "apply", "--wait=false", "--assume-crashed", "--concurrency=1")
			},
		},
		"changed": {
			before: func(t *testing.T, x *tenant) { x.apply(t) },
			then:   func(_ *testing.T, x *tenant) { x.without("watch").web("web:2").cache(persistent, mounted) },
			command: func(t *testing.T, x *tenant) []string {
				return x.args(t, "apply", "--wait=false", "--assume-crashed", "--concurrency=1")
			},
		},
		"adopted": {
			before: func(t *testing.T, x *tenant) { x.deployAsAkash(t) },
			then:   func(*testing.T, *tenant) {},
			command: func(t *testing.T, x *tenant) []string {
				return x.args(t, "apply", "--adopt", "--wait=false", "--assume-crashed", "--concurrency=1")
			},
		},
		"released": {
			before: func(t *testing.T, x *tenant) { x.apply(t) },
			then:   func(*testing.T, *tenant) {},
			command: func(_ *testing.T, x *tenant) []string {
				return []string{"release", x.String(), "--assume-crashed", "--concurrency=1"}
			},
		},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", after), func(t *testing.T) {
				t.Parallel()
				k := newKiller(t)
				nth := int64(1)
				for ; ; nth += 1 + nth/4 {
					x := newDeployer().web("web:1").cache(disk, "").watch()
					if tt.before != nil {
						tt.before(t, x)
					}
					tt.then(t, x)
					command := tt.command(t, x)
					killed := k.run(t, nth, after, command)
					if command[0] == "release" { // it may have been killed when all was done
						command = append(command, "--ignore-not-found")
					}
					silent(t, harness.Run(t.Context(), command...).Exits(t, 0))
					want := slices.Clone(all)
					switch name {
					case "changed":
						want = []string{"deployment/web", "manifest/NS", "networkpolicy/akash-deployment-restrictions", "secret/docker-creds-web", "service/cache", "service/web", "statefulset/cache"}
					case "released":
						want = nil
					}
					now := x.objects(t)
					if diff := cmp.Diff(want, names(now)); diff != "" {
						t.Fatalf("killed at write %d (-want +got):\n%s", nth, diff)
					}
					if name == "released" {
						if held := harness.List(t, cluster.Leases, "net.akash.network/owner="+x.Owner); len(held) > 0 {
							t.Fatalf("killed at write %d: %d claims are left", nth, len(held))
						}
					} else if r := harness.Run(t.Context(), append(command, "-o", "name")...).Exits(t, 0); strings.Contains(r.Stdout, "configured") {
						t.Fatalf("killed at write %d: a third run changes something: %s", nth, r)
					}
					if !killed {
						break
					}
				}
				if nth < 8 {
					t.Errorf("the command has no more than %d writes", nth)
				}
			})
		}
	}
}

// Where one object is refused all that the run has made is taken back, and what it has changed is as it was.
func TestRefusedObject(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1").watch()
	x.apply(t)
	first := x.objects(t)
	refuse(t, x.Namespace())
	x.web("web:2").cache(disk, "")
	x.services["cache"] = strings.Replace(x.services["cache"], "redis:7", "forbidden:7", 1)
	x.do(t, 1, "apply", "--wait=false").Says(t, "deployment/cache", "forbidden")
	now := x.objects(t)
	if diff := cmp.Diff(names(first), names(now)); diff != "" {
		t.Errorf("objects (-before +now):\n%s", diff)
	}
	for name, o := range now {
		if diff := cmp.Diff(withoutMeta(first[name]), withoutMeta(o)); diff != "" {
			t.Errorf("%s was changed (-before +now):\n%s", name, diff)
		}
	}
	x.without("cache").apply(t).Prints(t, "deployment/web configured")
}

// withoutMeta is an object without what each write changes.
func withoutMeta(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	o.SetGeneration(0)
	delete(o.Object, "status")
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "deployment.kubernetes.io/revision") // the controller's, which may come before or after a read
	if len(o.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
	}
	return o.Object
}

// refuse makes the API server refuse Deployments with a forbidden image in a namespace, as a webhook may.
func refuse(t *testing.T, namespace string) {
	t.Helper()
	name := fmt.Sprint("refuse-", harness.Number())
	policies, bindings := plural("validatingadmissionpolicies"), plural("validatingadmissionpolicybindings")
	harness.Create(t, "kubectl", policies, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: `+name+`}, spec: {
		matchConstraints: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+namespace+`}}, resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]},
		validations: [{expression: "!object.spec.template.spec.containers.exists(c, c.image.startsWith('forbidden'))", message: forbidden image}]}}`)
	harness.Create(t, "kubectl", bindings, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: `+name+`}, spec: {policyName: `+name+`, validationActions: [Deny]}}`)
	probe := harness.Parse(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: probe, namespace: `+namespace+`}, spec: {selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: "forbidden:1"}]}}}}`)
	harness.Eventually(t, "the policy acts", func(ctx contextT) (bool, error) {
		_, err := harness.Objects.Resource(kinds.Deployment.Resource()).Namespace(namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err) || apierrors.IsInvalid(err), nil
	})
}

// A namespace that is being deleted takes no workloads: nothing is written, and the answer says to wait.
func TestNamespaceGoes(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1")
	harness.Create(t, "kubectl", cluster.Namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: "+x.Namespace()+"}}")
	harness.Create(t, "kubectl", claimsOfVolumes, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: held, namespace: "+x.Namespace()+", finalizers: [example.com/held]}, "+
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
	harness.Remove(t, cluster.Namespaces, "", x.Namespace())
	x.do(t, 1, "apply", "--wait=false").Says(t, "is being deleted; apply again when it is gone")
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("made were %q", got)
	}
	harness.Edit(t, "kubectl", claimsOfVolumes, x.Namespace(), "held", func(held *unstructured.Unstructured) { held.SetFinalizers(nil) })
}
