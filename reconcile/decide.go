package reconcile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Said is what a source says of the leases at one moment.
type Said struct {
	// Source is the name of the source, which the kept definitions of its leases have; empty for a source that owns no lease.
	Source string
	// Definitions are the leases that it names.
	Definitions map[lease.Group]*lease.Definition
	// Complete is true if the source was read as a whole: only then is a lease that it does not name over. Left are the namespaces of
	// leases that it names, and of which it could not be read what they are to be.
	Complete bool
	Left     map[string]bool
}

// Kept is what the ledger keeps of a deployment group: its definition, the source that it was applied from, and whether a person has said
// that the lease is to be left as it is.
type Kept struct {
	Source     string
	Definition *lease.Definition
	Suspended  bool
}

// Action is what is to be done for a deployment group.
type Action string

// The actions.
const (
	Nothing Action = ""
	Apply   Action = "apply"
	Heal    Action = "heal"
	Release Action = "release"
)

// Decision is what is to become of a deployment group.
type Decision struct {
	Action Action
	// Source is that which names the lease, or named it. Owned is true if the lease has to be the source's still.
	Source string
	Owned  bool
	// Among are the sources of which the lease may be when it is applied, as well as of none; nil for any.
	Among []string
	// Definition is what to apply.
	Definition *lease.Definition
	// Err says why nothing may be done though something is due.
	Err error
}

// Limits are the bounds of what may be done without being asked.
type Limits struct {
	// Heal heals the leases that no source names.
	Heal bool
	// Manifests applies what the Manifests of Akash's provider say. Without it they say only which of its leases are over, and which are
	// as they were applied last.
	Manifests bool
	// TakeOver takes leases over from other sources. Without it a lease stays with the source that the ledger keeps for it.
	TakeOver bool
	// MaxDeletes is how many leases of files may be released within the time Per; negative for a tenth of those that their source owned
	// then, rounded up. Akash's provider says of each lease by itself that it is over. Per is zero for a reconciler that runs once. One that
	// watches records which leases of files it releases, so that its successor counts them.
	MaxDeletes int
	Per        time.Duration
}

// ManyDeletesError says that a source does not name more leases any more than may be released within a time. None of them is released.
type ManyDeletesError struct {
	Source string
	// Gone are those that are over, with those that were released within the time; Owned is what the source owned before.
	Gone, Released, Owned, MayBeReleased int
	Per                                  time.Duration
}

func (e *ManyDeletesError) Error() string {
	within := "at once"
	if e.Released > 0 {
		within = fmt.Sprintf("within %s, and %d were", duration.HumanDuration(e.Per), e.Released)
	}
	return fmt.Sprintf("source %s no longer names %s of %d, and at most %d may be released %s; "+
		"if these leases are over, release them with --max-deletes=%d", e.Source, lease.Count(e.Gone, "lease"), e.Owned, e.MayBeReleased, within, e.Gone)
}

// TwiceError says that two sources name one deployment group.
type TwiceError struct {
	Group lease.Group
	At    []lease.Place
}

func (e *TwiceError) Error() string {
	return fmt.Sprintf("lease %s is defined twice, at %s and at %s, and is not changed: define it once", e.Group, e.At[0], e.At[1])
}

// OtherSourceError says that a source names a lease that the ledger keeps for another one, which decides what becomes of it.
type OtherSourceError struct {
	Group             lease.Group
	At                lease.Place
	Source, BelongsTo string
}

func (e *OtherSourceError) Error() string {
	return fmt.Sprintf("lease %s, which %s defines, is of source %s: that decides what becomes of it; to make it one of source %s, reconcile with --take-over",
		e.Group, e.At, e.BelongsTo, e.Source)
}

// View is what all decisions of one moment rest on.
type View struct {
	said   []Said
	kept   map[lease.Group]Kept
	unread map[string]bool
	limits Limits
	// over are the leases of each source that it does not name any more, owned is how many it owns: both without those that were
	// emptied.
	over map[string][]lease.Group
	// stays are the kept leases of which their sources do not say that they are over.
	stays   map[lease.Group]bool
	owned   map[string]int
	emptied map[lease.Group]bool
	// released is how many leases of each source were released within the time of the limit.
	released map[string]int
}

// Seen is what was seen at one moment.
type Seen struct {
	Said []Said
	Kept map[lease.Group]Kept
	// Unread are the names of the kept definitions that cannot be read.
	Unread map[string]bool
	// Ended are the leases without a Manifest of which nothing else is left that Akash's provider has made (see Reconciler.Look).
	Ended map[lease.Group]bool
	// Released are the leases that were over within Limits.Per, with their sources, whoever released them.
	Released map[lease.Group]string
}

// NewView returns the view of what was seen.
func NewView(seen Seen, limits Limits) *View {
	said, kept, ended := seen.Said, seen.Kept, seen.Ended
	v := &View{said: said, kept: kept, unread: seen.Unread, released: map[string]int{}, limits: limits, over: map[string][]lease.Group{}, stays: map[lease.Group]bool{}, owned: map[string]int{}, emptied: map[lease.Group]bool{}}
	for g, k := range kept {
		s := v.source(k.Source)
		if k.Suspended || s == nil || !s.isOver(g, k) || s.Source == OfManifests && !ended[g] {
			v.stays[g] = true
		}
		switch over := !v.stays[g] && v.named(g) == nil; {
		case over && k.Definition.Empty():
			v.emptied[g] = true
		case over:
			v.over[s.Source] = append(v.over[s.Source], g)
		}
		if s != nil && !k.Definition.Empty() {
			v.owned[s.Source]++
		}
	}
	for g, source := range seen.Released { // also one that its source names again, until that is applied
		if k, isKept := kept[g]; !isKept || k.Definition.Empty() {
			v.released[source]++
		}
	}
	return v
}

// isOver reports whether the source that owns a lease says that there is none any more.
func (s *Said) isOver(g lease.Group, k Kept) bool {
	return s.Complete && s.Definitions[g] == nil && !s.Left[k.Definition.Lease.Namespace()]
}

// source returns what the source of a name says, nil if there is none.
func (v *View) source(name string) *Said {
	i := slices.IndexFunc(v.said, func(s Said) bool { return name != "" && s.Source == name })
	if i < 0 {
		return nil
	}
	return &v.said[i]
}

// named returns the sources that name a deployment group.
func (v *View) named(g lease.Group) (by []Said) {
	for _, s := range v.said {
		if s.Definitions[g] != nil && (v.limits.Manifests || s.Source != OfManifests) {
			by = append(by, s)
		}
	}
	return by
}

// Definition returns the definition of a deployment group: what a source says, else what the ledger keeps; nil if neither is known.
func (v *View) Definition(g lease.Group) *lease.Definition {
	if by := v.named(g); len(by) > 0 {
		return by[0].Definitions[g]
	}
	return v.kept[g].Definition
}

// unnamed returns those of the deployment groups that no source names and of which nothing is kept.
func (v *View) unnamed(groups []lease.Group) []lease.Group {
	return slices.DeleteFunc(slices.Clone(groups), func(g lease.Group) bool { return v.Definition(g) != nil })
}

// forgotten returns those of the deployment groups of which nobody says anything: no source, no Manifest though none is applied, and no
// kept definition, not even one that cannot be read.
func (v *View) forgotten(groups []lease.Group) []lease.Group {
	return slices.DeleteFunc(v.unnamed(groups), func(g lease.Group) bool {
		return v.unread[kept.Name(g)] || slices.ContainsFunc(v.said, func(s Said) bool { return s.Definitions[g] != nil })
	})
}

// Groups returns all deployment groups of which something may be due.
func (v *View) Groups() []lease.Group {
	all := map[lease.Group]bool{}
	for _, s := range v.said {
		for g := range s.Definitions {
			if v.named(g) != nil {
				all[g] = true
			}
		}
	}
	for g, k := range v.kept {
		if v.limits.Heal || v.source(k.Source) != nil {
			all[g] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), lease.Group.Compare)
}

// Over returns the deployment groups that their sources do not name any more.
func (v *View) Over() (over []lease.Group) {
	over = slices.Collect(maps.Keys(v.emptied))
	for _, groups := range v.over {
		over = append(over, groups...)
	}
	slices.SortFunc(over, lease.Group.Compare)
	return over
}

// Decide returns what is to become of a deployment group: what a source names is applied, unless the lease is another source's; what its source does not name any more is
// released, and what nobody names is healed if that is asked for. A lease of Akash's provider is healed only while its Manifest says what
// it was applied with: what the tenant has changed since is not brought back. With a lease that is suspended nothing is done, whoever names it.
//
// A release begins with an apply of nothing, so that the ledger keeps whose the lease is until all that it had is gone: whoever comes
// after a crash goes on.
func (v *View) Decide(g lease.Group) Decision {
	k, isKept := v.kept[g]
	switch by := v.named(g); {
	case k.Suspended:
		return Decision{}
	case len(by) > 1:
		return Decision{Err: &TwiceError{Group: g, At: []lease.Place{by[0].Definitions[g].At, by[1].Definitions[g].At}}}
	case len(by) == 1 && v.belongsElsewhere(g, &by[0]):
		return Decision{Source: k.Source, Err: &OtherSourceError{Group: g, At: by[0].Definitions[g].At, Source: by[0].Source, BelongsTo: k.Source}}
	case len(by) == 1:
		d := Decision{Action: Apply, Source: by[0].Source, Definition: by[0].Definitions[g]}
		if d.Source != "" && !v.limits.TakeOver {
			d.Among = slices.Compact([]string{d.Source, cmp.Or(k.Source, d.Source)})
		}
		return d
	case v.emptied[g]:
		return Decision{Action: Release, Source: k.Source, Owned: true}
	case slices.Contains(v.over[k.Source], g):
		gone, released := len(v.over[k.Source]), v.released[k.Source]
		if most := v.mayBeReleased(k.Source); k.Source != OfManifests && gone+released > most {
			return Decision{Source: k.Source, Err: &ManyDeletesError{
				Source: k.Source, Gone: gone + released, Released: released, Owned: v.owned[k.Source] + released, MayBeReleased: most, Per: v.limits.Per,
			}}
		}
		return Decision{Action: Apply, Source: k.Source, Owned: true, Definition: emptied(k)}
	case isKept && v.limits.Heal && k.Source == OfManifests:
		return v.healed(g, k)
	case isKept && v.limits.Heal:
		return Decision{Action: Heal, Definition: k.Definition}
	}
	return Decision{}
}

// belongsElsewhere reports whether a lease that a source names is kept for another one, which does not say that it is over. Files without
// a name are a person's hand: what they apply stays the source's.
func (v *View) belongsElsewhere(g lease.Group, by *Said) bool {
	k := v.kept[g]
	return !v.limits.TakeOver && k.Source != "" && by.Source != "" && k.Source != by.Source && v.stays[g]
}

// healed returns what is to become of a lease of Akash's provider that is to be healed: it is, if its Manifest says what it was applied
// with, and only while that is so.
func (v *View) healed(g lease.Group, k Kept) Decision {
	s := v.source(OfManifests)
	if s == nil || s.Definitions[g] == nil || s.Definitions[g].Hash != k.Definition.Hash {
		return Decision{}
	}
	def := *k.Definition
	def.Manifest = s.Definitions[g].Manifest
	return Decision{Action: Heal, Definition: &def}
}

// emptied returns the definition of the same lease that defines nothing. It rests on there being no Manifest where the lease had one.
func emptied(k Kept) *lease.Definition {
	out := &lease.Definition{Name: k.Definition.Name, Lease: k.Definition.Lease, At: k.Definition.At}
	if out.Hash = lease.Sum(out); k.Source == OfManifests {
		out.Manifest = &lease.Manifest{}
	}
	return out
}

// mayBeReleased returns how many leases of a source may be released within the time of the limit.
func (v *View) mayBeReleased(source string) int {
	if v.limits.MaxDeletes >= 0 {
		return v.limits.MaxDeletes
	}
	return (v.owned[source] + v.released[source] + 9) / 10
}

// OfManifests is the name of the source that the Manifests of Akash's provider are, OfEvents that of leases whose manifests came with
// events. No list says which leases the latter has, so none is released but by an event.
const (
	OfManifests = kept.OfManifests
	OfEvents    = "akash-events"
)
