//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// state asks who holds which host, of many claims, beside the lists that it makes and beside
// kubectl.
func (b *bench) state(ctx context.Context) (err error) {
	c, err := b.startCluster(ctx)
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err != nil {
		return err
	}
	hosts := program{name: "state", args: []string{b.tools.plugin, "state", "hosts", "-o", "name"}, env: c.env()}
	empty, err := b.alternate(ctx, b.runs, hosts)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "making %d claims\n", b.claims)
	if err := c.makeClaims(ctx, b.claims); err != nil {
		return err
	}
	requests, err := b.record(ctx, c, hosts)
	if err != nil {
		return err
	}
	lists, err := newReplay(c, requests, 0)
	if err != nil {
		return err
	}
	get := program{name: "kubectl", env: c.env(),
		args: []string{b.tools.kubectl, "get", "leases", "-n", config.Default().LedgerNamespace, "-o", "json"}}
	asked := hosts
	asked.env = c.env()
	var bare []usage
	runs := make([][]usage, 2)
	for range b.runs {
		for i, p := range []program{asked, get} {
			u, err := b.measure(ctx, p)
			if err != nil {
				return err
			}
			runs[i] = append(runs[i], u)
		}
		took, err := lists.timed(ctx, b.claims)
		if err != nil {
			return err
		}
		bare = append(bare, usage{Wall: took})
	}
	b.reportState(median(empty[0]), median(runs[0]), median(runs[1]), median(bare), len(lists.lists))
	return nil
}

func (b *bench) reportState(empty, ours, kubectl, bare usage, lists int) {
	b.report.section(fmt.Sprintf("State over %d claims", b.claims),
		fmt.Sprintf("The bare lists are the %d that the program makes (metadata as protobuf, or whole objects, as it asks for them), side by side, from a running process.", lists),
		"program", "wall", "processor", "peak", "wall / ours")
	b.report.usage("kubectl akash-net state hosts, no claims", empty, "")
	b.report.usage("kubectl akash-net state hosts -o name", ours, "1")
	b.report.usage("bare lists", bare, figure(times(bare.Wall, ours.Wall), ""))
	b.report.usage("kubectl get leases -o json", kubectl, figure(times(kubectl.Wall, ours.Wall), ""))
	b.report.atMost("state: times the wall of the bare lists", times(ours.Wall, bare.Wall), 1.5, "")
	b.report.atLeast("state: times faster than kubectl get -o json", times(kubectl.Wall, ours.Wall), 10)
	b.report.atMost("state: memory a claim beyond the base", float64(ours.Peak-empty.Peak)/float64(b.claims), 1024, " bytes")
}

// timed makes the lists, which have to bring at least as many objects.
func (r *replay) timed(ctx context.Context, atLeast int) (time.Duration, error) {
	start := time.Now()
	n, err := r.list(ctx)
	if err == nil && n < atLeast {
		err = fmt.Errorf("the lists brought %d objects, not %d", n, atLeast)
	}
	return time.Since(start), err
}

// bodyOf is the claim on a lease's host as it is applied, with its name.
func bodyOf(d *lease.Definition, cfg *config.ProviderConfig) (name string, body []byte, err error) {
	claim, err := claimOf(d, cfg)
	if err != nil {
		return "", nil, err
	}
	body, err = json.Marshal(claim)
	return *claim.Name, body, err
}

// makeClaims makes the claims of the leases 0 to n, as apply leaves them.
func (c *system) makeClaims(ctx context.Context, n int) error {
	cfg := config.Default()
	return each(ctx, n, func(ctx context.Context, i int) error {
		d := definition(i)
		name, body, err := bodyOf(d, cfg)
		if err != nil {
			return err
		}
		_, err = c.client.Resource(claims).Namespace(cfg.LedgerNamespace).Patch(ctx, name, types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: d.Lease.Group().FieldManager()})
		return err
	})
}
