package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/execute"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// maxNames is how many objects of a namespace the reason for keeping it names.
const maxNames = 5

// endNamespaces deletes the namespaces of released leases, or says why they stay.
func (a *Applier) endNamespaces(ctx context.Context, leases []*execute.Lease) {
	work := parallel.New(a.Command.Options.Concurrency)
	for _, one := range leases {
		work.Go(func() error {
			one.Fail(parallel.Guard(func() error { return ending{one.X}.all(ctx) }))
			return nil
		})
	}
	_ = work.Wait() // each lease keeps its error
}

// ending is the work on the namespaces of a released lease.
type ending struct{ of *executor.Executor }

// all deletes them, or says why they stay.
func (r ending) all(ctx context.Context) error {
	for _, name := range r.of.Snapshot.NamespacesOf(r.of.Group) {
		if err := r.end(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// end deletes a namespace of the released lease, or reports why it stays. It reads the namespace first, then
// its objects, then the claims, and pins the delete to the namespace. So it sees the claim of an apply that has begun
// meanwhile.
func (r ending) end(ctx context.Context, name string) error {
	for range executor.Looks {
		live, err := r.of.Command.Cluster.Get(ctx, kinds.Namespace, "", name)
		switch {
		case err != nil:
			return err
		case live == nil:
			return nil
		case live.GetDeletionTimestamp() != nil && r.of.Command.Options.DeleteNamespace:
			return r.await(ctx, live)
		case live.GetDeletionTimestamp() != nil:
			return nil
		case !r.of.Command.Options.DeleteNamespace:
			r.tell(live)
			return nil
		}
		why, err := r.stays(ctx, live)
		if err != nil {
			return err
		}
		if why != "" {
			r.of.Event(report.Kept, kinds.Namespace.Singular, "", name, why)
			return nil
		}
		err = r.of.Command.Cluster.DeletePinned(ctx, kinds.Namespace, "", name, live.GetUID(), live.GetResourceVersion())
		switch {
		case err == nil:
			return r.await(ctx, live)
		case !cluster.IsOvertaken(err):
			return r.of.Command.Cluster.Explain(err, "delete", cluster.Namespaces)
		}
	}
	return &report.MovingError{Done: "deleted", Kind: kinds.Namespace.Singular, Name: name, Why: cluster.ErrMoving.Error()}
}

// tell reports the command that deletes a namespace which this program has created.
func (r ending) tell(live *unstructured.Unstructured) {
	if !state.MadeNamespace(live) {
		return // Akash's provider deletes it
	}
	r.of.Command.Send(report.Event{
		Time: time.Now(), Action: report.Kept, Lease: r.of.Request.Lease, Kind: kinds.Namespace.Singular, Name: live.GetName(),
		Message: "to delete it", Next: fmt.Sprintf("kubectl akash-net release %s --delete-namespace", r.of.Group),
	})
}

// stays returns why the namespace of the released lease is kept, or "" if it may be deleted.
func (r ending) stays(ctx context.Context, live *unstructured.Unstructured) (why string, err error) {
	if !state.MadeNamespace(live) {
		return "kubectl akash-net did not make it, or another program has written its labels since", nil
	}
	derived := func(resource schema.GroupResource, labels map[string]string) bool {
		return deployed.Derived(resource, labels, live.GetName())
	}
	names, err := r.of.Command.Cluster.Contents(ctx, live.GetName(), derived)
	if err != nil {
		return "", err
	}
	if len(names) > 0 {
		why := "it is not empty: " + strings.Join(names[:min(len(names), maxNames)], ", ")
		if more := len(names) - maxNames; more > 0 {
			why += fmt.Sprintf(" and %d more", more)
		}
		return why, nil
	}
	if r.of.Snapshot.WrittenByOthers(r.of.Group) > 0 {
		return "Akash's provider serves the lease", nil
	}
	claimed, err := r.claimedAgain(ctx)
	if claimed {
		return "the lease is being applied again", err
	}
	return "", err
}

// claimedAgain reports whether the ledger names the lease.
func (r ending) claimedAgain(ctx context.Context) (bool, error) {
	claims, err := r.of.Command.Ledger.ListOwner(ctx, r.of.Group.Owner)
	return slices.ContainsFunc(claims, func(c *state.Claim) bool { return slices.Contains(c.Writers(), r.of.Group) }), err
}

// await waits until a deleted namespace is gone and reports it. If an apply has begun meanwhile, it may have
// written into that namespace, and the error asks to run it again.
func (r ending) await(ctx context.Context, live *unstructured.Unstructured) error {
	name, action, message := live.GetName(), report.Deleting, "it goes as soon as Kubernetes has emptied it"
	if r.of.Command.Options.Wait > 0 {
		err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, r.of.Command.Options.Wait, true, func(ctx context.Context) (bool, error) {
			now, err := r.of.Command.Cluster.Get(ctx, kinds.Namespace, "", name)
			return now == nil || now.GetUID() != live.GetUID(), err
		})
		if wait.Interrupted(err) && ctx.Err() == nil {
			waiting := fmt.Sprintf("namespace %s to be gone; its deletion goes on without this command", name)
			return &report.TimeoutError{After: r.of.Command.Options.Wait, Waiting: []string{waiting}}
		}
		if err != nil {
			return err
		}
		action, message = report.Deleted, ""
	}
	r.of.Event(action, kinds.Namespace.Singular, "", name, message)
	if claimed, err := r.claimedAgain(ctx); err != nil || !claimed {
		return err
	}
	return fmt.Errorf("lease %s was applied while its namespace %s was deleted; apply it again", r.of.Group, name)
}
