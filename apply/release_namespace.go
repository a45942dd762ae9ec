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
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// maxNames is how many objects of a namespace the reason for keeping it names.
const maxNames = 5

// endNamespaces ends several releases: it reports what they leave, and deletes the leases' namespaces or reports why
// they stay.
func (a *Applier) endNamespaces(ctx context.Context, releases []*releasing) {
	work := parallel.New(a.Options.Concurrency)
	for _, r := range releases {
		if r.err != nil {
			continue
		}
		r.reportLeft()
		if !r.chosen.all {
			continue
		}
		work.Go(func() error {
			r.err = parallel.Guard(func() error { return r.endAll(ctx) })
			return nil
		})
	}
	_ = work.Wait() // each release keeps its error
}

// endAll deletes the namespaces of the released leases, or reports why they stay.
func (r *releasing) endAll(ctx context.Context) error {
	for _, name := range r.Snapshot.NamespacesOf(r.Group) {
		if err := r.endNamespace(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// endNamespace deletes a namespace of the released lease, or reports why it stays. It reads the namespace first, then
// its objects, then the claims, and pins the delete to the namespace. So it sees the claim of an apply that has begun
// meanwhile.
func (r *releasing) endNamespace(ctx context.Context, name string) error {
	for range executor.Looks {
		live, err := r.Cluster.Get(ctx, kinds.Namespace, "", name)
		switch {
		case err != nil:
			return err
		case live == nil:
			return nil
		case live.GetDeletionTimestamp() != nil && r.Options.DeleteNamespace:
			return r.awaitNamespace(ctx, live)
		case live.GetDeletionTimestamp() != nil:
			return nil
		case !r.Options.DeleteNamespace:
			r.reportNamespace(live)
			return nil
		}
		why, err := r.namespaceStays(ctx, live)
		if err != nil {
			return err
		}
		if why != "" {
			r.Event(report.Left, kinds.Namespace.Singular, "", name, why)
			return nil
		}
		err = r.Cluster.DeletePinned(ctx, kinds.Namespace, "", name, live.GetUID(), live.GetResourceVersion())
		switch {
		case err == nil:
			return r.awaitNamespace(ctx, live)
		case !cluster.IsOvertaken(err):
			return r.Cluster.Explain(err, "delete", cluster.Namespaces)
		}
	}
	return fmt.Errorf("namespace %s changes faster than it can be deleted; release lease %s again", name, r.Group)
}

// reportNamespace reports the command that deletes a namespace which this program has created.
func (r *releasing) reportNamespace(live *unstructured.Unstructured) {
	if !state.MadeNamespace(live) {
		return // Akash's provider deletes it
	}
	r.Send(report.Event{
		Time: time.Now(), Action: report.Left, Lease: r.Request.Lease, Kind: kinds.Namespace.Singular, Name: live.GetName(),
		Message: "to delete it", Next: fmt.Sprintf("kubectl akash-net release %s --delete-namespace", r.Group),
	})
}

// namespaceStays returns why the namespace of the released lease is kept, or "" if it may be deleted.
func (r *releasing) namespaceStays(ctx context.Context, live *unstructured.Unstructured) (why string, err error) {
	if !state.MadeNamespace(live) {
		return "kubectl akash-net did not make it, or another program has written its labels since", nil
	}
	derived := func(resource schema.GroupResource, labels map[string]string) bool {
		return deployed.Derived(resource, labels, live.GetName())
	}
	names, err := r.Cluster.Contents(ctx, live.GetName(), derived)
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
	if theirs := r.Snapshot.WrittenByOthers(r.Group); theirs > 0 {
		return "Akash's provider serves the lease", nil
	}
	claimed, err := r.claimedAgain(ctx)
	if claimed {
		return "the lease is being applied again", err
	}
	return "", err
}

// claimedAgain reports whether the ledger names the lease.
func (r *releasing) claimedAgain(ctx context.Context) (bool, error) {
	claims, err := r.Ledger.ListOwner(ctx, r.Group.Owner)
	return slices.ContainsFunc(claims, func(c *state.Claim) bool { return slices.Contains(c.Writers(), r.Group) }), err
}

// awaitNamespace waits until a deleted namespace is gone and reports it. If an apply has begun meanwhile, it may have
// written into that namespace, and the error asks to run it again.
func (r *releasing) awaitNamespace(ctx context.Context, live *unstructured.Unstructured) error {
	name, message := live.GetName(), "it goes as soon as Kubernetes has emptied it"
	if r.Options.Wait > 0 {
		err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, r.Options.Wait, true, func(ctx context.Context) (bool, error) {
			now, err := r.Cluster.Get(ctx, kinds.Namespace, "", name)
			return now == nil || now.GetUID() != live.GetUID(), err
		})
		if wait.Interrupted(err) && ctx.Err() == nil {
			waiting := fmt.Sprintf("namespace %s to be gone; its deletion goes on without this command", name)
			return &report.TimeoutError{After: r.Options.Wait, Waiting: []string{waiting}}
		}
		if err != nil {
			return err
		}
		message = ""
	}
	r.Event(report.Deleted, kinds.Namespace.Singular, "", name, message)
	if claimed, err := r.claimedAgain(ctx); err != nil || !claimed {
		return err
	}
	return fmt.Errorf("lease %s was applied while its namespace %s was deleted; apply it again", r.Group, name)
}
