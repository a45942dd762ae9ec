//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
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
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Clients that take claims at the same time, each with a connection of its own and one request under way, and how many
// leases each of them reserves a host for.
const (
	clients       = 16
	claimsOfEach  = 100
	contendedEach = 10 // of these leases one wants a host that all clients want
)

// BenchmarkClaims measures how fast claims are taken by many clients, beside bare requests that write the finished claims. A
// claim counts when it is taken: written, compared with the wildcard above it, and the command's announcement taken back.
func BenchmarkClaims(b *testing.B) {
	c := startCluster(b)
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
	found, taken, requests := make([][]usage, len(contests)), make([]float64, len(contests)), make([]float64, len(contests))
	for run := range *runs + 1 { // the first warms the API server up
		for i, x := range contests {
			c.clear(b, 0)
			u, n := c.hold(b, x.client)
			if taken[i], requests[i] = float64(c.taken(b)), n; run > 0 {
				found[i] = append(found[i], u)
			}
		}
	}
	rate := func(i int) float64 { return taken[i] / median(found[i])[wall] }
	for i, x := range contests {
		show(b, x.name, median(found[i]), metric{taken[i], "objects"}, metric{rate(i), "objects/s"}, metric{requests[i] / taken[i], "requests/object"})
	}
	atLeast(fmt.Sprintf("claims of names of their own, of %d clients: part of the rate of bare applies", clients), rate(2)/rate(1), 0.9)
	atLeast(fmt.Sprintf("claims taken by %d clients: part of the API server's bare create rate", clients), rate(3)/rate(0), 0.7)
}

// hold lets the clients work side by side, and counts their requests.
func (c *cluster) hold(b *testing.B, client func(context.Context, *rest.Config, int) error) (usage, float64) {
	b.Helper()
	var requests atomic.Int64
	work, ctx := errgroup.WithContext(b.Context())
	start := time.Now()
	for number := range clients {
		connection := rest.CopyConfig(c.Config)
		connection.Wrap(func(next http.RoundTripper) http.RoundTripper { return counter{next, &requests} })
		work.Go(func() error { return client(ctx, connection, number) })
	}
	check(b, work.Wait())
	return usage{time.Since(start).Seconds()}, float64(requests.Load())
}

// taken counts the claims.
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

type counter struct {
	next     http.RoundTripper
	requests *atomic.Int64
}

// RoundTrip counts a request and sends it on.
func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.next.RoundTrip(r)
}

// contender is a client's lease of a number, with the host that it wants.
func contender(client, i, contended int) *lease.Definition {
	d := definition(client*claimsOfEach + i)
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
		for i := range claimsOfEach {
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
		for i := range claimsOfEach {
			if err := write(ctx, client.Leases(c.ledger), contender(number, i, 0)); err != nil {
				return err
			}
		}
		return nil
	}
}
