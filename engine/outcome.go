package engine

import (
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Outcome is how the work on a lease has ended.
type Outcome struct {
	// Err is why the lease was refused or has failed, nil if it has what it wants.
	Err error
	// Kept are the errors of what could not be given back.
	Kept []error
	// Unfinished is true if something of the lease is neither final nor given back.
	Unfinished bool
	// Rest is how the lease stands.
	Rest report.Rest
	// Things are what the lease relies on; Facts are what was found of what it wants, in the order of the claims.
	Things []state.Hold
	Claims map[string]*state.Claim
	Facts  []Fact
	// Left is what a release leaves.
	Left Left
	// Applied is what became of the objects that an apply wants.
	Applied Applied
	// Moved are the old routes for which all was done that the want says.
	Moved map[Key]bool
}

// Found is what was found of a thing that a lease wants.
type Found string

// What is found.
const (
	// Free: the lease could have it, or has got it.
	Free Found = "free"
	// Own: the lease holds it already.
	Own Found = "own"
	// Withheld: another deployment of the owner holds it.
	Withheld Found = "withheld"
	// Beside: another lease of the deployment serves it, and keeps it.
	Beside Found = "beside"
	// Unnoted: the note that the lease waits for it could not be written.
	Unnoted Found = "unnoted"
)

// Fact says what was found of a thing, or a part of it, that a lease wants.
type Fact struct {
	Found Found
	Kind  state.Kind
	Name  string
	// At is where the input asks for it.
	At lease.Place
	// By is who has it otherwise, Lease the lease that serves it.
	By    state.Holder
	Lease lease.ID
	Err   error
}
