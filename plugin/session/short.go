package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// MissingError is the error for named things that do not exist, with a message for each.
type MissingError struct{ What []string }

func (e *MissingError) Error() string { return strings.Join(e.What, "; ") }

// Leases says whether the arguments of a command may be short names of leases.
type Leases int

// What a short name may be the name of.
const (
	// NoLeases is for commands whose arguments are no leases.
	NoLeases Leases = iota
	// OneLease is for commands that need to know which lease is meant.
	OneLease
	// AllLeases is for commands that show all leases that have a name.
	AllLeases
)

// lengthening returns a command's function that is called with the whole names of leases for short ones.
func (c *Session) lengthening(s Scope, run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if s.Offline != nil && s.Offline() {
			return run(cmd, args)
		}
		whole, err := c.lengthen(cmd.Context(), s.Leases, args)
		ignore := cmd.Flags().Lookup("ignore-not-found")
		_, missing := errors.AsType[*MissingError](err)
		switch {
		case !missing || ignore == nil || ignore.Value.String() != "true":
		case len(whole) == 0 || !isLease(whole[0]): // no lease, or things of one that is missing
			return nil
		default:
			err = nil
		}
		if err != nil {
			return err
		}
		return run(cmd, whole)
	}
}

func isLease(name string) bool {
	_, err := thing.ParseLease(name)
	return err == nil
}

// Lengthen returns the whole name of the lease that has a short name, as the ledger knows it, and any other name as it is. The error is a
// *MissingError if no lease has the name, and a usage error if several have.
func (c *Session) Lengthen(ctx context.Context, name string) (string, error) {
	names, err := c.lengthen(ctx, OneLease, []string{name})
	if err != nil {
		return "", err
	}
	return names[0], nil
}

// lengthen returns names with the whole names of leases for short ones, without those that the *MissingError says that no lease has.
// Other names cost no request.
func (c *Session) lengthen(ctx context.Context, many Leases, names []string) (out []string, _ error) {
	var leases map[lease.ID]bool
	var kept func() error // adds those that hold nothing: everything that they ask for may be withheld
	var missing []string
	for _, name := range names {
		short, is := thing.ParseShort(name)
		if !is {
			out = append(out, name)
			continue
		}
		if leases == nil {
			in, cfg, err := c.Open(ctx, Requests)
			if err != nil {
				return nil, err
			}
			groups, err := observed.Groups(ctx, in, cfg.LedgerNamespace)
			if err != nil {
				return nil, err
			}
			leases = map[lease.ID]bool{}
			for _, holding := range groups {
				maps.Copy(leases, holding.Leases)
			}
			kept = sync.OnceValue(func() error {
				ids, err := observed.KeptLeases(ctx, in, cfg.LedgerNamespace)
				for _, id := range ids {
					leases[id] = true
				}
				return err
			})
		}
		found := short.Lengthen(maps.Keys(leases))
		if len(found) == 0 {
			if err := kept(); err != nil {
				return nil, err
			}
			found = short.Lengthen(maps.Keys(leases))
		}
		switch {
		case len(found) == 0:
			missing = append(missing, fmt.Sprintf("no lease is named %q; \"kubectl akash-net leases\" lists %s",
				lease.Clip(name), lease.Count(len(leases), "lease")))
		case len(found) > 1 && many == OneLease:
			return nil, usage.Errorf("%q is the name of %d leases; type one of\n%s", lease.Clip(name), len(found), candidates(found))
		}
		out = append(out, found...)
	}
	if len(missing) > 0 {
		return out, &MissingError{What: missing}
	}
	return out, nil
}

// Owner returns the whole wallet of an owner that is named in whole or without its middle.
func (c *Session) Owner(ctx context.Context, name string) (string, error) {
	if _, short := thing.ParseShort(name); !short || lease.CheckAddress(name) == nil {
		return name, lease.CheckWallet(name)
	}
	names, err := c.lengthen(ctx, AllLeases, []string{name})
	if err != nil {
		return "", err
	}
	owners := map[string]bool{}
	for _, name := range names {
		owner, _, _ := strings.Cut(name, "/")
		owners[owner] = true
	}
	if len(owners) > 1 {
		return "", usage.Errorf("%q is the name of %d owners; type one of\n%s", lease.Clip(name), len(owners), candidates(slices.Sorted(maps.Keys(owners))))
	}
	return slices.Collect(maps.Keys(owners))[0], nil
}

// mostCandidates is how many leases a message lists.
const mostCandidates = 10

func candidates(names []string) string {
	more := ""
	if n := len(names) - mostCandidates; n > 0 {
		names, more = names[:mostCandidates], fmt.Sprintf("\n  and %d more", n)
	}
	return "  " + strings.Join(names, "\n  ") + more
}
