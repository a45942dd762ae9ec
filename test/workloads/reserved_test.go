package workloads

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The lease that is won gets the cards that its order has reserved: an apply makes the reservation the lease's, without an
// end, and a second one writes nothing; a release gives it up. What does not fit is refused, and what was reserved stays.
func TestReserved(t *testing.T) {
	harness.Node(t, "gpu-1", map[string]string{"akash.network/capabilities.gpu.vendor.nvidia.model.a100": "2"}, harness.Amounts("16", "64Gi", "nvidia.com/gpu", "2"))
	host := harness.NewHost("t")
	train := func(x *tenant, cards string) *tenant {
		return x.with("train", "image: 'train:1', expose: [{port: 80, to: [{global: true}], accept: ["+host+"]}]",
			disk+", gpu: {units: "+cards+", attributes: {vendor: {nvidia: [{model: a100}]}}}", 1)
	}
	x := train(newTenant(), "1")
	order := x.Order().String()
	harness.Run(t.Context(), "reserve", "--order", order, "-f", x.sdl(t), "--expires", "5m").Exits(t, 0)
	holds := func(texts ...string) {
		t.Helper()
		harness.Run(t.Context(), "state", "orders", "-o", "json").Exits(t, 0).Prints(t, texts...)
	}
	holds(order)
	x.do(t, 0, "apply", "--dry-run=client")
	x.apply(t).Prints(t, "order/"+order+" claimed", "deployment/train created")
	holds(order, x.Provider)
	pods, err := json.Marshal(template(x.objects(t)["deployment/train"]))
	if err != nil || !strings.Contains(string(pods), "nvidia.model.a100") {
		t.Errorf("the pod is %s, %v", pods, err)
	}
	x.apply(t).Prints(t, "unchanged, ")
	x.do(t, 0, "diff")
	train(x, "3")
	x.do(t, 4, "apply", "--wait=false").Says(t, "gpu-1", "cannot be reserved")
	holds(order, x.Provider)
	harness.Run(t.Context(), "release", x.String()).Exits(t, 0).Prints(t, "deployment/train deleted", "order/"+order+" released", "manifest/")
	if r := harness.Run(t.Context(), "state", "orders", "-o", "json").Exits(t, 0); strings.Contains(r.Stdout, order) {
		t.Errorf("the order still holds: %s", r)
	}
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("left are %q", got)
	}
}
