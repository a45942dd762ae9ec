// Package ledger_test tries the ledger's promises (docs/ledger.md) on a real API server: the
// histories of concurrent clients are linearizable, and a run that is cut off anywhere leaves
// nothing that one more run does not finish.
package ledger_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, harness.Setup{Own: true, Pools: true, Install: true, Binary: true}))
}

func owner(name string) string { return leasetest.Wallet(name) }

func leaseOf(name string, dseq uint64) lease.ID {
	return lease.ID{Owner: owner(name), DSeq: dseq, GSeq: 1, OSeq: 1, Provider: harness.Provider}
}

// settings are the default configuration with wildcards, and with a range of addresses.
func settings(t *testing.T, addresses string) *config.ProviderConfig {
	t.Helper()
	cfg := config.Default()
	cfg.Hosts.Wildcards = true
	r, err := config.ParseRange(addresses)
	if err != nil {
		t.Fatal(err)
	}
	cfg.IP.Ranges.Include = []config.Range{r}
	return cfg
}

// client is a user of the library, with a connection of its own, and what the last run reported.
type client struct {
	cluster *cluster.Cluster
	opts    command.Options
	mu      sync.Mutex
	events  []report.Event
	// last is the thing that the client took last.
	last string
}

func newClient(t *testing.T, cfg *config.ProviderConfig, through ...func(*rest.Config)) *client {
	t.Helper()
	connection := rest.CopyConfig(harness.Plane.Config)
	for _, f := range through {
		f(connection)
	}
	cluster, err := cluster.Connect(connection, 4)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{cluster: cluster}
	c.opts = command.Options{Config: cfg, Prune: false, Concurrency: 4, Report: func(e report.Event) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.events = append(c.events, e)
	}}
	return c
}

// hasty is a client that takes others at work on the same leases for crashed.
func (c *client) hasty() *client {
	c.opts.AssumeCrashed = true
	return c
}

// applier begins a run.
func (c *client) applier() *apply.Applier {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = nil
	return apply.New(c.cluster, c.opts)
}

// named are the things of which the last run reported an action.
func (c *client) named(action report.Action) (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.Action == action && e.Kind != "lease" {
			out = append(out, e.Name)
		}
	}
	return out
}

// reserve takes hosts for a lease, and an address where an endpoint is named.
func (c *client) reserve(ctx context.Context, id lease.ID, endpoint string, hosts ...string) error {
	var addresses []string
	if endpoint != "" {
		addresses = []string{state.AutoAddress}
	}
	req, problems := state.NamedRequest(id, hosts, addresses, endpoint, c.opts.Config)
	if len(problems) > 0 {
		return problems
	}
	return c.applier().Reserve(ctx, []state.Request{req})
}

func (c *client) release(ctx context.Context, id lease.ID, things ...string) error {
	return c.applier().Release(ctx, []lease.Group{id.Group()}, things...)
}
