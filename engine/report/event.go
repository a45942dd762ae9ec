// Package report defines the events that commands report about leases, and the errors with which the work on a lease
// ends.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Action is what happened to a thing, or what was found.
type Action string

// The actions.
const (
	Claimed    Action = "claimed"
	Created    Action = "created"
	Configured Action = "configured"
	Unchanged  Action = "unchanged"
	// Pruning: what the lease has only reserved will be pruned.
	Pruning  Action = "pruning"
	Pruned   Action = "pruned"
	Withheld Action = "withheld"
	Released Action = "released"
	// Transferred: another lease of the same owner holds the claim now.
	Transferred Action = "transferred"
	Deleted     Action = "deleted"
	// Deleting: the API server has taken the delete of an object, which is there until its finalizers have ended.
	Deleting Action = "deleting"
	// Kept: an object or a claim stays as it is. Skipped: nothing was done for a thing, though the command names it. Refused: something
	// could not be done. Unconfirmed: it was done, and nothing has been seen of it yet. The message of each says why.
	Kept        Action = "kept"
	Skipped     Action = "skipped"
	Refused     Action = "refused"
	Unconfirmed Action = "unconfirmed"
	Granted     Action = "granted"
	// Accepted: a router has accepted the route.
	Accepted Action = "accepted"
	// Replaced: the object is deleted because a new one takes its place; changing it would not do.
	Replaced Action = "replaced"
	// Served: its controller has processed the DNS record.
	Served Action = "served"
	// Lacks: the new form of a migrated route lacks what the message names.
	Lacks  Action = "lacks"
	Failed Action = "failed"
	// Waiting: the lease waits for another command, or for what its objects lead to.
	Waiting Action = "waiting"
	// Repaired: a problem was fixed, or would be.
	Repaired Action = "repaired"
	// Free and Held are the results of a check: the thing is available, or the lease has it.
	Free Action = "free"
	Held Action = "held"
	// Proved and Unproved report whether the tenant controls a host.
	Proved   Action = "proved"
	Unproved Action = "unproved"
	// Rolling reports the progress of a Deployment or StatefulSet that the command waits for. Ready: it is rolled out.
	Rolling Action = "rolling"
	Ready   Action = "ready"
	// Suspended and Resumed: the reconciler leaves the lease as it is from now on, or goes on with it.
	Suspended Action = "suspended"
	Resumed   Action = "resumed"
	// Done is the last event of a lease.
	Done Action = "done"
)

// Undone reports whether an action says what was not done, or not seen.
func (a Action) Undone() bool { return a == Kept || a == Skipped || a == Refused || a == Unconfirmed }

// Deletion returns what is told of an object whose delete the API server has taken: Deleting, with its finalizers added to the message,
// while they keep it; action if it is gone. Replaced says that another object takes its place, and not that it is gone.
func Deletion(action Action, o metav1.Object, message string) (Action, string) {
	ends := o.GetFinalizers()
	if len(ends) == 0 || action == Replaced {
		return action, message
	}
	return Deleting, strings.TrimPrefix(fmt.Sprintf("%s; finalizers %v", message, ends), "; ")
}

// Patience is how long a wait lasts before it is told.
const Patience = 2 * time.Second

// Event is one thing that happened. A run reports only by events.
type Event struct {
	Time   time.Time
	Action Action
	Lease  lease.ID
	// Homes are the leases of the deployment group that have a namespace, as it was read last; nil if that is not known.
	Homes []lease.ID
	// Kind and Name identify the object or the claimed thing; Namespace is empty for a thing.
	Kind, Namespace, Name string
	// From are the deployment groups from which a thing was transferred. To is the one that a transfer which failed gave it back to.
	From []lease.Group
	To   lease.Group
	// At is where the input asks for the thing, and By who has it otherwise. Only a check sets them.
	At lease.Place
	By state.Holder
	// Since and Until are when a wait has begun, and when it ends at the latest; zero where only another command ends it.
	Since, Until time.Time
	// Message explains the event if the action alone does not.
	Message string
	// Next is the command to run next, if there is one.
	Next string
	// Summary is set for Done.
	Summary *Summary
	// Err and Rest are set for Failed: why, and how the lease stands.
	Err  error
	Rest Rest
}

// Summary is the state of a lease at the end of a run.
type Summary struct {
	Hosts     []string
	Addresses []string
	Withheld  int
	// Unrouted counts the hosts that are held but have no route (lease.Definition.Unrouted).
	Unrouted int
	// Lacks says what is not there of what the lease would wait for, and Doubts what may not be there. Only a dry run sets them.
	Lacks, Doubts []string
	Changed       bool
	Took          time.Duration
}

// KindOrder is the kind in changes and events of a reservation.
const KindOrder = "order"

// Rest says how a lease stands on which the work has failed or was interrupted. It decides how to go on.
type Rest struct {
	// Stays is true if something that the work has changed was not given back.
	Stays bool
	// Held is true if the lease had claims, or objects, before the work: then releasing it would not only undo the work.
	Held bool
	// Former is true if the ledger keeps the definition that it kept before, Rewritten if it keeps that of the work. Neither is true
	// if there is none, or if that is unknown.
	Former, Rewritten bool
}

// Tally counts changes: those that a dry run would make, and those that a diff shows.
type Tally struct{ counts map[string]int }

// tallied are the words for actions, in the order of a tally.
var tallied = []struct {
	word    string
	actions []Action
}{
	{"claim", []Action{Claimed}}, {"transfer", []Action{Transferred}}, {"create", []Action{Created}}, {"update", []Action{Configured}},
	{"delete", []Action{Pruned, Replaced, Deleted, Released}}, {"release", nil}, {"repair", []Action{Repaired}},
	{"withheld", []Action{Withheld}}, {"kept", []Action{Kept}}, {"skipped", []Action{Skipped}}, {"unconfirmed", []Action{Unconfirmed}},
	{"refused", []Action{Failed, Refused}},
}

// claimed are the kinds of what leases hold. An object is deleted; what a lease holds is released.
var claimed = []string{string(state.Host), string(state.Wildcard), string(state.Address), string(state.Endpoint), KindOrder}

// Add counts an action on an object or a claimed thing of a kind. It ignores actions that change nothing.
func (t *Tally) Add(a Action, kind string) {
	for _, of := range tallied {
		if !slices.Contains(of.actions, a) {
			continue
		}
		if of.word == "delete" && slices.Contains(claimed, kind) {
			of.word = "release"
		}
		if t.counts == nil {
			t.counts = map[string]int{}
		}
		t.counts[of.word]++
	}
}

// String returns the counts, as "1 claim, 3 create, 2 update, 1 delete"; "" if nothing was counted.
func (t *Tally) String() string {
	var out []string
	for _, of := range tallied {
		if n := t.counts[of.word]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, of.word))
		}
	}
	return strings.Join(out, ", ")
}
