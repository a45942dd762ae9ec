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
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// TrimLease returns the name of a lease without the optional prefix "lease/".
func TrimLease(text string) string { return thing.TrimKind(text, thing.Lease) }

// ParseOrder parses an order in the flag --order, with or without the prefix "order/".
func ParseOrder(typed string) (lease.Order, error) {
	order, err := thing.ParseOrder(typed)
	if err != nil {
		return order, usage.Errorf("--order: %w", err)
	}
	return order, nil
}

// ParseLease parses the name of a lease in a flag. It need not be the full name.
func ParseLease(flag, typed string) (thing.Thing, error) {
	t, err := thing.ParseLease(typed)
	if err != nil {
		return t, usage.Errorf("%s: %w", flag, err)
	}
	return t, nil
}

// NamedLease returns the lease that a flag names in full, or by its deployment group if the ledger keeps the group's
// definition or the lease has a namespace.
func NamedLease(
	ctx context.Context, from *cluster.Cluster, cfg *config.ProviderConfig, flag, typed string,
) (*lease.ID, error) {
	t, err := ParseLease(flag, typed)
	if err != nil {
		return nil, err
	}
	if t.ID != (lease.ID{}) {
		return &t.ID, nil
	}
	typed = TrimLease(typed)
	defs, err := observed.KeptDefinitions(ctx, from, cfg.LedgerNamespace, []lease.Group{t.Group})
	if err != nil {
		return nil, err
	}
	for _, d := range defs {
		if strings.HasPrefix(d.Lease.String()+"/", typed+"/") {
			return &d.Lease, nil
		}
	}
	id, err := FindLease(ctx, from, typed)
	if _, none := errors.AsType[*session.MissingError](err); none {
		order, err := lease.ParseOrder(typed)
		if err == nil && cfg.Provider != "" {
			id = order.Lease(cfg.Provider)
			return &id, nil
		}
		return nil, usage.Errorf("%s: the cluster does not know lease %s; "+
			"name it in full, as OWNER/DSEQ/GSEQ/OSEQ/PROVIDER", flag, typed)
	}
	return &id, err
}

// FindLease returns the lease that typed names in full, or the only lease of a deployment group or an order that has a
// namespace.
func FindLease(ctx context.Context, from *cluster.Cluster, typed string) (lease.ID, error) {
	t, err := thing.ParseLease(typed)
	if err != nil {
		return lease.ID{}, usage.Wrap(err)
	}
	if t.ID != (lease.ID{}) {
		return t.ID, nil
	}
	typed = TrimLease(typed)
	found, err := leasestatus.Find(ctx, from, t.Group)
	if err != nil {
		return lease.ID{}, err
	}
	if strings.Count(typed, "/") == 3 { // OWNER/DSEQ/GSEQ/OSEQ
		found = slices.DeleteFunc(found, func(id lease.ID) bool { return id.Order().String() != typed })
	}
	switch len(found) {
	case 0:
		return lease.ID{}, &session.MissingError{What: []string{fmt.Sprintf("nothing runs for lease %s: no namespace has its labels", typed)}}
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, id := range found {
		names[i] = id.String()
	}
	return lease.ID{}, usage.Errorf("%s is of several leases; name one in full: %s", typed, strings.Join(names, ", "))
}
