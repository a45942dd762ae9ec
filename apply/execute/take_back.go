package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// takeBack ends a lease of a command that another one has taken for crashed: it deletes the objects that it has created for things
// which the lease does not hold any more, because the other command may have given them up before the write. It returns why, with what
// could not be deleted.
func (l *loop) takeBack(ctx context.Context, one *Lease, why error) error {
	if _, lost := errors.AsType[*turn.LostError](why); !lost || one.Outcome == nil {
		return why
	}
	ctx, cancel := executor.UndoContext(cluster.WithGate(ctx, nil))
	defer cancel()
	errs := []error{why}
	// What a lease runs goes as a release deletes it, the Manifest last: what could not be deleted is found by that.
	order := func(k engine.Key) int { return slices.Index(kinds.RunningEnds, k.Kind) }
	all := one.Outcome.Applied.Made
	for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b engine.Key) int { return cmp.Compare(order(a), order(b)) }) {
		made := all[k]
		if k.Kind == kinds.Manifest && len(errs) > 1 {
			break
		}
		o := observed.Owned{Kind: k.Kind, Live: made, Group: one.X.Group}
		deleted, err := l.command.Cluster.Remove(ctx, k.Kind, made, func(ctx context.Context, now *unstructured.Unstructured) (bool, error) {
			o.Live = now
			return l.isLeft(ctx, one, o, isUnwritten(made, now))
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("%s could not be taken back: %w", k, executor.UndoError(ctx, err)))
		}
		if deleted != nil {
			action, message := report.Deletion(report.Deleted, deleted, "taken back")
			one.X.Event(action, k.Kind.Singular, k.Namespace, k.Name, message)
		}
	}
	return errors.Join(errs...)
}

// isLeft reports whether nobody relies on an object that the lease has created: the lease holds nothing that it serves, and no other
// one does since a transfer. One that accompanies a route was touched if the other command relies on it.
func (l *loop) isLeft(ctx context.Context, one *Lease, o observed.Owned, unwritten bool) (bool, error) {
	if one.Work != nil && deployed.StandingOf(o.Live, o.Group, one.X.Request.Lease.Namespace()) == deployed.Ours {
		return unwritten, nil
	}
	if id, labelled := lease.IDFromLabels(o.Live.GetLabels()); !labelled || id.Group() != o.Group {
		return false, nil
	}
	grounds, err := observed.ReadGrounds(ctx, l.command.Ledger, o)
	if err != nil || len(grounds) == 0 {
		return err == nil && unwritten, err
	}
	return !slices.ContainsFunc(grounds, func(g observed.Ground) bool {
		return slices.ContainsFunc(append(g.Claim.PartsOf(o.Group), g.Claim.FormerOf(o.Group)...), func(p state.Part) bool {
			return observed.StandsFor(o, g.Claim, p)
		})
	}), nil
}

// isUnwritten reports whether nobody has applied an object since a command has made it. Controllers write the status, and annotations of
// their own.
func isUnwritten(made, now *unstructured.Unstructured) bool {
	if made.GetResourceVersion() == now.GetResourceVersion() {
		return true
	}
	was, is := made.GetAnnotations(), now.GetAnnotations()
	for name, value := range was {
		if is[name] != value {
			return false
		}
	}
	return made.GetGeneration() > 0 && made.GetGeneration() == now.GetGeneration() &&
		was[lease.AnnotationTaken] == is[lease.AnnotationTaken] && maps.Equal(made.GetLabels(), now.GetLabels())
}
