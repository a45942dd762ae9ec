package objects

import (
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Wants reports whether the run's request names a part, or p is the note about such a part that is withheld.
func (r *Objects) Wants(c *state.Claim, p state.Part) bool {
	if p.For != "" {
		return slices.ContainsFunc(r.Withheld, func(w claims.Waiting) bool { return w.Note.Key == p.Key })
	}
	h := r.Holds[c.Name()]
	return h != nil && slices.ContainsFunc(h.Want.Parts, func(q state.Part) bool { return q.Key == p.Key })
}

// Reserve takes everything that the lease must hold, or nothing: if others hold something, it releases what it has
// taken and returns a HeldError with the holders. The caller must call Confirm.
func (r *Objects) Reserve(ctx context.Context) error {
	if r.Snapshot.ClosedBy != "" {
		return &report.ClosingError{Namespace: r.Options.Config.LedgerNamespace}
	}
	if err := r.FindKinds(); err != nil {
		return err
	}
	if err := r.Precheck(); err != nil && !claims.AllTransient(err) {
		return err
	}
	if err := r.TakeAll(ctx); err != nil {
		return r.GiveUp(ctx, err)
	}
	return nil
}

// FindKinds returns an error for each kind of the lease's objects that the cluster does not serve.
func (r *Objects) FindKinds() error {
	var errs []error
	for _, kind := range r.Kinds {
		if r.Snapshot.Lacks[kind] {
			errs = append(errs, &cluster.MissingKindError{Resource: kind.Resource()})
		}
	}
	return errors.Join(errs...)
}

// Confirm checks what Reserve has taken: the hosts against the wildcards above them, and that no uninstall removes the
// ledger. If a check fails it releases everything.
func (r *Objects) Confirm(ctx context.Context) error {
	err := r.CheckWildcards(ctx)
	if err == nil {
		err = r.CheckOpen()
	}
	if err != nil {
		return r.GiveUp(ctx, err)
	}
	return nil
}
