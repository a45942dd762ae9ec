// Package report has what commands say of their work on leases: events, as they happen, and the errors with which the work ends.
package report

import (
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Action is what was done, or found, with one thing.
type Action string

// The actions.
const (
	Claimed    Action = "claimed"
	Created    Action = "created"
	Configured Action = "configured"
	Unchanged  Action = "unchanged"
	Pruned     Action = "pruned"
	Withheld   Action = "withheld"
	Released   Action = "released"
	// Transferred is said of a claim that another lease of its owner holds now.
	Transferred Action = "transferred"
	Deleted     Action = "deleted"
	Left        Action = "left"
	Granted     Action = "granted"
	// Accepted is said of a route that a router has taken.
	Accepted Action = "accepted"
	// Replaced is said of an object that goes because another takes its place, which cannot be had
	// by changing it.
	Replaced Action = "replaced"
	// Served is said of a DNS record that its controller has taken up.
	Served Action = "served"
	// Lacks is said of a migrated route, with what its new form does not have.
	Lacks  Action = "lacks"
	Failed Action = "failed"
	// Waiting is said of a lease that waits for another command.
	Waiting Action = "waiting"
	// Repaired is said of a problem that was mended, or would be.
	Repaired Action = "repaired"
	// Free and Held are the answers of a check: the thing may be taken, or the lease has it.
	Free Action = "free"
	Held Action = "held"
	// Proved and Unproved tell whether a host is its tenant's.
	Proved   Action = "proved"
	Unproved Action = "unproved"
	// Rolling is said of a Deployment or a StatefulSet that is waited for, with how far it is and why no further; Ready of
	// one that is rolled out.
	Rolling Action = "rolling"
	Ready   Action = "ready"
	// Done ends the events of a lease.
	Done Action = "done"
)

// Event is one thing that happened; everything a run tells, it tells by events.
type Event struct {
	Time   time.Time
	Action Action
	Lease  lease.ID
	// Kind and Name are the object, or the thing claimed; Namespace is empty for a thing.
	Kind, Namespace, Name string
	// Message says why, where that is not plain.
	Message string
	// Next is the command that goes on from here, where there is one.
	Next string
	// Summary is set with Done.
	Summary *Summary
	Err     error
}

// Summary is how a lease stands at the end of a run.
type Summary struct {
	Hosts     []string
	Addresses []string
	Withheld  int
	// Unrouted is how many of the hosts are held and served by nothing (lease.Definition.Unrouted).
	Unrouted int
	Changed  bool
	Took     time.Duration
}

// KindOrder is what changes and events of a reservation are of.
const KindOrder = "order"
