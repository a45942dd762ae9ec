package claims

import (
	"errors"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Of two owners that wait for each other one must withdraw first, and a wildcard before a host, which waits for all steps.
func TestBindTries(t *testing.T) {
	by := func(owners ...string) (held []report.HeldThing) {
		for _, o := range owners {
			held = append(held, report.HeldThing{By: state.Holder{Owner: o}})
		}
		return held
	}
	for name, c := range map[string]struct {
		below []report.HeldThing
		want  int
	}{
		"the smallest owner withdraws first":           {by("c", "d"), 4},
		"an owner with a smaller one below tries more": {by("a"), 6},
		"one smaller owner among others is enough":     {by("d", "a"), 6},
		"the owner itself is not smaller":              {by("b"), 4},
	} {
		if got := bindTries(8, "b", c.below); got != c.want {
			t.Errorf("%s: %d tries of 8, want %d", name, got, c.want)
		}
	}
}

// A run tries again only if all holders are unfinished runs, which may still release what they hold.
func TestAllTransient(t *testing.T) {
	held := func(running ...bool) error {
		e := &report.HeldError{Lease: lease.ID{Owner: "a"}}
		for _, r := range running {
			e.Held = append(e.Held, report.HeldThing{By: state.Holder{Running: r}})
		}
		return e
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no error":                             {nil, false},
		"another error":                        {errors.New("refused"), false},
		"an unfinished run holds it":           {held(true), true},
		"unfinished runs hold all of it":       {held(true, true), true},
		"a finished run holds it":              {held(false), false},
		"a finished run holds a part of it":    {held(true, false), false},
		"the error is wrapped with another":    {errors.Join(errors.New("other"), held(true)), true},
		"a wrapped error of a finished holder": {errors.Join(held(false)), false},
	} {
		if got := AllTransient(c.err); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}
