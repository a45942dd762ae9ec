package apply

import (
	"fmt"
	"slices"
)

// ClosingError says that the ledger takes no claims, because an uninstall is removing it.
type ClosingError struct{ Namespace string }

func (e *ClosingError) Error() string {
	return fmt.Sprintf("the ledger in namespace %s is being uninstalled, and takes no claims; what this run took was given back. Let the uninstall end, or reopen the ledger with: kubectl akash-net install", e.Namespace)
}

// checkOpen refuses where an uninstall is removing the ledger. Both announce themselves and then list the announcements,
// so one of them sees the other.
func (r *run) checkOpen() error {
	if r.opts.turn.Closing() && slices.ContainsFunc(r.sortedHolds(), func(h *held) bool { return h.took }) {
		return &ClosingError{Namespace: r.opts.Config.LedgerNamespace}
	}
	return nil
}
