// Package sources says which leases there are to be, and says it again when that changes.
package sources

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Set is what a source says at one moment.
type Set struct {
	// Definitions are those that could be read, one a deployment group, in the order of the source.
	Definitions []*lease.Definition
	// Complete is true if the whole source could be read without an error, and names a lease or may be empty. Only a complete
	// set says of a lease that it is not named any more.
	Complete bool
	// Left are the namespaces of the leases that are named all the same, but of which it could not be read what they are to be: they
	// stay as they are.
	Left map[string]bool
	// Err is what could not be read; nil if all could.
	Err error
	// Warnings are about what was read all the same, and about changes that will be seen late.
	Warnings lease.Problems
}

// Source says which leases there are to be.
type Source interface {
	// Run calls say with what the source says: once at the beginning, and again whenever that has changed, until the context
	// ends; then it returns nil. An unreadable source is a Set with an Err. An error means that Run can never go on.
	Run(ctx context.Context, say func(Set)) error
}
