package report

import (
	"fmt"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// ElsewhereError reports that a command names a lease that has nothing, while another lease of the same deployment group
// is live. Nothing was changed.
type ElsewhereError struct {
	// Named is the lease that the command names, without a provider if it names an order. Live is the lease that is live.
	Named, Live lease.ID
	// Next says what to type.
	Next string
}

func (e *ElsewhereError) Error() string {
	named := "lease " + e.Named.String()
	if e.Named.Provider == "" {
		named = "order " + e.Named.Order().String()
	}
	return fmt.Sprintf("%s has nothing in the cluster, and lease %s of the same deployment is live there; nothing was changed; %s",
		named, e.Live, e.Next)
}
