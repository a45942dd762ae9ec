package apply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
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

// summary is how the lease of the run stands.
func (r *run) summary() *Summary {
	s := &Summary{Withheld: len(r.withheldHosts) + len(r.withheldPorts), Changed: r.changed, Took: time.Since(r.start)}
	for _, h := range r.holds {
		if !h.want.Kind.HasPorts() {
			s.Hosts = append(s.Hosts, h.want.Thing)
			if r.unrouted(h.want.Thing) {
				s.Unrouted++
			}
		} else if h.want.Kind == state.Address {
			s.Addresses = append(s.Addresses, h.want.Thing)
		}
	}
	s.Addresses = append(s.Addresses, r.grants...)
	slices.Sort(s.Hosts)
	slices.Sort(s.Addresses)
	s.Addresses = slices.Compact(s.Addresses)
	return s
}

// unrouted is true for a host of the definition that is only claimed.
func (r *run) unrouted(host string) bool {
	return r.def != nil && slices.ContainsFunc(r.def.Unrouted(), func(h lease.Host) bool { return h.Name == host })
}

// HeldError says that others hold what the lease wants. Nothing was changed.
type HeldError struct {
	Lease lease.ID
	Held  []HeldThing
}

// HeldThing is one thing and who holds it.
type HeldThing struct {
	Kind  state.Kind
	Thing string
	By    state.Holder
	At    lease.Place
}

func (e *HeldError) Error() string {
	var lines []string
	for _, h := range e.Held {
		lines = append(lines, h.String())
	}
	return strings.Join(lines, "; ")
}

func (h HeldThing) String() string {
	by := "somebody else"
	switch {
	case h.By.Lease != (lease.ID{}):
		by = "lease " + h.By.Lease.String()
	case h.By.Owner != "":
		by = "owner " + h.By.Owner
	case h.By.Object != "":
		by = h.By.Object
	}
	if h.By.Input != "" {
		return fmt.Sprintf("%s %s is wanted by two owners of the same input, by %s first (%s)", h.Kind, h.Thing, by, h.By.Input)
	}
	s := fmt.Sprintf("%s %s is held by %s", h.Kind, h.Thing, by)
	if h.By.Namespace != "" {
		s += " in namespace " + h.By.Namespace
	}
	if !h.By.Since.IsZero() {
		s += " since " + h.By.Since.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if h.By.Reason != "" {
		s += " (" + h.By.Reason + ")"
	}
	return s
}

// HalfError says that a run failed, and could not take back all that it had done.
type HalfError struct {
	Lease     lease.ID
	Why, Left error
}

func (e *HalfError) Error() string { return fmt.Sprintf("%v; %v", e.Why, e.Left) }

// Unwrap gives the reason for the failure to errors.Is and errors.As.
func (e *HalfError) Unwrap() error { return e.Why }

// ExhaustedError says that no address is left for an endpoint. Nothing was changed.
type ExhaustedError struct {
	Lease    lease.ID
	Endpoint string
	Ranges   []string
	At       lease.Place
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("no address left in %s for IP endpoint %q", strings.Join(e.Ranges, ", "), e.Endpoint)
}

// TimeoutError says what had not happened when the time to wait was over.
type TimeoutError struct {
	// After is how long that was: zero where it was only looked at.
	After   time.Duration
	Waiting []string
}

func (e *TimeoutError) Error() string {
	if e.After == 0 {
		return "not waited for:\n  " + strings.Join(e.Waiting, "\n  ")
	}
	return fmt.Sprintf("timed out after %s waiting for:\n  %s", e.After, strings.Join(e.Waiting, "\n  "))
}
