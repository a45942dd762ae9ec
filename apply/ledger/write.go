package ledger

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Put makes the deployment group hold exactly these parts of the claim: the claim is made where
// it has no UID. The answer is the claim as it is now; ErrAgain is for the caller to act on.
//
// A claim is made only if there is none: to one that another run of the same group has made
// meanwhile the apply would be that manager's new will, and take away the parts it does not name.
func (l Ledger) Put(ctx context.Context, claim *state.Claim, group lease.Group, parts []state.Part) (*state.Claim, error) {
	ac := claim.Configuration(l.Namespace, parts)
	if claim.UID == "" {
		ac.WithResourceVersion(cluster.Unwritten)
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
	meta, err := l.patch(ctx, name, kind, body, opts)
	if err != nil {
		return nil, err
	}
	claim := l.read(meta)
	return claim, l.settle(ctx, []*state.Claim{claim}, nil)
}

// patch patches an object of the ledger, and answers with its metadata as it is then.
func (l Ledger) patch(ctx context.Context, name string, kind types.PatchType, body []byte, opts metav1.PatchOptions) (*metav1.ObjectMeta, error) {
	var o *metav1.PartialObjectMetadata
	err := l.cluster.Write(ctx, func(write context.Context) (err error) {
		o, err = l.client().Patch(write, name, kind, body, opts)
		return err
	})
	if err != nil {
		return nil, l.again(ctx, err, "patch")
	}
	return &o.ObjectMeta, nil
}
