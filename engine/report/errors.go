package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Exit codes of commands. Scripts rely on them; docs/commands.md has the table. An error whose type has ExitCode ends its command with
// that, any other one with ExitFailed; an Advice follows its message.
const (
	ExitFailed  = 1
	ExitUsage   = 2
	ExitInvalid = 3
	ExitHeld    = 4
	ExitTimeout = 5
	// ExitDiff means that diff failed.
	ExitDiff = 6
)

// HeldError reports that others hold what the lease wants. Nothing was changed.
type HeldError struct {
	Lease lease.ID
	Held  []HeldThing
}

// HeldThing is a thing and its holder.
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

// ExitCode says how a command ends with the error.
func (*HeldError) ExitCode() int { return ExitHeld }

// Unclaimed reports whether nobody has claimed the thing: an object uses it, such as an Ingress that was made by hand, or a node.
func (h HeldThing) Unclaimed() bool { return h.By.Object != "" }

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
	switch {
	case h.Unclaimed() && by != h.By.Object:
		s = fmt.Sprintf("%s %s is used by %s for %s", h.Kind, h.Thing, h.By.Object, by)
	case h.Unclaimed():
		s = fmt.Sprintf("%s %s is used by %s", h.Kind, h.Thing, by)
	case h.By.Namespace != "":
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

// HalfError reports that a run failed and could not undo everything that it had done.
type HalfError struct {
	Lease     lease.ID
	Why, Left error
	// Rest is how the lease stands.
	Rest Rest
}

func (e *HalfError) Error() string { return fmt.Sprintf("%v; %v", e.Why, e.Left) }

// Unwrap returns the reason for the failure.
func (e *HalfError) Unwrap() error { return e.Why }

// ExhaustedError reports that no address is free for an endpoint. Nothing was changed.
type ExhaustedError struct {
	Lease    lease.ID
	Endpoint string
	Ranges   []string
	At       lease.Place
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("no address is free in %s for IP endpoint %q", strings.Join(e.Ranges, ", "), e.Endpoint)
}

// ExitCode says how a command ends with the error.
func (*ExhaustedError) ExitCode() int { return ExitHeld }

// Advice says what follows of it.
func (*ExhaustedError) Advice() string {
	return "Nothing was changed. Release leases that are over, or widen ip.ranges in the provider's configuration."
}

// TimeoutError reports what had not happened when the wait timed out.
type TimeoutError struct {
	// After is how long the command waited; zero if it only checked once.
	After   time.Duration
	Waiting []string
	// Gone are the objects that were to be gone, as "ingress NAMESPACE/NAME".
	Gone []string
}

func (e *TimeoutError) Error() string {
	if e.After == 0 {
		return "not waited for:\n  " + strings.Join(e.Waiting, "\n  ")
	}
	waiting := slices.DeleteFunc(slices.Clone(e.Waiting), func(what string) bool { return what == "" })
	if len(waiting) == 0 {
		return fmt.Sprintf("timed out after %s, before it was seen what is missing", e.After)
	}
	return fmt.Sprintf("timed out after %s waiting for:\n  %s", e.After, strings.Join(waiting, "\n  "))
}

// ExitCode says how a command ends with the error.
func (*TimeoutError) ExitCode() int { return ExitTimeout }

// Advice says what follows of it.
func (*TimeoutError) Advice() string {
	return "What was written is kept; run the same command again to continue waiting."
}

// ErrorOfHeld returns a HeldError, or nil if others hold nothing.
func ErrorOfHeld(id lease.ID, held []HeldThing) error {
	if len(held) == 0 {
		return nil
	}
	return &HeldError{Lease: id, Held: held}
}

// ErrTimedOut reports that a wait timed out.
var ErrTimedOut = errors.New("timed out")

// LeaseError is an error that ended the work on a lease.
type LeaseError struct {
	Lease lease.Group
	Err   error
	// Done is what the work had changed before, such as "host/shop.example.com claimed".
	Done []string
	// Rest is how the lease stands.
	Rest Rest
}

func (e *LeaseError) Error() string { return fmt.Sprintf("lease %s: %v", e.Lease, e.Err) }

// Unwrap returns the error.
func (e *LeaseError) Unwrap() error { return e.Err }

// Failures are the errors of leases that were processed independently.
type Failures []error

func (fs Failures) Error() string { return errors.Join(fs...).Error() }

// Unwrap returns the errors.
func (fs Failures) Unwrap() []error { return fs }

// Gather collects errors into Failures and flattens nested Failures. It returns nil if there are none.
func Gather(errs []error) error {
	var fs Failures
	for _, err := range errs {
		if several, ok := errors.AsType[Failures](err); ok {
			fs = append(fs, several...)
		} else if err != nil {
			fs = append(fs, err)
		}
	}
	if len(fs) == 0 {
		return nil
	}
	return fs
}

// ByLease returns the gathered errors of each lease, and those that belong to none.
func ByLease(err error) (of map[lease.Group][]error, others []error) {
	all := Failures{err}
	errors.As(err, &all)
	of = map[lease.Group][]error{}
	for _, e := range all {
		if failed, ok := errors.AsType[*LeaseError](e); ok {
			of[failed.Lease] = append(of[failed.Lease], e)
		} else if e != nil {
			others = append(others, e)
		}
	}
	return of, others
}

// NamespaceGoneError says that a lease that is to be healed has no namespace: who has deleted that has ended what the lease runs.
type NamespaceGoneError struct{ Lease lease.ID }

func (e *NamespaceGoneError) Error() string {
	return fmt.Sprintf("namespace %s of the lease is gone, and with it what the lease runs: nothing is healed; if the lease is over: kubectl akash-net release %s",
		e.Lease.Namespace(), e.Lease.Group())
}

// ErrChanged reports that something has changed since it was read, and was left for the next run.
var ErrChanged = errors.New("it has changed meanwhile; look again")

// ConflictError reports that other managers own fields of an object that a run wants to write.
type ConflictError struct {
	Object   string
	Managers []string
	// Fields are the fields in conflict, with both values and the owners, as far as the object that was read shows them.
	Fields []plan.Field
	// Differs is true if the fields have other values than the run wants. Otherwise a list contains more items: one
	// manager writes a list as a whole.
	Differs bool
	// ByHand is true if only kubectl users have set the fields, on an object of the lease: apply --force-conflicts takes them back.
	ByHand bool
	Err    error
}

func (e *ConflictError) Error() string {
	how := ", with other values"
	if !e.Differs {
		how = ", with the wanted values and more beside them"
	}
	text := fmt.Sprintf("%s: fields are managed by %s%s:", e.Object, strings.Join(e.Managers, ", "), how)
	for _, f := range e.Fields {
		text += "\n  " + Conflict(f)
	}
	if len(e.Fields) == 0 {
		text += fmt.Sprintf(" %v", e.Err)
	}
	if e.ByHand {
		return text + "\nNothing is forced. To take these fields back: kubectl akash-net apply -f FILE --force-conflicts"
	}
	text += "\nNothing is forced. Let that manager drop the fields, and apply again"
	if e.delivered() {
		text += "; if it delivers the lease no more: kubectl akash-net apply -f FILE --adopt"
	}
	return text
}

// delivered reports whether all managers have delivered the object.
func (e *ConflictError) delivered() bool {
	return len(e.Fields) > 0 && !slices.ContainsFunc(e.Fields, func(f plan.Field) bool {
		return slices.ContainsFunc(f.Owners, func(o plan.Owner) bool { return slices.Contains(e.Managers, o.Manager) && !o.Delivers })
	})
}

func (e *ConflictError) Unwrap() error { return e.Err }

// Conflict says which value a field has, who has set it, and which one the lease wants.
func Conflict(f plan.Field) string {
	if f.After == nil {
		return Taken(f) + "; the lease does not want it"
	}
	return fmt.Sprintf("%s; the lease wants %s", Taken(f), value(f.After))
}

// Taken says which value a field has, and who has set it.
func Taken(f plan.Field) string {
	if f.Before == nil {
		return fmt.Sprintf(".%s is not set", f.Path)
	}
	var by []string
	for _, o := range f.Owners {
		text := o.Manager
		if !o.Since.IsZero() {
			text += o.Since.UTC().Format(" since 2006-01-02 15:04:05 MST")
		}
		by = append(by, text)
	}
	return fmt.Sprintf(".%s: %s, set by %s", f.Path, value(f.Before), strings.Join(by, ", "))
}

// value returns a value as JSON, and of a long one the beginning.
func value(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 160
	if short := []rune(string(text)); len(short) > most {
		return string(short[:most]) + "…"
	}
	return string(text)
}

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
	return fmt.Sprintf("%s holds %s for good, and --expires would let others take it later. Nothing was changed; leave out --expires", e.Holder, lease.Some(e.Things, 10))
}

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
