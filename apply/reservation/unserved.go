package reservation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// UnservedError reports that a configuration has fewer addresses than orders have reserved.
type UnservedError struct {
	// Reserved is how many addresses orders have reserved beyond what their leases have, Left how many are left for them.
	Reserved, Left uint64
	// By are the orders, each with its number of addresses.
	By []string
}

func (e *UnservedError) Error() string {
	return fmt.Sprintf("the configuration has too few addresses for what orders have reserved: %d reserved of %d that are not in use:\n  %s\n"+
		"Nothing was changed: keep the addresses in ip.ranges, or give up what a bid that was lost has reserved: "+
		"kubectl akash-net unreserve --order ORDER", e.Reserved, e.Left, first(20, e.By, "\n  "))
}

// first joins the first names and the number of the others.
func first(most int, names []string, separator string) string {
	if len(names) > most {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(names, separator)
}

// CheckAddresses returns an UnservedError if orders have reserved more addresses than the next configuration leaves them, and
// it leaves fewer than the former one, which is nil if it is unknown.
func CheckAddresses(ctx context.Context, c *cluster.Cluster, was, next *config.ProviderConfig) error {
	look, err := ledger.New(c, next.LedgerNamespace).Look(ctx, true)
	if err != nil {
		return err
	}
	found := &UnservedError{}
	usage := observed.Usage{}.WithLeases(leasesOf(look.Leased))
	for _, claim := range look.Reservations {
		order := claim.Order.String()
		if n := usage.Beyond(order, claim.Hold()).Addresses; n > 0 && !claim.Over(c.Now()) {
			found.Reserved += n
			found.By = append(found.By, fmt.Sprintf("order %s: %d", order, n))
		}
	}
	if found.Reserved == 0 {
		return nil
	}
	pools, err := book.ReadPools(ctx, c)
	if err != nil {
		return err
	}
	found.Left = left(next, pools, look.Leased)
	if found.Reserved <= found.Left || was != nil && left(was, pools, look.Leased) <= found.Left {
		return nil
	}
	slices.Sort(found.By)
	return found
}

// left returns how many addresses a configuration has that nobody uses.
func left(cfg *config.ProviderConfig, pools view.Contents, claims []*state.Claim) uint64 {
	room := addressRoom(cfg, pools, claims)
	if room == nil {
		return 0
	}
	return room.Free(0)
}
