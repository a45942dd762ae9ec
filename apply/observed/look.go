package observed

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Look reads everything of a deployment group again: the claims first, then the objects that may depend on them. It
// reads only objects with the group's labels, unless an object of the group has lost its labels.
func Look(ctx context.Context, c *command.Command, before *Snapshot, group lease.Group) (*Snapshot, error) {
	how := Reading{Addresses: true, Further: recordsRead(before), ClaimsFirst: true}
	if !before.unlabelled(group) {
		how.of, how.before = &group, before
	}
	s, err := Read(ctx, c.Cluster, c.Ledger, how)
	if err != nil {
		return nil, err
	}
	return s.WithOperators(before), nil
}

// unlabelled reports whether an object of the group has lost the labels that name its lease.
func (s *Snapshot) unlabelled(group lease.Group) bool {
	return slices.ContainsFunc(s.Written[group], func(o Owned) bool {
		return slices.Contains(s.Ownership(o.Live).Lost, state.MarkLabels)
	})
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
	manifests := map[string]*unstructured.Unstructured{}
	group, groupCtx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		s, err = Read(groupCtx, c.Cluster, c.Ledger, how)
		return err
	})
	group.Go(func() (err error) {
		if found, err = findOperators(groupCtx, c); err != nil || !found.Hostname {
			return err
		}
		list, err := c.Cluster.Objects(groupCtx, cluster.AkashResource("manifests"), c.Options.Config.ManifestNamespace, metav1.ListOptions{})
		for _, m := range list {
			manifests[m.GetName()] = m
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s.Operators, s.Manifests = found, manifests
	return s, nil
}
