package install

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// StrandedError says that a configuration no longer has addresses that are in use.
type StrandedError struct {
	// Claims are those on the addresses, in their order.
	Claims []*state.Claim
	// Pool is true where the configuration changes ip.mode to pool.
	Pool bool
}

func (e *StrandedError) Error() string {
	why, mend := "the configuration no longer has addresses that are in use", "keep the addresses in ip.ranges, or release the leases first"
	if e.Pool {
		why, mend = "the configuration changes ip.mode to pool, and addresses are claimed in the former mode", "release the leases first, or keep the mode"
	}
	lines := []string{why + ":"}
	for _, c := range e.Claims {
		var leases []string
		for _, g := range c.Groups() {
			leases = append(leases, c.PartsOf(g)[0].Lease.String())
		}
		lines = append(lines, fmt.Sprintf("  %s, used by lease %s", c.Thing, strings.Join(leases, ", ")))
	}
	return strings.Join(append(lines, "Nothing was changed: "+mend+"."), "\n")
}

// keepAddresses refuses a configuration in place of the cluster's that would strand addresses in use.
func (i *Installer) keepAddresses(ctx context.Context) error {
	text, place, err := i.Cluster.Config(ctx)
	if err != nil || text == "" {
		return err
	}
	was, problems, err := config.Read(strings.NewReader(text), place)
	if err != nil || problems.Failed() {
		was = nil // any address in use counts
	}
	claims, err := ledger.New(i.Cluster, i.Config.LedgerNamespace).List(ctx, state.Address)
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
	return nil
}
