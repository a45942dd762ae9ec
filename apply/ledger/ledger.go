// Package ledger reads and writes claims: objects of kind Lease that record who holds what. Package state decides about
// claims.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Ledger reads and writes claims. Only a transfer forces its writes against another lease's field manager. Every write
// to an existing claim is pinned to the UID and resource version that were read.
type Ledger struct {
	cluster   *cluster.Cluster
	Namespace string
	runs      *runs
}

// New returns the ledger in a namespace of a cluster.
func New(c *cluster.Cluster, namespace string) Ledger {
	return Ledger{cluster: c, Namespace: namespace, runs: newRuns()}
}

// ErrAgain reports that a write lost a race or may have taken effect: read the claim again and decide anew.
var ErrAgain = errors.New("the claim has to be read again")

func (l Ledger) client() metadata.ResourceInterface {
	return l.cluster.Metadata.Resource(cluster.Leases).Namespace(l.Namespace)
}

// List lists all claims, or those of one kind. It sets no resourceVersion, so the answer is not older than the request;
// with "0" the API server has been seen to miss claims.
//
// List removes the marks of runs that have ended.
func (l Ledger) List(ctx context.Context, kinds ...state.Kind) ([]*state.Claim, error) {
	opts := metav1.ListOptions{LabelSelector: ClaimsOnly}
	if len(kinds) == 1 {
		opts.LabelSelector = state.LabelKind + " in (" + string(kinds[0]) + "," + state.KindRun + ")"
	}
	return l.list(ctx, opts, announced{})
}

// ListOwner lists the claims of one owner, like List.
func (l Ledger) ListOwner(ctx context.Context, owner string) ([]*state.Claim, error) {
	return l.list(ctx, metav1.ListOptions{LabelSelector: state.LabelOwner + "=" + owner + "," + ClaimsOnly}, nil)
}

// list lists claims. If opts selects announcements too, list adds them to there, which must not be nil then.
func (l Ledger) list(ctx context.Context, opts metav1.ListOptions, there announced) ([]*state.Claim, error) {
	var claims []*state.Claim
	err := cluster.EachMeta(ctx, l.cluster, cluster.Leases, l.Namespace, opts, func(meta *metav1.ObjectMeta) {
		if c, ok := l.recall(meta); ok {
			claims = append(claims, c)
		} else if nonce, ok := state.AnnouncedNonce(meta.Name); ok && there != nil {
			there.add(nonce, meta)
			l.runs.meetAnnounced(nonce, meta)
		}
	}, func() { claims = nil })
	if err != nil {
		return nil, err
	}
	return claims, l.settle(ctx, claims, there)
}

// recall parses an object of the ledger, unless that was done before. A caller may change the claim: the runs on it are its own.
func (l Ledger) recall(meta *metav1.ObjectMeta) (*state.Claim, bool) {
	one := cluster.Recall(l.cluster.Memory(), meta, func() recalled {
		c, ok := state.ReadClaim(meta)
		return recalled{c, ok}
	})
	if !one.ok {
		return nil, false
	}
	claim := one.claim
	claim.Parts = slices.Clone(claim.Parts)
	return &claim, true
}

// recalled is what an object of the ledger says of itself, and whether it is a claim.
type recalled struct {
	claim state.Claim
	ok    bool
}

// Get reads one claim, like List. It returns nil if there is none.
func (l Ledger) Get(ctx context.Context, name string) (*state.Claim, error) {
	meta, err := l.get(ctx, name)
	if meta == nil || err != nil {
		return nil, err
	}
	return l.claimOf(ctx, meta)
}

// get reads the metadata of an object of the ledger. It returns nil if there is none.
func (l Ledger) get(ctx context.Context, name string) (*metav1.ObjectMeta, error) {
	if meta, err := l.cluster.EarlyMeta(ctx, cluster.Leases, l.Namespace, name); !errors.Is(err, cluster.ErrUnwatched) {
		return meta, err
	}
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

// read parses an object with a claim's name. Any other object counts as an unreadable claim: it blocks the name.
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

// again wraps errors after which the claim has to be read again with ErrAgain, and explains others.
func (l Ledger) again(ctx context.Context, err error, verb string) error {
	if apierrors.IsNotFound(err) && !cluster.IsMissingKind(err) {
		return l.gone(ctx)
	}
	explained := l.cluster.Explain(err, verb, cluster.Leases)
	if ctx.Err() == nil && (cluster.IsOwned(err) || cluster.IsOvertaken(err) || cluster.IsUnclear(err)) {
		return fmt.Errorf("%w: %w", ErrAgain, explained)
	}
	return explained
}

// Retrying calls do until it is done or fails, at most as often as the cluster's backoff allows.
func (l Ledger) Retrying(ctx context.Context, do wait.ConditionWithContextFunc) error {
	return l.cluster.Retry(ctx, do)
}

// Until calls try until it no longer fails with ErrAgain, at most as often as the cluster's backoff allows. It returns the
// last error.
func (l Ledger) Until(ctx context.Context, try func(context.Context) error) error {
	var last error
	err := l.Retrying(ctx, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return Retry(last)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return last
	}
	return err
}

// Retry returns what a backoff loop needs: it retries after ErrAgain and ends with any other error.
func Retry(err error) (done bool, fatal error) {
	if errors.Is(err, ErrAgain) {
		return false, nil
	}
	return err == nil, err
}
