package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	x := newDeployer().web("web:1").cache(disk, "").watch()
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
	if diff := cmp.Diff(versionsOf(first), versionsOf(x.objects(t))); diff != "" {
		t.Errorf("an unchanged definition changed objects (-first +now):\n%s", diff)
	}
	// Without workloads nothing of them is touched, and the routes are the same.
	harness.Run(t.Context(), "apply", "-f", x.sdl(t), "--lease", x.String(), "--wait=false").Exits(t, 0).Prints(t, "unchanged, ")
	if diff := cmp.Diff(versionsOf(first), versionsOf(x.objects(t))); diff != "" {
		t.Errorf("an apply of routes changed objects (-first +now):\n%s", diff)
	}
	for _, args := range [][]string{{"state", "lease", x.Group().String(), "-o", "yaml"}, {"state"}, {"repair", "--yes"}, {"explain", x.host}} {
		silent(t, harness.Run(t.Context(), args...))
	}
	if diff := cmp.Diff(versionsOf(first), versionsOf(x.objects(t))); diff != "" {
		t.Errorf("repair changed objects (-first +now):\n%s", diff)
	}
}

// A change reaches the service that it is of: the others' pods stay as they are. What is no longer defined goes.
func TestChange(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1").cache(disk, "").watch()
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
	x := newDeployer().web("web:1").cache(disk, "")
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
	x := newDeployer().web("web:1")
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
	harness.Run(t.Context(), apply...).Exits(t, 0).Prints(t, "secret/docker-creds-web left", "has no password", file+":")
	if x.objects(t)["secret/docker-creds-web"] != nil {
		t.Error("a Secret without a password was made")
	}
}
