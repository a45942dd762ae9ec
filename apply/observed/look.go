package observed

import (
	"context"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Look reads everything of an owner again: the claims first, then the objects that may depend on them. What one of his
// deployments holds may be served by another. It reads only objects with the owner's label, unless an object of his has
// lost its labels.
func Look(ctx context.Context, c *command.Command, before *Snapshot, owner string) (*Snapshot, error) {
	how := Reading{Addresses: true, Further: recordsRead(before)}
	if !before.unlabelled(owner) {
		how.owner, how.before = owner, before
	}
	s, err := Read(ctx, c.Cluster, c.Ledger, how)
	if err != nil {
		return nil, err
	}
	return s.WithOperators(before), nil
}

// unlabelled reports whether an object of the owner has lost the labels that name its lease.
func (s *Snapshot) unlabelled(owner string) bool {
	for group, objects := range s.Written {
		if group.Owner == owner && slices.ContainsFunc(objects, func(o Owned) bool {
			return slices.Contains(s.Ownership(o.Live).Lost, state.MarkLabels)
		}) {
			return true
		}
	}
	return false
}

// recordsRead returns the kinds of DNS records in a snapshot.
func recordsRead(s *Snapshot) (further []kinds.Kind) {
	for _, kind := range kinds.Records {
		if s.HasRead(kind) {
			further = append(further, kind)
		}
	}
	return further
}

// ReadAll reads all kinds of objects that leases have, the operators, and the stored definitions of the given groups.
func ReadAll(ctx context.Context, c *command.Command, definitions ...lease.Group) (*Snapshot, error) {
	return ReadWithOperators(ctx, c, Reading{Addresses: true, Further: kinds.RecordsOf(c.Options.Config), Definitions: definitions})
}

// ReadWithOperators is Read that also finds out which of Akash's operators run, and reads the Manifests that they use.
func ReadWithOperators(ctx context.Context, c *command.Command, how Reading) (*Snapshot, error) {
	var s *Snapshot
	var found operators
	var manifests Manifests
	group, groupCtx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		s, err = Read(groupCtx, c.Cluster, c.Ledger, how)
		return err
	})
	group.Go(func() (err error) {
		if found, err = findOperators(groupCtx, c); err != nil || !found.Hostname {
			return err
		}
		manifests, err = readManifests(groupCtx, c)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s.Operators, s.Manifests = found, manifests
	return s, nil
}
