//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Clients that take claims at the same time, each with a connection of its own and one request
// under way, and how many leases each of them reserves a host for.
const (
	clients       = 16
	claimsOfEach  = 100
	contendedEach = 10 // of these leases one wants a host that all clients want
)

// contest is a way to bring claims into the cluster.
type contest struct {
	name string
	// client does one client's part of the work.
	client func(ctx context.Context, connection *rest.Config, number int) error

	walls    []usage
	taken    int
	requests int64
}

// contend measures how fast claims are taken by many clients, beside the API server's bare rate.
func (b *bench) contend(ctx context.Context) (err error) {
	c, err := b.startCluster(ctx)
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err != nil {
		return err
	}
	contests := []*contest{
		{name: "bare creates (POST)", client: c.createLeases},
		{name: "bare applies (PATCH) of new objects", client: c.applyLeases},
		{name: "claims of names of their own", client: c.reserve(0)},
		{name: fmt.Sprintf("claims, one name in %d wanted by all", contendedEach), client: c.reserve(contendedEach)},
	}
	for run := range b.runs + 1 { // the first warms the API server up
		for _, x := range contests {
			if err := c.clear(ctx, 0); err != nil {
				return err
			}
			if err := c.hold(ctx, x, run > 0); err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
		}
	}
	b.reportClaims(contests)
	return nil
}

// hold lets the clients work side by side, and counts what they have in the end.
func (c *system) hold(ctx context.Context, x *contest, counts bool) error {
	var requests atomic.Int64
	work, workCtx := errgroup.WithContext(ctx)
	start := time.Now()
	for number := range clients {
		connection := rest.CopyConfig(c.Config)
		connection.Wrap(func(next http.RoundTripper) http.RoundTripper { return counter{next, &requests} })
		work.Go(func() error { return x.client(workCtx, connection, number) })
	}
	if err := work.Wait(); err != nil {
		return err
	}
	took := time.Since(start)
	list, err := c.client.Resource(claims).Namespace(config.Default().LedgerNamespace).List(ctx, metav1.ListOptions{LabelSelector: state.LabelKind})
	if err != nil || !counts {
		return err
	}
	x.walls, x.taken, x.requests = append(x.walls, usage{Wall: took}), len(list.Items), requests.Load()
	for i := range list.Items {
		if _, ok := state.ReadClaim(&list.Items[i].ObjectMeta); !ok { // the announcement of a command that has not ended is none either
			return fmt.Errorf("%s is not a claim that a command has ended with", list.Items[i].Name)
		}
	}
	return nil
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
func (c *system) reserve(contended int) func(context.Context, *rest.Config, int) error {
	return func(ctx context.Context, connection *rest.Config, number int) error {
		connected, err := cluster.Connect(connection, 1)
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

// createLeases creates the finished claims as objects, as fast as a client can.
func (c *system) createLeases(ctx context.Context, connection *rest.Config, number int) error {
	connection.ContentType, connection.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"
	client, err := coordinationv1client.NewForConfig(connection)
	if err != nil {
		return err
	}
	return eachClaim(number, func(d *lease.Definition, cfg *config.ProviderConfig) error {
		claim, err := claimOf(d, cfg)
		if err != nil {
			return err
		}
		_, err = client.Leases(cfg.LedgerNamespace).Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: *claim.Name, Labels: claim.Labels, Annotations: claim.Annotations},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: claim.Spec.HolderIdentity},
		}, metav1.CreateOptions{FieldManager: d.Lease.Group().FieldManager()})
		return err
	})
}

// applyLeases makes the same objects by server-side apply, which is how a claim is made.
func (c *system) applyLeases(ctx context.Context, connection *rest.Config, number int) error {
	client, err := metadata.NewForConfig(connection)
	if err != nil {
		return err
	}
	return eachClaim(number, func(d *lease.Definition, cfg *config.ProviderConfig) error {
		name, body, err := bodyOf(d, cfg)
		if err != nil {
			return err
		}
		_, err = client.Resource(claims).Namespace(cfg.LedgerNamespace).Patch(ctx, name, types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: d.Lease.Group().FieldManager()})
		return err
	})
}

func eachClaim(client int, work func(*lease.Definition, *config.ProviderConfig) error) error {
	cfg := config.Default()
	for i := range claimsOfEach {
		if err := work(contender(client, i, 0), cfg); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) reportClaims(contests []*contest) {
	b.report.section(fmt.Sprintf("Claims of %d clients", clients),
		fmt.Sprintf("%d clients with a connection each and one request under way each; every one reserves a host for each of %d leases in one run. A claim counts when it is taken: written, compared with the wildcard above it, and the command's announcement taken back. A claim is a write; what else there is is once a command: the lists that it reads first, its announcement, the list of wildcards, and whether the ledger is being closed. The bare requests write the finished claim and nothing else.", clients, claimsOfEach),
		"what", "wall", "objects", "objects/s", "requests", "requests an object", "requests/s", "objects/s, part of bare creates")
	rate := func(x *contest) float64 { return float64(x.taken) / median(x.walls).Wall.Seconds() }
	for _, x := range contests {
		wall := median(x.walls).Wall
		b.report.row(x.name, seconds(wall), fmt.Sprint(x.taken), fmt.Sprintf("%.0f", rate(x)), fmt.Sprint(x.requests),
			fmt.Sprintf("%.2f", float64(x.requests)/float64(x.taken)), fmt.Sprintf("%.0f", float64(x.requests)/wall.Seconds()), figure(rate(x)/rate(contests[0]), ""))
	}
	b.report.atLeast(fmt.Sprintf("claims of names of their own, of %d clients: part of the rate of bare applies", clients), rate(contests[2])/rate(contests[1]), 0.9)
	b.report.atLeast(fmt.Sprintf("claims taken by %d clients: part of the API server's bare create rate", clients), rate(contests[3])/rate(contests[0]), 0.7)
}
