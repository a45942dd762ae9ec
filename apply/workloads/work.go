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

// Options say how what leases run is applied.
type Options struct {
	Config *config.ProviderConfig
	// Scheduler is what a reservation chose, by the id of the resource unit. Where it says nothing of a unit, what
	// stands in the lease's Manifest counts, and at last what its order has Reserved.
	Scheduler, Reserved map[uint32]*lease.SchedulerParams
	// Adopt takes over what Akash's provider has deployed of the lease.
	Adopt bool
}

// Writer carries out what is decided.
type Writer interface {
	Deleter
	// WriteAll applies objects side by side, those that are there just so excepted. Once one is refused no other begins.
	WriteAll(ctx context.Context, objects []render.Object) error
	// Leave tells of an object that is left as it is, and why.
	Leave(kind kinds.Kind, namespace, name, why string)
}

// Deleter carries out what goes.
type Deleter interface {
	// Delete deletes an object while it may go, pinned to what was read; told goes into the event.
	Delete(ctx context.Context, o deployed.Object, told string, goes func(now *unstructured.Unstructured) bool) error
	// AwaitGone waits for an object that is being deleted to be gone.
	AwaitGone(ctx context.Context, o deployed.Object) error
}

// Work is what is done with what one lease runs.
type Work struct {
	cluster *cluster.Cluster
	opts    Options
	id      lease.ID
	live    *Live
	// objects are those that the lease wants, without its namespace.
	objects []render.Object
	// wanted are the same by their keys, keep the Secrets that stay though they are not rendered.
	wanted, keep map[deployed.Key]bool
	lacking      []deployed.Lacking
}

// Prepare renders what the lease runs, by the definition and by what the cluster has: the cards that an earlier reservation
// chose, and passwords that the definition lacks. Nothing is written. The error is of type lease.Problems, or a
// *TakenError where somebody else's objects are in the way.
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
	for _, chosen := range []map[uint32]*lease.SchedulerParams{opts.Reserved, deployed.Scheduled(def, live.manifest(group, namespace)), opts.Scheduler} {
		maps.Copy(scheduler, chosen)
	}
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
		there := live.find(o.Kind, o.Name)
		if want := cluster.Rendered(o).Object; there != nil && there.GetDeletionTimestamp() == nil {
			o.Config = &unstructured.Unstructured{Object: deployed.LeaveRepeated(deployed.LeaveDropped(want), there.Object)}
		} else if o.Kind == kinds.StatefulSet {
			o.Config = &unstructured.Unstructured{Object: deployed.LeaveDropped(want)}
		}
		w.objects = append(w.objects, o)
		w.wanted[deployed.Key{Kind: o.Kind.Kind, Name: o.Name}] = true
	}
	return w, w.judge()
}

// judge refuses what cannot be written, before anything is.
func (w *Work) judge() error {
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

// Objects are those that the lease wants.
func (w *Work) Objects() []render.Object { return w.objects }

// Has is true for an object of what the lease runs. A nil Work has none.
func (w *Work) Has(o render.Object) bool {
	return w != nil && w.wanted[deployed.Key{Kind: o.Kind.Kind, Name: o.Name}] && (o.Kind == kinds.Manifest || o.Namespace == w.id.Namespace())
}

// Find is what the cluster has under the object's name, nil for nothing.
func (w *Work) Find(o render.Object) *unstructured.Unstructured { return w.live.find(o.Kind, o.Name) }

// Write writes the objects, stage by stage.
func (w *Work) Write(ctx context.Context, by Writer) error {
	for _, l := range w.lacking {
		why := fmt.Sprintf("%s: the definition has no password for it, and there is none in the cluster: pods of service %s cannot get their image from a private registry", l.At, l.Service)
		if l.There {
			why = fmt.Sprintf("%s: the definition has no password for it; the one that is there is of another registry or user", l.At)
		}
		by.Leave(kinds.Secret, w.id.Namespace(), l.Secret, why)
	}
	for _, stage := range kinds.Running {
		var objects []render.Object
		for _, o := range w.objects {
			if slices.Contains(stage, o.Kind) {
				objects = append(objects, o)
			}
		}
		if err := by.WriteAll(ctx, objects); err != nil {
			return err
		}
	}
	return nil
}

// Prune deletes what the lease has applied and wants no more. Without all, only what has been replaced goes: of a
// Deployment and a StatefulSet of one name the one that is no longer wanted. Each is read again before.
func (w *Work) Prune(ctx context.Context, by Writer, all bool) error {
	return remove(ctx, w.cluster, by, w.id.Group(), deployed.Unwanted(w.live.objects, w.id.Group(), w.wanted, w.keep, all))
}

// remove deletes objects that the group has applied, each as it is read now.
func remove(ctx context.Context, c *cluster.Cluster, by Deleter, g lease.Group, objects []deployed.Object) error {
	for _, o := range objects {
		now, err := c.Get(ctx, o.Kind, o.Live.GetNamespace(), o.Live.GetName())
		if err != nil {
			return err
		}
		if now == nil || now.GetUID() != o.Live.GetUID() || now.GetDeletionTimestamp() != nil {
			continue
		}
		told := ""
		if claims, _, _ := unstructured.NestedSlice(now.Object, "spec", "volumeClaimTemplates"); len(claims) > 0 {
			told = "its persistentvolumeclaims stay"
		}
		err = by.Delete(ctx, deployed.Object{Kind: o.Kind, Live: now}, told, func(now *unstructured.Unstructured) bool {
			return deployed.StandingOf(now, g, "") == deployed.Ours
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Release deletes what a deployment group has applied in a namespace of a lease, the Manifest last. Before that, when all
// else is gone, it calls then with the lease that the Manifest is of.
func Release(ctx context.Context, c *cluster.Cluster, by Deleter, g lease.Group, live *Live, then func(context.Context, lease.ID) error) error {
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

// end deletes objects, and waits for those that finalizers keep.
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

// TakenError says that objects which a lease wants are somebody else's.
type TakenError struct {
	Lease lease.ID
	Taken []Taken
}

// Taken is an object that stands in the way.
type Taken struct {
	Object, Namespace string
	// Managers are those who have written it. Adoptable is true for one of Akash's provider, for the same lease.
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
