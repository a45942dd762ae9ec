package report

import (
	"fmt"
	"strings"

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

// EndlessError reports that a hold with an end was asked for of what the lease holds without one. Nothing was changed.
type EndlessError struct {
	// Holder is the lease or the order, as "order akash1…/7/1/1".
	Holder string
	// Things are what it holds, as "host/shop.example.com".
	Things []string
}

func (e *EndlessError) Error() string {
	const most = 10
	text := strings.Join(e.Things[:min(len(e.Things), most)], ", ")
	if more := len(e.Things) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s holds %s for good, and --expires would let others take it later. Nothing was changed; leave out --expires", e.Holder, text)
}
