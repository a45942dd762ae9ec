package commands

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// all are the objects of a lease with web, cache and watch.
var all = []string{
	"deployment/cache", "deployment/watch", "deployment/web", "manifest/NS", "networkpolicy/akash-deployment-restrictions",
	"role/watch", "rolebinding/watch", "secret/docker-creds-web", "service/cache", "service/watch", "service/web", "serviceaccount/watch",
}

// A lease gets all that it runs, and an unchanged definition writes nothing, with any command.
func TestApply(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1").cache(disk, "").watch()
	x.apply(t).Prints(t, "manifest/"+x.Namespace()+" created", "deployment/web created", "service/web created", "ingress/"+x.host+" created")
	first := x.objects(t)
	if diff := cmp.Diff(all, names(first)); diff != "" {
		t.Fatalf("objects (-want +got):\n%s", diff)
	}
	for name, o := range first {
		if !slices.ContainsFunc(o.GetManagedFields(), func(e metaEntry) bool { return e.Manager == x.Group().FieldManager() && e.Operation == "Apply" }) {
			t.Errorf("%s is not applied under the lease's manager", name)
		}
	}
	again := x.apply(t)
	if strings.Contains(again.Stdout, "configured") || strings.Contains(again.Stdout, "created") {
		t.Errorf("an unchanged definition writes: %s", again)
	}
	again.Prints(t, "deployment/web unchanged", "unchanged, ")
	x.do(t, 0, "diff")
	x.unchanged(t, first, "an unchanged definition")
	// Without workloads nothing of them is touched, and the routes are the same.
	harness.Run(t.Context(), "apply", "-f", x.sdl(t), "--lease", x.String(), "--wait=false").Exits(t, 0).Prints(t, "unchanged, ")
	x.unchanged(t, first, "an apply of routes")
	for _, args := range [][]string{{"state", "lease", x.Group().String(), "-o", "yaml"}, {"state"}, {"explain", x.host}} {
		silent(t, harness.Run(t.Context(), args...))
	}
}

// A change reaches the service that it is of: the others' pods stay as they are. What is no longer defined goes.
func TestChange(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1").cache(disk, "").watch()
	x.apply(t)
	first := x.objects(t)
	x.web("web:2")
	x.do(t, 1, "diff").Prints(t, "deployment/web in namespace", "image: web:2")
	x.apply(t).Prints(t, "deployment/web configured")
	now := x.objects(t)
	for name, o := range now {
		kind, _, _ := strings.Cut(name, "/")
		if kind != "deployment" {
			continue
		}
		same := cmp.Equal(template(first[name]), template(o)) && first[name].GetGeneration() == o.GetGeneration()
		if changed := name == "deployment/web"; same == changed {
			t.Errorf("%s: changed %v, generation %d", name, !same, o.GetGeneration())
		}
	}
	x.without("watch")
	x.apply(t, "--prune=false")
	if diff := cmp.Diff(all, names(x.objects(t))); diff != "" {
		t.Errorf("without pruning (-want +got):\n%s", diff)
	}
	x.apply(t).Prints(t, "deployment/watch pruned", "rolebinding/watch pruned")
	want := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return strings.HasSuffix(name, "/watch") })
	if diff := cmp.Diff(want, names(x.objects(t))); diff != "" {
		t.Errorf("pruned (-want +got):\n%s", diff)
	}
}

// A service that becomes stateful takes its Deployment along, also where nothing else is pruned; and back.
func TestBecomesStateful(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1").cache(disk, "")
	x.apply(t)
	x.cache(persistent, mounted)
	x.apply(t, "--prune=false").Prints(t, "statefulset/cache created", "deployment/cache pruned")
	now := x.objects(t)
	if now["deployment/cache"] != nil || now["statefulset/cache"] == nil {
		t.Errorf("there are %v", names(now))
	}
	x.apply(t).Prints(t, "unchanged, ")
	hasClaim := func(ctx contextT) (bool, error) {
		claims, err := harness.Objects.Resource(claimsOfVolumes).Namespace(x.Namespace()).List(ctx, listAll)
		return err == nil && len(claims.Items) == 1 && claims.Items[0].GetDeletionTimestamp() == nil, err
	}
	harness.Eventually(t, "the volume is claimed", hasClaim)
	x.cache(disk, "")
	x.apply(t).Prints(t, "statefulset/cache pruned (its persistentvolumeclaims stay)", "deployment/cache created")
	if there, err := hasClaim(t.Context()); !there || err != nil {
		t.Error("the volume's claim has gone", err)
	}
}

// Without its password a definition leaves the Secret as it is, and says where one is missing.
func TestWithoutPassword(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1")
	bare := func() { x.services["web"] = strings.Replace(x.services["web"], ", password: "+password, "", 1) }
	bare()
	x.do(t, 3, "apply")
	x.web("web:1")
	x.apply(t)
	secret := x.objects(t)["secret/docker-creds-web"]
	definition := harness.Run(t.Context(), "convert", "-f", x.sdl(t), "--lease", x.String(), "--workloads")
	silent(t, definition.Exits(t, 0))
	file := harness.File(t, definition.Stdout)
	apply := []string{"apply", "-f", file, "--workloads", "--wait=false"}
	harness.Run(t.Context(), apply...).Exits(t, 0).Prints(t, "secret/docker-creds-web unchanged")
	now := x.objects(t)
	if diff := cmp.Diff(secret.Object["data"], now["secret/docker-creds-web"].Object["data"]); diff != "" {
		t.Errorf("the Secret has changed:\n%s", diff)
	}
	if text, _ := now["manifest/NS"].MarshalJSON(); !strings.Contains(string(text), password) {
		t.Error("the Manifest has lost the password")
	}
	harness.Remove(t, secrets, x.Namespace(), "docker-creds-web")
	harness.Run(t.Context(), apply...).Exits(t, 0).Prints(t, "secret/docker-creds-web skipped", "has no password", file+":")
	if x.objects(t)["secret/docker-creds-web"] != nil {
		t.Error("a Secret without a password was made")
	}
}

// Neither dry run writes, and both tell what an apply would do with what the lease runs. A plan has no passwords, and makes
// its changes and no others.
func TestPreviews(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1").cache(persistent, mounted).watch()
	for _, mode := range []string{"client", "server"} {
		x.do(t, 0, "apply", "--dry-run="+mode).Prints(t, "deployment/web created", "statefulset/cache created", "secret/docker-creds-web created")
	}
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("dry runs made %q", got)
	}
	x.apply(t)
	first := x.objects(t)
	x.without("watch").web("web:2")
	x.services["web"] = strings.Replace(x.services["web"], password, password+"2", 1)
	for _, mode := range []string{"client", "server"} {
		x.do(t, 0, "apply", "--dry-run="+mode).Prints(t, "deployment/web configured", "deployment/watch pruned", "secret/docker-creds-web configured")
	}
	x.do(t, 1, "diff").Prints(t, "*** (before)", "*** (after)", "image: web:2")
	file := harness.File(t, x.do(t, 1, "diff", "-o", "json").Stdout)
	harness.Run(t.Context(), "apply", "--plan", file).Exits(t, 1).Says(t, "no plan has passwords")
	if diff := cmp.Diff(versionsOf(first), versionsOf(x.objects(t))); diff != "" {
		t.Errorf("previews changed (-before +now):\n%s", diff)
	}
	x.web("web:2")
	text := x.do(t, 1, "diff", "-o", "json").Stdout
	var p plan.Plan
	if err := json.Unmarshal([]byte(text), &p); err != nil || !p.Settings.Workloads {
		t.Fatal("the plan does not say that it is of workloads", err)
	}
	silent(t, harness.Run(t.Context(), "apply", "--plan", harness.File(t, text), "--wait=false").Exits(t, 0).Prints(t, "deployment/web configured", "deployment/watch pruned"))
	x.do(t, 0, "diff")
	now := x.objects(t)
	if now["deployment/watch"] != nil || now["deployment/web"].GetUID() != first["deployment/web"].GetUID() {
		t.Errorf("the plan made %q", names(now))
	}
}

// apply waits until all pods are ready, tells of each service how far it is, and what keeps it when the time is over.
func TestWait(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1").cache(disk, "")
	late := func(text string) (r harness.Result) {
		t.Helper()
		harness.Eventually(t, "there was time to look", func(contextT) (bool, error) {
			r = x.do(t, 5, "apply", "--timeout=1s")
			return strings.Contains(r.Stderr, text), nil
		})
		return r
	}
	late("0 of 2 ready").Says(t, "timed out after 1s", "service cache of namespace "+x.Namespace()+": 0 of 1 ready", "service web of namespace", "to continue waiting")
	web, cache := harness.Pods(t, x.Namespace(), "web", 2), harness.Pods(t, x.Namespace(), "cache", 1)
	harness.Waits(t, web[0], "CrashLoopBackOff", "back-off 10s restarting")
	harness.Unschedulable(t, cache[0], "0/1 nodes are available: 1 Insufficient cpu")
	end := harness.Start(harness.Command(t.Context(), harness.Plane.Kubeconfig, x.args(t, "apply", "--timeout=100s")...))
	short := late("CrashLoopBackOff").Says(t, "Insufficient cpu")
	short.Prints(t, "deployment/web rolling (0 of 2 ready: pod "+web[0].Name+" is waiting: CrashLoopBackOff")
	harness.Runs(t, append(web, cache...)...)
	r := silent(t, end().Exits(t, 0)).Prints(t, "deployment/web ready (2 of 2)", "deployment/cache ready (1 of 1)", " is live: ")
	if strings.Index(r.Stdout, "ready (2 of 2)") > strings.Index(r.Stdout, "is live") {
		t.Errorf("it is live before it is ready: %s", r)
	}
	if again := x.do(t, 0, "apply", "--timeout=1m"); strings.Contains(again.Stdout, "ready") {
		t.Errorf("what runs is told again: %s", again)
	}
}

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

// What is being deleted is not there as it should be, however it looks: apply waits until it is gone, and makes it anew.
// It says what keeps it where it does not wait, or not for so long. In a namespace that is being deleted nothing is written.
func TestApplyOverDeleted(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1")
	x.apply(t)
	harness.Runs(t, harness.Pods(t, x.Namespace(), "web", 2)...)
	x.do(t, 0, "apply", "--timeout=1m")
	for _, h := range []holding{x.hold(t, kinds.Manifest, x.Namespace()), x.hold(t, kinds.Secret, "docker-creds-web"), x.hold(t, kinds.Ingress, x.host)} {
		t.Run(h.resource.Resource, func(t *testing.T) {
			harness.Remove(t, h.resource, h.namespace, h.name)
			old := harness.Need(t, h.resource, h.namespace, h.name)
			x.do(t, 1, "diff").Prints(t, h.name)
			for _, dry := range []string{"client", "server"} {
				x.do(t, 0, "apply", "--dry-run="+dry).Prints(t, h.name+" created")
			}
			x.do(t, 1, "apply", "--wait=false").Says(t, h.name, "is being deleted (finalizers [example.com/held]); apply again when it is gone")
			x.do(t, 5, "apply", "--timeout=300ms").Says(t, "timed out after 300ms", h.name+" to be gone (finalizers [example.com/held])")
			end := harness.Start(harness.Command(t.Context(), harness.Plane.Kubeconfig, x.args(t, "apply", "--timeout=1m")...))
			h.keptBy(t)
			silent(t, end().Exits(t, 0)).Prints(t, h.name+" created")
			if now := harness.Need(t, h.resource, h.namespace, h.name); now.GetUID() == old.GetUID() || now.GetDeletionTimestamp() != nil {
				t.Errorf("it is the one that was deleted: %v", now)
			}
		})
	}

	y := newDeployer(t).web("web:1")
	harness.Create(t, "kubectl", cluster.Namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: "+y.Namespace()+"}}")
	harness.Create(t, "kubectl", claimsOfVolumes, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: held, namespace: "+y.Namespace()+", finalizers: [example.com/held]}, "+
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
	harness.Remove(t, cluster.Namespaces, "", y.Namespace())
	y.do(t, 1, "apply", "--wait=false").Says(t, "is being deleted; apply again when it is gone")
	y.runsNothing(t)
	harness.Edit(t, "kubectl", claimsOfVolumes, y.Namespace(), "held", func(held *unstructured.Unstructured) { held.SetFinalizers(nil) })
}
