package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// ClaimsExistError reports that nothing was uninstalled because claims or reservations exist.
type ClaimsExistError struct {
	Claims, Reservations int
	// New is true if they were not there when what is to be destroyed was listed.
	New bool
}

func (e *ClaimsExistError) Error() string {
	what, shows := lease.Count(e.Claims, "claim"), "Release them first (kubectl akash-net state shows them)"
	if e.Claims == 0 {
		what, shows = lease.Count(e.Reservations, "reservation"), "Give them up first (kubectl akash-net state orders shows them)"
	}
	if e.New {
		return "there is " + what + " that did not exist when the question was asked: nothing was removed. Run the same command again"
	}
	return fmt.Sprintf("the ledger has %s, which would go with it: nothing was removed. %s, or use --force", what, shows)
}

// AtWorkError reports that nothing was uninstalled because a command is working on the ledger, or has crashed.
type AtWorkError struct {
	// Run describes the command, and since when it has been working.
	Run     string
	Crashed bool
}

func (e *AtWorkError) Error() string {
	next := "Wait until it has ended"
	if e.Crashed {
		next = "Repair that first (kubectl akash-net repair), or use --force"
	}
	return e.Run + ": nothing was removed. " + next
}

// Destroyed are the claims, and the reservations of orders, that go with a ledger: what each is of, by its UID.
type Destroyed map[types.UID]string

// Destroys lists what would go with the ledger.
func (i *Installer) Destroys(ctx context.Context) (Destroyed, error) {
	claims, reservations, err := i.recorded(ctx)
	all := Destroyed{}
	for _, c := range claims {
		all[c.UID] = fmt.Sprintf("%s/%s", c.Kind, c.Thing)
	}
	for _, r := range reservations {
		if all[r.UID] = "order/" + r.Order.String(); r.Unreadable != "" {
			all[r.UID] = "lease.coordination.k8s.io/" + r.ObjectName
		}
	}
	return all, err
}

// recorded lists the claims and the reservations of orders.
func (i *Installer) recorded(ctx context.Context) ([]*state.Claim, []*reserved.Claim, error) {
	claims, err := i.ledger().List(ctx)
	if err != nil {
		return nil, nil, err
	}
	reservations, err := i.ledger().Reservations(ctx, "")
	return claims, reservations, err
}

// Uninstall deletes what Install created, and reports what commands on leases have written, which it leaves. It keeps resource definitions of which objects exist, and Akash's manifest
// namespace. It refuses if there are claims or reservations other than those that are to be destroyed, which Destroys has listed, and
// always if a command is working; where destroyed is not nil, one that has crashed does not count. The reconciler goes first, so that it
// puts nothing back.
//
// It closes the ledger before it lists claims: a command that takes its first claim later gives it back, and one that
// has taken it before is seen. If the namespace stays, for whatever reason, Uninstall reopens the ledger.
func (i *Installer) Uninstall(ctx context.Context, destroyed Destroyed) error {
	err := i.close(ctx)
	if err == nil {
		err = i.uninstall(ctx, destroyed)
	}
	if closed := i.reopen(ctx); closed != nil {
		return errors.Join(err, closed)
	}
	return err
}

// uninstall deletes the objects while the ledger is closed.
func (i *Installer) uninstall(ctx context.Context, destroyed Destroyed) error {
	if err := i.inUse(ctx, destroyed); err != nil {
		return err
	}
	if err := i.uninstallReconciler(ctx); err != nil {
		return err
	}
	objects, err := manifests.All(i.Config, "")
	if err != nil {
		return err
	}
	roles, err := manifests.Workloads()
	if err != nil {
		return err
	}
	objects = append(objects, roles...)
	policies, err := i.policies(nil)
	if err != nil {
		return err
	}
	slices.Reverse(objects)
	closed := true
	for _, o := range append(policies, objects...) {
		if closed {
			if err := i.renew(ctx); err != nil {
				return err
			}
		}
		if err := i.uninstallObject(ctx, o); err != nil {
			return err
		}
		closed = closed && !i.isLedger(o)
	}
	return i.tellLeft(ctx)
}

// inUse returns an error if commands use the ledger, or claims or reservations that are not to be destroyed.
func (i *Installer) inUse(ctx context.Context, destroyed Destroyed) error {
	runs, err := i.ledger().Announcements.List(ctx)
	if err != nil {
		return err
	}
	now := i.Cluster.Now()
	for _, run := range runs {
		if run.Phase == state.Fenced || run.Phase == state.Closing {
			continue
		}
		if crashed := run.Unreadable != "" || run.Over(now); !crashed || destroyed == nil {
			return &AtWorkError{Run: run.Stands(now), Crashed: crashed}
		}
	}
	claims, reservations, err := i.recorded(ctx)
	claims = slices.DeleteFunc(claims, func(c *state.Claim) bool { return destroyed[c.UID] != "" })
	reservations = slices.DeleteFunc(reservations, func(c *reserved.Claim) bool { return destroyed[c.UID] != "" })
	if err == nil && len(claims)+len(reservations) > 0 {
		err = &ClaimsExistError{Claims: len(claims), Reservations: len(reservations), New: destroyed != nil}
	}
	return err
}

// uninstallObject deletes an object, or reports why it stays. If the object has changed since it was read, it reads it
// again and decides anew.
func (i *Installer) uninstallObject(ctx context.Context, o *unstructured.Unstructured) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { return i.uninstallAsRead(ctx, o) })
	if apierrors.IsConflict(err) {
		return i.Cluster.Explain(err, "delete", resourceOf(o))
	}
	return err
}

func (i *Installer) uninstallAsRead(ctx context.Context, o *unstructured.Unstructured) error {
	resource := resourceOf(o)
	live, err := i.get(ctx, o)
	if live == nil || err != nil {
		return err
	}
	if reason, err := i.keep(ctx, o, live); err != nil || reason != "" {
		if err == nil {
			i.report(report.Kept, o, reason)
		}
		return err
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if i.isLedger(o) && live.GetDeletionTimestamp() == nil {
		if live.GetAnnotations()[lease.AnnotationClosing] != i.own.Nonce {
			return &ReopenedError{Namespace: o.GetName()}
		}
		opts.Preconditions.ResourceVersion = &version
	}
	err = i.write(ctx, func(ctx context.Context) error { return i.client(o).Delete(ctx, o.GetName(), opts) })
	switch {
	case apierrors.IsConflict(err):
		return err
	case err != nil && !apierrors.IsNotFound(err):
		return i.Cluster.Explain(err, "delete", resource)
	}
	if left, err := i.stillThere(ctx, live); err != nil || left {
		if err == nil {
			i.report(report.Deleting, o, "it goes as soon as Kubernetes has emptied it")
		}
		return err
	}
	i.report(report.Deleted, o, "")
	return nil
}

// stillThere reports whether an object whose delete the API server has taken is there yet, as a namespace is until it is empty. A dry run
// deletes nothing, and asks nothing.
func (i *Installer) stillThere(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
	if !i.Cluster.Waits() {
		return false, nil
	}
	now, err := i.get(ctx, o)
	return now != nil && now.GetUID() == o.GetUID(), err
}

// keep returns why an object is not to be uninstalled, or "".
func (i *Installer) keep(ctx context.Context, o, live *unstructured.Unstructured) (string, error) {
	switch {
	case o.GetLabels()[managedBy] != managedByUs:
		return "it is Akash's provider's too", nil
	case live.GetLabels()[managedBy] != managedByUs:
		return "it is not from install", nil
	}
	if o.GetKind() != "CustomResourceDefinition" {
		return "", nil
	}
	if !isOurs(live) {
		return "Akash's own has been applied over it", nil
	}
	plural, _, _ := unstructured.NestedString(o.Object, "spec", "names", "plural")
	metas, err := i.Cluster.Metas(ctx, cluster.AkashResource(plural), "")
	if err != nil && !cluster.IsMissingKind(err) {
		return "", err
	}
	if len(metas) > 0 {
		return lease.Count(len(metas), "object") + " of the kind would go with it", nil
	}
	return "", nil
}

// Refused explains who may install and uninstall, if RBAC refuses it. It returns other errors unchanged. The operators'
// roles do not suffice: nobody may grant rights with RBAC that they do not have.
func Refused(err error) error {
	var status apierrors.APIStatus
	if _, several := err.(interface{ Unwrap() []error }); several { // keep all errors of a join
		return err
	}
	if !apierrors.IsForbidden(err) || cluster.IsPolicy(err) || cluster.IsTerminating(err) || !errors.As(err, &status) {
		return err
	}
	return fmt.Errorf("not allowed: %s\nInstalling and uninstalling take a cluster administrator: run the command as one (--context, --as), or ask one",
		status.Status().Message)
}

// tellLeft reports what commands on leases have written and an uninstall leaves: the pools and the namespaces of leases. Somebody else's
// Services may have addresses of a pool, and workloads may run in a namespace.
func (i *Installer) tellLeft(ctx context.Context) error {
	pools := metav1.ListOptions{LabelSelector: lease.LabelOurs + "=true"}
	for _, kind := range kinds.Pools {
		if err := i.tellLeftOf(ctx, kind, pools, "a Service may have an address of it; delete it if none has"); err != nil {
			return err
		}
	}
	leased := metav1.ListOptions{LabelSelector: lease.LabelManaged + "=true," + lease.LabelDSeq}
	return i.tellLeftOf(ctx, kinds.Namespace, leased, "what its lease runs may be in it; delete it if nothing is")
}

// tellLeftOf reports the objects of a kind that this program has written.
func (i *Installer) tellLeftOf(ctx context.Context, kind kinds.Kind, opts metav1.ListOptions, why string) error {
	left, err := cluster.ListMetas(ctx, i.Cluster, kind.Resource(), "", opts, func(meta *metav1.ObjectMeta) (*metav1.ObjectMeta, bool) {
		return meta, slices.ContainsFunc(slices.Collect(managed.Of(meta)), isOfThisProgram)
	})
	if err != nil {
		if cluster.IsMissingKind(err) {
			return nil
		}
		return i.Cluster.Explain(err, "list", kind.Resource())
	}
	for _, meta := range left {
		i.Report(report.Event{
			Time: time.Now(), Action: report.Kept, Kind: strings.ToLower(kind.Kind), Namespace: meta.Namespace, Name: meta.Name, Message: why,
		})
	}
	return nil
}

// isOfThisProgram reports whether this program has written the entry: by an apply, or as it creates namespaces, which it never changes
// later (decision 57).
func isOfThisProgram(e managed.Entry) bool { return e.Ours() || e.Manager == lease.FieldManager }

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// stopping bounds how long an uninstall waits for the end of the reconciler's pods.
const stopping = time.Minute

// uninstallReconciler deletes the reconciler, if it is installed: first its Deployment, and when its pods have ended the rights with
// which they give back what they were about to write.
func (i *Installer) uninstallReconciler(ctx context.Context) error {
	objects, err := manifests.Reconciler(i.Config, "")
	if err != nil {
		return err
	}
	slices.Reverse(objects)
	deployment := objects[0]
	if err := i.uninstallObject(ctx, deployment); err != nil {
		return err
	}
	if err := i.awaitStopped(ctx, deployment); err != nil {
		return err
	}
	for _, o := range objects[1:] {
		if err := i.renew(ctx); err != nil {
			return err
		}
		if err := i.uninstallObject(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// awaitStopped waits until a Deployment that was deleted has no pods any more. A Deployment that is left, because install did not bring
// it, keeps its pods.
func (i *Installer) awaitStopped(ctx context.Context, deployment *unstructured.Unstructured) error {
	if !i.Cluster.Waits() {
		return nil
	}
	labels, _, err := unstructured.NestedStringMap(deployment.Object, "spec", "selector", "matchLabels")
	if err != nil {
		return err
	}
	opts := metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})}
	said := false
	err = wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, stopping, true, func(ctx context.Context) (bool, error) {
		list, err := i.Cluster.Objects(ctx, pods, deployment.GetNamespace(), opts)
		if err != nil {
			return false, err
		}
		if len(list) == 0 {
			return true, nil
		}
		left, err := i.Cluster.Get(ctx, kinds.Deployment, deployment.GetNamespace(), deployment.GetName())
		if err != nil || left != nil && left.GetDeletionTimestamp() == nil {
			return true, err
		}
		if !said {
			i.report(report.Waiting, deployment, "its pods end")
			said = true
		}
		return false, i.renew(ctx)
	})
	if wait.Interrupted(err) && ctx.Err() == nil && !errors.Is(err, cluster.ErrMoving) {
		return &report.TimeoutError{After: stopping, Waiting: []string{"the pods of the reconciler to end; uninstall again when they have"}}
	}
	return err
}

// reopenTime bounds how long an uninstall tries to open the ledger again.
const reopenTime = 30 * time.Second

// close announces the uninstall and marks the ledger's namespace, so that no command whose turn begins later takes a claim.
// It first removes the mark and the announcements of uninstalls that have crashed or run concurrently. An uninstall is
// announced as long as its mark exists.
func (i *Installer) close(ctx context.Context) error {
	if _, err := i.ledger().Announcements.Open(ctx); err != nil {
		return err
	}
	now := i.Cluster.Now()
	i.own = &state.Announcement{
		Nonce: state.NewNonce(now), By: turn.WhoRuns(), Version: i.Version, Begun: now, Renewed: now, Lasts: turn.Lasts, Phase: state.Closing,
	}
	own, err := i.ledger().Announcements.Put(ctx, i.own)
	if err != nil {
		return err
	}
	i.own = own
	return i.ledger().Announcements.Close(ctx, own.Nonce)
}

// reopen removes this uninstall's mark and announcement, also after an interrupt. It leaves those of another uninstall.
func (i *Installer) reopen(ctx context.Context) error {
	if i.own == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reopenTime)
	defer cancel()
	if err := i.ledger().Announcements.OpenAfter(ctx, i.own.Nonce); err != nil {
		return fmt.Errorf("the ledger in namespace %s may still be closed: %w; open it with: kubectl akash-net install",
			i.Config.LedgerNamespace, err)
	}
	return nil
}

// renew renews the announcement of this uninstall, so that nobody takes it for crashed. It returns a ReopenedError if
// somebody has removed the announcement.
func (i *Installer) renew(ctx context.Context) error {
	return i.ledger().Objects.Until(ctx, func(ctx context.Context) error {
		next := *i.own
		next.Renewed = i.Cluster.Now()
		now, err := i.ledger().Announcements.Put(ctx, &next)
		if errors.Is(err, ledger.ErrAgain) {
			there, unread := i.ledger().Announcements.Get(ctx, next.Nonce)
			switch {
			case unread != nil:
				return unread
			case there == nil:
				return &ReopenedError{Namespace: i.Config.LedgerNamespace}
			}
			now = there
		}
		if now != nil {
			i.own = now
		}
		return err
	})
}

func (i *Installer) ledger() ledger.Ledger { return ledger.New(i.Cluster, i.Config.LedgerNamespace) }

// isLedger reports whether an object is the namespace of the ledger.
func (i *Installer) isLedger(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Namespace" && o.GetName() == i.Config.LedgerNamespace
}

// ReopenedError reports that an uninstall has lost its mark because somebody has reopened the ledger.
type ReopenedError struct{ Namespace string }

func (e *ReopenedError) Error() string {
	return fmt.Sprintf("the ledger in namespace %s was reopened while it was uninstalled, by install or by another uninstall; the namespace stays. "+
		"Uninstall again, or bring back the rest with: kubectl akash-net install", e.Namespace)
}
