// Package live waits for what the objects of a lease lead to, once they are written and the claims are final: what Akash's
// operators create, routers that accept routes, addresses that are granted, DNS records, workloads that are rolled out.
package live

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/operators"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Lease is a lease whose objects are written: what they lead to is waited for.
type Lease struct {
	X *executor.Executor
	// Definition has the HTTP options of the routes; nil if none are known.
	Definition *lease.Definition
	// Desired are the objects of the lease, Records its DNS records that the run has handled.
	Desired, Records []render.Object
	// Claims are the claims on which the run relies; one of them may be nil.
	Claims []*state.Claim
	// Work is what the lease runs; nil if the command leaves that alone.
	Work *workloads.Work
}

// Operators waits until Akash's operators have created what was left to them, as the claims say. Existence is not enough:
// if an operator is down, the former route remains.
func (l *Lease) Operators(ctx context.Context) error {
	s := l.X.Snapshot
	agrees := func(o render.Object, live *unstructured.Unstructured) bool {
		return operators.Agrees(s, l.Definition, l.X.Request.Lease, o, live)
	}
	for _, o := range l.Desired {
		if !s.Operators.Theirs(o) || agrees(o, s.TheirRoute(o)) && !l.X.Changed() {
			continue
		}
		err := l.X.Poll(ctx, "Akash's operator to create what belongs to "+o.Kind.Singular+"/"+o.Name, func(ctx context.Context) (bool, error) {
			live, err := l.getTheirs(ctx, o)
			return err == nil && agrees(o, live), err
		})
		if err != nil {
			return l.X.TimedOut(err, operators.WaitingFor(o)+operators.OtherProtocol(s, l.X.Group, o))
		}
		if l.X.Changed() && o.Kind != kinds.Service {
			l.X.Event(report.Granted, "route", o.Namespace, o.Name, "by Akash's hostname operator")
		}
	}
	return nil
}

// getTheirs reads what an operator has created for a rendered object, or nil.
func (l *Lease) getTheirs(ctx context.Context, o render.Object) (*unstructured.Unstructured, error) {
	for _, kind := range observed.OperatorKinds(o.Kind) {
		live, err := l.X.Command.Cluster.Get(ctx, kind, o.Namespace, o.Name)
		if live != nil || err != nil {
			return live, err
		}
	}
	return nil, nil //nolint:nilnil // nothing is there
}
