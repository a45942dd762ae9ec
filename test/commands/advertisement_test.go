package commands

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// With ip.advertisement of type bgp a pool comes and goes with a BGPAdvertisement, which MetalLB accepts: the address is granted. After a
// change of the type the next apply writes the other advertisement, and a release deletes both.
func TestAdvertisedByBGP(t *testing.T) {
	subnet := newNet()
	removePools(t, subnet)
	bgp, l2 := kinds.BGPAdvertisement.Resource(), kinds.L2Advertisement.Resource()
	installs(t, "ip: {mode: dedicated, ranges: ["+subnet+"0/29], advertisement: {type: bgp, peers: [tor-a], localPref: 200, communities: ['64500:1'], nodeSelectors: [{matchLabels: {edge: 'true'}}]}}")
	id := released(t)
	definition := define(t, id, leased("game", "public", 7001))
	pool := "akash-ip-" + strings.ReplaceAll(subnet, ".", "-") + "0"
	mustRun(t, 0, "apply", "-f", definition).Prints(t, "ipaddresspool/"+pool+" created", "bgpadvertisement/"+pool+" created", "granted "+subnet+"0")
	want := map[string]any{
		"ipAddressPools": []any{pool}, "peers": []any{"tor-a"}, "localPref": int64(200), "communities": []any{"64500:1"},
		"nodeSelectors":     []any{map[string]any{"matchLabels": map[string]any{"edge": "true"}}},
		"aggregationLength": int64(32), "aggregationLengthV6": int64(128),
	}
	if diff := cmp.Diff(want, need(t, bgp, metalLB, pool).Object["spec"]); diff != "" {
		t.Errorf("the advertisement (-want +got):\n%s", diff)
	}
	if find(t, l2, metalLB, pool) != nil {
		t.Error("there is an L2Advertisement, too")
	}
	was := fingerprint(t)
	mustRun(t, 0, "apply", "-f", definition).Prints(t, "unchanged")
	if now := changed(was, fingerprint(t)); len(now) > 0 {
		t.Errorf("the unchanged lease has written %q", now)
	}

	mustRun(t, 0, "install", "--config", configure(t, "ip: {mode: dedicated, ranges: ["+subnet+"0/29], advertisement: {interfaces: [eth0]}}"))
	mustRun(t, 0, "apply", "-f", definition).Prints(t, "l2advertisement/"+pool+" created")
	need(t, bgp, metalLB, pool)
	mustRun(t, 0, "release", id.Group().String()).Prints(t, "bgpadvertisement/"+pool+" deleted", "l2advertisement/"+pool+" deleted", "ipaddresspool/"+pool+" deleted")
	if find(t, bgp, metalLB, pool) != nil || find(t, l2, metalLB, pool) != nil || find(t, pools, metalLB, pool) != nil {
		t.Error("the release has left the pool of the address, or an advertisement of it")
	}
}

// A cluster that serves no BGPAdvertisement serves all others. An uninstall names the advertisements that it leaves.
func TestAdvertisementsOfEachType(t *testing.T) {
	t.Parallel()
	bare := harness.Bare(t)
	definitions := dynamic.NewForConfigOrDie(bare.Config).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	const name = "bgpadvertisements.metallb.io"
	if err := testbed.PrepareMetalLB(t.Context(), bare.Config); err != nil {
		t.Fatal(err)
	}
	if err := definitions.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "BGPAdvertisements are gone", func(ctx context.Context) (bool, error) {
		_, err := definitions.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	do := func(code int, args ...string) result {
		t.Helper()
		return runAs(t.Context(), bare.Kubeconfig, args...).Exits(t, code)
	}
	id, pool := leaseOf(newOwner(), 1), "akash-net-192-0-2-0-28"
	definition := define(t, id, leased("game", "public", 7001))
	do(0, "install", "--config", configure(t, "ip: {ranges: [192.0.2.0/28]}"))
	do(0, "apply", "--wait=false", "-f", definition).Prints(t, "l2advertisement/"+pool+" created")
	do(0, "install", "--config", configure(t, "ip: {ranges: [192.0.2.0/28], advertisement: {type: bgp}}"))
	do(1, "apply", "--wait=false", "-f", definition).Says(t, name)

	if err := testbed.PrepareMetalLB(t.Context(), bare.Config); err != nil {
		t.Fatal(err)
	}
	do(0, "apply", "--wait=false", "-f", definition).Prints(t, "bgpadvertisement/"+pool+" created")
	do(0, "release", id.Group().String())
	const left = " left (a Service may have an address of it"
	do(0, "uninstall").Prints(t, "bgpadvertisement/"+pool+left, "l2advertisement/"+pool+left)
}
