//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply"
	applycluster "github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
	"github.com/akash-net/kubectl-akash-net/state"
)

// BenchmarkApply applies 1,000 new objects, then the same ones again, with the program, kubectl and flux, which get the same
// objects as a file, and makes the program's requests in a bare loop. Each lease is four objects in the cluster: a namespace, a claim,
// a ProviderHost, an Ingress. All have as many requests under way at a time but kubectl, which has one.
func BenchmarkApply(b *testing.B) {
	growing := sizes(250)
	leases := growing[3]
	c, input := shared(b), objects(b, leases, emit.WriteJSON)
	apply := func(n int) program {
		return c.run("apply", plugin(b), "apply", "-f", definitions(b, n, document), fmt.Sprint("--concurrency=", concurrency))
	}
	writers := []program{
		apply(leases),
		c.run("kubectl apply --server-side", tool(b, "kubectl"), "apply", "--server-side", "-f", input),
		c.run("flux ssa ApplyAll", tool(b, "flux"), "-f", input, fmt.Sprint("-concurrency=", concurrency)),
	}
	c.clear(b, leases)
	first, again := c.record(b, writers[0]), c.record(b, writers[0]) // it also warms the API server up
	bare := newReplay(b, first, leases)
	loop, anew, unchanged := []usage{}, make([][]usage, len(writers)), make([][]usage, len(writers))
	for range *runs {
		for i, w := range writers {
			if !w.missing() {
				c.clear(b, leases)
				anew[i], unchanged[i] = append(anew[i], w.measure(b)), append(unchanged[i], w.measure(b))
			}
		}
		c.clear(b, leases)
		loop = append(loop, bare.measure(b, c))
	}
	compare(b, writers, anew)
	show(b, "bare loop of the same requests", median(loop))
	compare(b, writers, unchanged)
	faster := ratios(anew[1], anew[0], wall)
	for k, flux := range ratios(anew[2], anew[0], wall) {
		faster[k] = min(faster[k], flux)
	}
	judge("apply new: kubectl or flux", "times faster than the faster of them", "at least", 2.5, faster)
	judge("apply new: bare loop", "of the speed of a bare loop of its requests", "at least", 0.9, ratios(loop, anew[0], wall))
	judge("apply new: requests", fmt.Sprintf("requests for %d leases", leases), "", 0, []float64{float64(len(first))})
	judge("apply unchanged: kubectl", "times faster than kubectl apply --server-side", "at least", 25, ratios(unchanged[1], unchanged[0], wall))
	judge("apply unchanged: flux", "times faster than flux's ssa", "at least", 12, ratios(unchanged[2], unchanged[0], wall))
	writes := slices.DeleteFunc(again, func(q request) bool { return q.method == http.MethodGet })
	judge("apply unchanged: writes", "writes", "at most", 0, []float64{float64(len(writes))})

	var fresh, same []usage // of one, and of the sizes below the one above
	for _, n := range append([]int{1}, growing[:3]...) {
		var once, twice []usage
		for range min(3, *runs) {
			c.clear(b, leases)
			once, twice = append(once, apply(n).measure(b)), append(twice, apply(n).measure(b))
		}
		fresh, same = append(fresh, median(once)), append(same, median(twice))
	}
	grown(b, "apply new", fresh[0], growing, append(fresh[1:], median(anew[0])), wall, peak)
	grown(b, "apply unchanged", same[0], growing, append(same[1:], median(unchanged[0])), wall, peak)
	c.clear(b, leases)
}

// BenchmarkLatency applies new leases and takes claims while each request takes longer: the slope is how many of them wait for one another.
func BenchmarkLatency(b *testing.B) {
	c := shared(b)
	for _, leases := range []int{1, size(250, 2)} {
		of, file := lease.Count(leases, "lease"), definitions(b, leases, document)
		for _, p := range []program{
			c.run("apply new", plugin(b), "apply", "-f", file, fmt.Sprint("--concurrency=", concurrency)),
			c.run("claims", plugin(b), "reserve", "-f", file, fmt.Sprint("--concurrency=", concurrency)),
		} {
			if leases == 1 {
				p.name += ", one"
			}
			var at, took []float64
			for _, delay := range []time.Duration{0, 20 * time.Millisecond, 50 * time.Millisecond} {
				c.clear(b, leases)
				u := c.through(b, p, func(next http.RoundTripper) http.RoundTripper {
					return tripper(func(in *http.Request) (*http.Response, error) {
						time.Sleep(delay)
						return next.RoundTrip(in)
					})
				})
				judge(fmt.Sprintf("%s with %v added", p.name, delay), "s for "+of, "", 0, []float64{u[wall]})
				at, took = append(at, delay.Seconds()), append(took, u[wall])
			}
			judge(p.name+": in sequence", "requests for "+of, "", 0, []float64{slope(at, took)})
		}
		c.clear(b, leases)
	}
}

// Clients that take claims at the same time, each with a connection of its own and one request under way.
const (
	clients       = 16
	contendedEach = 10 // of these leases one wants a host that all clients want
)

// claimsOfEach is how many leases each client reserves a host for.
func claimsOfEach() int { return size(100, 10) }

// BenchmarkClaims measures how fast claims are taken by many clients, beside bare requests that write the finished claims. A
// claim counts when it is taken: written, compared with the wildcard above it, and the command's announcement taken back.
func BenchmarkClaims(b *testing.B) {
	c := shared(b)
	contests := []struct {
		name string
		// client does one client's part of the work.
		client func(ctx context.Context, connection *rest.Config, number int) error
	}{
		{"bare creates (POST)", c.bare(func(ctx context.Context, client typed.LeaseInterface, d *lease.Definition) error {
			claim := claimOf(d)
			_, err := client.Create(ctx, &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: *claim.Name, Labels: claim.Labels, Annotations: claim.Annotations},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: claim.Spec.HolderIdentity},
			}, metav1.CreateOptions{FieldManager: d.Lease.Group().FieldManager()})
			return err
		})},
		{"bare applies (PATCH) of new objects", c.bare(func(ctx context.Context, client typed.LeaseInterface, d *lease.Definition) error {
			_, err := client.Apply(ctx, claimOf(d), metav1.ApplyOptions{FieldManager: d.Lease.Group().FieldManager()})
			return err
		})},
		{"claims of names of their own", reserve(0)},
		{fmt.Sprintf("claims, one name in %d wanted by all", contendedEach), reserve(contendedEach)},
	}
	found, rates := make([][]usage, len(contests)), make([][]usage, len(contests))
	for run := range *runs + 1 { // the first warms the API server up
		for i, x := range contests {
			c.clear(b, 0)
			u := c.hold(b, x.client)
			if rate := float64(c.taken(b)) / u[wall]; run > 0 {
				found[i], rates[i] = append(found[i], u), append(rates[i], usage{rate})
			}
		}
	}
	for i, x := range contests {
		show(b, x.name, median(found[i]))
	}
	judge("claims: bare applies", fmt.Sprintf("of the rate of bare applies of %d clients", clients), "at least", 0.95, ratios(rates[2], rates[1], wall))
	judge("claims, contended: bare creates", fmt.Sprintf("of the rate of bare creates of %d clients", clients), "at least", 0.5, ratios(rates[3], rates[0], wall))

	grow(b, "claims", 1, 3200, func(n int) program {
		c.clear(b, 0)
		return c.run("reserve", plugin(b), "reserve", "-f", definitions(b, n, document))
	}, wall, peak)
}

// hold lets the clients work side by side.
func (c *cluster) hold(b *testing.B, client func(context.Context, *rest.Config, int) error) usage {
	b.Helper()
	work, ctx := errgroup.WithContext(b.Context())
	start := time.Now()
	for number := range clients {
		work.Go(func() error { return client(ctx, rest.CopyConfig(c.Config), number) })
	}
	check(b, work.Wait())
	return usage{time.Since(start).Seconds()}
}

// taken counts the claims, after commands that have ended.
func (c *cluster) taken(b *testing.B) int {
	b.Helper()
	list, err := c.metas.Resource(claims).Namespace(c.ledger).List(b.Context(), metav1.ListOptions{LabelSelector: state.LabelKind})
	check(b, err)
	for i := range list.Items {
		if _, ok := state.ReadClaim(&list.Items[i].ObjectMeta); !ok { // the announcement of a command that has not ended is none either
			b.Fatalf("%s is not a claim that a command has ended with", list.Items[i].Name)
		}
	}
	return len(list.Items)
}

// contender is a client's lease of a number, with the host that it wants.
func contender(client, i, contended int) *lease.Definition {
	d := definition(client*claimsOfEach() + i)
	d.Lease.Owner = leasetest.Wallet(fmt.Sprint("client ", client))
	host := fmt.Sprintf("h%d.c%d.example.com", i, client)
	if contended > 0 && i%contended == 0 {
		host = fmt.Sprintf("h%d.all.example.com", i)
	}
	d.Services[0].Expose[0].Hosts[0].Name = host
	return d
}

// reserve takes the claims by the library, as `reserve` does for a file of leases.
func reserve(contended int) func(context.Context, *rest.Config, int) error {
	return func(ctx context.Context, connection *rest.Config, number int) error {
		connected, err := applycluster.Connect(connection, 1)
		if err != nil {
			return err
		}
		cfg := config.Default()
		var requests []state.Request
		for i := range claimsOfEach() {
			request, problems := state.NewRequest(contender(number, i, contended), cfg)
			if len(problems) > 0 {
				return problems
			}
			requests = append(requests, request)
		}
		err = apply.New(connected, command.Options{Config: cfg, Concurrency: 1}).Reserve(ctx, requests)
		var failures report.Failures
		errors.As(err, &failures)
		for _, err := range failures {
			if _, ok := errors.AsType[*report.HeldError](err); contended == 0 || !ok {
				return err
			}
		}
		return nil
	}
}

// bare writes the finished claims, as fast as a client can.
func (c *cluster) bare(write func(context.Context, typed.LeaseInterface, *lease.Definition) error) func(context.Context, *rest.Config, int) error {
	return func(ctx context.Context, connection *rest.Config, number int) error {
		connection.ContentType, connection.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"
		client, err := typed.NewForConfig(connection)
		if err != nil {
			return err
		}
		for i := range claimsOfEach() {
			if err := write(ctx, client.Leases(c.ledger), contender(number, i, 0)); err != nil {
				return err
			}
		}
		return nil
	}
}
