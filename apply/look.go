package apply

import (
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"context"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// look reads all of a deployment group again, for a run that has read before: its claims first, then the
// objects that may rest on them. It reads only what the labels of the group select, unless an object of
// the group has lost its labels.
func look(ctx context.Context, a *Command, before *snapshot, group lease.Group) (*snapshot, error) {
	how := reading{addresses: true, further: recordsRead(before), claimsFirst: true}
	if !before.unlabelled(group) {
		how.of, how.before = &group, before
	}
	s, err := readBy(ctx, a.cluster, a.ledger, how)
	if err != nil {
		return nil, err
	}
	s.operators, s.manifests = before.operators, before.manifests
	return s, nil
}

// unlabelled is true where an object of the group has lost the labels that name its lease.
func (s *snapshot) unlabelled(group lease.Group) bool {
	return slices.ContainsFunc(s.written[group], func(o owned) bool {
		return slices.Contains(s.ownership(o.live).Lost, state.MarkLabels)
	})
}

// recordsRead are the kinds of DNS records that a snapshot was read with.
func recordsRead(s *snapshot) (further []kinds.Kind) {
	for _, kind := range []kinds.Kind{kinds.DNSRecord, kinds.DNSEndpoint} {
		if _, read := s.live[kind.Plural]; read {
			further = append(further, kind)
		}
	}
	return further
}

// read takes the snapshot, and finds the operators and what they go by: the Manifests of Akash's
// provider.
func readAll(ctx context.Context, a *Command, definitions ...lease.Group) (*snapshot, error) {
	return readWith(ctx, a, reading{addresses: true, further: kinds.RecordsOf(a.opts.Config), definitions: definitions})
}

func readWith(ctx context.Context, a *Command, how reading) (*snapshot, error) {
	var s *snapshot
	var found operators
	manifests := map[string]*unstructured.Unstructured{}
	group, groupCtx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		s, err = readBy(groupCtx, a.cluster, a.ledger, how)
		return err
	})
	group.Go(func() (err error) {
		if found, err = findOperators(groupCtx, a); err != nil || !found.hostname {
			return err
		}
		list, err := a.cluster.Objects(groupCtx, cluster.AkashResource("manifests"), a.opts.Config.ManifestNamespace, metav1.ListOptions{})
		for _, m := range list {
			manifests[m.GetName()] = m
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s.operators, s.manifests = found, manifests
	return s, nil
}
