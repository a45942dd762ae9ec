// Package ledger reads and writes claims: objects of kind Lease that record who holds what. Package state decides about
// claims.
package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"
	"k8s.io/client-go/metadata"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Ledger reads and writes claims. Only a transfer forces its writes against another lease's field manager. Every write
// to an existing claim is pinned to the UID and resource version that were read.
type Ledger struct {
	// Objects are all objects of the ledger, Announcements those of commands.
	Objects       Objects
	Announcements Announcements
	// Runs says which marks on claims are of runs that have ended.
	Runs *Runs
}

// New returns the ledger in a namespace of a cluster.
func New(c *cluster.Cluster, namespace string) Ledger {
	in := Objects{cluster: c, Namespace: namespace}
	return Ledger{Objects: in, Announcements: Announcements{in}, Runs: newRuns()}
}

// ErrAgain reports that a write lost a race or may have taken effect: read the claim again and decide anew.
var ErrAgain = errors.New("the claim has to be read again")

// List lists all claims, or those of one kind. It sets no resourceVersion, so the answer is not older than the request;
// with "0" the API server has been seen to miss claims.
//
// List removes the marks of runs that have ended.
func (l Ledger) List(ctx context.Context, kinds ...state.Kind) ([]*state.Claim, error) {
	opts := metav1.ListOptions{LabelSelector: ClaimsOnly}
	if len(kinds) == 1 {
		opts.LabelSelector = state.LabelKind + " in (" + string(kinds[0]) + "," + state.KindRun + ")"
	}
	return l.list(ctx, opts, announced{}, nil)
}

// ListOwner lists the claims of one owner, like List.
func (l Ledger) ListOwner(ctx context.Context, owner string) ([]*state.Claim, error) {
	return l.list(ctx, metav1.ListOptions{LabelSelector: state.LabelOwner + "=" + owner + "," + ClaimsOnly}, nil, nil)
}

// manyOwners is up to how many owners a LIST selects; for more, it selects all claims.
const manyOwners = 100

// Announced lists all announcements and, of the same moment, the claims of the owners, like List. It may list claims of
// other owners too.
func (l Ledger) Announced(ctx context.Context, owners []string) ([]*state.Announcement, []*state.Claim, error) {
	selector := ClaimsOnly
	if len(owners) <= manyOwners {
		selector += "," + state.LabelOwner + " in (" + strings.Join(append([]string{state.OwnerRun}, owners...), ",") + ")"
	}
	claims := []*state.Claim{}
	all, err := l.Announcements.list(ctx, selector, func(meta *metav1.ObjectMeta) {
		if c, ok := l.recall(meta); ok {
			claims = append(claims, c)
		}
	}, func() { claims = claims[:0] })
	if err != nil {
		return nil, nil, err
	}
	present := announced{}
	for _, a := range all {
		present[a.Nonce] = a.HasEndedFor
	}
	return all, claims, l.settle(ctx, claims, present)
}

// list lists claims. If opts selects announcements too, list adds them to there, which must not be nil then; if it selects everything, to
// beside what else there is.
func (l Ledger) list(ctx context.Context, opts metav1.ListOptions, there announced, beside *Everything) ([]*state.Claim, error) {
	var claims []*state.Claim
	err := l.Objects.each(ctx, opts, func(meta *metav1.ObjectMeta) {
		if beside != nil && beside.add(meta, l.Objects.cluster.Now()) {
			return
		}
		if c, ok := l.recall(meta); ok {
			claims = append(claims, c)
		} else if nonce, ok := state.AnnouncedNonce(meta.Name); ok && there != nil {
			there.add(nonce, meta)
			l.Runs.meetAnnounced(nonce, meta)
		}
	}, func() {
		if claims = nil; beside != nil {
			*beside = Everything{}
		}
	})
	if err != nil {
		return nil, err
	}
	return claims, l.settle(ctx, claims, there)
}

// recall parses an object of the ledger, unless that was done before. A caller may change the claim: the runs on it are its own.
func (l Ledger) recall(meta *metav1.ObjectMeta) (*state.Claim, bool) {
	known, ok := l.Parse(meta)
	if !ok {
		return nil, false
	}
	claim := *known
	claim.Parts = slices.Clone(claim.Parts)
	return &claim, true
}

// Parse returns the claim that an object of the ledger is, with the marks of all runs. It belongs to all who ask: nobody changes it.
func (l Ledger) Parse(meta *metav1.ObjectMeta) (*state.Claim, bool) {
	one := listed.Recall(l.Objects.cluster.Cache.Memory, meta, func() recalled {
		c, ok := state.ReadClaim(meta)
		return recalled{&c, ok}
	})
	return one.claim, one.ok
}

// recalled is what an object of the ledger says of itself, and whether it is a claim.
type recalled struct {
	claim *state.Claim
	ok    bool
}

// Get reads one claim, like List. It returns nil if there is none.
func (l Ledger) Get(ctx context.Context, name string) (*state.Claim, error) {
	meta, err := l.Objects.get(ctx, name)
	if meta == nil || err != nil {
		return nil, err
	}
	return l.claimOf(ctx, meta)
}

// read parses an object with a claim's name. Any other object counts as an unreadable claim: it blocks the name.
func read(meta *metav1.ObjectMeta) *state.Claim {
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

// managerOfRecords is the field manager of what reconcilers record.
const managerOfRecords = "akash-net-reconciler"

// RecordFailing records which leases fail of a set of sources, in place of what was recorded. Without one it deletes the record.
func (l Ledger) RecordFailing(ctx context.Context, set []string, all []state.Failing) error {
	name := state.FailingName(set)
	if len(all) == 0 {
		meta, err := l.Objects.get(ctx, name)
		if meta == nil || err != nil {
			return err
		}
		return l.Objects.Delete(ctx, meta.Name, meta.UID, meta.ResourceVersion)
	}
	record, err := state.RecordFailing(all)
	if err != nil {
		return err
	}
	ac := coordinationv1.Lease(name, l.Objects.Namespace).WithAnnotations(map[string]string{state.AnnotationFailing: record}).
		WithLabels(map[string]string{state.LabelComponent: state.ComponentFailing})
	_, err = l.Objects.apply(ctx, name, ac, managerOfRecords, true)
	return err
}

// Released reads which deployment groups reconcilers record as released of a source.
func (l Ledger) Released(ctx context.Context, source string) ([]lease.Group, error) {
	meta, err := l.Objects.get(ctx, state.ReleasedName(source))
	if meta == nil || err != nil {
		return nil, err
	}
	return state.ReadReleased(meta.Annotations[state.AnnotationReleased]), nil
}

// RecordReleased records which deployment groups are released of a source, in place of what was recorded.
func (l Ledger) RecordReleased(ctx context.Context, source string, groups []lease.Group) error {
	name := state.ReleasedName(source)
	ac := coordinationv1.Lease(name, l.Objects.Namespace).WithAnnotations(map[string]string{state.AnnotationReleased: state.RecordReleased(groups)}).
		WithLabels(map[string]string{state.LabelComponent: state.ComponentReleased, state.LabelInstance: state.Instance([]string{source})})
	_, err := l.Objects.apply(ctx, name, ac, managerOfRecords, true)
	return err
}

// ForgetReleased deletes the record of what was released of a source, unless something of it counts still.
func (l Ledger) ForgetReleased(ctx context.Context, source string, counts func(lease.Group) bool) error {
	meta, err := l.Objects.get(ctx, state.ReleasedName(source))
	if meta == nil || err != nil || slices.ContainsFunc(state.ReadReleased(meta.Annotations[state.AnnotationReleased]), counts) {
		return err
	}
	if err = l.Objects.Delete(ctx, meta.Name, meta.UID, meta.ResourceVersion); errors.Is(err, ErrAgain) {
		err = nil // somebody has recorded more
	}
	return err
}

// GoneError reports that the ledger's namespace does not exist.
type GoneError struct {
	Namespace string
	// Object is an object that a lease was applied with: the ledger was lost. It is empty if there is none, as before install.
	Object string
}

func (e *GoneError) Error() string {
	if e.Object == "" {
		return fmt.Sprintf("the ledger's namespace %s does not exist; make it with: kubectl akash-net install", e.Namespace)
	}
	return fmt.Sprintf("the ledger is lost: its namespace %s does not exist, and leases have objects, such as %s; %s", e.Namespace, e.Object, state.RestoreLedger)
}

// Lost returns the error for a ledger that is lost. It returns nil for one that is there, that never was, or of which that cannot be told.
func (l Ledger) Lost(ctx context.Context) *GoneError {
	meta, err := l.Objects.namespace(ctx)
	if err == nil && meta == nil {
		if gone := l.Objects.gone(ctx); gone.Object != "" {
			return gone
		}
	}
	return nil
}

// Objects reads and writes the objects of kind Lease in the ledger's namespace, whatever they are for.
type Objects struct {
	cluster   *cluster.Cluster
	Namespace string
}

func (o Objects) client() metadata.ResourceInterface {
	return o.cluster.Metadata.Resource(cluster.Leases).Namespace(o.Namespace)
}

// each passes the metadata of objects to read, and calls restart before it starts over.
func (o Objects) each(ctx context.Context, opts metav1.ListOptions, read func(*metav1.ObjectMeta), restart func()) error {
	return cluster.EachMeta(ctx, o.cluster, cluster.Leases, o.Namespace, opts, read, restart)
}

// get reads the metadata of an object of the ledger. It returns nil if there is none.
func (o Objects) get(ctx context.Context, name string) (*metav1.ObjectMeta, error) {
	if meta, err := o.cluster.Cache.Meta(ctx, cluster.Leases, o.Namespace, name); !errors.Is(err, cluster.ErrUnwatched) {
		return meta, err
	}
	var found *metav1.PartialObjectMetadata
	err := o.cluster.Read(ctx, func() (err error) {
		found, err = o.client().Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) && !cluster.IsMissingKind(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	if err != nil {
		return nil, o.again(ctx, err, "get")
	}
	return &found.ObjectMeta, nil
}

// namespace returns the metadata of the ledger's namespace, or nil if it does not exist.
func (o Objects) namespace(ctx context.Context) (*metav1.ObjectMeta, error) {
	var found *metav1.PartialObjectMetadata
	err := o.cluster.Read(ctx, func() (err error) {
		found, err = o.cluster.Metadata.Resource(cluster.Namespaces).Get(ctx, o.Namespace, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	if err != nil {
		return nil, o.cluster.Explain(err, "get", cluster.Namespaces)
	}
	return &found.ObjectMeta, nil
}

// again wraps errors after which the claim has to be read again with ErrAgain, and explains others.
func (o Objects) again(ctx context.Context, err error, verb string) error {
	if apierrors.IsNotFound(err) && !cluster.IsMissingKind(err) {
		return o.gone(ctx)
	}
	explained := o.cluster.Explain(err, verb, cluster.Leases)
	if ctx.Err() == nil && (cluster.IsOwned(err) || cluster.IsOvertaken(err) || cluster.IsUnclear(err)) {
		return fmt.Errorf("%w: %w", ErrAgain, explained)
	}
	return explained
}

// Until calls try until it no longer fails with ErrAgain, at most as often as the cluster's backoff allows. It returns the
// last error.
func (o Objects) Until(ctx context.Context, try func(context.Context) error) error {
	var last error
	err := o.cluster.Retry(ctx, func(ctx context.Context) (bool, error) {
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

// Delete deletes an object of the ledger, pinned to what was read. ErrAgain means that it has changed, or that there was no answer.
func (o Objects) Delete(ctx context.Context, name string, uid types.UID, version string) error {
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
	err := o.cluster.Write(ctx, func(write context.Context) error { return o.client().Delete(write, name, opts) })
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return nil
	default:
		return o.again(ctx, err, "delete")
	}
}

// apply applies an object of the ledger and returns the resulting metadata.
func (o Objects) apply(
	ctx context.Context, name string, ac *coordinationv1.LeaseApplyConfiguration, manager string, force bool,
) (*metav1.ObjectMeta, error) {
	return o.patch(ctx, name, types.ApplyPatchType, ac, metav1.PatchOptions{
		FieldManager: manager, Force: &force, FieldValidation: cluster.SkipFieldValidation,
	})
}

// removeAnnotations removes annotations of an object, pinned to its metadata, and returns the resulting metadata.
func (o Objects) removeAnnotations(
	ctx context.Context, meta *metav1.ObjectMeta, names []string, manager string,
) (*metav1.ObjectMeta, error) {
	gone := map[string]any{}
	for _, name := range names {
		gone[name] = nil
	}
	patch := map[string]any{"metadata": map[string]any{
		"uid": meta.UID, "resourceVersion": meta.ResourceVersion, "annotations": gone,
	}}
	return o.patch(ctx, meta.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
}

// patch patches an object of the ledger and returns the resulting metadata.
func (o Objects) patch(
	ctx context.Context, name string, kind types.PatchType, patch any, opts metav1.PatchOptions,
) (*metav1.ObjectMeta, error) {
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	if kind == types.ApplyPatchType {
		body = cluster.AsYAML(body)
	}
	var now *metav1.PartialObjectMetadata
	err = o.cluster.Write(ctx, func(write context.Context) (err error) {
		now, err = o.client().Patch(write, name, kind, body, opts)
		return err
	})
	if err != nil {
		return nil, o.again(ctx, err, "patch")
	}
	return &now.ObjectMeta, nil
}

// gone looks for an object that a lease was applied with. What the user may not list has none.
func (o Objects) gone(ctx context.Context) *GoneError {
	gone := &GoneError{Namespace: o.Namespace}
	for _, kind := range slices.Concat(kinds.ServingKinds, kinds.ClaimLike) {
		applied, _ := cluster.ListMetas(ctx, o.cluster, kind.Resource(), "", metav1.ListOptions{LabelSelector: lease.LabelOwner}, func(m *metav1.ObjectMeta) (string, bool) {
			return m.Namespace + "/" + m.Name, m.Annotations[lease.AnnotationDefinition] != ""
		})
		if len(applied) > 0 {
			gone.Object = kind.Singular + " " + applied[0]
			break
		}
	}
	return gone
}
