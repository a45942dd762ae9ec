package watch

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// batches joins the deployment groups that become due while others are worked on, so that one command, with one announcement and one
// reading, does for many what it does for one.
type batches struct {
	// work does what is due for some groups, and returns what has failed, or why nothing was done. ended is told of the latter, and with
	// nil that something was.
	work  func(context.Context, []lease.Group) (map[lease.Group]error, error)
	ended func(error)
	// most is how many groups are in a batch at most.
	most int

	mu      sync.Mutex
	waiting []due
	// free are the workers that wait for groups.
	free chan struct{}
}

// due is a deployment group, and where its answer goes. Only those of one kind are in a batch.
type due struct {
	group lease.Group
	kind  string
	done  chan error
}

// newBatches returns batches of which so many are worked on at a time.
func newBatches(workers, most int, work func(context.Context, []lease.Group) (map[lease.Group]error, error), ended func(error)) *batches {
	b := &batches{work: work, ended: ended, most: most, free: make(chan struct{}, workers)}
	for range workers {
		b.free <- struct{}{}
	}
	return b
}

// do does what is due for a group, with others of its kind that are due.
func (b *batches) do(ctx context.Context, g lease.Group, kind string) error {
	one := due{g, kind, make(chan error, 1)}
	b.mu.Lock()
	b.waiting = append(b.waiting, one)
	b.mu.Unlock()
	for {
		select {
		case err := <-one.done:
			return err
		case <-b.free:
		}
		worked := b.next(ctx)
		b.free <- struct{}{}
		if !worked { // another worker has taken it
			return <-one.done
		}
	}
}

// take takes a batch of those that wait: the first, and others of its kind.
func (b *batches) take() (taken []due) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var rest []due
	for _, one := range b.waiting {
		if len(taken) < b.most && one.kind == b.waiting[0].kind {
			taken = append(taken, one)
		} else {
			rest = append(rest, one)
		}
	}
	b.waiting = rest
	return taken
}

// next works on the groups that wait. It reports whether there were any. A panic is the error of each of them.
func (b *batches) next(ctx context.Context) bool {
	taken := b.take()
	if len(taken) == 0 {
		return false
	}
	groups := make([]lease.Group, len(taken))
	for i, one := range taken {
		groups[i] = one.group
	}
	var failed map[lease.Group]error
	err := parallel.Guard(func() (err error) {
		failed, err = b.work(ctx, groups)
		return err
	})
	if b.ended(err); err != nil {
		failed = reconcile.FailAll(groups, err)
	}
	for _, one := range taken {
		one.done <- failed[one.group]
	}
	return true
}

// busyError says that another command is announced for a deployment group.
type busyError struct{ by *state.Announcement }

func (e *busyError) Error() string { return e.by.InTheWay() }

// busy returns those of the deployment groups for which commands are announced that have not ended.
func (r *reconciler) busy(ctx context.Context, groups []lease.Group) (map[lease.Group]*busyError, error) {
	namespace := r.opts.Command.Config.LedgerNamespace
	all, err := r.watched.Metas(ctx, cluster.Leases, namespace)
	if err != nil {
		return nil, err
	}
	book := ledger.New(r.opts.Cluster, namespace)
	return busyOf(groups, all, func(nonce string) (now *state.Announcement, err error) {
		err = book.Until(ctx, func(ctx context.Context) (err error) {
			if now, err = book.Announcement(ctx, nonce); now != nil && now.Unreadable != "" {
				err = nil // it is in the way all the same
			}
			return err
		})
		return now, err
	})
}

// busyOf returns those of the deployment groups that announcements name, by the metadata of the ledger's objects. That may be a moment
// old, and show announcements of commands that have ended, also the reconciler's own: each that is in the way is read again.
func busyOf(
	groups []lease.Group, all []*metav1.ObjectMeta, read func(nonce string) (*state.Announcement, error),
) (map[lease.Group]*busyError, error) {
	asked, busy := make(map[lease.Group]bool, len(groups)), map[lease.Group]*busyError{}
	for _, g := range groups {
		asked[g] = true
	}
	for _, m := range all {
		nonce, announced := state.AnnouncedNonce(m.Name)
		if !announced || m.Annotations[state.AnnotationPhase] == string(state.Fenced) {
			continue
		}
		var named []lease.Group
		for _, g := range groupsIn(m) {
			if asked[g] {
				named = append(named, g)
			}
		}
		if len(named) == 0 {
			continue
		}
		now, err := read(nonce)
		if err != nil {
			return nil, err
		}
		for _, g := range named {
			if !protocol.Lost(now) && now.Names(g) {
				busy[g] = &busyError{now}
			}
		}
	}
	return busy, nil
}

// mostFields is how many lists of managed fields are shared at most.
const mostFields = 10000

// sharing lets watched objects share the lists of their managed fields, which are the same in many of them and half of what they take.
type sharing struct {
	mu sync.Mutex
	// fields are lists of managed fields by their JSON.
	fields map[string]any
}

// transform is what the cache does with each object before it keeps it.
func (s *sharing) transform(o any) (any, error) {
	switch o := o.(type) {
	case *metav1.PartialObjectMetadata:
		for i, entry := range o.ManagedFields {
			if entry.FieldsV1 != nil {
				o.ManagedFields[i].FieldsV1 = share(s, entry.FieldsV1.GetRawString(), entry.FieldsV1)
			}
		}
	case *unstructured.Unstructured:
		entries, _, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "managedFields")
		all, _ := entries.([]any)
		for _, entry := range all {
			fields, _ := entry.(map[string]any)
			if text, err := json.Marshal(fields["fieldsV1"]); err == nil && fields["fieldsV1"] != nil {
				fields["fieldsV1"] = share(s, string(text), fields["fieldsV1"])
			}
		}
	}
	return o, nil
}

// share returns the fields of the same JSON that were seen first.
func share[T any](s *sharing, text string, fields T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.fields[text].(T); ok {
		return first
	}
	if s.fields == nil || len(s.fields) >= mostFields {
		s.fields = map[string]any{}
	}
	s.fields[text] = fields
	return fields
}

// concerned returns the deployment groups that an object concerns.
func (r *reconciler) concerned(resource schema.GroupVersionResource, o client.Object) []lease.Group {
	meta, ok := o.(*metav1.PartialObjectMetadata)
	switch {
	case resource == cluster.Leases && ok:
		return r.inLedger(&meta.ObjectMeta)
	case resource == nodes:
		return nil
	}
	if id, ok := lease.IDFromLabels(o.GetLabels()); ok {
		return []lease.Group{id.Group()}
	}
	return nil
}

// inLedger returns the deployment groups that an object of the ledger concerns: those that an announcement names, that have an entry on
// a claim, or of which it keeps the definition.
func (r *reconciler) inLedger(meta *metav1.ObjectMeta) []lease.Group {
	if _, ok := state.AnnouncedNonce(meta.Name); ok {
		return groupsIn(meta)
	}
	if d, ok := kept.Read(meta); ok {
		if g, ok := r.leases.Kept(d); ok {
			return []lease.Group{g}
		}
		return nil
	}
	c, ok := state.ReadClaim(meta)
	if !ok {
		return nil
	}
	return c.Writers()
}

// frees returns the name of what may have made way for leases that fail, empty if nothing has: an object is gone, or a claim or something
// that somebody else has written is another one.
func (r *reconciler) frees(resource schema.GroupVersionResource, was, is client.Object) string {
	switch {
	case resource == nodes || was == nil:
		return ""
	case resource == cluster.Leases:
		meta, _ := was.(*metav1.PartialObjectMetadata)
		if c, claim := state.ReadClaim(&meta.ObjectMeta); claim {
			return c.Thing
		}
		return ""
	case is == nil, was.GetGeneration() != is.GetGeneration(), is.GetGeneration() == 0:
		return was.GetName()
	}
	return ""
}

// groupsIn returns the deployment groups that an announcement names.
func groupsIn(meta *metav1.ObjectMeta) (groups []lease.Group) {
	for _, text := range strings.Fields(meta.Annotations[state.AnnotationGroups]) {
		if g, err := lease.ParseGroup(text); err == nil {
			groups = append(groups, g)
		}
	}
	return groups
}
