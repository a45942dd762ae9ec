package reconcile

import (
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Failing is a deployment group that fails, until it succeeds.
type Failing struct {
	Group lease.Group
	// Definition is what it is to be; nil if nobody knows.
	Definition *lease.Definition
	Err        error
	// Count is how often it has failed in a row, Since the first and Last the last time. It is tried again at Next, or earlier.
	Count             int
	Since, Last, Next time.Time
}
