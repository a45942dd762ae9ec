package commands

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The lease that is won gets the cards that its order has reserved: an apply makes the reservation the lease's, without an
// end, and a second one writes nothing; a release gives it up. What does not fit is refused, and what was reserved stays.
func TestReserved(t *testing.T) {
	t.Parallel()
	card := fmt.Sprint("model", harness.Number())
	harness.Node(t, "gpu-1", map[string]string{"akash.network/capabilities.gpu.vendor.nvidia.model." + card: "2"}, harness.Amounts("16", "64Gi", "nvidia.com/gpu", "2"))
	host := harness.NewHost("t")
	train := func(x *tenant, cards string) *tenant {
		return x.with("train", "image: 'train:1', expose: [{port: 80, to: [{global: true}], accept: ["+host+"]}]",
			disk+", gpu: {units: "+cards+", attributes: {vendor: {nvidia: [{model: "+card+"}]}}}", 1)
	}
	x := train(newDeployer(t), "1")
	order := x.Order().String()
	harness.Run(t.Context(), "order", "reserve", order, "-f", x.sdl(t), "--expires", "5m").Exits(t, 0)
	holds := func(texts ...string) {
		t.Helper()
		harness.Run(t.Context(), "state", "orders", "-o", "json").Exits(t, 0).Prints(t, texts...)
	}
	holds(order)
	// A lease that is refused leaves the reservation as it is, also where it would be another one.
	held := harness.NewHost("held")
	harness.Run(t.Context(), "reserve", held, "--lease", harness.LeaseOf(harness.NewOwner(t), 1).String()).Exits(t, 0)
	orders := func() string {
		return harness.Run(t.Context(), "state", "orders", order, "-o", "json").Exits(t, 0).Stdout
	}
	was := orders()
	refused := *x
	train(&refused, "2").with("web", "image: 'web:1', expose: [{port: 80, to: [{global: true}], accept: ["+held+"]}]", disk, 1)
	refused.do(t, 4, "apply", "--wait=false").Says(t, held)
	if now := orders(); now != was {
		t.Errorf("the order had reserved %s\nand has reserved %s", was, now)
	}
	x = train(newDeployer(t), "1")
	x.ID = refused.ID
	x.do(t, 0, "apply", "--dry-run=client")
	x.apply(t).Prints(t, "order/"+order+" claimed", "deployment/train created")
	holds(order, x.Provider)
	pods, err := json.Marshal(template(x.objects(t)["deployment/train"]))
	if err != nil || !strings.Contains(string(pods), "nvidia.model."+card) {
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

// What an apply makes of a reservation is a change as others are: previews list it, a saved plan carries it out, and is
// refused where the reservation has moved since. Where nothing is reserved, and once it is the lease's, nothing
// is listed. A definition that cannot be reserved is a lease that is refused.
func TestReservedIsPlanned(t *testing.T) {
	t.Parallel()
	node := fmt.Sprint("plan-", harness.Number())
	card := fmt.Sprint("model", harness.Number())
	harness.Node(t, node, map[string]string{"akash.network/capabilities.gpu.vendor.nvidia.model." + card: "2"}, harness.Amounts("16", "64Gi", "nvidia.com/gpu", "2"))
	host := harness.NewHost("t")
	train := func(x *tenant, cards string) *tenant {
		return x.with("train", "image: 'train:1', expose: [{port: 80, to: [{global: true}], accept: ["+host+"]}]",
			disk+", gpu: {units: "+cards+", attributes: {vendor: {nvidia: [{model: "+card+"}]}}}", 1)
	}
	x := train(newDeployer(t), "1")
	thing := "order/" + x.Order().String()
	reserve := func(expires string) {
		t.Helper()
		harness.Run(t.Context(), "order", "reserve", x.Order().String(), "-f", x.sdl(t), "--expires", expires).Exits(t, 0)
	}
	planned := func() (file string) {
		t.Helper()
		return harness.File(t, x.do(t, 1, "diff", "-o", "json").Stdout)
	}
	carryOut := func(code int, file string) harness.Result {
		t.Helper()
		return harness.Run(t.Context(), "apply", "--plan", file, "--wait=false").Exits(t, code)
	}
	reserve("5m")
	x.do(t, 1, "diff").Prints(t, thing, "-   expires: 20", "+   provider: "+x.Provider)
	told := thing + " claimed (what it has reserved is the lease's) "
	x.do(t, 0, "apply", "--dry-run=client").Prints(t, told+"(dry run)\n-   expires: 20")
	x.do(t, 0, "apply", "--dry-run=server").Prints(t, told+"(server dry run)")
	late := planned()
	reserve("50m")
	carryOut(1, late).Says(t, "out of date", thing)
	x.runsNothing(t)
	carryOut(0, planned()).Prints(t, thing+" claimed", "deployment/train created")
	harness.Run(t.Context(), "state", "orders", "-o", "json").Exits(t, 0).Prints(t, x.Provider)
	x.do(t, 0, "diff")

	train(x, "3")
	x.do(t, 1, "diff").Prints(t, "refused: order "+x.Order().String()+" cannot be reserved")
	x.do(t, 4, "apply", "--dry-run=client")
	harness.Run(t.Context(), "release", x.String()).Exits(t, 0)
}
