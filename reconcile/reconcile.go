// Package reconcile brings leases to what sources say of them, and keeps them there: it decides for each deployment group whether its
// definition is applied, healed or released, and runs the commands that do so.
package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/reconcile/sources"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// SaidOf returns what a source of a name says.
func SaidOf(name string, set sources.Set) Said {
	said := Said{Source: name, Definitions: make(map[lease.Group]*lease.Definition, len(set.Definitions)), Complete: set.Complete, Left: set.Left}
	for _, def := range set.Definitions {
		said.Definitions[def.Lease.Group()] = def
	}
	return said
}

// Reconciler brings leases to what sources say. It keeps nothing about them but since when it knows of releases: what it knows is what the
// sources say and what the cluster has.
type Reconciler struct {
	cluster *cluster.Cluster
	options command.Options
	limits  Limits
	// Ran is told of each command that has ended; nil tells nobody.
	Ran func(what Action, took time.Duration, err error)

	mu sync.Mutex
	// said is what each source has said last, sayings how often one did. last is what was read last.
	said    []Said
	sayings int
	last    looked
	// decoded has kept definitions by the names of their objects.
	decoded map[string]decoded
	// released are the leases that were over, with their sources.
	released map[lease.Group]release
	// recording is held while released leases are recorded.
	recording sync.Mutex
}

// decoded is a version of a kept definition.
type decoded struct {
	version    string
	definition *lease.Definition
}

// New returns a reconciler of leases of a cluster. Its commands wait for nothing after their last write.
func New(c *cluster.Cluster, opts command.Options, limits Limits) *Reconciler {
	opts.Prune, opts.Wait, opts.Reclaim = true, 0, true
	return &Reconciler{cluster: c, options: opts, limits: limits, decoded: map[string]decoded{}, released: map[lease.Group]release{}}
}

// Says records what the source at a place says. It returns the deployment groups of which it says something else than before.
func (r *Reconciler) Says(place int, said Said) (changed []lease.Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.said) <= place {
		r.said = append(r.said, Said{})
	}
	was := r.said[place]
	r.said[place] = said
	r.sayings++
	for g, def := range said.Definitions {
		if before := was.Definitions[g]; before == nil || before.Hash != def.Hash || before.Lease != def.Lease || lease.SumWhole(before) != lease.SumWhole(def) {
			changed = append(changed, g)
		}
	}
	for g := range was.Definitions {
		if said.Definitions[g] == nil {
			changed = append(changed, g)
		}
	}
	return changed
}

// Defined returns the definition with which a source names a deployment group, nil if none does.
func (r *Reconciler) Defined(g lease.Group) *lease.Definition {
	def, _ := r.DefinedBy(g)
	return def
}

// DefinedBy returns the definition with which a source names a deployment group, and the name of the source; nil if none does.
func (r *Reconciler) DefinedBy(g lease.Group) (def *lease.Definition, source string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, said := range r.said {
		if def := said.Definitions[g]; def != nil {
			return def, said.Source
		}
	}
	return nil, ""
}

// Look reads what the ledger keeps, and returns what is to be decided by: the same as before if nothing is said or kept otherwise since.
func (r *Reconciler) Look(ctx context.Context) (*View, error) {
	ctx = cluster.Early(ctx)
	now, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	released, err := r.lately(ctx, now.said)
	if err != nil || now.view != nil && len(released) == 0 {
		return now.view, err
	}
	ended, err := r.ended(ctx, now.said, now.kept)
	now.view = NewView(Seen{Said: now.said, Kept: now.kept, Unread: now.unread, Ended: ended, Released: released}, r.limits)
	if err == nil && len(ended) == 0 && len(released) == 0 { // else it depends on more than what is said and kept
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.last.version == now.version && r.last.sayings == now.sayings {
			r.last.view = now.view
		}
	}
	return now.view, err
}

// Announced returns the metadata of the announcements of commands, as watches have told of them.
func (r *Reconciler) Announced(ctx context.Context) ([]*metav1.ObjectMeta, error) {
	ctx, l := cluster.Early(ctx), ledger.New(r.cluster, r.options.Config.LedgerNamespace)
	watched := reading.WatchedBy(ctx, r.cluster)
	if watched == nil {
		return nil, cluster.ErrUnwatched
	}
	return watched.Announced(ctx, r.cluster, l)
}

// looked is what the ledger keeps of each deployment group, the names of what cannot be read, and what the sources said then; and the view
// of it, if it depends on nothing else.
type looked struct {
	version, sayings int
	kept             map[lease.Group]Kept
	unread           map[string]bool
	said             []Said
	view             *View
}

// read reads what the ledger keeps, and decodes what was not known.
func (r *Reconciler) read(ctx context.Context) (now looked, err error) {
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	l := ledger.New(r.cluster, r.options.Config.LedgerNamespace)
	var all []*kept.Definition
	version := 0
	if watched := reading.WatchedBy(ctx, r.cluster); watched != nil {
		all, version, err = watched.Definitions(ctx, r.cluster, l, last.version)
	} else {
		all, err = l.Definitions(ctx, "", func(string) bool { return true })
	}
	if err != nil {
		return now, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	same := version > 0 && version == last.version
	if same && last.sayings == r.sayings {
		return last, nil
	}
	now = looked{version: version, sayings: r.sayings, kept: last.kept, unread: last.unread, said: slices.Clone(r.said)}
	if !same {
		now.kept, now.unread = r.decode(all)
	}
	if version >= r.last.version {
		r.last = now
	}
	return now, nil
}

// decode returns what the ledger keeps of each deployment group, and the names of what cannot be read. The caller holds mu.
func (r *Reconciler) decode(all []*kept.Definition) (by map[lease.Group]Kept, unread map[string]bool) {
	known := make(map[string]decoded, len(all))
	by, unread = make(map[lease.Group]Kept, len(all)), map[string]bool{}
	for _, d := range all {
		one := r.decoded[d.Name]
		if one.version != d.ResourceVersion {
			def, err := d.Decode()
			if err != nil {
				def = nil // state --problems shows it
			}
			one = decoded{d.ResourceVersion, def}
		}
		known[d.Name] = one
		switch {
		case one.definition == nil:
			unread[d.Name] = true
		case !d.Deleting:
			by[one.definition.Lease.Group()] = Kept{Source: d.Source, Definition: one.definition, Suspended: d.Suspended}
		}
	}
	r.decoded = known
	return by, unread
}

// ended returns whether the leases that have no Manifest any more are over: their namespace is gone, or is being deleted; or Akash's
// provider, which deletes a lease's ProviderHosts and ProviderLeasedIPs after its Manifest and before its namespace, has left none. Where
// there is no Manifest at all, only the namespace counts: they may be elsewhere.
func (r *Reconciler) ended(ctx context.Context, said []Said, kept map[lease.Group]Kept) (map[lease.Group]bool, error) {
	i := slices.IndexFunc(said, func(s Said) bool { return s.Source == OfManifests })
	if i < 0 {
		return nil, nil
	}
	ended := map[lease.Group]bool{}
	for g, k := range kept {
		if k.Source == OfManifests && said[i].isOver(g, k) {
			ended[g] = len(said[i].Definitions)+len(said[i].Left) > 0
		}
	}
	if len(ended) == 0 {
		return ended, nil
	}
	ctx = cluster.Early(ctx)
	for _, kind := range kinds.ClaimLike {
		all, err := r.cluster.Objects(ctx, kind.Resource(), r.options.Config.ManifestNamespace, metav1.ListOptions{})
		if err != nil && !cluster.IsMissingKind(err) {
			return nil, err
		}
		for _, o := range all {
			if whose := state.OwnershipOf(o, lease.ID{}); whose.HasLease && whose.Shared && (whose.Declared || !whose.Ours) {
				if g := whose.Lease.Group(); ended[g] {
					ended[g] = false
				}
			}
		}
	}
	alive := map[string]bool{}
	err := cluster.EachMeta(ctx, r.cluster, cluster.Namespaces, "", metav1.ListOptions{}, func(meta *metav1.ObjectMeta) {
		alive[meta.Name] = meta.DeletionTimestamp == nil
	}, func() { clear(alive) })
	for g, k := range kept {
		if k.Source == OfManifests && said[i].isOver(g, k) && !alive[k.Definition.Lease.Namespace()] {
			ended[g] = true
		}
	}
	return ended, err
}

// Work does what is due for deployment groups, and returns what has failed, by group. One that fails stops no other. The error says why
// nothing was done for any of them.
func (r *Reconciler) Work(ctx context.Context, groups []lease.Group) (failed map[lease.Group]error, err error) {
	return r.work(ctx, groups, r.options)
}

func (r *Reconciler) work(ctx context.Context, groups []lease.Group, opts command.Options) (map[lease.Group]error, error) {
	if err := r.follow(ctx, groups, opts); err != nil {
		r.report(lease.ID{}, err) // the commands say what it is in the way of
	}
	view, err := r.Look(ctx)
	if err != nil {
		return nil, err
	}
	failed := map[lease.Group]error{}
	for _, part := range r.parts(view, groups, failed) {
		began := time.Now()
		err := parallel.Guard(func() error { return r.run(ctx, part, opts) })
		if r.Ran != nil {
			r.Ran(part.what.Action, time.Since(began), err)
		}
		r.share(failed, part, err)
	}
	maps.Copy(failed, r.finish(ctx, view.forgotten(groups)))
	return failed, nil
}

// part are the deployment groups for which one command does the same.
type part struct {
	what   Decision
	groups []lease.Group
	defs   []*lease.Definition
}

// parts returns the commands that do what is due: what is given up comes first. It adds to failed what is not to be done.
func (r *Reconciler) parts(view *View, groups []lease.Group, failed map[lease.Group]error) []*part {
	type key struct {
		action Action
		source string
		owned  bool
		among  string
	}
	by := map[key]*part{}
	for _, g := range groups {
		d := view.Decide(g)
		if d.Err == nil && d.Definition != nil {
			if problems := apply.Invalid(d.Definition, r.options.Config).Errors(); len(problems) > 0 {
				d.Err = problems
			}
		}
		if d.Err != nil {
			failed[g] = d.Err
			r.report(lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}, d.Err)
			continue
		}
		if d.Action == Nothing {
			continue
		}
		k := key{d.Action, d.Source, d.Owned, strings.Join(d.Among, " ")}
		if by[k] == nil {
			by[k] = &part{what: Decision{Action: d.Action, Source: d.Source, Owned: d.Owned, Among: d.Among}}
		}
		by[k].groups, by[k].defs = append(by[k].groups, g), append(by[k].defs, d.Definition)
	}
	order := []Action{Release, Heal, Apply}
	return slices.SortedFunc(maps.Values(by), func(a, b *part) int {
		if a.what.Owned != b.what.Owned && a.what.Action == b.what.Action { // what is emptied first
			if a.what.Owned {
				return -1
			}
			return 1
		}
		return slices.Index(order, a.what.Action) - slices.Index(order, b.what.Action)
	})
}

// run does what is due for the deployment groups of a part, by a command with these options.
func (r *Reconciler) run(ctx context.Context, p *part, opts command.Options) error {
	opts.Obeys, opts.Emptied = true, p.what.Action == Release
	switch opts.Source = p.what.Source; {
	case p.what.Owned:
		opts.Owned = []string{p.what.Source}
	case p.what.Among != nil:
		opts.Owned = append([]string{""}, p.what.Among...)
	}
	if opts.Heal = p.what.Action == Heal; opts.Heal {
		opts.Prove = nil // nothing is claimed
	}
	if p.what.Owned && p.what.Action == Apply && p.what.Source != OfManifests {
		if err := r.note(ctx, p.what.Source, p.groups); err != nil {
			return err
		}
	}
	a := apply.New(r.cluster, opts)
	if p.what.Action == Release {
		return a.Release(ctx, p.groups)
	}
	return a.Apply(ctx, p.defs)
}

// report reports an error that no command has reported. The zero ID is for one that is all leases'.
func (r *Reconciler) report(id lease.ID, err error) {
	if r.options.Report != nil {
		r.options.Report(report.Event{Time: time.Now(), Action: report.Failed, Lease: id, Kind: "lease", Name: id.Group().String(), Err: err})
	}
}

// share gives each deployment group of a part its own error. An error that names no lease is that of all.
func (r *Reconciler) share(failed map[lease.Group]error, p *part, err error) {
	of, others := report.ByLease(err)
	for g, errs := range of {
		if slices.Contains(p.groups, g) {
			failed[g] = errors.Join(append([]error{failed[g]}, errs...)...)
		} else {
			others = append(others, errs...)
		}
	}
	for _, one := range others {
		r.report(lease.ID{}, one)
		for g, err := range FailAll(p.groups, one) {
			failed[g] = errors.Join(failed[g], err)
		}
	}
}

// FailAll returns the same error for all deployment groups.
func FailAll(groups []lease.Group, err error) map[lease.Group]error {
	failed := map[lease.Group]error{}
	for _, g := range groups {
		failed[g] = err
	}
	return failed
}

// Kept reports of which deployment group an object of the ledger keeps the definition.
func (r *Reconciler) Kept(d *kept.Definition) (g lease.Group, ok bool) {
	r.mu.Lock()
	one := r.decoded[d.Name]
	r.mu.Unlock()
	if one.definition == nil || one.version != d.ResourceVersion {
		def, err := d.Decode()
		if err != nil {
			return g, false
		}
		return def.Lease.Group(), true
	}
	return one.definition.Lease.Group(), true
}

// Once does all that is due, twice: a lease whose source does not name it any more is emptied, and then released; one that somebody else has
// changed meanwhile is looked at again, and that it has changed is not told before.
func (r *Reconciler) Once(ctx context.Context) error {
	view, err := r.Look(ctx)
	if err != nil {
		return err
	}
	first := r.options
	first.Report = func(e report.Event) {
		if r.options.Report != nil && !errors.Is(e.Err, report.ErrChanged) {
			r.options.Report(e)
		}
	}
	failed, err := r.work(ctx, view.Groups(), first)
	if err != nil {
		return err
	}
	if view, err = r.Look(ctx); err == nil {
		again := slices.DeleteFunc(slices.Collect(maps.Keys(failed)), func(g lease.Group) bool { return !errors.Is(failed[g], report.ErrChanged) })
		for _, g := range view.Groups() {
			if failed[g] == nil && view.Decide(g).Action == Release {
				again = append(again, g)
			}
		}
		var late map[lease.Group]error
		if late, err = r.Work(ctx, again); err == nil {
			for _, g := range again {
				delete(failed, g)
			}
		}
		maps.Copy(failed, late)
	}
	errs, said := []error{err}, map[string]bool{}
	for _, g := range slices.SortedFunc(maps.Keys(failed), lease.Group.Compare) {
		if text := failed[g].Error(); !said[text] { // one may be that of many
			errs, said[text] = append(errs, failed[g]), true
		}
	}
	return report.Gather(errs)
}
