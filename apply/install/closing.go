package install

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/state"
)

// reopenTime bounds how long an uninstall tries to open the ledger again.
const reopenTime = 30 * time.Second

// close announces the uninstall and marks the ledger's namespace, so that no command whose turn begins later takes a claim.
// It first removes the mark and the announcements of uninstalls that have crashed or run concurrently. An uninstall is
// announced as long as its mark exists.
func (i *Installer) close(ctx context.Context) error {
	if _, err := i.ledger().Open(ctx); err != nil {
		return err
	}
	now := i.Cluster.Now()
	i.own = &state.Announcement{
		Nonce: state.NewNonce(now), By: turn.WhoRuns(), Version: i.Version, Begun: now, Renewed: now, Lasts: turn.Lasts, Phase: state.Closing,
	}
	own, err := i.ledger().Announce(ctx, i.own)
	if err != nil {
		return err
	}
	i.own = own
	return i.ledger().Close(ctx, own.Nonce)
}

// reopen removes this uninstall's mark and announcement, also after an interrupt. It leaves those of another uninstall.
func (i *Installer) reopen(ctx context.Context) error {
	if i.own == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reopenTime)
	defer cancel()
	if err := i.ledger().OpenAfter(ctx, i.own.Nonce); err != nil {
		return fmt.Errorf("the ledger in namespace %s may still be closed: %w; open it with: kubectl akash-net install",
			i.Config.LedgerNamespace, err)
	}
	return nil
}

// renew renews the announcement of this uninstall, so that nobody takes it for crashed. It returns a ReopenedError if
// somebody has removed the announcement.
func (i *Installer) renew(ctx context.Context) error {
	return i.ledger().Until(ctx, func(ctx context.Context) error {
		next := *i.own
		next.Renewed = i.Cluster.Now()
		now, err := i.ledger().Announce(ctx, &next)
		if errors.Is(err, ledger.ErrAgain) {
			there, unread := i.ledger().Announcement(ctx, next.Nonce)
			switch {
			case unread != nil:
				return unread
			case there == nil:
				return &ReopenedError{Namespace: i.Config.LedgerNamespace}
			}
			now = there
		}
		if now != nil {
			i.own = now
		}
		return err
	})
}

func (i *Installer) ledger() ledger.Ledger { return ledger.New(i.Cluster, i.Config.LedgerNamespace) }

// isLedger reports whether an object is the namespace of the ledger.
func (i *Installer) isLedger(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Namespace" && o.GetName() == i.Config.LedgerNamespace
}

// ReopenedError reports that an uninstall has lost its mark because somebody has reopened the ledger.
type ReopenedError struct{ Namespace string }

func (e *ReopenedError) Error() string {
	return fmt.Sprintf("the ledger in namespace %s was reopened while it was uninstalled, by install or by another uninstall; the namespace stays. "+
		"Uninstall again, or bring back the rest with: kubectl akash-net install", e.Namespace)
}
