package workloads

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
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
		if want := render.Rendered(o).Object; now != nil && now.GetDeletionTimestamp() == nil {
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

// Find returns the live object with the object's name, or nil.
func (w *Work) Find(o render.Object) *unstructured.Unstructured { return w.live.find(o.Kind, o.Name) }

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
	lines := []string{fmt.Sprintf("lease %s runs %s that it does not own:", e.Lease, lease.Count(len(e.Taken), "object"))}
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

// ExitCode says how a command ends with the error.
func (*TakenError) ExitCode() int { return report.ExitHeld }

// Message says why an object is left as it is.
type Message struct {
	Kind                 kinds.Kind
	Namespace, Name, Why string
}

// Left returns the messages about the Secrets for which the definition has no password.
func (w *Work) Left() (out []Message) {
	for _, l := range w.lacking {
		why := fmt.Sprintf("%s: the definition has no password for it, and there is none in the cluster: "+
			"pods of service %s cannot get their image from a private registry", l.At, l.Service)
		if l.There {
			why = fmt.Sprintf("%s: the definition has no password for it; the one that is there is of another registry or user", l.At)
		}
		out = append(out, Message{kinds.Secret, w.id.Namespace(), l.Secret, why})
	}
	return out
}

// Stages returns the objects that the lease wants, by the stages of kinds.Running.
func (w *Work) Stages() [][]render.Object {
	out := make([][]render.Object, len(kinds.Running))
	for i, stage := range kinds.Running {
		for _, o := range w.objects {
			if slices.Contains(stage, o.Kind) {
				out[i] = append(out[i], o)
			}
		}
	}
	return out
}

// Unwanted returns what the lease has applied and no longer wants, in the order in which it is deleted. If all is false it
// is only what was replaced: the Deployment of a service that is a StatefulSet now, or the reverse.
func (w *Work) Unwanted(all bool) []deployed.Object {
	return deployed.Unwanted(w.live.objects, w.id.Group(), w.wanted, w.keep, all)
}

// WantsDisowned reports whether EndAdoption has something to do: an object that Akash's provider manages is taken over.
func (w *Work) WantsDisowned() bool { return len(w.adopted()) > 0 }

// adopted returns the objects that the lease takes over from Akash's provider.
func (w *Work) adopted() (out []render.Object) {
	for _, o := range w.objects {
		if live := w.Find(o); w.opts.Adopt && live != nil && managed.Names(live, managed.Akash) {
			out = append(out, o)
		}
	}
	return out
}

// Beside returns what this program runs for the deployment group in other namespaces than the given one, by namespace.
func Beside(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, g lease.Group, namespace string) (map[string]*Live, error) {
	manifests, err := reading.OurManifests(ctx, c, cfg, g)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range manifests {
		if m.Namespace != namespace {
			names = append(names, m.Namespace)
		}
	}
	return runsIn(ctx, c, cfg, names)
}

// Unmarked is what runs for a deployment group, and is not ours, in namespaces without a Manifest of ours.
type Unmarked struct {
	// Akashs are the namespaces in which Akash's provider runs something.
	Akashs []string
	// Unseen says which role the user lacks to see what runs; nil if nothing is hidden.
	Unseen *cluster.RoleError
}

// Marks are the Manifests that this program has written for deployment groups: which version there is in each namespace.
type Marks map[lease.Group]map[string]string

// ReadMarks reads them by one LIST for all groups. There are none if the cluster does not serve the kind.
func ReadMarks(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, groups []lease.Group) (Marks, error) {
	selector := labels.Set{}
	if owner := reading.OnlyOwner(groups); owner != "" {
		selector[lease.LabelOwner] = owner
	}
	if len(groups) == 1 {
		selector[lease.LabelDSeq], selector[lease.LabelGSeq] = fmt.Sprint(groups[0].DSeq), fmt.Sprint(groups[0].GSeq)
	}
	marks := Marks{}
	err := cluster.EachMeta(ctx, c, kinds.Manifest.Resource(), cfg.ManifestNamespace, metav1.ListOptions{LabelSelector: selector.String()}, func(meta *metav1.ObjectMeta) {
		if m, ok := deployed.ReadManifest(meta); ok && slices.Contains(groups, m.Group) {
			if marks[m.Group] == nil {
				marks[m.Group] = map[string]string{}
			}
			marks[m.Group][m.Namespace] = string(meta.UID) + " " + meta.ResourceVersion
		}
	}, func() { clear(marks) })
	if cluster.IsMissingKind(err) {
		return Marks{}, nil
	}
	return marks, err
}

// Ran is what runs for a deployment group.
type Ran struct {
	// Ours is what this program runs, by namespace, also where somebody has deleted its Manifest.
	Ours     map[string]*Live
	Unmarked Unmarked

	marks map[string]string
}

// Stands reports whether nobody has applied or released what runs for the group since it was read: an apply writes the Manifest first, and a
// release deletes it.
func (r *Ran) Stands(g lease.Group, now Marks) bool { return r != nil && maps.Equal(r.marks, now[g]) }

// ReadRan reads what runs for the deployment group: where it has a Manifest of ours, and in those of the namespaces that have none. It is an
// error if this program runs something there that the user may not see.
func ReadRan(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, g lease.Group, namespaces []string, marks Marks) (*Ran, error) {
	out := &Ran{marks: marks[g]}
	names := slices.Sorted(maps.Keys(out.marks))
	unmarked := slices.DeleteFunc(slices.Clone(namespaces), func(name string) bool { return out.marks[name] != "" })
	found, work := make([]deployed.Standing, len(unmarked)), parallel.New(len(unmarked))
	errs := make([]error, len(unmarked))
	for i, name := range unmarked {
		work.Go(func() error {
			found[i], errs[i] = RunIn(ctx, c, g, name)
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	for i, name := range unmarked {
		runs, err := found[i], errs[i]
		unseen, hidden := errors.AsType[*cluster.RoleError](err)
		switch {
		case err != nil && !hidden:
			return nil, err
		case runs == deployed.Ours && hidden:
			return nil, fmt.Errorf("lease %s runs something in namespace %s: its Services are there, and no Manifest. Nothing was released: %w",
				g, name, err)
		case runs == deployed.Ours:
			names = append(names, name)
		case runs == deployed.Akashs:
			out.Unmarked.Akashs = append(out.Unmarked.Akashs, name)
		case hidden:
			out.Unmarked.Unseen = unseen
		}
	}
	ours, err := runsIn(ctx, c, cfg, names)
	out.Ours = ours
	return out, err
}

func runsIn(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, namespaces []string) (map[string]*Live, error) {
	read, found := make([]*Live, len(namespaces)), map[string]*Live{}
	work, ctx := parallel.WithContext(ctx)
	for i, name := range namespaces {
		work.Go(func() (err error) {
			read[i], err = Read(ctx, c, cfg, name, true)
			return err
		})
	}
	err := work.Wait()
	for i, name := range namespaces {
		found[name] = read[i]
	}
	return found, err
}

// All returns what the namespace contains of the kinds that leases run, and the Manifest.
func (l *Live) All() []deployed.Object { return l.objects }

// Of returns what the group has applied, in the order in which it is deleted: the Manifest last.
func (l *Live) Of(g lease.Group) []deployed.Object { return deployed.Release(l.objects, g) }
