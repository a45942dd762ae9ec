package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// release is the end of a lease that its source did not name any more, and when this reconciler gave it up, or learned that another one
// did: no clock but its own says when its time is over.
type release struct {
	source string
	at     time.Time
}

// lately returns the leases that were released within the time of the limit, by this reconciler, or by others of the same sources.
func (r *Reconciler) lately(ctx context.Context, said []Said) (map[lease.Group]string, error) {
	recorded := map[lease.Group]string{}
	for _, source := range r.limited(said) {
		groups, err := ledger.New(r.cluster, r.options.Config.LedgerNamespace).Released(cluster.Early(ctx), source)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			recorded[g] = source
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now, out := time.Now(), map[lease.Group]string{}
	for g, source := range recorded {
		if _, known := r.released[g]; !known {
			r.released[g] = release{source, now}
		}
	}
	for g, one := range r.released {
		if now.Sub(one.at) <= r.limits.Per {
			out[g] = one.source
		} else if recorded[g] == "" {
			delete(r.released, g)
		}
	}
	return out, nil
}

// limited returns the sources of which not more than so many leases may be released within a time.
func (r *Reconciler) limited(said []Said) (names []string) {
	for _, s := range said {
		if r.limits.Per > 0 && s.Source != "" && s.Source != OfManifests {
			names = append(names, s.Source)
		}
	}
	return names
}

// Forget deletes the records of released leases of which none counts any more: whoever comes next would count them anew.
func (r *Reconciler) Forget(ctx context.Context) error {
	r.recording.Lock()
	defer r.recording.Unlock()
	r.mu.Lock()
	sources := r.limited(r.said)
	r.mu.Unlock()
	var errs []error
	for _, source := range sources {
		errs = append(errs, ledger.New(r.cluster, r.options.Config.LedgerNamespace).ForgetReleased(cluster.Early(ctx), source, func(g lease.Group) bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			one, known := r.released[g]
			return !known || time.Since(one.at) <= r.limits.Per
		}))
	}
	return errors.Join(errs...)
}

// note records that leases of a source that are over are about to be given up. What was so longer ago is not recorded any more.
func (r *Reconciler) note(ctx context.Context, source string, groups []lease.Group) error {
	r.recording.Lock()
	defer r.recording.Unlock()
	r.mu.Lock()
	now, all := time.Now(), []lease.Group(nil)
	for _, g := range groups {
		if one, known := r.released[g]; !known || now.Sub(one.at) > r.limits.Per {
			r.released[g] = release{source, now}
		}
	}
	for g, one := range r.released {
		if one.source == source && now.Sub(one.at) <= r.limits.Per {
			all = append(all, g)
		}
	}
	r.mu.Unlock()
	if r.limits.Per == 0 {
		return nil
	}
	slices.SortFunc(all, lease.Group.Compare)
	return ledger.New(r.cluster, r.options.Config.LedgerNamespace).RecordReleased(ctx, source, all)
}
