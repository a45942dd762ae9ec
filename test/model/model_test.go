package model

import (
	"strings"
	"testing"
	"time"
)

// Worlds in which the protocol has to hold. Owners are numbered from 1.
var worlds = map[string]World{
	"a host and a wildcard": {
		Clients: []Client{{Owner: 1, Thing: HostA}, {Owner: 2, Thing: WildcardX}},
		Over:    [2]int{WildcardX, WildcardX},
	},
	"two hosts and a wildcard": {
		Clients: []Client{{Owner: 1, Thing: HostA}, {Owner: 2, Thing: HostB}, {Owner: 3, Thing: WildcardX}},
		Over:    [2]int{WildcardX, WildcardX},
	},
	"two hosts and two who want the wildcard": {
		Clients: []Client{{Owner: 1, Thing: HostA}, {Owner: 2, Thing: HostB}, {Owner: 3, Thing: WildcardX}, {Owner: 4, Thing: WildcardX}},
		Over:    [2]int{WildcardX, WildcardX},
	},
	"two hosts and two wildcards of two owners": {
		Clients: []Client{{Owner: 1, Thing: HostA}, {Owner: 2, Thing: HostB}, {Owner: 2, Thing: WildcardX}, {Owner: 1, Thing: WildcardY}},
		Over:    [2]int{WildcardX, WildcardY},
	},
	"two who want the host and a wildcard": {
		Clients: []Client{{Owner: 1, Thing: HostA}, {Owner: 2, Thing: HostA}, {Owner: 3, Thing: WildcardX}},
		Over:    [2]int{WildcardX, WildcardX},
	},
	"two runs of one lease and a wildcard that is released": {
		Clients: []Client{{Owner: 1, Thing: HostA}, {Owner: 1, Thing: HostA}, {Owner: 2, Thing: WildcardX, Releases: true}},
		Over:    [2]int{WildcardX, WildcardX},
	},
	"two runs of one lease, one in vain, and a wildcard that is released": {
		Clients: []Client{{Owner: 1, Thing: HostA}, {Owner: 1, Thing: HostA, Fails: true}, {Owner: 2, Thing: WildcardX, Releases: true}},
		Over:    [2]int{WildcardX, WildcardX},
	},
	"two runs for one wildcard in vain, and a host": {
		Clients: []Client{{Owner: 1, Thing: WildcardX, Fails: true}, {Owner: 1, Thing: WildcardX, Fails: true}, {Owner: 2, Thing: HostA}},
		Over:    [2]int{WildcardX, WildcardX},
	},
	"two runs for one wildcard and a host that is released": {
		Clients: []Client{{Owner: 1, Thing: WildcardX}, {Owner: 1, Thing: WildcardX}, {Owner: 2, Thing: HostA, Releases: true}},
		Over:    [2]int{WildcardX, WildcardX},
	},
}

// runsTwice is true where a lease has two runs at once. One may be overtaken by the other's failure;
// it says so, and is to be run again.
func (w *World) runsTwice() bool {
	seen := map[Client]bool{}
	for _, c := range w.Clients {
		if c.Fails = false; seen[c] {
			return true
		}
		seen[c] = true
	}
	return false
}

func fails(t *testing.T, what string, way []string) {
	t.Helper()
	if way != nil {
		t.Errorf("%s:\n%s", what, strings.Join(way, "\n"))
	}
}

// All interleavings, without and with crashes: never two winners, nobody stuck, no claim lost that
// was won; and without crashes somebody wins.
func TestProtocol(t *testing.T) {
	total, start := 0, time.Now()
	for name, w := range worlds {
		crashes := uint8(2) // with four clients one crash has to do
		if len(w.Clients) == most {
			crashes = 1
		}
		for suffix, rules := range map[string]Rules{"": {}, ", impatience": {GiveUp: true}, ", crashes": {Crashes: crashes}, ", crashes and impatience": {Crashes: crashes, GiveUp: true}} {
			t.Run(name+suffix, func(t *testing.T) {
				w.Rules = rules
				r := w.Search()
				total += r.States
				t.Logf("%d states", r.States)
				fails(t, "two owners win", r.TwoWinners)
				fails(t, "a claim that was won is gone", r.Vanished)
				fails(t, "a claim is left that nobody has won", r.Left)
				fails(t, "somebody cannot come to an end", r.Stuck)
				if !rules.GiveUp && !w.runsTwice() {
					fails(t, "all lose", r.AllLost)
				}
			})
		}
	}
	t.Logf("%d states in all, %v", total, time.Since(start).Round(time.Millisecond))
}

// Each part of the protocol is there for a reason: without it the search finds what goes wrong.
func TestBrokenProtocol(t *testing.T) {
	tests := []struct {
		name, world string
		rules       Rules
		found       func(Result) []string
	}{
		{"both withdraw at sight: all lose", "a host and a wildcard", Rules{Symmetric: true}, func(r Result) []string { return r.AllLost }},
		{"a host does not read again: two win", "a host and a wildcard", Rules{NoSecondRead: true}, func(r Result) []string { return r.TwoWinners }},
		{"a wildcard does not list: two win", "a host and a wildcard", Rules{NoList: true}, func(r Result) []string { return r.TwoWinners }},
		{"a stale wildcard is removed unpinned: a claim is gone", "a host and a wildcard", Rules{Crashes: 1, Unpinned: true}, func(r Result) []string { return r.Vanished }},
		{"runs leave no mark: a claim is gone", "two runs of one lease and a wildcard that is released", Rules{NoMark: true}, func(r Result) []string { return r.Vanished }},
		{"a run puts back another's mark: a claim is left", "two runs for one wildcard in vain, and a host", Rules{OldMark: true}, func(r Result) []string { return r.Left }},
		{"a run puts back a bound wildcard as pending: a claim is gone", "two runs for one wildcard and a host that is released", Rules{Crashes: 1, Unbind: true}, func(r Result) []string { return r.Vanished }},
		{"a run puts back another's mark: somebody waits for ever", "two runs for one wildcard and a host that is released", Rules{OldMark: true}, func(r Result) []string { return r.Stuck }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := worlds[test.world]
			w.Rules = test.rules
			way := test.found(w.Search())
			if way == nil {
				t.Fatal("the search does not find it")
			}
			t.Logf("found:\n%s", strings.Join(way, "\n"))
		})
	}
}
