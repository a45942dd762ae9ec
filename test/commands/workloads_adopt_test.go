package commands

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

const versionLabel = "akash.network/manifest.resource.version"

// deployAsAkash makes what Akash's provider makes of the lease: by whole objects under its own manager, with the Manifest's
// version on each of them and on the pods, and with what the SDL repeats.
func (x *tenant) deployAsAkash(t *testing.T) {
	t.Helper()
	rendered := harness.Run(t.Context(), "render", "-f", x.sdl(t), "--lease", x.String(), "--workloads", "--show-secrets").Exits(t, 0)
	for text := range strings.SplitSeq(rendered.Stdout, "\n---\n") {
		o := harness.Parse(t, text)
		var kind kinds.Kind
		for _, k := range append(slices.Clone(kinds.RunningEnds), kinds.Namespace) {
			if k.Kind == o.GetKind() {
				kind = k
			}
		}
		if kind.Kind == "" {
			continue // the routes are its operators'
		}
		o.SetAnnotations(nil)
		label := func(path ...string) {
			labels, found, _ := unstructured.NestedStringMap(o.Object, path...)
			if !found {
				return
			}
			labels[versionLabel] = "4711"
			if err := unstructured.SetNestedStringMap(o.Object, labels, path...); err != nil {
				t.Fatal(err)
			}
		}
		label("metadata", "labels")
		label("spec", "template", "metadata", "labels")
		text, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		harness.Create(t, managed.Akash, kind.Resource(), string(text))
	}
}

// What Akash's provider has deployed is taken over on request alone, object by object: no pod is restarted, also where the
// provider repeats ports or variables, and the Manifest's version stays on the pods. After that the lease has its objects
// for itself.
func TestAdoptWorkloads(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1").cache(persistent, mounted).watch()
	x.services["watch"] = strings.Replace(x.services["watch"], "image: 'watcher:1'", "image: 'watcher:1', env: [A=1, B=2, A=3]", 1)
	x.deployAsAkash(t)
	before := x.objects(t)
	x.do(t, 4, "apply", "--wait=false").Says(t, "written by "+managed.Akash, "--adopt takes over", "Nothing was changed")
	x.do(t, 1, "diff").Tells(t, "written by "+managed.Akash)
	if diff := cmp.Diff(versionsOf(before), versionsOf(x.objects(t))); diff != "" {
		t.Errorf("a refused apply changed (-before +now):\n%s", diff)
	}
	x.do(t, 0, "apply", "--adopt", "--dry-run=server", "--wait=false")
	x.do(t, 1, "diff", "--adopt")
	x.apply(t, "--adopt")
	adopted := x.objects(t)
	if diff := cmp.Diff(names(before), names(adopted)); diff != "" {
		t.Errorf("objects (-before +now):\n%s", diff)
	}
	for name, o := range adopted {
		was := before[name]
		if kind := o.GetKind(); o.GetUID() != was.GetUID() || kind != "Manifest" && o.GetGeneration() != was.GetGeneration() || !cmp.Equal(template(was), template(o)) {
			t.Errorf("%s was changed: generation %d, then %d\n%s", name, was.GetGeneration(), o.GetGeneration(), cmp.Diff(template(was), template(o)))
		}
		if o.GetLabels()[versionLabel] != "4711" {
			t.Errorf("%s has lost the Manifest's version", name)
		}
		if managed.Names(o, managed.Akash) {
			t.Errorf("%s is still managed by Akash's provider", name)
		}
	}
	if r := x.apply(t); strings.Contains(r.Stdout, "configured") {
		t.Errorf("an adopted lease is changed again: %s", r)
	}
	x.do(t, 0, "diff")
	if diff := cmp.Diff(versionsOf(adopted), versionsOf(x.objects(t))); diff != "" {
		t.Errorf("a second apply changed (-first +now):\n%s", diff)
	}
	x.web("web:2")
	x.apply(t)
	now := x.objects(t)
	for name := range maps.Keys(now) {
		kind, service, _ := strings.Cut(name, "/")
		if kind != "deployment" && kind != "statefulset" {
			continue
		}
		if same := cmp.Equal(template(now[name]), template(before[name])); same == (service == "web") {
			t.Errorf("after a change of web %s: same pods %v", name, same)
		}
	}
	if pod, _ := template(now["deployment/web"]).(map[string]any); !strings.Contains(cmp.Diff(nil, pod), "4711") {
		t.Error("the pods of web have lost the Manifest's version")
	}
	harness.Run(t.Context(), "release", x.String()).Exits(t, 0)
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("after the release there are %q", got)
	}
}

// Somebody else's object of the same name is never taken over, whatever is asked for; nor are fields that somebody else has set on the
// lease's own. A service that is called as what Kubernetes has is refused, and nothing is changed.
func TestForeignObjects(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1")
	harness.Create(t, "kubectl", kinds.Namespace.Resource(), "{apiVersion: v1, kind: Namespace, metadata: {name: "+x.Namespace()+"}}")
	harness.Create(t, "kubectl-create", kinds.Deployment.Resource(), "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: "+x.Namespace()+"}, "+
		"spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}")
	x.do(t, 4, "apply", "--adopt", "--wait=false").Says(t, "deployment/web", "written by kubectl-create, without the labels of the lease")
	if got := names(x.objects(t)); !slices.Equal(got, []string{"deployment/web"}) {
		t.Errorf("made were %q", got)
	}
	harness.Remove(t, kinds.Deployment.Resource(), x.Namespace(), "web")
	hostile := newDeployer(t)
	hostile.ID = x.ID
	hostile.with("default", "image: 'a:1', params: {permissions: {read: [logs]}}, expose: [{port: 80, to: [{global: true}], accept: ["+x.host+"]}]", disk, 1)
	harness.Create(t, "kube-controller-manager", kinds.ServiceAccount.Resource(), "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: "+x.Namespace()+"}}")
	hostile.do(t, 4, "apply", "--wait=false").Says(t, "serviceaccount/default", "rename the service")
	x.runsNothing(t)
	x.apply(t)
	harness.Edit(t, "kubectl-scale", kinds.Deployment.Resource(), x.Namespace(), "web", func(deployment *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(deployment.Object, int64(5), "spec", "replicas"); err != nil {
			t.Fatal(err)
		}
	})
	x.do(t, 1, "apply", "--adopt", "--wait=false").Says(t, "deployment/web", "kubectl-scale", "Nothing is forced")
	if n, _, _ := unstructured.NestedInt64(x.objects(t)["deployment/web"].Object, "spec", "replicas"); n != 5 {
		t.Errorf("%d replicas", n)
	}
}

// What an adopted lease runs stays as long as Akash's provider declares a host of it: its route would lead nowhere, and the
// hostname operator would ignore the lease without its Manifest. Adopting brings the lease to its definition.
func TestReleaseOfAnAdoptedLeaseThatAkashRoutes(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1").watch()
	x.deployAsAkash(t)
	host := newDomain()
	declare(t, x.ID, host)
	remove(t, ingresses, x.Namespace(), host)
	x.web("web:2")
	x.do(t, 1, "diff", "--adopt").Prints(t, "web:2", managed.Akash)
	x.apply(t, "--adopt").Prints(t, "deployment/web configured")
	before := names(x.objects(t))
	harness.Run(t.Context(), "release", x.String()).Exits(t, 4).Tells(t, "what lease "+x.Group().String()+" runs is kept", "providerhost lease/"+host)
	if diff := cmp.Diff(before, names(x.objects(t))); diff != "" {
		t.Fatalf("objects (-before +now):\n%s", diff)
	}
	harness.Remove(t, kinds.ProviderHost.Resource(), "lease", host)
	harness.Run(t.Context(), "release", x.String()).Exits(t, 0)
	x.runsNothing(t)
}
