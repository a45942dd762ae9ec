package workloads

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/render/workload"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// Options configure how what a lease runs is applied.
type Options struct {
	Config *config.ProviderConfig
	// Scheduler is what a reservation chose, by the ID of the resource unit. For a unit without an entry the lease's
	// Manifest counts, and then what its order has Reserved.
	Scheduler, Reserved map[uint32]*lease.SchedulerParams
	// Adopt takes over what Akash's provider has deployed for the lease.
	Adopt bool
}

// Writer writes objects.
type Writer interface {
	// WriteAll applies objects concurrently, except those that are unchanged. After a refusal it starts no more writes.
	WriteAll(ctx context.Context, objects []render.Object) error
	// Leave reports an object that is left as it is, and why.
	Leave(kind kinds.Kind, namespace, name, why string)
}

// Deleter deletes objects.
type Deleter interface {
	// Delete deletes an object if goes allows it, pinned to what was read. message goes into the event.
	Delete(ctx context.Context, o deployed.Object, message string, goes func(now *unstructured.Unstructured) bool) error
	// AwaitGone waits until an object that is being deleted is gone.
	AwaitGone(ctx context.Context, o deployed.Object) error
}

// Work is the work on what one lease runs.
type Work struct {
	cluster *cluster.Cluster
	opts    Options
	id      lease.ID
	live    *Live
	// objects are those that the lease wants, without its namespace.
	objects []render.Object
	// wanted has the keys of objects, keep those of Secrets that are kept although they are not rendered.
	wanted, keep map[deployed.Key]bool
	lacking      []deployed.Lacking
}

// Prepare renders what the lease runs by its definition and the live objects, which provide GPUs that an earlier
// reservation chose and passwords that the definition lacks. It writes nothing. The error is of type lease.Problems, or
// a *TakenError if somebody else's objects are in the way.
func Prepare(c *cluster.Cluster, opts Options, def *lease.Definition, live *Live) (*Work, error) {
	w := &Work{cluster: c, opts: opts, id: def.Lease, live: live, wanted: map[deployed.Key]bool{}, keep: map[deployed.Key]bool{}}
	group, namespace := def.Lease.Group(), def.Lease.Namespace()
	def, w.lacking = deployed.WithPasswords(def, func(name string) *unstructured.Unstructured {
		o := live.find(kinds.Secret, name)
		if deployed.StandingOf(o, group, namespace) == deployed.Foreign {
			return nil
		}
		return o
	})
	scheduler := map[uint32]*lease.SchedulerParams{}
	maps.Copy(scheduler, opts.Reserved)
	maps.Copy(scheduler, deployed.Scheduled(def, live.manifest(group, namespace)))
	maps.Copy(scheduler, opts.Scheduler)
	rendered, err := workload.Lease(def, opts.Config, workload.Options{Scheduler: scheduler, Secrets: true, Unique: true, Unmarked: true})
	if err != nil {
		return nil, err
	}
	for _, left := range rendered.Left {
		w.keep[deployed.Key{Kind: kinds.Secret.Kind, Name: left.Name}] = true
	}
	for _, o := range rendered.Objects {
		if o.Kind == kinds.Namespace {
			continue
		}
		now := live.find(o.Kind, o.Name)
		if want := cluster.Rendered(o).Object; now != nil && now.GetDeletionTimestamp() == nil {
			o.Config = &unstructured.Unstructured{Object: deployed.LeaveRepeated(deployed.LeaveDropped(want), now.Object)}
		} else if o.Kind == kinds.StatefulSet {
			o.Config = &unstructured.Unstructured{Object: deployed.LeaveDropped(want)}
		}
		w.objects = append(w.objects, o)
		w.wanted[deployed.Key{Kind: o.Kind.Kind, Name: o.Name}] = true
	}
	return w, w.checkTaken()
}

// checkTaken returns a TakenError if somebody else's objects have the names of wanted ones.
func (w *Work) checkTaken() error {
	e := &TakenError{Lease: w.id}
	for _, o := range w.objects {
		live := w.Find(o)
		switch deployed.StandingOf(live, w.id.Group(), w.id.Namespace()) {
		case deployed.Foreign:
			e.Taken = append(e.Taken, Taken{Object: o.String(), Namespace: o.Namespace, Managers: deployed.Managers(live)})
		case deployed.Akashs:
			if !w.opts.Adopt {
				e.Taken = append(e.Taken, Taken{Object: o.String(), Namespace: o.Namespace, Managers: deployed.Managers(live), Adoptable: true})
			}
		case deployed.Absent, deployed.Ours:
		}
	}
	if len(e.Taken) > 0 {
		return e
	}
	return nil
}

// Objects returns the objects that the lease wants.
func (w *Work) Objects() []render.Object { return w.objects }

// Has reports whether an object is one that the lease runs. It is false for a nil Work.
func (w *Work) Has(o render.Object) bool {
	return w != nil && w.wanted[deployed.Key{Kind: o.Kind.Kind, Name: o.Name}] &&
		(o.Kind == kinds.Manifest || o.Namespace == w.id.Namespace())
}

// Find returns the live object with the object's name, or nil.
func (w *Work) Find(o render.Object) *unstructured.Unstructured { return w.live.find(o.Kind, o.Name) }

// Write writes the objects, stage by stage.
func (w *Work) Write(ctx context.Context, by Writer) error {
	for _, m := range w.Left() {
		by.Leave(m.Kind, m.Namespace, m.Name, m.Why)
	}
	for _, objects := range w.Stages() {
		if err := by.WriteAll(ctx, objects); err != nil {
			return err
		}
	}
	return nil
}

// Prune deletes what is unwanted. It reads each object again first.
func (w *Work) Prune(ctx context.Context, by Deleter, all bool) error {
	return remove(ctx, w.cluster, by, w.id.Group(), w.Unwanted(all))
}

// remove deletes objects that the group has applied. It reads each object again first.
func remove(ctx context.Context, c *cluster.Cluster, by Deleter, g lease.Group, objects []deployed.Object) error {
	for _, o := range objects {
		now, err := c.Get(ctx, o.Kind, o.Live.GetNamespace(), o.Live.GetName())
		if err != nil {
			return err
		}
		if now == nil || now.GetUID() != o.Live.GetUID() || now.GetDeletionTimestamp() != nil {
			continue
		}
		err = by.Delete(ctx, deployed.Object{Kind: o.Kind, Live: now}, DeleteMessage(now), func(now *unstructured.Unstructured) bool {
			return deployed.StandingOf(now, g, "") == deployed.Ours
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Release deletes what a deployment group has applied in a namespace of a lease, the Manifest last. Before it deletes
// the Manifest it calls then with the Manifest's lease.
func Release(
	ctx context.Context, c *cluster.Cluster, by Deleter, g lease.Group, live *Live,
	then func(context.Context, lease.ID) error,
) error {
	all := deployed.Release(live.objects, g)
	last := slices.IndexFunc(all, func(o deployed.Object) bool { return o.Kind == kinds.Manifest })
	if last < 0 {
		return end(ctx, c, by, g, all)
	}
	if err := end(ctx, c, by, g, all[:last]); err != nil {
		return err
	}
	if id, ok := lease.IDFromLabels(all[last].Live.GetLabels()); ok {
		if err := then(ctx, id); err != nil {
			return err
		}
	}
	return end(ctx, c, by, g, all[last:])
}

// end deletes objects and waits for those with finalizers.
func end(ctx context.Context, c *cluster.Cluster, by Deleter, g lease.Group, objects []deployed.Object) error {
	if err := remove(ctx, c, by, g, objects); err != nil {
		return err
	}
	for _, o := range objects {
		if len(o.Live.GetFinalizers()) == 0 {
			continue
		}
		if err := by.AwaitGone(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// TakenError reports that objects with the names of wanted ones are not the lease's.
type TakenError struct {
	Lease lease.ID
	Taken []Taken
}

// Taken is an object that is in the way.
type Taken struct {
	Object, Namespace string
	// Managers have written it. Adoptable is true if Akash's provider wrote it for the same lease.
	Managers  []string
	Adoptable bool
}

func (e *TakenError) Error() string {
	lines := []string{fmt.Sprintf("%d objects of what lease %s runs are not its own:", len(e.Taken), e.Lease)}
	foreign, adoptable := false, false
	for _, t := range e.Taken {
		whose := "written by " + strings.Join(t.Managers, ", ")
		if len(t.Managers) == 0 {
			whose = "nobody says who has written it"
		}
		if adoptable = adoptable || t.Adoptable; !t.Adoptable {
			foreign, whose = true, whose+", without the labels of the lease"
		}
		lines = append(lines, fmt.Sprintf("  %s in namespace %s: %s", t.Object, t.Namespace, whose))
	}
	if adoptable {
		lines = append(lines, "--adopt takes over what Akash's provider has deployed for this lease.")
	}
	if foreign {
		lines = append(lines, "Nothing is forced: delete what is not of the lease, or rename the service of that name.")
	}
	return strings.Join(append(lines, "Nothing was changed for the lease."), "\n")
}
