package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// awaitOperators waits until the operators have made what was left to them.
func (r *run) awaitOperators(ctx context.Context, desired []render.Object) error {
	for _, o := range desired {
		if o.Kind == render.Service || !r.snapshot.operators.theirs(o) || r.snapshot.theirRoute(o) != nil && !r.changed {
			continue
		}
		err := r.poll(ctx, func(ctx context.Context) (bool, error) {
			live, err := r.getTheirs(ctx, o.Kind, o.Namespace, o.Name)
			return live != nil, err
		})
		if errors.Is(err, errTimedOut) {
			return &TimeoutError{After: r.opts.Wait, Waiting: []string{fmt.Sprintf(
				"Akash's hostname operator to route %s in namespace %s (see: kubectl -n %s logs deploy/operator-hostname, and its /ignore-list)", o.Name, o.Namespace, OperatorsNamespace)}}
		}
		if err != nil {
			return err
		}
		if r.changed {
			r.event(Granted, "route", o.Namespace, o.Name, "by Akash's hostname operator")
		}
	}
	return nil
}

// awaitOperatorsGone waits until the operators have removed what they had made for the objects that
// were deleted: as long as it is there it serves, and its claim is kept.
func (r *run) awaitOperatorsGone(ctx context.Context, removed []owned) error {
	if r.opts.DryRun != "" || r.opts.Wait == 0 {
		return nil
	}
	for _, o := range removed {
		kind, namespace, name, waits := r.madeOf(o)
		if !waits {
			continue
		}
		err := r.poll(ctx, func(ctx context.Context) (bool, error) {
			live, err := r.getTheirs(ctx, kind, namespace, name)
			if live == nil || err != nil {
				return live == nil && err == nil, err
			}
			id, labelled := lease.IDFromLabels(live.GetLabels())
			return labelled && id.Group() != r.group, nil
		})
		if errors.Is(err, errTimedOut) {
			return &TimeoutError{After: r.opts.Wait, Waiting: []string{fmt.Sprintf(
				"Akash's operator to remove %s %s/%s; its claim is kept until then: the same command goes on", kind.Singular, namespace, name)}}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// madeOf names what an operator has made of one of Akash's objects.
func (r *run) madeOf(o owned) (kind render.Kind, namespace, name string, waits bool) {
	id, _ := lease.IDFromLabels(o.live.GetLabels())
	switch {
	case o.kind == render.ProviderHost && r.snapshot.operators.hostname:
		return render.Ingress, id.Namespace(), o.live.GetName(), true
	case o.kind == render.ProviderLeasedIP && r.snapshot.operators.ip:
		port := state.PortObjectOf(o.live)
		return render.Service, id.Namespace(), lease.IPServiceName(port.Service, port.Port, port.Protocol), true
	}
	return render.Kind{}, "", "", false
}

// getTheirs reads what an operator makes for a rendered object, or nil.
func (r *run) getTheirs(ctx context.Context, kind render.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	for _, kind := range operatorKinds(kind) {
		live, err := r.cluster.Get(ctx, kind, namespace, name)
		if missing := (*cluster.MissingKindError)(nil); errors.As(err, &missing) && kinds.Optional(kind) {
			err = nil
		}
		if live != nil || err != nil {
			return live, err
		}
	}
	return nil, nil //nolint:nilnil // nothing is there
}

var errTimedOut = errors.New("timed out")

// poll asks until it is done, for as long as the run waits.
func (r *run) poll(ctx context.Context, done wait.ConditionWithContextFunc) error {
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, r.opts.Wait, true, done)
	if wait.Interrupted(err) && ctx.Err() == nil {
		return errTimedOut
	}
	return err
}
