package commands

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// release takes down what the lease runs, whether or not it is asked for: routes first, claims last. The namespace goes
// where it is asked for, with the volumes that were claimed and the pods that are still there.
func TestRelease(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1").cache(persistent, mounted).watch()
	x.apply(t)
	harness.Eventually(t, "the volume is claimed", func(ctx contextT) (bool, error) {
		claims, err := harness.Objects.Resource(claimsOfVolumes).Namespace(x.Namespace()).List(ctx, listAll)
		return err == nil && len(claims.Items) == 1, err
	})
	one := harness.Run(t.Context(), "release", x.String(), x.host).Exits(t, 0)
	if strings.Contains(one.Stdout, "deployment/") {
		t.Errorf("the release of a host took down what runs: %s", one)
	}
	out := harness.Run(t.Context(), "release", x.String()).Exits(t, 0).Prints(t, "deployment/web deleted", "statefulset/cache deleted", "manifest/")
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("left are %q: %s", got, out)
	}
	harness.Run(t.Context(), "release", x.String()).Exits(t, 1).Prints(t, "holds nothing")
	harness.Run(t.Context(), "release", x.String(), "--delete-namespace").Exits(t, 0).Prints(t, "namespace/"+x.Namespace()+" deleted")
	if harness.Find(t, cluster.Namespaces, "", x.Namespace()) != nil {
		t.Error("the namespace is still there")
	}
}

// What a lease runs is taken down also where somebody has deleted its Manifest, which tells that there is something. Of
// Akash's nothing goes.
func TestReleaseWithoutManifest(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1").cache(persistent, mounted)
	x.apply(t)
	harness.Remove(t, kinds.Manifest.Resource(), "lease", x.Namespace())
	harness.Run(t.Context(), "release", x.String(), "--dry-run=client").Exits(t, 0).Prints(t, "deployment/web deleted (dry run)")
	harness.Run(t.Context(), "release", x.String()).Exits(t, 0).Prints(t, "deployment/web deleted", "statefulset/cache deleted", "service/web deleted")
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("left are %q", got)
	}
	y := newDeployer().web("web:1")
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

// The order of a release: what leads to the lease, what it runs, its Manifest, its claims.
func TestReleaseInOrder(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1").watch()
	x.apply(t)
	out := harness.Run(t.Context(), "release", x.String(), "-o", "name").Exits(t, 0)
	var at []int
	lines := strings.Split(out.Stdout, "\n")
	for _, name := range []string{"ingress/" + x.host, "service/web", "deployment/web", "rolebinding/watch", "role/watch", "secret/docker-creds-web", "manifest/" + x.Namespace(), "host/" + x.host} {
		at = append(at, slices.Index(lines, name))
	}
	if !slices.IsSorted(at) || at[0] < 0 {
		t.Errorf("released in the order %v: %s", at, out)
	}
}

// A lease that comes back by another order has another namespace: what it ran in the first goes.
func TestAnotherOrder(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1")
	x.apply(t)
	former := *x
	x.OSeq = 2
	x.apply(t).Prints(t, "deployment/web created", "deployment/web pruned")
	if got := names(former.objects(t)); len(got) > 0 {
		t.Errorf("left of the first order are %q", got)
	}
	if got := names(x.objects(t)); len(got) == 0 {
		t.Error("the second order runs nothing")
	}
}

// A namespace with anything of somebody else stays.
func TestNamespaceStays(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1")
	x.apply(t)
	harness.Create(t, "kubectl", claimsOfVolumes, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: mine, namespace: "+x.Namespace()+"}, "+
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
	harness.Run(t.Context(), "release", x.String(), "--delete-namespace").Exits(t, 0).Prints(t, "it is not empty: persistentvolumeclaim/mine")
	if harness.Find(t, cluster.Namespaces, "", x.Namespace()) == nil {
		t.Error("the namespace has gone, with somebody else's volume")
	}
}

// A lease without hosts has no claims, and is released all the same.
func TestLeaseWithoutClaims(t *testing.T) {
	t.Parallel()
	x := newDeployer().with("game", "image: 'game:1', expose: [{port: 7777, proto: udp, to: [{global: true}]}]", disk, 1)
	x.apply(t).Prints(t, "service/game-np created")
	if diff := cmp.Diff([]string{"deployment/game", "manifest/NS", "networkpolicy/akash-deployment-restrictions", "networkpolicy/akash-game-np", "service/game-np"}, names(x.objects(t))); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	harness.Run(t.Context(), "release", x.Group().String()).Exits(t, 0).Prints(t, "deployment/game deleted")
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("left are %q", got)
	}
}
