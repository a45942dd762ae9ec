// Package orders shows what orders reserve, on a real API server: two bids for the last GPU, the last address, the last
// gibibyte; runs that are killed; clocks that are wrong.
package orders

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, harness.Setup{Install: true, Binary: true, Pools: true}))
}

// group is a service of an SDL, and what each replica asks for.
type group struct {
	count     int
	resources string
	addresses int
	// ports are how many of the service's ports are reached by a node port.
	ports int
	// host is that of the service; empty where it is never applied.
	host string
}

// sdl is a deployment of one service.
func sdl(t *testing.T, g group) string {
	t.Helper()
	params, expose, endpoints := "", "{port: 80, to: [{global: true}]}", ""
	if g.host != "" {
		expose = "{port: 80, accept: [" + g.host + "], to: [{global: true}]}"
	}
	if strings.Contains(g.resources, "name: data") {
		params = "\n    params: {storage: {data: {mount: /data}}}"
	}
	for i := range g.ports {
		expose += fmt.Sprintf(", {port: %d, to: [{global: true}]}", 6000+i)
	}
	for i := range g.addresses {
		expose += fmt.Sprintf(", {port: %d, to: [{global: true, ip: e%d}]}", 5000+i, i)
		endpoints += fmt.Sprintf("e%d: {kind: ip}, ", i)
	}
	return harness.File(t, fmt.Sprintf(`version: "2.0"
endpoints: {%s}
services:
  web:
    image: nginx%s
    expose: [%s]
profiles:
  compute: {web: {resources: {%s}}}
  placement: {dc: {pricing: {web: {denom: uakt, amount: 1}}}}
deployment: {web: {dc: {profile: web, count: %d}}}
`, strings.TrimSuffix(endpoints, ", "), params, expose, g.resources, max(g.count, 1)))
}

const small = "cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}"

const oneGPU = small + ", gpu: {units: 1, attributes: {vendor: {nvidia: [{model: rtx4090}]}}}"

var rtx4090 = map[string]string{"nvidia.com/gpu.product": "NVIDIA-GeForce-RTX-4090", "nvidia.com/gpu.memory": "24564"}

// newOrder is an order of a tenant of its own.
func newOrder(t *testing.T) lease.Order {
	return lease.Order{Owner: harness.NewOwner(t), DSeq: uint64(harness.Number()), GSeq: 1, OSeq: 1}
}

// leaseOf is the lease of an order at this provider.
func leaseOf(o lease.Order) lease.ID {
	return lease.ID{Owner: o.Owner, DSeq: o.DSeq, GSeq: o.GSeq, OSeq: o.OSeq, Provider: harness.Provider}
}

func reserve(t *testing.T, code int, order lease.Order, file string, more ...string) harness.Result {
	t.Helper()
	return harness.Run(t.Context(), append([]string{"order", "reserve", order.String(), "-f", file}, more...)...).Exits(t, code)
}

// free gives up all reservations after the test.
func free(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		_ = harness.Objects.Resource(leases).Namespace("akash-net").DeleteCollection(context.WithoutCancel(t.Context()), metav1.DeleteOptions{},
			metav1.ListOptions{LabelSelector: state.LabelKind + "=" + state.KindResources})
	})
}

func TestOrdersReserve(t *testing.T) {
	free(t)
	harness.Node(t, "life-1", rtx4090, harness.Amounts("4", "8Gi", "nvidia.com/gpu", "1"))
	first, second := newOrder(t), newOrder(t)
	gpu := sdl(t, group{resources: oneGPU})

	reserve(t, 0, first, gpu, "--dry-run=client").Prints(t, "order/"+first.String()+" reserved (1 CPU, 1Gi memory, 1Gi disk, 1 nvidia/rtx4090 on life-1) (dry run)\n")
	reserve(t, 0, first, gpu, "--dry-run=server").Prints(t, " (server dry run)\n")
	harness.Run(t.Context(), "state", "orders").Exits(t, 0).Says(t, "No orders have reserved anything.")

	reserve(t, 0, first, gpu, "--expires", "5m").Prints(t, "order/"+first.String()+" reserved (1 CPU, 1Gi memory, 1Gi disk, 1 nvidia/rtx4090 on life-1, until 20")
	reserve(t, 4, second, gpu).Says(t, "Error: order "+second.String()+" cannot be reserved: no node has 1 nvidia/rtx4090: node life-1 has none")
	reserve(t, 0, first, gpu, "--expires", "10m").Prints(t, " renewed (")
	reserve(t, 0, first, gpu).Prints(t, " renewed (1 CPU, 1Gi memory, 1Gi disk, 1 nvidia/rtx4090 on life-1)\n")
	reserve(t, 1, first, gpu, "--expires", "10m").Says(t, "order "+first.String()+" holds what it has reserved for good", "leave out --expires")
	reserve(t, 0, first, gpu).Prints(t, " unchanged (")
	harness.Run(t.Context(), "state", "orders", "-o", "custom-columns=O:.order,S:.state,GPU:.nodes.life-1.gpu,M:.gpuModels[*]", "--no-headers").Exits(t, 0).
		Prints(t, first.String()+"   Reserved   1     nvidia/rtx4090\n")
	harness.Run(t.Context(), "state", "resources", "-o", `jsonpath={.resources[?(@.resource=="gpu")].reserved}`).Exits(t, 0).Prints(t, "1 1")
	harness.Run(t.Context(), "order", "fit", "-f", gpu).Exits(t, 4)
	harness.Run(t.Context(), "state", "orders", "-o", "name").Exits(t, 0).Prints(t, "order/"+first.String()+"\n")
	reserve(t, 0, first, gpu, "-o", "json").Prints(t, `"gpuModels": [`, `"order": "`+first.String()+`"`)
	reserve(t, 0, first, gpu, "-o", "name").Prints(t, "order/"+first.String()+"\n")
	harness.Run(t.Context(), "__complete", "order", "release", first.String()[:20]).Exits(t, 0).Prints(t, first.String())

	// Other commands do not take it for a claim on a host.
	harness.Run(t.Context(), "state").Exits(t, 0).Says(t, "Nothing is held.")
	harness.Run(t.Context(), "state", "--problems").Exits(t, 0)
	harness.Run(t.Context(), "uninstall").Exits(t, 1).Says(t, "the ledger has 1 reservation, ")

	missing := newOrder(t)
	harness.Run(t.Context(), "order", "release", first.String(), missing.String()).Exits(t, 1).
		Prints(t, "order/"+first.String()+" released\n").Says(t, "order "+missing.String()+" has reserved nothing")
	harness.Run(t.Context(), "order", "release", first.String(), "--ignore-not-found").Exits(t, 0)
	reserve(t, 0, second, gpu)
}

// order release -l gives up what orders with the labels have reserved, and says so if there are none.
func TestUnreserveBySelector(t *testing.T) {
	free(t)
	harness.Node(t, "select-1", nil, harness.Amounts("8", "8Gi"))
	file, bid, won, other := sdl(t, group{resources: small}), newOrder(t), newOrder(t), newOrder(t)
	won.Owner, won.DSeq = bid.Owner, bid.DSeq+1
	reserve(t, 0, bid, file)
	if err := takesOver(t, file)(t.Context(), connect(t), won); err != nil {
		t.Fatal(err)
	}
	reserve(t, 0, other, file)
	by := func(code int, selector string, more ...string) harness.Result {
		t.Helper()
		return harness.Run(t.Context(), append([]string{"order", "release", "-l", selector}, more...)...).Exits(t, code)
	}
	owner := lease.LabelOwner + "=" + bid.Owner
	dseq := fmt.Sprintf("%s,%s=%d", owner, lease.LabelDSeq, bid.DSeq)
	if out := harness.Run(t.Context(), "state", "orders", "-l", dseq, "-o", "name").Exits(t, 0); out.Stdout != "order/"+bid.String()+"\n" {
		t.Errorf("a bid has the labels of its order: %s", out)
	}
	by(0, owner+",!"+lease.LabelProvider, "--dry-run=client").Prints(t, "order/"+bid.String()+" released (dry run)")
	if out := by(0, owner+",!"+lease.LabelProvider); out.Stdout != "order/"+bid.String()+" released\n" {
		t.Errorf("given up: %s", out)
	}
	by(1, owner+",!"+lease.LabelProvider).Says(t, "no order that has reserved something has the labels "+owner, "looked at 2 reservations")
	by(0, owner+",!"+lease.LabelProvider, "--ignore-not-found")
	by(2, owner, other.String()).Says(t, "name the orders to release")
	by(2, "a=(").Says(t, "--selector")
	by(0, owner).Prints(t, "order/"+won.String()+" released\n")
	harness.Run(t.Context(), "state", "orders", "-o", "name").Exits(t, 0).Prints(t, "order/"+other.String()+"\n")
}
