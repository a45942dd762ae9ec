package report

import (
	"fmt"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// SourceError says that the ledger keeps of which source a lease is, and that another one was to decide on it. Nothing was changed.
type SourceError struct {
	Lease lease.Group
	// Source is the name of the source; empty if it is none's any more.
	Source string
}

func (e *SourceError) Error() string {
	if e.Source == "" {
		return fmt.Sprintf("lease %s is of no source any more; nothing was changed", e.Lease)
	}
	where := "change or remove it there"
	if e.Source == kept.OfManifests {
		where = "close it at Akash's provider"
	}
	return fmt.Sprintf("lease %s is of source %s, which decides what becomes of it: %s. Nothing was changed. "+
		"To release it all the same, until the source brings it back: kubectl akash-net release %[1]s --force", e.Lease, e.Source, where)
}

// SuspendedError says that a person has suspended a lease. Nothing was changed.
type SuspendedError struct{ Lease lease.Group }

func (e *SuspendedError) Error() string {
	return fmt.Sprintf("lease %s is suspended, and nothing is done for it; to go on with it: kubectl akash-net resume %[1]s", e.Lease)
}
