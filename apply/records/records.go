// Package records says which DNS records a lease wants, and how they take the place of others.
package records

import (
	"errors"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

// RecordProblems returns the problems of a lease's DNS records that do not depend on the cluster.
func RecordProblems(def *lease.Definition, cfg *config.ProviderConfig) lease.Problems {
	_, err := render.Records(def, cfg, nil, nil)
	var problems lease.Problems
	_ = errors.As(err, &problems)
	return problems
}

// ReplacedWait limits how long a command that waits for nothing else waits for a replaced record to be gone: if it ended at
// once, the name would have no record.
const ReplacedWait = 30 * time.Second
