// Package ledger reads and writes claims, the objects of kind Lease that say who holds what. What a
// claim may become is decided in package state.
package ledger

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
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
	runs      *runs
}

// New is the ledger in a namespace of a cluster.
func New(c *cluster.Cluster, namespace string) Ledger {
	return Ledger{cluster: c, Namespace: namespace, runs: newRuns()}
}

// ErrAgain says that a write lost a race, or that its answer leaves open whether it took effect:
// the claim is to be read again and decided anew.
var ErrAgain = errors.New("the claim has to be read again")

func (l Ledger) client() metadata.ResourceInterface {
	return l.cluster.Metadata.Resource(cluster.Leases).Namespace(l.Namespace)
}

// List reads all claims, or those of one kind. It names no resource version, so the answer is not older than the
// request: "0" was seen to miss claims.
//
// Claims are read without the marks of runs that have ended.
func (l Ledger) List(ctx context.Context, kinds ...state.Kind) ([]*state.Claim, error) {
	opts := metav1.ListOptions{LabelSelector: ClaimsOnly}
	if len(kinds) == 1 {
		opts.LabelSelector = state.LabelKind + " in (" + string(kinds[0]) + "," + state.KindRun + ")"
	}
	return l.list(ctx, opts, map[string]bool{})
}

// ListOwner reads the claims of one owner, as List does.
func (l Ledger) ListOwner(ctx context.Context, owner string) ([]*state.Claim, error) {
	return l.list(ctx, metav1.ListOptions{LabelSelector: state.LabelOwner + "=" + owner + "," + ClaimsOnly}, nil)
}

// list reads claims. Where it reads announcements too (there), those are of the same moment.
func (l Ledger) list(ctx context.Context, opts metav1.ListOptions, there map[string]bool) ([]*state.Claim, error) {
	var claims []*state.Claim
	err := cluster.EachMeta(ctx, l.cluster, cluster.Leases, l.Namespace, opts, func(meta *metav1.ObjectMeta) {
		if c, ok := state.ReadClaim(meta); ok {
			claims = append(claims, &c)
		} else if nonce, ok := state.AnnouncedNonce(meta.Name); ok && there != nil {
			there[nonce] = true
		}
	}, func() { claims = nil })
	if err != nil {
		return nil, err
	}
	return claims, l.settle(ctx, claims, there)
}

// Get reads one claim, as List does; it is nil where there is none.
func (l Ledger) Get(ctx context.Context, name string) (*state.Claim, error) {
	meta, err := l.get(ctx, name)
	if meta == nil || err != nil {
		return nil, err
	}
	claim := l.read(meta)
	return claim, l.settle(ctx, []*state.Claim{claim}, nil)
}

// get reads the metadata of an object of the ledger; it is nil where there is none.
func (l Ledger) get(ctx context.Context, name string) (*metav1.ObjectMeta, error) {
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
	return &o.ObjectMeta, nil
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
	meta, err := l.get(ctx, claim.Name())
	if meta == nil || err != nil {
		return nil, err
	}
	for e := range managed.Of(meta) {
		if g, ours := e.Group(); ours && len(claim.Entries(g)) == 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// Retrying calls do until it says that it is done or fails, as often as the connection tries again.
func (l Ledger) Retrying(ctx context.Context, do wait.ConditionWithContextFunc) error {
	return l.cluster.Retry(ctx, do)
}

// Retry tells a backoff loop what to do with an error: ErrAgain is worth another try, any other
// error ends the loop.
func Retry(err error) (done bool, fatal error) {
	if errors.Is(err, ErrAgain) {
		return false, nil
	}
	return err == nil, err
}
