package flags

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leasestatus"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// TrimLease returns the name of a lease without the optional prefix "lease/".
func TrimLease(text string) string { return thing.TrimKind(text, thing.Lease) }

// parseLease parses the full name of a lease in a flag, and warns about addresses with a wrong checksum.
func parseLease(c *console.Console, flag, typed string) (*lease.ID, error) {
	id, err := lease.ParseID(TrimLease(typed))
	if err != nil {
		return nil, usage.Errorf("%s: %w", flag, err)
	}
	warnChecksum(c, flag, id.Owner, id.Provider)
	return &id, nil
}

// ParseOrder parses an order in the flag --order, with or without the prefix "order/", and warns about a wrong checksum.
func ParseOrder(c *console.Console, typed string) (lease.Order, error) {
	order, err := lease.ParseOrder(thing.TrimKind(typed, thing.Order))
	if err != nil {
		return order, usage.Errorf("--order: %w", err)
	}
	warnChecksum(c, "--order", order.Owner)
	return order, nil
}

func warnChecksum(c *console.Console, flag string, addresses ...string) {
	for _, address := range addresses {
		if !lease.ChecksumOK(address) {
			fmt.Fprintf(c.ErrOut, "Warning: %s: the checksum of %s is wrong; is there a typing error?\n", flag, address)
		}
	}
}

// NamedLease returns the lease that a flag names in full, or by its deployment group if the ledger keeps the group's
// definition or the lease has a namespace.
func NamedLease(
	ctx context.Context, c *session.Session, from *cluster.Cluster, cfg *config.ProviderConfig, flag, typed string,
) (*lease.ID, error) {
	typed = TrimLease(typed)
	group, err := lease.ParseGroup(typed)
	if _, notFull := lease.ParseID(typed); err != nil || notFull == nil {
		return parseLease(&c.Console, flag, typed)
	}
	defs, err := observed.KeptDefinitions(ctx, from, cfg.LedgerNamespace, []lease.Group{group})
	if err != nil {
		return nil, err
	}
	for _, d := range defs {
		if strings.HasPrefix(d.Lease.String()+"/", typed+"/") {
			return &d.Lease, nil
		}
	}
	id, err := FindLease(ctx, from, typed)
	if _, none := errors.AsType[*MissingError](err); none {
		return nil, usage.Errorf("%s: the cluster does not know lease %s; "+
			"name it in full, as OWNER/DSEQ/GSEQ/OSEQ/PROVIDER", flag, typed)
	}
	return &id, err
}

// FindLease returns the lease that typed names in full, or the only lease of a deployment group or an order that has a
// namespace.
func FindLease(ctx context.Context, from *cluster.Cluster, typed string) (lease.ID, error) {
	typed = TrimLease(typed)
	if id, err := lease.ParseID(typed); err == nil {
		return id, nil
	}
	group, err := lease.ParseGroup(typed)
	if err != nil {
		return lease.ID{}, usage.Wrap(err)
	}
	found, err := leasestatus.Find(ctx, from, group)
	if err != nil {
		return lease.ID{}, err
	}
	if strings.Count(typed, "/") == 3 { // OWNER/DSEQ/GSEQ/OSEQ
		found = slices.DeleteFunc(found, func(id lease.ID) bool { return id.Order().String() != typed })
	}
	switch len(found) {
	case 0:
		return lease.ID{}, &MissingError{What: []string{fmt.Sprintf("nothing runs for lease %s: no namespace has its labels", typed)}}
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, id := range found {
		names[i] = id.String()
	}
	return lease.ID{}, usage.Errorf("%s is of several leases; name one in full: %s", typed, strings.Join(names, ", "))
}
