package report

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// ClosingError reports that the ledger accepts no claims because an uninstall is removing it.
type ClosingError struct{ Namespace string }

func (e *ClosingError) Error() string {
	return fmt.Sprintf("the ledger in namespace %s is being uninstalled, and takes no claims; what this run took was given back. "+
		"Let the uninstall end, or reopen the ledger with: kubectl akash-net install", e.Namespace)
}

// DeletingError reports that an object to be written is being deleted and waits for finalizers.
type DeletingError struct {
	Object     render.Object
	Finalizers []string
}

func (e *DeletingError) Error() string {
	return fmt.Sprintf("%s in namespace %s is being deleted (finalizers %v); apply again when it is gone", e.Object, e.Object.Namespace, e.Finalizers)
}

// KeptError reports that a lease keeps claims because something of its owner still serves them, or what it runs because
// Akash's provider declares hosts or ports of it: nothing may be served without a claim, or without its backend.
type KeptError struct {
	Group lease.Group
	// Kept are the things, each with the objects that remain.
	Kept []KeptThing
	// Running are the declarations for which the lease keeps what it runs.
	Running []string
}

// KeptThing is a host or an address that is still in use.
type KeptThing struct {
	Kind    state.Kind
	Thing   string
	Objects []string
	// Declared is true if Akash's provider declares it.
	Declared bool
	// Of is the other lease of the owner that serves it, or the zero ID.
	Of lease.ID
}

// Why says why the thing is kept.
func (k KeptThing) Why() string {
	of := ""
	if k.Of != (lease.ID{}) {
		of = fmt.Sprintf(" for lease %s", k.Of)
	}
	if !k.Declared {
		return fmt.Sprintf("it is served%s: %s", of, strings.Join(k.Objects, ", "))
	}
	return fmt.Sprintf("Akash's provider declares it%s: %s", of, strings.Join(k.Objects, ", "))
}

// next returns what to do about a thing that another lease of the owner serves.
func (k KeptThing) next() string {
	switch {
	case k.Of == (lease.ID{}):
		return ""
	case k.Declared:
		return fmt.Sprintf("\n  or let its claim follow: kubectl akash-net transfer %s --to %s", state.Typed(k.Thing), k.Of)
	}
	return "\n  to delete that: kubectl akash-net repair " + state.Typed(state.StrayRoute+"/"+k.Thing)
}

func (e *KeptError) Error() string {
	var lines []string
	declared := len(e.Running) > 0
	for _, k := range e.Kept {
		declared = declared || k.Declared
		lines = append(lines, fmt.Sprintf("%s %s is kept for lease %s: %s%s", k.Kind, k.Thing, e.Group, k.Why(), k.next()))
	}
	if len(e.Running) > 0 {
		lines = append(lines, fmt.Sprintf("what lease %s runs is kept: Akash's provider declares %s", e.Group, strings.Join(e.Running, ", ")))
	}
	if declared {
		lines = append(lines, "Close the lease at Akash's provider, or take them out of its manifest; then the same command releases them")
	}
	return strings.Join(lines, "\n")
}

// ExitCode says how a command ends with the error.
func (*KeptError) ExitCode() int { return ExitHeld }

// OperatorError reports that Akash's operators would stop at an object that was to be written, or ignore its lease from
// then on.
type OperatorError struct {
	Lease lease.ID
	At    lease.Place
	// Why describes what does not fit.
	Why string
}

func (e *OperatorError) Error() string {
	text := e.Why + ". Nothing was changed"
	if e.Lease != (lease.ID{}) {
		text = fmt.Sprintf("lease %s: %s", e.Lease, text)
	}
	if at := e.At.String(); at != "" {
		return at + ": " + text
	}
	return text
}

// MovedError reports that the cluster has changed since a plan was made. Lease is the zero ID if that was found before
// the first write; otherwise the writes for the lease were undone.
type MovedError struct {
	Lease lease.ID
	// Moved are the objects and things that have changed, or whose change would differ from the plan.
	Moved []string
	// Kept is true if the plan is of definitions that the ledger keeps.
	Kept bool
}

func (e *MovedError) Error() string {
	of := "-f FILE"
	if e.Kept {
		of = "LEASE"
	}
	return "the plan is out of date: " + strings.Join(e.Moved, ", ") + " changed since it was made, or would be changed otherwise. " +
		"Make a new plan with: kubectl akash-net diff " + of + " -o json"
}

// PoolOverlapError reports that an existing pool shares addresses with a pool that is to be created.
type PoolOverlapError struct{ Pool, Wanted, Addresses string }

func (e *PoolOverlapError) Error() string {
	return fmt.Sprintf("IPAddressPool %s has %s, which overlaps the pool %s that ip.ranges asks for; with both, MetalLB would give no tenant "+
		"an address. Take the addresses out of one of them, or use ip.mode: pool", e.Pool, e.Addresses, e.Wanted)
}

// OvertakenError reports that somebody else took a claim that a run relied on while the run stood still. The run's
// writes were undone.
type OvertakenError struct {
	Kind  state.Kind
	Thing string
	Lease lease.ID
}

func (e *OvertakenError) Error() string {
	return fmt.Sprintf("%s %s was released and taken anew while this run stood still; what it wrote was taken back. "+
		"Apply again: kubectl akash-net explain %s tells who holds it now", e.Kind, e.Thing, e.Thing)
}

// MovingError reports that an object was not written or deleted because none of several tries found it as it was read.
type MovingError struct {
	// Done is what was not done, as "written".
	Done                  string
	Kind, Namespace, Name string
	// By is the field manager that has changed it last, empty if unknown. Why is what the last try has met.
	By, Why string
}

func (e *MovingError) Error() string {
	what, in := e.Kind+" "+e.Name, ""
	if e.Namespace != "" {
		what, in = e.Kind+" "+e.Namespace+"/"+e.Name, " -n "+e.Namespace
	}
	who := ""
	if e.By != "" {
		who = fmt.Sprintf("field manager %q changes it all the time: ", e.By)
	}
	return fmt.Sprintf("%s could not be %s: %s%s\nkubectl%s get %s %s -o yaml --show-managed-fields shows who writes it: stop that, and run the same command again",
		what, e.Done, who, e.Why, in, e.Kind, e.Name)
}

// A waiting error says what has to make way before the work on a lease may succeed.
type waiting interface{ waitsFor(name string) bool }

// WaitsFor reports whether an error ends, as far as it knows, once something makes way: a thing that was claimed, or an object, by its
// name. It goes by what the errors say that it joins, not by their texts.
func WaitsFor(err error, name string) bool {
	switch one := err.(type) { //nolint:errorlint // each error of the tree is asked, not only the first of a type
	case nil:
		return false
	case waiting:
		if one.waitsFor(name) {
			return true
		}
	case apierrors.APIStatus:
		if d := one.Status().Details; d != nil && d.Name == name {
			return true
		}
	}
	switch one := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(one.Unwrap(), func(err error) bool { return WaitsFor(err, name) })
	default:
		return WaitsFor(errors.Unwrap(err), name)
	}
}

// isNamed reports whether a reference to an object, as "ingress NAMESPACE/NAME" or "ingress/NAME", is to one of a name.
func isNamed(reference, name string) bool {
	return reference[strings.LastIndexAny(reference, " /")+1:] == name
}

func areNamed(references []string, name string) bool {
	return slices.ContainsFunc(references, func(r string) bool { return isNamed(r, name) })
}

// A host is held by its own claim, or by that of the wildcard above it; a wildcard by those of hosts below it, too.
func (e *HeldError) waitsFor(name string) bool {
	return slices.ContainsFunc(e.Held, func(h HeldThing) bool {
		return h.Thing == name || state.WildcardOver(h.Thing) == name || state.WildcardOver(name) == h.Thing || h.Unclaimed() && isNamed(h.By.Object, name)
	})
}

func (e *ExhaustedError) waitsFor(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

func (e *TimeoutError) waitsFor(name string) bool { return areNamed(e.Gone, name) }

func (e *ConflictError) waitsFor(name string) bool { return isNamed(e.Object, name) }

func (e *DeletingError) waitsFor(name string) bool { return e.Object.Name == name }

func (e *KeptError) waitsFor(name string) bool {
	return areNamed(e.Running, name) || slices.ContainsFunc(e.Kept, func(k KeptThing) bool { return k.Thing == name || areNamed(k.Objects, name) })
}

func (e *PoolOverlapError) waitsFor(name string) bool { return e.Pool == name }

func (e *OvertakenError) waitsFor(name string) bool { return e.Thing == name }

func (e *MovingError) waitsFor(name string) bool { return e.Name == name }
