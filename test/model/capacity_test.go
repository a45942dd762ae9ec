package model

import (
	"os"
	"strings"
	"testing"
)

// Worlds in which capacity has to be given out soundly.
var auctions = map[string]Capacity{
	"two for the last":                {Nodes: [2]int64{1, 0}, Runs: []Bidder{{Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 1}}, Crashes: 1, Stalls: 1},
	"three for the last":              {Nodes: [2]int64{1, 0}, Runs: []Bidder{{Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 1}}, Crashes: 1, Stalls: 1},
	"three for two nodes":             {Nodes: [2]int64{1, 1}, Runs: []Bidder{{Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 1}}, Crashes: 1},
	"a big one and two small":         {Nodes: [2]int64{2, 0}, Runs: []Bidder{{Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 2}, {Replicas: 1, CPUs: 1}}, Crashes: 1, Stalls: 1},
	"two small and a big one":         {Nodes: [2]int64{2, 0}, Runs: []Bidder{{Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 2}}, Crashes: 1},
	"two spread over both nodes":      {Nodes: [2]int64{2, 2}, Runs: []Bidder{{Replicas: 2, CPUs: 2}, {Replicas: 3, CPUs: 1}}, Crashes: 1, Stalls: 1},
	"spread, with room for one":       {Nodes: [2]int64{2, 1}, Runs: []Bidder{{Replicas: 2, CPUs: 1}, {Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 2}}},
	"one that releases":               {Nodes: [2]int64{1, 0}, Runs: []Bidder{{Replicas: 1, CPUs: 1, Releases: true}, {Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 1}}, Stalls: 1},
	"one whose hold ends":             {Nodes: [2]int64{1, 0}, Runs: []Bidder{{Replicas: 1, CPUs: 1, Ends: true}, {Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 1}}, Crashes: 1},
	"a hold that ends on two nodes":   {Nodes: [2]int64{1, 1}, Runs: []Bidder{{Replicas: 2, CPUs: 1, Ends: true}, {Replicas: 1, CPUs: 1, Releases: true}, {Replicas: 1, CPUs: 1}}, Stalls: 1},
	"a move beside a new one":         {Nodes: [2]int64{2, 0}, Runs: []Bidder{{Replicas: 1, CPUs: 2, Has: 1}, {Replicas: 1, CPUs: 1}}, Crashes: 1, Stalls: 1},
	"a new one beside a move":         {Nodes: [2]int64{2, 0}, Runs: []Bidder{{Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 2, Has: 1}, {Replicas: 1, CPUs: 1}}, Crashes: 1},
	"two moves for the last":          {Nodes: [2]int64{3, 0}, Runs: []Bidder{{Replicas: 1, CPUs: 2, Has: 1}, {Replicas: 1, CPUs: 2, Has: 1}}, Crashes: 1, Stalls: 1},
	"two moves in each other's way":   {Nodes: [2]int64{2, 0}, Runs: []Bidder{{Replicas: 1, CPUs: 2, Has: 1}, {Replicas: 1, CPUs: 2, Has: 1}}, Crashes: 1, Stalls: 1},
	"a move to the other node":        {Nodes: [2]int64{1, 2}, Runs: []Bidder{{Replicas: 1, CPUs: 2, Has: 1}, {Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 1}}, Crashes: 1},
	"a move to less":                  {Nodes: [2]int64{2, 0}, Runs: []Bidder{{Replicas: 1, CPUs: 1, Has: 2}, {Replicas: 1, CPUs: 1}}, Crashes: 1, Stalls: 1},
	"a move of a hold that ends":      {Nodes: [2]int64{2, 0}, Runs: []Bidder{{Replicas: 1, CPUs: 2, Has: 1, Ends: true}, {Replicas: 1, CPUs: 2}}, Crashes: 1, Stalls: 1},
	"a move that is given up":         {Nodes: [2]int64{2, 1}, Runs: []Bidder{{Replicas: 3, CPUs: 1, Has: 1, Releases: true}, {Replicas: 1, CPUs: 1}, {Replicas: 1, CPUs: 1, Has: 1}}, Crashes: 1},
	"a bid and a lease":               {Addresses: 1, Runs: []Bidder{{Addresses: 1}}, Leases: 1, Crashes: 1, Stalls: 1},
	"two bids and a lease":            {Addresses: 1, Runs: []Bidder{{Addresses: 1}, {Addresses: 1}}, Leases: 1, Crashes: 1, Stalls: 1},
	"a bid and two leases":            {Addresses: 1, Runs: []Bidder{{Addresses: 1}}, Leases: 2, Crashes: 1},
	"a bid and two leases for two":    {Addresses: 2, Runs: []Bidder{{Addresses: 1}}, Leases: 2, Crashes: 1, Stalls: 1},
	"two bids and two leases for two": {Addresses: 2, Runs: []Bidder{{Addresses: 1}, {Addresses: 1}}, Leases: 2},
	"three leases beside a bid":       {Addresses: 3, Runs: []Bidder{{Addresses: 1}}, Leases: 3, Crashes: 1},
	"a bid that ends and two leases":  {Addresses: 2, Runs: []Bidder{{Addresses: 2, Ends: true}}, Leases: 2, Crashes: 1},
	"a big bid and a lease":           {Addresses: 2, Runs: []Bidder{{Addresses: 2, Releases: true}, {Addresses: 1}}, Leases: 1, Stalls: 1},
}

func bad(r CapacityResult) map[string][]string {
	return map[string][]string{"more is sold than there is": r.Oversold, "a run is refused what was free throughout": r.Denied, "all are refused": r.AllLost, "runs are stuck": r.Stuck, "what was reserved is gone": r.Lost}
}

func TestCapacity(t *testing.T) {
	for name, w := range auctions {
		if len(w.Runs)+w.Leases > 2 && os.Getenv("LONG") == "" {
			continue // minutes
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := w.Search()
			t.Logf("%d states", result.States)
			for what, way := range bad(result) {
				if way != nil {
					t.Errorf("%s:\n%s", what, strings.Join(way, "\n"))
				}
			}
		})
	}
}

// Each rule is needed: without it the search finds a bad state.
func TestCapacityRules(t *testing.T) {
	if os.Getenv("LONG") == "" {
		t.Skip("it takes long: LONG=1 runs it, as make test-long does")
	}
	for name, c := range map[string]struct {
		leave func(*Capacity)
		finds func(CapacityResult) []string
	}{
		"the list after the announcement":   {func(w *Capacity) { w.Blind = true }, func(r CapacityResult) []string { return r.Oversold }},
		"what is pending counts":            {func(w *Capacity) { w.Deaf = true }, func(r CapacityResult) []string { return r.Oversold }},
		"the pin":                           {func(w *Capacity) { w.Unpinned = true }, func(r CapacityResult) []string { return r.Oversold }},
		"waiting before one's announcement": {func(w *Capacity) { w.Hasty = true }, func(r CapacityResult) []string { return r.Denied }},
		"waiting for those that yield":      {func(w *Capacity) { w.Rude = true }, func(r CapacityResult) []string { return r.Oversold }},
		"yielding to those that sort first": {func(w *Capacity) { w.Stubborn = true }, func(r CapacityResult) []string { return r.Stuck }},
		"what is moved to counts":           {func(w *Capacity) { w.Secretive = true }, func(r CapacityResult) []string { return r.Oversold }},
		"a withdrawal leaves what one has":  {func(w *Capacity) { w.Careless = true }, func(r CapacityResult) []string { return r.Lost }},
		"a lease looks":                     {func(w *Capacity) { w.Heedless = true }, func(r CapacityResult) []string { return r.Oversold }},
		"a lease waits for what is pending": {func(w *Capacity) { w.Forward = true }, func(r CapacityResult) []string { return r.Oversold }},
		"of two leases one waits":           {func(w *Capacity) { w.Meek = true }, func(r CapacityResult) []string { return r.Denied }},
		"who yields may have looked before": {func(w *Capacity) { w.Bold = true }, func(r CapacityResult) []string { return r.Oversold }},
		"removing what is over":             {func(w *Capacity) { w.Tidy = true }, func(r CapacityResult) []string { return r.Stuck }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, w := range auctions {
				if c.leave(&w); c.finds(w.Search()) != nil {
					return
				}
			}
			t.Error("nothing bad is found without the rule")
		})
	}
}
