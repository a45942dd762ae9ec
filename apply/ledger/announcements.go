package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Announced selects the announcements of runs.
const Announced = state.LabelKind + "=" + state.KindRun

// Announce writes an announcement, pinned to what was read; without a UID it is made. ErrAgain says that there is
// another by now, or that no answer came.
func (l Ledger) Announce(ctx context.Context, a *state.Announcement) (*state.Announcement, error) {
	ac, force := a.Configuration(l.Namespace), true
	if a.UID == "" {
		ac.WithResourceVersion(cluster.Unwritten)
	}
	body, err := json.Marshal(ac)
	if err != nil {
		return nil, err
	}
	var o *unstructured.Unstructured
	err = l.cluster.Write(ctx, func(write context.Context) (err error) {
		o, err = l.cluster.Dynamic.Resource(cluster.Leases).Namespace(l.Namespace).Patch(write, a.Name(), types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: lease.FieldManager, Force: &force, FieldValidation: cluster.SkipFieldValidation})
		return err
	})
	if err != nil {
		return nil, l.again(ctx, err, "patch")
	}
	return l.readAnnouncement(o)
}

// Announcement reads an announcement; it is nil where there is none.
func (l Ledger) Announcement(ctx context.Context, nonce string) (*state.Announcement, error) {
	var o *unstructured.Unstructured
	err := l.cluster.Read(ctx, func() (err error) {
		o, err = l.cluster.Dynamic.Resource(cluster.Leases).Namespace(l.Namespace).Get(ctx, state.AnnouncementName(nonce), metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) && !cluster.IsMissingKind(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	if err != nil {
		return nil, l.again(ctx, err, "get")
	}
	return l.readAnnouncement(o)
}

func (l Ledger) readAnnouncement(o *unstructured.Unstructured) (*state.Announcement, error) {
	a, err := state.ReadAnnouncement(o)
	return a, l.unreadable(o, err)
}

// unreadable says what to do about an announcement that could not be read. Who cannot read one does not know for whom it
// stands, and waits.
func (l Ledger) unreadable(o metav1.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; look who wrote it, and delete it where no command of theirs is at work: kubectl -n %s delete lease.coordination.k8s.io/%s", err, l.Namespace, o.GetName())
}

// Announcements are all announcements, not older than the request. Each command reads those of all others that are at
// work, and each may name hundreds of deployment groups: so they are read by their type.
func (l Ledger) Announcements(ctx context.Context) ([]*state.Announcement, error) {
	all, unread := []*state.Announcement{}, error(nil)
	read := func(list *coordinationv1.LeaseList) {
		for i := range list.Items {
			o := &list.Items[i]
			if _, ok := state.AnnouncedNonce(o.Name); !ok {
				continue // a claim, and not a good one
			}
			a, err := state.AnnouncementOf(o)
			all, unread = append(all, a), cmp.Or(unread, l.unreadable(o, err))
		}
	}
	err := cluster.EachPage(ctx, l.cluster, cluster.Leases, l.Namespace, metav1.ListOptions{LabelSelector: Announced},
		func() *coordinationv1.LeaseList { return &coordinationv1.LeaseList{} }, read, func() { all, unread = all[:0], nil })
	if err = cmp.Or(err, unread); err != nil {
		return nil, err
	}
	return all, nil
}

// Unannounce deletes an announcement that is exactly as it was read. ErrAgain says that it is not, or that it has gone.
func (l Ledger) Unannounce(ctx context.Context, a *state.Announcement) error {
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &a.UID, ResourceVersion: &a.ResourceVersion}}
	err := l.cluster.Write(ctx, func(write context.Context) error { return l.client().Delete(write, a.Name(), opts) })
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err) && !cluster.IsMissingKind(err):
		return fmt.Errorf("%w: %w", ErrAgain, err)
	}
	return l.again(ctx, err, "delete")
}

// runs are what a command knows of the runs whose marks are on claims.
type runs struct {
	mu sync.Mutex
	// own is the nonce of the command itself, gone are those of commands that have ended: they stay so.
	own  map[string]bool
	gone map[string]bool
	// ended are marks of the command's own runs that have ended without an error.
	ended map[string]bool
	// met are the deployment groups of which claims were read that another command was at work on.
	met map[lease.Group]bool
}

func newRuns() *runs {
	return &runs{own: map[string]bool{}, gone: map[string]bool{}, ended: map[string]bool{}, met: map[lease.Group]bool{}}
}

// Met says, once, whether claims of one of the deployment groups were read while another command was at work on them, or
// had crashed: what it has done since is not in what was read.
func (l Ledger) Met(groups []lease.Group) bool {
	l.runs.mu.Lock()
	defer l.runs.mu.Unlock()
	met := false
	for _, g := range groups {
		met = met || l.runs.met[g]
		delete(l.runs.met, g)
	}
	return met
}

// Own says that a nonce is that of the command itself.
func (l Ledger) Own(nonce string) {
	l.runs.mu.Lock()
	defer l.runs.mu.Unlock()
	l.runs.own[nonce] = true
}

// Ended says that a run of the command itself has ended and gives nothing back any more: the others need not wait for
// the end of the command.
func (l Ledger) Ended(mark string) {
	l.runs.mu.Lock()
	defer l.runs.mu.Unlock()
	l.runs.ended[mark] = true
}

// unknown are the nonces on claims of which it is not known whether their commands have ended.
func (r *runs) unknown(claims []*state.Claim) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]bool{}
	for _, c := range claims {
		for _, nonce := range c.Nonces() {
			if !r.own[nonce] && !r.gone[nonce] {
				out[nonce] = true
			}
		}
	}
	return out
}

// hasEnded is true for a mark that says nothing any more.
func (r *runs) hasEnded(mark string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone[state.NonceOf(mark)] || r.ended[mark]
}

// settle takes the marks of ended runs off claims that were read. A command has ended whose announcement is gone, as
// it is read after the claims; there is nil where it has yet to be read.
func (l Ledger) settle(ctx context.Context, claims []*state.Claim, there map[string]bool) error {
	unknown := l.runs.unknown(claims)
	if len(unknown) > 0 && there == nil {
		there = map[string]bool{}
		if len(unknown) == 1 {
			for nonce := range unknown {
				meta, err := l.get(ctx, state.AnnouncementName(nonce))
				if err != nil {
					return err
				}
				there[nonce] = meta != nil
			}
		} else if err := l.eachAnnounced(ctx, there); err != nil {
			return err
		}
	}
	l.runs.mu.Lock()
	for nonce := range unknown {
		if !there[nonce] {
			l.runs.gone[nonce] = true
		}
	}
	l.runs.mu.Unlock()
	for _, c := range claims {
		c.Settle(l.runs.hasEnded)
		l.runs.meet(c)
	}
	return nil
}

// meet notes of which deployment groups a claim carries marks of other commands that have not ended.
func (r *runs) meet(c *state.Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range c.Parts {
		if p.Run != "" && !r.own[state.NonceOf(p.Run)] {
			r.met[p.Lease.Group()] = true
		}
	}
}

// eachAnnounced finds the nonces of all announcements.
func (l Ledger) eachAnnounced(ctx context.Context, there map[string]bool) error {
	return cluster.EachMeta(ctx, l.cluster, cluster.Leases, l.Namespace, metav1.ListOptions{LabelSelector: Announced}, func(meta *metav1.ObjectMeta) {
		if nonce, ok := state.AnnouncedNonce(meta.Name); ok {
			there[nonce] = true
		}
	}, func() { clear(there) })
}
