package migrate

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// changes reports whether the cluster does not have a record as wanted, or it has to be touched.
func (m *leaseMigration) changes(o render.Object) bool {
	live := m.x.Snapshot.Find(o)
	o, touch := m.touched(&marks{turn: m.x.Options.Turn}, o, live)
	return touch || !cluster.Unchanged(o, live, lease.FieldManager)
}

// recordHolder is records.Holder, by the claim as it was marked.
func (m *leaseMigration) recordHolder(t *marks, host string) string {
	claim := m.x.Snapshot.Claim(state.HostName(host))
	if h := t.claims[state.HostName(host)]; h != nil {
		claim = h.now
	}
	return records.Holder(m.x.Snapshot, m.x.Group, claim, host)
}

// putRecords writes the records of a host, unless another deployment has its records. It deletes those that they replace first:
// the controllers of two objects with the same DNS name would overwrite each other's records.
func (m *leaseMigration) putRecords(ctx context.Context, t *marks, h *hostMove) error {
	objects := h.records.Objects
	if h.theirs != "" && len(objects) > 0 {
		m.x.Event(report.Left, "dns", "", h.host, "deployment "+h.theirs+" has its records")
		return nil
	}
	replaced, again := records.ToReplace(m.x.Snapshot, m.x.Group, h.host, objects)
	for _, old := range replaced {
		if err := m.x.RemoveWhile(ctx, old.Owned, report.Replaced, old.Why, m.replaceable(t, old.Owned)); err != nil {
			return err
		}
	}
	gone, err := m.awaitRemoved(ctx, replaced)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if !gone {
			m.x.Event(report.Left, o.Kind.Singular, o.Namespace, o.Name, "what it replaces is still being deleted; apply again when it is gone")
			continue
		}
		live, message := m.x.Snapshot.Find(o), ""
		if again[o.Name] {
			live, message = nil, "in place of what was"
		}
		action, err := m.put(ctx, t, o, live, false)
		if err != nil {
			return err
		}
		m.x.Event(action, o.Kind.Singular, o.Namespace, o.Name, message)
	}
	return nil
}

// replaceable allows the deletion of a DNS record that another one replaces: the lease holds the host of both, and the record's own
// lease does not. If the lease does not hold it any more, the error is an OvertakenError.
func (m *leaseMigration) replaceable(t *marks, o observed.Owned) observed.MayGo {
	if o.Group == m.x.Group {
		return observed.OfTenant(o.Live)
	}
	return func(ctx context.Context, now *unstructured.Unstructured) (bool, error) {
		if !state.SameTenant(o.Live, now) {
			return false, nil
		}
		grounds, err := observed.ReadGrounds(ctx, m.x.Ledger, observed.Owned{Kind: o.Kind, Live: now, Group: o.Group})
		if err != nil {
			return false, err
		}
		stray := false
		for _, g := range grounds {
			h := t.claims[g.Name]
			switch {
			case h == nil:
			case g.Claim == nil || g.Claim.Deleting || g.Claim.UID != h.now.UID || len(g.Claim.PartsOf(m.x.Group)) == 0:
				return false, m.overtaken(h.now.Thing)
			default:
				stray = stray || g.Served.Gives(g.Claim, m.x.Group)
			}
		}
		return stray && !slices.ContainsFunc(grounds, func(g observed.Ground) bool { return g.Standing() == state.Entitled }), nil
	}
}

// awaitRemoved waits until the API server has removed replaced records; a record that a finalizer keeps is still served
// by DNS. It returns false if one still exists at the end.
func (m *leaseMigration) awaitRemoved(ctx context.Context, replaced []records.Replaced) (bool, error) {
	err := m.x.WaitUntil(ctx, cmp.Or(m.x.Options.Wait, records.ReplacedWait), func(ctx context.Context) (bool, error) {
		for _, old := range replaced {
			now, err := m.x.Cluster.Get(ctx, old.Kind, old.Live.GetNamespace(), old.Live.GetName())
			if err != nil || now != nil && now.GetUID() == old.Live.GetUID() {
				return false, err
			}
		}
		return true, nil
	})
	if errors.Is(err, report.ErrTimedOut) {
		return false, nil
	}
	return err == nil, err
}
