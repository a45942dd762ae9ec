package ledger

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Runs records what a command knows about the runs whose marks it has read on claims.
type Runs struct {
	mu sync.Mutex
	// own has the nonces of the command itself, gone those of commands that have ended.
	own  map[string]bool
	gone map[string]bool
	// over reports whether the command of a nonce had ended when claims were read last by what is watched.
	over func(nonce string) bool
	// ended has the marks of the command's own runs that have ended without an error.
	ended map[string]bool
	// met has the deployment groups for which other commands were announced when claims were read, or whose claims carried their marks.
	met map[string]bool
}

func newRuns() *Runs {
	return &Runs{own: map[string]bool{}, gone: map[string]bool{}, over: func(string) bool { return false }, ended: map[string]bool{}, met: map[string]bool{}}
}

// Met reports whether claims of one of the deployment groups were read while another command worked on them or after it
// had crashed: what it has done since was not read. Met then forgets the groups.
func (r *Runs) Met(groups []lease.Group) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	met := false
	for _, g := range groups {
		met = met || r.met[g.String()]
		delete(r.met, g.String())
	}
	return met
}

// Own records a nonce of the command itself.
func (r *Runs) Own(nonce string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own[nonce] = true
}

// Ended records that a run of the command itself has ended and gives nothing back any more, so that the command's other
// runs need not wait for it.
func (r *Runs) Ended(mark string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[mark] = true
}

// Nonces returns the nonces of the command itself.
func (r *Runs) Nonces() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.own))
}

// unknown returns the nonces on claims of commands that may or may not have ended.
func (r *Runs) unknown(claims []*state.Claim) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]bool{}
	for _, c := range claims {
		for _, nonce := range c.Nonces() {
			if !r.own[nonce] && !r.gone[nonce] && !r.over(nonce) {
				out[nonce] = true
			}
		}
	}
	return out
}

// isOwn reports whether a nonce is one of this command's.
func (r *Runs) isOwn(nonce string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.own[nonce]
}

// hasEnded reports whether the run of a mark has ended.
func (r *Runs) hasEnded(mark string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	nonce := state.NonceOf(mark)
	return r.gone[nonce] || !r.own[nonce] && r.over(nonce) || r.ended[mark]
}

// settle removes the marks of ended runs from claims. A command has ended if its announcement, read after the claims,
// is gone; it has ended for a deployment group if it has left an announcement that does not name the group. present has all
// announcements; if it is nil, settle reads them.
func (l Ledger) settle(ctx context.Context, claims []*state.Claim, present announced) error {
	unknown := l.Runs.unknown(claims)
	if len(unknown) > 0 && present == nil {
		present = announced{}
		if len(unknown) == 1 {
			for nonce := range unknown {
				meta, err := l.Objects.get(ctx, state.AnnouncementName(nonce))
				if err != nil {
					return err
				}
				if meta != nil {
					present.add(nonce, meta)
				}
			}
		} else if err := l.addAnnounced(ctx, present); err != nil {
			return err
		}
	}
	l.Runs.mu.Lock()
	for nonce := range unknown {
		if present[nonce] == nil {
			l.Runs.gone[nonce] = true
		}
	}
	l.Runs.mu.Unlock()
	for _, c := range claims {
		c.Settle(func(p state.Part) bool {
			nonce := state.NonceOf(p.Run)
			return l.Runs.hasEnded(p.Run) || unknown[nonce] && present[nonce](p.Lease.Group())
		})
		l.Runs.meet(c)
		c.SettleHeld(l.Runs.isOwn)
	}
	return nil
}

// Settle removes the marks of ended runs from claims as List does. Announcements are those of the same moment, by nonce, and over reports of
// which other commands whose marks claims have there was none then.
func (l Ledger) Settle(ctx context.Context, claims []*state.Claim, announcements map[string]*metav1.ObjectMeta, over func(nonce string) bool) error {
	l.Runs.mu.Lock()
	l.Runs.over = over
	l.Runs.mu.Unlock()
	there := announced{}
	for nonce, meta := range announcements {
		there.add(nonce, meta)
		l.Runs.meetAnnounced(nonce, meta)
	}
	return l.settle(ctx, claims, there)
}

// meet records the deployment groups in whose name a claim carries marks of other commands that have not ended.
func (r *Runs) meet(c *state.Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range c.Parts {
		if p.Run != "" && !r.own[state.NonceOf(p.Run)] {
			r.met[p.Lease.Group().String()] = true
		}
	}
}

// meetAnnounced records the deployment groups of an announcement of another command: it may write objects of theirs and no claim.
func (r *Runs) meetAnnounced(nonce string, meta *metav1.ObjectMeta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.own[nonce] {
		return
	}
	for _, g := range strings.Fields(meta.Annotations[state.AnnotationGroups]) {
		r.met[g] = true
	}
}

// announced has, by the nonce of each announcement, whether its command has ended for a deployment group.
type announced map[string]func(lease.Group) bool

// add adds an announcement by its metadata, with the rule of state.Announcement.HasEndedFor.
func (a announced) add(nonce string, meta *metav1.ObjectMeta) {
	phase, groups := meta.Annotations[state.AnnotationPhase], meta.Annotations[state.AnnotationGroups]
	a[nonce] = func(g lease.Group) bool {
		return phase == string(state.Fenced) && !slices.Contains(strings.Fields(groups), g.String())
	}
}

// addAnnounced adds all announcements to present.
func (l Ledger) addAnnounced(ctx context.Context, present announced) error {
	opts := metav1.ListOptions{LabelSelector: announcedOnly}
	return l.Objects.each(ctx, opts, func(meta *metav1.ObjectMeta) {
		if nonce, ok := state.AnnouncedNonce(meta.Name); ok {
			present.add(nonce, meta)
		}
	}, func() { clear(present) })
}

// OnlySuspended selects the definitions of leases that the reconciler leaves as they are.
const OnlySuspended = kept.LabelSuspended + "=true"

// NoDefinitions selects the Leases of the ledger that store no definition.
const NoDefinitions = "!" + kept.Label

// Definition reads the definition stored for a deployment group. It returns nil if there is none.
func (l Ledger) Definition(ctx context.Context, g lease.Group) (*kept.Definition, error) {
	meta, err := l.Objects.get(ctx, kept.Name(g))
	if meta == nil || err != nil {
		return nil, err
	}
	d, _ := kept.Read(meta)
	return d, nil
}

// Definitions reads the stored definitions of one owner, or of all if owner is empty. It skips those for which want is
// false.
func (l Ledger) Definitions(ctx context.Context, owner string, want func(name string) bool) ([]*kept.Definition, error) {
	opts := metav1.ListOptions{LabelSelector: kept.Label}
	if owner != "" {
		opts.LabelSelector += "=" + owner
	}
	return cluster.ListMetas(ctx, l.Objects.cluster, cluster.Leases, l.Objects.Namespace, opts, func(meta *metav1.ObjectMeta) (*kept.Definition, bool) {
		if !want(meta.Name) {
			return nil, false
		}
		return kept.Read(meta)
	})
}

// Keep stores a definition in place of the one that was read, nil for none. ErrAgain means that somebody else has
// written it. The write uses force, which is safe: only the deployment group writes its definition, and the write is
// pinned.
func (l Ledger) Keep(ctx context.Context, d *kept.Definition, g lease.Group, there *kept.Definition) (*kept.Definition, error) {
	ac := d.Configuration(l.Objects.Namespace, g, there)
	if there == nil {
		ac.WithResourceVersion(cluster.Unwritten)
	}
	meta, err := l.Objects.apply(ctx, d.Name, ac, g.FieldManager(), true)
	if err != nil {
		return nil, err
	}
	now, _ := kept.Read(meta)
	return now, nil
}

// Suspend lets the reconciler leave the lease of a definition as it is, or go on with it. The write is pinned to what was read: ErrAgain
// means that somebody else has written the definition.
func (l Ledger) Suspend(ctx context.Context, d *kept.Definition, suspended bool) error {
	var value any // nil removes the label
	if suspended {
		value = "true"
	}
	patch := map[string]any{"metadata": map[string]any{
		"uid": d.UID, "resourceVersion": d.ResourceVersion, "labels": map[string]any{kept.LabelSuspended: value},
	}}
	_, err := l.Objects.patch(ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: lease.FieldManager})
	return err
}

// Suspended returns the deployment groups that the reconciler leaves as they are, without those whose definition cannot be read.
func (l Ledger) Suspended(ctx context.Context) (map[lease.Group]bool, error) {
	groups := map[lease.Group]bool{}
	opts := metav1.ListOptions{LabelSelector: OnlySuspended}
	err := l.Objects.each(ctx, opts, func(meta *metav1.ObjectMeta) {
		if d, ok := kept.Read(meta); ok && d.Suspended {
			if def, err := d.Decode(); err == nil {
				groups[def.Lease.Group()] = true
			}
		}
	}, func() { clear(groups) })
	return groups, err
}
