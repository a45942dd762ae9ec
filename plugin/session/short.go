package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leasestatus"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
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
	// LeaseFlag is for commands of which only the flag --lease names a lease. What it names is lengthened for the other ones, too.
	LeaseFlag
)

// lengthening returns a command's function that is called with the whole names of leases for short ones.
func (c *Session) lengthening(s Scope, run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if s.Offline != nil && s.Offline() {
			return run(cmd, args)
		}
		if err := c.lengthenFlag(cmd); err != nil {
			return err
		}
		if s.Leases == LeaseFlag {
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

// lengthenFlag replaces a short name in a command's flag --lease by that of the lease.
func (c *Session) lengthenFlag(cmd *cobra.Command) error {
	flag := cmd.Flags().Lookup("lease")
	if flag == nil || !flag.Changed {
		return nil
	}
	names, err := c.lengthen(cmd.Context(), LeaseFlag, []string{flag.Value.String()})
	if err != nil {
		return err
	}
	return flag.Value.Set(names[0])
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
	var known *knownLeases
	var missing []string
	for _, name := range names {
		short, is := thing.ParseShort(name)
		if !is {
			out = append(out, name)
			continue
		}
		if known == nil {
			from, cfg, err := c.Open(ctx, Requests)
			if err != nil {
				return nil, err
			}
			if known, err = leasesOf(ctx, from, cfg.LedgerNamespace); err != nil {
				return nil, err
			}
		}
		lengthen := short.Lengthen
		if many == LeaseFlag {
			lengthen = short.Leases
		}
		found, err := known.find(lengthen)
		switch {
		case err != nil:
			return nil, err
		case len(found) == 0:
			missing = append(missing, fmt.Sprintf("no lease is named %q; \"kubectl akash-net leases\" lists %s",
				lease.Clip(name), lease.Count(known.listed, "lease")))
		case len(found) > 1 && many != AllLeases:
			return nil, usage.Errorf("%q is the name of %d leases; type one of\n%s", lease.Clip(name), len(found), candidates(found))
		}
		out = append(out, found...)
	}
	if len(missing) > 0 {
		return out, &MissingError{What: missing}
	}
	return out, nil
}

// knownLeases are the leases that may be named: those with claims, and where a name is of none of these, others.
type knownLeases struct {
	leases map[lease.ID]bool
	// listed is how many of them hold or ask for something.
	listed int
	// further are those that hold nothing because everything that they ask for is withheld, and those that have a namespace: released
	// ones, and those of Akash's provider.
	further []func() ([]lease.ID, error)
}

func leasesOf(ctx context.Context, from *cluster.Cluster, ledgerNamespace string) (*knownLeases, error) {
	groups, err := reading.Groups(ctx, from, ledgerNamespace)
	k := &knownLeases{leases: map[lease.ID]bool{}}
	for _, holding := range groups {
		maps.Copy(k.leases, holding.Leases)
	}
	k.listed = len(k.leases)
	k.further = []func() ([]lease.ID, error){
		func() ([]lease.ID, error) { return reading.KeptLeases(ctx, from, ledgerNamespace) },
		func() ([]lease.ID, error) {
			k.listed = len(k.leases)
			ids, err := leasestatus.All(ctx, from)
			if apierrors.IsForbidden(err) {
				return nil, nil
			}
			return ids, err
		},
	}
	return k, err
}

// find returns the names of the leases that a name is of.
func (k *knownLeases) find(lengthen func(iter.Seq[lease.ID]) []string) ([]string, error) {
	for {
		found := lengthen(maps.Keys(k.leases))
		if len(found) > 0 || len(k.further) == 0 {
			return found, nil
		}
		ids, err := k.further[0]()
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			k.leases[id] = true
		}
		k.further = k.further[1:]
	}
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
