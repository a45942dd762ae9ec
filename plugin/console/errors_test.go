package console

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A run that could neither finish nor undo its changes has exit code 1, and prints its changes and how to continue.
func TestUnfinishedRuns(t *testing.T) {
	held := &report.HeldError{Held: []report.HeldThing{{Kind: "host", Thing: "b.example.com"}}}
	var done []string
	for range 12 {
		done = append(done, "host/a.example.com claimed")
	}
	tests := map[string]struct {
		err  error
		code int
		want []string
	}{
		"held": {held, exitHeld, []string{"Nothing was changed"}},
		"held, and not all given back": {&report.HalfError{Why: held, Left: errors.New("host a.example.com could not be given back: forbidden")}, exitFailed,
			[]string{"b.example.com is held by", "could not be given back: forbidden", "Run the same command again to finish."}},
		"the server is away": {&report.LeaseError{Err: &cluster.AwayError{Host: "https://cluster", After: 30e9, Err: errors.New("connection refused")}, Done: done}, exitFailed,
			[]string{"https://cluster has stopped answering, for 30s now: connection refused", "kept: host/a.example.com claimed, ", " and 2 more.", "Run the same command again to finish"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true}
			if code := c.End(t.Context(), tt.err); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
			if tt.code == exitFailed && strings.Contains(out.String(), "Nothing was changed") {
				t.Errorf("it claims that nothing was changed:\n%s", out.String())
			}
		})
	}
}

// Below a wildcard others may hold thousands of hosts: the first are named, and the others counted.
func TestManyHeldAreCounted(t *testing.T) {
	for n, want := range map[int][]string{
		1:    {"Error: h0.example.com is held by another lease\n"},
		2:    {"Error: h0.example.com, h1.example.com are held by another lease\n"},
		1000: {", h9.example.com and 990 more are held by another lease\n", "\n  h49.example.com ", "\n  … and 950 more\n", "Nothing was changed for lease"},
	} {
		held := &report.HeldError{}
		for i := range n {
			held.Held = append(held.Held, report.HeldThing{Kind: "host", Thing: fmt.Sprintf("h%d.example.com", i)})
		}
		var out bytes.Buffer
		c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true}
		c.End(t.Context(), held)
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%d held: no %q in:\n%s", n, text, out.String())
			}
		}
		if lines := strings.Count(out.String(), "\n"); lines > 60 {
			t.Errorf("%d held: %d lines", n, lines)
		}
	}
}

// A node and an Ingress use what nobody has claimed; no lease holds it.
func TestWhatNoLeaseHoldsIsInUse(t *testing.T) {
	node, ingress := state.Holder{Object: "node own-1"}, state.Holder{Object: "ingress a/b", Namespace: "a"}
	other := state.Holder{Lease: lease.ID{Owner: "o", DSeq: 1, GSeq: 2, OSeq: 3}, Object: "ingress a/b"}
	claimed := state.Holder{Lease: other.Lease}
	for want, by := range map[string][]state.Holder{
		"Error: 0.a is in use already\n":                      {node},
		"Error: 0.a, 1.a are in use already\n":                {ingress, other},
		"Error: 0.a, 1.a, 2.a are in use already\n":           {claimed, other, {Owner: "o", Object: "ingress a/b"}},
		"Error: 0.a is held by another lease\n\n  HOST":       {claimed},
		"Error: 0.a, 1.a are held by another lease\n\n  HOST": {claimed, claimed},
	} {
		held := &report.HeldError{}
		for i := range by {
			held.Held = append(held.Held, report.HeldThing{Kind: "host", Thing: fmt.Sprintf("%d.a", i), By: by[i]})
		}
		var out bytes.Buffer
		c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true}
		if c.End(t.Context(), held); !strings.HasPrefix(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
