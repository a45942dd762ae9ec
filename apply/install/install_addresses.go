package install

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// StrandedError reports that a configuration no longer has addresses that are in use.
type StrandedError struct {
	// Claims are the claims on the addresses, sorted.
	Claims []*state.Claim
	// Pool is true if the configuration changes ip.mode to pool.
	Pool bool
}

func (e *StrandedError) Error() string {
	why, next := "the configuration no longer has addresses that are in use", "keep the addresses in ip.ranges, or release the leases first"
	if e.Pool {
		why = "the configuration changes ip.mode to pool, and addresses are claimed in the former mode"
		next = "release the leases first, or keep the mode"
	}
	lines := []string{why + ":"}
	for _, c := range e.Claims {
		var leases []string
		for _, g := range c.Groups() {
			leases = append(leases, c.PartsOf(g)[0].Lease.String())
		}
		lines = append(lines, fmt.Sprintf("  %s, used by lease %s", c.Thing, strings.Join(leases, ", ")))
	}
	return strings.Join(append(lines, "Nothing was changed: "+next+"."), "\n")
}

// checkAddresses returns a StrandedError if the new configuration would strand addresses in use, and an UnservedError if it
// leaves too few for what orders have reserved. It compares with the configuration in the ConfigMap; nil is none.
// It warns of addresses of nodes.
func (i *Installer) checkAddresses(ctx context.Context, live *unstructured.Unstructured) error {
	nodes, err := observed.NodeUses(ctx, i.Cluster)
	if err != nil {
		return err
	}
	var warnings lease.Problems
	for _, u := range state.InRanges(i.Config, nodes) {
		warnings = append(warnings, lease.Problem{Warning: true, Message: fmt.Sprintf(
			"ip.ranges has %s, an address of %s: no lease gets it, and %s; %s", u.Address, u, state.NodeAddressMeans, state.ExcludeAddress(u.Address))})
	}
	if i.Warn != nil {
		i.Warn(warnings)
	}
	text, place, broken := cluster.ConfigText(live)
	if text == "" && broken == nil {
		return nil
	}
	var was *config.ProviderConfig // nil for one that cannot be read: every address in use counts
	if broken == nil {
		was, _, _ = config.Read(strings.NewReader(text), place)
	}
	claims, err := i.ledger().List(ctx, state.Address)
	if err != nil {
		return err
	}
	objects, err := i.Cluster.Objects(ctx, kinds.IPAddressPool.Resource(), "", metav1.ListOptions{})
	if err != nil && !cluster.IsMissingKind(err) {
		return err
	}
	var pools []state.PoolObject
	for _, o := range objects {
		pools = append(pools, state.PoolObjectOf(o))
	}
	if stranded := state.Stranded(was, i.Config, claims, pools); len(stranded) > 0 {
		return &StrandedError{Claims: stranded, Pool: i.Config.IP.Mode == config.ModePool}
	}
	return reservation.CheckAddresses(ctx, i.Cluster, was, i.Config)
}
