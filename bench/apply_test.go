//go:build linux

package bench

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Each lease is four objects in the cluster: a namespace, a claim, a ProviderHost, an Ingress.
const (
	applied       = 1000
	appliedLeases = applied / 4
)

// BenchmarkApply applies new objects, then the same ones again, with the program, kubectl and flux, which get the same
// objects as a file, and makes the program's requests in a bare loop. All have as many requests under way at a time but
// kubectl, which has one.
func BenchmarkApply(b *testing.B) {
	c, input := startCluster(b), objects(b, appliedLeases)
	writers := []program{
		c.run("apply", plugin(b), "apply", "-f", definitions(b, appliedLeases, ""), fmt.Sprint("--concurrency=", concurrency)),
		c.run("kubectl apply --server-side", tool(b, "kubectl"), "apply", "--server-side", "-f", input),
		c.run("flux ssa ApplyAll", tool(b, "flux"), "-f", input, fmt.Sprint("-concurrency=", concurrency)),
	}
	// One run of each through a proxy that counts; it also warms the API server up.
	first, again := make([][]request, len(writers)), make([][]request, len(writers))
	for i, w := range writers {
		c.clear(b, appliedLeases)
		first[i], again[i] = c.record(b, w), c.record(b, w)
		if n := c.count(b); n != applied {
			b.Fatalf("%s left %d objects in the cluster, not %d", w.name, n, applied)
		}
	}
	bare := newReplay(b, first[0], appliedLeases)
	loop, anew, unchanged := []usage{}, make([][]usage, len(writers)), make([][]usage, len(writers))
	for range *runs {
		for i, w := range writers {
			c.clear(b, appliedLeases)
			anew[i], unchanged[i] = append(anew[i], w.measure(b)), append(unchanged[i], w.measure(b))
		}
		c.clear(b, appliedLeases)
		loop = append(loop, bare.measure(b, c))
	}
	b.Run("new", func(b *testing.B) {
		ours := median(anew[0])[wall]
		line := func(name string, u usage, requests int) {
			show(b, name, u, metric{float64(requests), "requests"}, metric{applied / u[wall], "objects/s"}, metric{u[wall] / ours, "times-ours"})
		}
		for i, w := range writers {
			line(w.name, median(anew[i]), len(first[i]))
		}
		line("bare loop of the same requests", median(loop), len(first[0]))
		atLeast("apply new: times faster than the faster of kubectl and flux", min(median(anew[1])[wall], median(anew[2])[wall])/ours, 2)
		atLeast("apply new: part of the speed of a bare loop of its requests", median(loop)[wall]/ours, 0.8)
	})
	b.Run("unchanged", func(b *testing.B) {
		ours := median(unchanged[0])[wall]
		for i, w := range writers {
			writes := 0
			for _, q := range again[i] {
				if q.method != http.MethodGet {
					writes++
				}
			}
			u := median(unchanged[i])
			show(b, w.name, u, metric{float64(len(again[i])), "requests"}, metric{float64(writes), "writes"}, metric{u[wall] / ours, "times-ours"})
		}
		atLeast("apply unchanged: times faster than kubectl apply --server-side", median(unchanged[1])[wall]/ours, 20)
		atLeast("apply unchanged: times faster than flux's ssa", median(unchanged[2])[wall]/ours, 1)
	})
}

// count is how many claims, ProviderHosts, Ingresses and namespaces of leases there are.
func (c *cluster) count(b *testing.B) (total int) {
	b.Helper()
	for resource, selector := range map[schema.GroupVersionResource]string{
		claims:                                  state.LabelKind,
		kinds.ProviderHost.Resource():           "",
		kinds.Ingress.Resource():                "",
		{Version: "v1", Resource: "namespaces"}: lease.LabelDSeq,
	} {
		list, err := c.metas.Resource(resource).List(b.Context(), metav1.ListOptions{LabelSelector: selector})
		check(b, err)
		total += len(list.Items)
	}
	return total
}

// BenchmarkState asks who holds which host, of many claims, beside the lists that it makes, in a bare loop, and beside
// kubectl.
func BenchmarkState(b *testing.B) {
	const n = 20000
	c := startCluster(b)
	hosts := c.run("state hosts", plugin(b), "state", "hosts", "-o", "name")
	empty := median(alternate(b, *runs, hosts)[0])
	each(b, n, func(ctx context.Context, i int) error {
		d := definition(i)
		_, err := c.client.CoordinationV1().Leases(c.ledger).Apply(ctx, claimOf(d), metav1.ApplyOptions{FieldManager: d.Lease.Group().FieldManager()})
		return err
	})
	lists := newReplay(b, c.record(b, hosts), 0)
	all := []program{hosts, c.run("kubectl get leases -o json", tool(b, "kubectl"), "get", "leases", "-n", c.ledger, "-o", "json"), {name: "bare lists"}}
	found := make([][]usage, len(all))
	for range *runs {
		for i, p := range all[:2] {
			found[i] = append(found[i], p.measure(b))
		}
		found[2] = append(found[2], lists.measure(b, c))
	}
	show(b, "state hosts, no claims", empty)
	times := compare(b, all, found)
	atMost("state: times the wall of the bare lists", 1/times[2], 1.5)
	atLeast("state: times faster than kubectl get -o json", times[1], 10)
	atMost("state: bytes a claim beyond the base", (median(found[0])[peak]-empty[peak])*(1<<20)/n, 1024)
}
