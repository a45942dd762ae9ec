// Package ledger reads and writes claims, the objects of kind Lease that say who holds what. What a
// claim may become is decided in package state.
package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"
	"k8s.io/client-go/metadata"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Ledger reads and writes claims. It forces nothing against the manager of a lease but in a transfer, and
// pins every write to an existing claim to the UID and the resource version that were read.
type Ledger struct {
	cluster   *cluster.Cluster
	Namespace string
	// dryRun is true for a run that asks the server what it would answer.
	dryRun bool
}

// New is the ledger in a namespace of a cluster. With dryRun writes are judged by the server and not kept.
func New(c *cluster.Cluster, namespace string, dryRun bool) Ledger {
	return Ledger{cluster: c, Namespace: namespace, dryRun: dryRun}
}

// ErrAgain says that a write lost a race, or that its answer leaves open whether it took effect:
// the claim is to be read again and decided anew.
var ErrAgain = errors.New("the claim has to be read again")

// Retries bound how often a lost race or an unclear answer is followed by another try.
var Retries = wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.7, Jitter: 0.5, Steps: 10}

func (l Ledger) client() metadata.ResourceInterface {
	return l.cluster.Metadata.Resource(cluster.Leases).Namespace(l.Namespace)
}

// List reads all claims, or those of one kind. It names no resource version, so the answer is not older than the
// request: "0" was seen to miss claims.
func (l Ledger) List(ctx context.Context, kinds ...state.Kind) ([]*state.Claim, error) {
	opts := metav1.ListOptions{}
	if len(kinds) == 1 {
		opts.LabelSelector = state.LabelKind + "=" + string(kinds[0])
	}
	return l.list(ctx, opts)
}

// ListOwner reads the claims of one owner, as List does.
func (l Ledger) ListOwner(ctx context.Context, owner string) ([]*state.Claim, error) {
	return l.list(ctx, metav1.ListOptions{LabelSelector: state.LabelOwner + "=" + owner})
}

func (l Ledger) list(ctx context.Context, opts metav1.ListOptions) ([]*state.Claim, error) {
	return cluster.ListMetas(ctx, l.cluster, cluster.Leases, l.Namespace, opts, func(meta *metav1.ObjectMeta) (*state.Claim, bool) {
		c, ok := state.ReadClaim(meta)
		return &c, ok
	})
}

// Get reads one claim; it is nil where there is none.
func (l Ledger) Get(ctx context.Context, name string) (*state.Claim, error) {
	var o *metav1.PartialObjectMetadata
	err := l.cluster.Read(ctx, func() (err error) {
		o, err = l.client().Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) && !cluster.IsMissingKind(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	if err != nil {
		return nil, l.again(ctx, err, "get")
	}
	return l.read(&o.ObjectMeta), nil
}

// read understands an object that stands under a claim's name; whatever it is, it is in the way.
func (l Ledger) read(meta *metav1.ObjectMeta) *state.Claim {
	c, ok := state.ReadClaim(meta)
	if !ok {
		c = state.Claim{
			Kind: state.Host, Thing: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
			Created: meta.CreationTimestamp.Time, Deleting: meta.DeletionTimestamp != nil,
			Unreadable: "an object of kind Lease that is no claim has its name",
		}
	}
	return &c
}

// unwritten is a resource version that no object has: etcd's first write is its second revision. An
// apply that names it, and no UID, makes the object and changes none that is there.
const unwritten = "1"

// Put makes the deployment group hold exactly these parts of the claim: the claim is made where
// it has no UID. The answer is the claim as it is now; ErrAgain is for the caller to act on.
//
// A claim is made only if there is none: to one that another run of the same group has made
// meanwhile the apply would be that manager's new will, and take away the parts it does not name.
func (l Ledger) Put(ctx context.Context, claim *state.Claim, group lease.Group, parts []state.Part) (*state.Claim, error) {
	ac := claim.Configuration(l.Namespace, parts)
	if claim.UID == "" {
		ac.WithResourceVersion(unwritten)
	}
	now, err := l.Patch(ctx, claim, group, ac, false)
	if claim.UID != "" && ownedByOthers(err) {
		now, err = l.Patch(ctx, claim, group, ac, true)
	}
	if err != nil {
		return nil, err
	}
	return l.drop(ctx, now, group, parts)
}

// ownedByOthers is true for a conflict with managers that are no deployment group's: somebody has restored
// the claim from a backup, or has edited it. What it says was read and judged, and the write is pinned to
// that.
func ownedByOthers(err error) bool {
	return cluster.IsOwned(err) && !slices.ContainsFunc(cluster.Owners(err), func(manager string) bool {
		return strings.HasPrefix(manager, lease.FieldManager+"/")
	})
}

// drop takes what the deployment group has on a claim and is not to keep out of it, pinned to the claim as
// the API server answered it. An apply without a part leaves the part where it is if the group's manager
// does not own it, as after a restore from a backup.
func (l Ledger) drop(ctx context.Context, now *state.Claim, group lease.Group, keep []state.Part) (*state.Claim, error) {
	gone := map[string]any{}
	for _, own := range now.Entries(group) {
		if !slices.ContainsFunc(keep, func(p state.Part) bool { return p.Key == own.Key }) {
			gone[own.Key] = nil
		}
	}
	if len(gone) == 0 {
		return now, nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": now.UID, "resourceVersion": now.ResourceVersion, "annotations": gone,
	}})
	if err != nil {
		return nil, err
	}
	return l.send(ctx, now.Name(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: group.FieldManager()})
}

// Seize is put by force, for a transfer within one owner. Pinned as every write is, it can only
// replace what was read.
func (l Ledger) Seize(ctx context.Context, claim *state.Claim, group lease.Group, parts []state.Part) (*state.Claim, error) {
	now, err := l.Patch(ctx, claim, group, claim.Configuration(l.Namespace, parts), true)
	if err != nil {
		return nil, err
	}
	return l.drop(ctx, now, group, parts)
}

// Withdraw makes the deployment group hold nothing of a claim of which others hold parts.
func (l Ledger) Withdraw(ctx context.Context, claim *state.Claim, group lease.Group) (*state.Claim, error) {
	now, err := l.Patch(ctx, claim, group, claim.Withdrawal(l.Namespace), false)
	if err != nil {
		return nil, err
	}
	return l.drop(ctx, now, group, nil)
}

// Patch applies what a deployment group is to have on the claim.
func (l Ledger) Patch(ctx context.Context, claim *state.Claim, group lease.Group, ac *coordinationv1.LeaseApplyConfiguration, force bool) (*state.Claim, error) {
	body, err := json.Marshal(ac)
	if err != nil {
		return nil, err
	}
	return l.send(ctx, claim.Name(), types.ApplyPatchType, body, metav1.PatchOptions{
		FieldManager: group.FieldManager(), Force: &force, FieldValidation: cluster.SkipFieldValidation,
	})
}

// send patches a claim, and answers with the claim as it is then.
func (l Ledger) send(ctx context.Context, name string, kind types.PatchType, body []byte, opts metav1.PatchOptions) (*state.Claim, error) {
	if l.dryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	var o *metav1.PartialObjectMetadata
	err := l.cluster.Write(ctx, func(write context.Context) (err error) {
		o, err = l.client().Patch(write, name, kind, body, opts)
		return err
	})
	if err != nil {
		return nil, l.again(ctx, err, "patch")
	}
	return l.read(&o.ObjectMeta), nil
}

// again marks the errors after which a claim is to be read again, and explains the others.
func (l Ledger) again(ctx context.Context, err error, verb string) error {
	if apierrors.IsNotFound(err) && !cluster.IsMissingKind(err) {
		return fmt.Errorf("the ledger's namespace %s does not exist; make it with: kubectl akash-net install", l.Namespace)
	}
	explained := l.cluster.Explain(err, verb, cluster.Leases)
	if ctx.Err() == nil && (cluster.IsOwned(err) || cluster.IsOvertaken(err) || cluster.IsUnclear(err)) {
		return fmt.Errorf("%w: %w", ErrAgain, explained)
	}
	return explained
}

// FormerHolders are the deployment groups that own fields of a claim and hold nothing of it: a
// transfer that crashed has left them.
func (l Ledger) FormerHolders(ctx context.Context, claim *state.Claim) (groups []lease.Group, err error) {
	var o *metav1.PartialObjectMetadata
	err = l.cluster.Read(ctx, func() (err error) {
		o, err = l.client().Get(ctx, claim.Name(), metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) && !cluster.IsMissingKind(err) {
		return nil, nil
	}
	if err != nil {
		return nil, l.again(ctx, err, "get")
	}
	for e := range managed.Of(o) {
		if g, ours := e.Group(); ours && len(claim.Entries(g)) == 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// Leave gives up parts of a claim that the deployment group holds: those for which drop says so.
// Where other parts remain they stay; a claim of which nobody holds a part any more is deleted. The
// write is pinned to the claim as it was read: ErrAgain says that it has moved since, so that what
// rests on it has to be looked at again before anything is given up. The answer is the claim as it is then,
// nil where it is gone, and whether anything was given up that the group held; a note that something is
// withheld goes without a word.
func (l Ledger) Leave(ctx context.Context, claim *state.Claim, group lease.Group, drop func(state.Part) bool) (now *state.Claim, left bool, err error) {
	entries := claim.Entries(group)
	keep := slices.DeleteFunc(slices.Clone(entries), drop)
	if len(keep) == len(entries) || claim.Deleting || claim.Unreadable != "" {
		return claim, false, nil
	}
	left = held(keep) < held(entries)
	var why error
	err = wait.ExponentialBackoffWithContext(ctx, Retries, func(ctx context.Context) (bool, error) {
		if now, why = l.Shrink(ctx, claim, group, keep); why == nil || !errors.Is(why, ErrAgain) || !cluster.IsUnclear(why) {
			return why == nil, why
		}
		// No answer came: whether the write took effect shows when the claim is read.
		switch now, err = l.Get(ctx, claim.Name()); {
		case err != nil:
			return Retry(err)
		case now != nil && now.UID == claim.UID && now.ResourceVersion == claim.ResourceVersion:
			return false, nil
		case now != nil && now.UID == claim.UID && slices.ContainsFunc(now.Entries(group), drop):
			return false, ErrAgain
		}
		return true, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = cmp.Or(why, err)
	}
	return now, left && err == nil, err
}

// Restore gives the parts that a run has marked the state that they had before the run: those that
// were not held are given up. The answer says whether any were.
func (l Ledger) Restore(ctx context.Context, name string, group lease.Group, nonce string, before []state.Part) (bool, error) {
	return l.rework(ctx, name, group, func(entries []state.Part) (keep []state.Part, changed bool) {
		for _, p := range entries {
			i := slices.IndexFunc(before, func(q state.Part) bool { return q.Key == p.Key })
			switch {
			case p.Run != nonce:
				keep = append(keep, p)
			case i >= 0:
				keep, changed = append(keep, before[i]), true
			default:
				changed = true
			}
		}
		return keep, changed
	})
}

// rework makes what the deployment group has written on a claim what change makes of it, and says
// whether the group holds less than before. It reads again and tries again until it has its way; a claim
// that is gone is left.
func (l Ledger) rework(ctx context.Context, name string, group lease.Group, change func([]state.Part) (keep []state.Part, changed bool)) (bool, error) {
	var left bool
	err := wait.ExponentialBackoffWithContext(ctx, Retries, func(ctx context.Context) (bool, error) {
		claim, err := l.Get(ctx, name)
		if err != nil {
			return Retry(err)
		}
		if claim == nil || claim.Deleting || claim.Unreadable != "" {
			return true, nil
		}
		entries := claim.Entries(group)
		keep, changed := change(entries)
		if !changed {
			return true, nil
		}
		_, err = l.Shrink(ctx, claim, group, keep)
		// What was unclear and is gone when it is read again was given up.
		left = left || held(keep) < held(entries) && (err == nil || cluster.IsUnclear(err))
		return Retry(err)
	})
	return left, err
}

// held counts the parts among the entries; the others are notes of what is withheld.
func held(entries []state.Part) (n int) {
	for _, p := range entries {
		if p.For == "" {
			n++
		}
	}
	return n
}

// Shrink makes the group's entries those to keep. A claim of which nobody holds a part any more is
// deleted, whoever waits for it. The answer is the claim as it is now, nil where it is gone.
func (l Ledger) Shrink(ctx context.Context, claim *state.Claim, group lease.Group, keep []state.Part) (*state.Claim, error) {
	kept := slices.ContainsFunc(keep, func(p state.Part) bool { return p.For == "" })
	others := slices.ContainsFunc(claim.Parts, func(p state.Part) bool { return p.Lease.Group() != group })
	switch {
	case !kept && !others:
		return nil, l.Delete(ctx, claim)
	case len(keep) > 0:
		return l.Put(ctx, claim, group, keep)
	}
	return l.Withdraw(ctx, claim, group)
}

// Delete removes a claim that is exactly as it was read.
func (l Ledger) Delete(ctx context.Context, claim *state.Claim) error {
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion}}
	if l.dryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	err := l.cluster.Write(ctx, func(write context.Context) error { return l.client().Delete(write, claim.Name(), opts) })
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return nil
	default:
		return l.again(ctx, err, "delete")
	}
}

// Retry tells a backoff loop what to do with an error: ErrAgain is worth another try, any other
// error ends the loop.
func Retry(err error) (done bool, fatal error) {
	if errors.Is(err, ErrAgain) {
		return false, nil
	}
	return err == nil, err
}
