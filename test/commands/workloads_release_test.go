package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// release takes down what the lease runs, whether or not it is asked for: what leads to it first, then what it runs, its Manifest, its
// claims. The namespace goes where it is asked for, with the volumes that were claimed and the pods that are still there, but not with
// anything of somebody else.
func TestRelease(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1").cache(persistent, mounted).watch()
	x.apply(t)
	harness.Eventually(t, "the volume is claimed", func(ctx contextT) (bool, error) {
		claims, err := harness.Objects.Resource(claimsOfVolumes).Namespace(x.Namespace()).List(ctx, listAll)
		return err == nil && len(claims.Items) == 1, err
	})
	y := newDeployer(t).web("web:1").watch()
	y.apply(t)
	if one := harness.Run(t.Context(), "release", y.String(), y.host).Exits(t, 0); strings.Contains(one.Stdout, "deployment/") {
		t.Errorf("the release of a host took down what runs: %s", one)
	}
	harness.Create(t, "kubectl", claimsOfVolumes, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: mine, namespace: "+y.Namespace()+"}, "+
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
	harness.Run(t.Context(), "release", y.String(), "--delete-namespace").Exits(t, 0).Prints(t, "it is not empty: persistentvolumeclaim/mine")
	y.runsNothing(t)
	harness.Need(t, cluster.Namespaces, "", y.Namespace())

	out := harness.Run(t.Context(), "release", x.String(), "-o", "name").Exits(t, 0)
	var at []int
	lines := strings.Split(out.Stdout, "\n")
	for _, name := range []string{"ingress/" + x.host, "service/web", "deployment/web", "statefulset/cache", "rolebinding/watch", "role/watch", "secret/docker-creds-web", "manifest/" + x.Namespace(), "host/" + x.host} {
		at = append(at, slices.Index(lines, name))
	}
	if slices.Contains(at, -1) || !slices.IsSorted(append(at[:3:3], at[4:]...)) {
		t.Errorf("released in the order %v: %s", at, out)
	}
	x.runsNothing(t)
	harness.Run(t.Context(), "release", x.String()).Exits(t, 1).Prints(t, "holds nothing")
	volumes, err := harness.Objects.Resource(claimsOfVolumes).Namespace(x.Namespace()).List(t.Context(), listAll)
	if err != nil || len(volumes.Items) != 1 {
		t.Fatalf("%d volumes are claimed: %v", len(volumes.Items), err)
	}
	harness.Edit(t, "kube-controller-manager", claimsOfVolumes, x.Namespace(), volumes.Items[0].GetName(), func(o *object) { o.SetFinalizers(nil) }) // nobody uses it
	harness.Run(t.Context(), "release", x.String(), "--delete-namespace").Exits(t, 0).Prints(t, "namespace/"+x.Namespace()+" deleting (")
	harness.Eventually(t, "the namespace goes", func(context.Context) (bool, error) {
		return harness.Find(t, cluster.Namespaces, "", x.Namespace()) == nil, nil
	})
}

// What a lease runs is taken down also where somebody has deleted its Manifest, which tells that there is something. Of
// Akash's nothing goes.
func TestReleaseWithoutManifest(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1").cache(persistent, mounted)
	x.apply(t)
	harness.Remove(t, kinds.Manifest.Resource(), "lease", x.Namespace())
	harness.Run(t.Context(), "release", x.String(), "--dry-run=client").Exits(t, 0).Prints(t, "deployment/web deleted (dry run)")
	harness.Run(t.Context(), "release", x.String()).Exits(t, 0).Prints(t, "deployment/web deleted", "statefulset/cache deleted", "service/web deleted")
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("left are %q", got)
	}
	y := newDeployer(t).web("web:1")
	y.deployAsAkash(t)
	harness.Remove(t, kinds.Manifest.Resource(), "lease", y.Namespace())
	out := harness.Run(t.Context(), "release", y.String()).Exits(t, 1).Says(t, "Akash's provider runs it, and ends it when its bid is closed",
		fmt.Sprintf("provider-services tx market bid close --owner %s --dseq %d --gseq 1 --oseq 1 --from %s", y.Owner, y.DSeq, y.Provider))
	if strings.Contains(out.Stderr, "is its name right") {
		t.Errorf("the name is right: %s", out)
	}
	harness.Run(t.Context(), "release", "--ignore-not-found", y.String()).Exits(t, 0)
	if y.objects(t)["deployment/web"] == nil {
		t.Error("what Akash's provider runs has gone")
	}
}

// A lease that comes back by another order has another namespace: what it ran in the first goes. One without hosts has no claims, and is
// released all the same.
func TestAnotherOrder(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).with("game", "image: 'game:1', expose: [{port: 7777, proto: udp, to: [{global: true}]}]", disk, 1)
	x.apply(t).Prints(t, "service/game-np created")
	if diff := cmp.Diff([]string{"deployment/game", "manifest/NS", "networkpolicy/akash-deployment-restrictions", "networkpolicy/akash-game-np", "service/game-np"}, names(x.objects(t))); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	former := *x
	x.OSeq = 2
	x.apply(t).Prints(t, "deployment/game created", "deployment/game pruned")
	former.runsNothing(t)
	harness.Run(t.Context(), "release", x.Group().String()).Exits(t, 0).Prints(t, "deployment/game deleted")
	x.runsNothing(t)
}

// release waits for what finalizers keep, says which, and has the claims until then; run again it goes on. The Manifest
// goes last here too. With --wait=false it looks once, and all that can go has gone.
func TestReleaseWaitsForFinalizers(t *testing.T) {
	t.Parallel()
	x := newDeployer(t).web("web:1")
	x.apply(t)
	service, manifest := x.hold(t, kinds.Service, "web"), x.hold(t, kinds.Manifest, x.Namespace())
	release := func(code int, more ...string) harness.Result {
		t.Helper()
		return harness.Run(t.Context(), append([]string{"release", x.String()}, more...)...).Exits(t, code)
	}
	claimed := func() bool { return strings.Contains(harness.Run(t.Context(), "explain", x.host).Stdout, x.Owner) }
	for range 2 {
		release(5, "--timeout=300ms").Says(t, "timed out after 300ms", "service "+x.Namespace()+"/web to be gone (finalizers [example.com/held])")
		if got := harness.Need(t, manifest.resource, manifest.namespace, manifest.name); got.GetDeletionTimestamp() != nil || !claimed() {
			t.Fatalf("what tells that there is more has gone before: the claim is there: %v", claimed())
		}
	}
	service.keptBy(t)
	for _, wait := range []string{"--timeout=300ms", "--wait=false"} {
		release(5, wait).Says(t, "manifest lease/"+x.Namespace()+" to be gone (finalizers [example.com/held])")
		if got := names(x.objects(t)); strings.Join(got, " ") != "manifest/NS" || !claimed() {
			t.Fatalf("left are %q; the claim is there: %v", got, claimed())
		}
	}
	release(0, "--dry-run=client").Prints(t, x.host)
	manifest.keptBy(t)
	release(0, "--timeout=1m").Prints(t, "host/"+x.host+" released")
}
