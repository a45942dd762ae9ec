package report

import (
	"errors"
	"net/netip"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/state"
)

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
