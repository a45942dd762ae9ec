package reconcile_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/reconcile/sources"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// defined is a definition of a lease with a service, or of one that defines nothing.
func defined(n int, empty bool) *lease.Definition {
	d := &lease.Definition{Lease: lease.ID{Owner: "akash1a", DSeq: uint64(n), GSeq: 1, OSeq: 1, Provider: "akash1p"}, At: lease.Place{File: fmt.Sprintf("%d.yaml", n)}}
	if !empty {
		d.Services = []lease.Service{{Name: "web", Expose: []lease.Expose{{Port: 80, Hosts: []lease.Host{{Name: "a.example.com"}}}}}}
	}
	return d
}

// numbers splits words into those that are numbers, or spans of them, and the others.
func numbers(words []string) (all []int, rest []string) {
	for _, word := range words {
		first, last, span := strings.Cut(word, "-")
		n, err := strconv.Atoi(first)
		if err != nil {
			rest = append(rest, word)
			continue
		}
		all = append(all, n)
		if m, err := strconv.Atoi(last); span && err == nil {
			for n++; n <= m; n++ {
				all = append(all, n)
			}
		}
	}
	return all, rest
}

// A lease is applied if a source names it, and released only if the source that owns it was read as a whole and does not name it:
// testdata/decisions.txt. A line is
//
//	SAID | KEPT | LIMITS
//
// Each source says "NAME LEASE… [incomplete] [left=LEASE] [changed=LEASE]", or "?" before it has said anything; "none" is the source that
// owns nothing, "akash" is the Manifests. The ledger keeps "NAME LEASE… [emptied=LEASE] [suspended=LEASE]", and of leases of Akash's provider nothing is left
// where it says "ended=LEASE". Limits are "heal", "follow" (the Manifests), "take-over" and "most=N"; without "most" a tenth may be released
// within ten minutes, in which those of prod up to N were where
// "released=N" says so.
func TestDecide(t *testing.T) {
	golden.Rules{"decide": func(line string) string {
		parts := strings.Split(line, "|")
		var said []reconcile.Said
		for _, text := range strings.Split(parts[0], ";") {
			leases, words := numbers(strings.Fields(text))
			switch {
			case len(words) == 0:
				continue
			case words[0] == "?":
				said = append(said, reconcile.Said{})
				continue
			}
			set := sources.Set{Complete: !slices.Contains(words, "incomplete"), Left: map[string]bool{}}
			for _, n := range leases {
				set.Definitions = append(set.Definitions, defined(n, false))
			}
			for _, word := range words[1:] {
				if n, err := strconv.Atoi(strings.TrimPrefix(word, "left=")); err == nil {
					set.Left[defined(n, false).Lease.Namespace()] = true
				}
				if n, err := strconv.Atoi(strings.TrimPrefix(word, "changed=")); err == nil {
					def := defined(n, false)
					def.Hash = "another"
					set.Definitions = append(set.Definitions, def)
				}
			}
			for _, def := range set.Definitions {
				if words[0] == "akash" {
					def.Manifest = &lease.Manifest{ResourceVersion: "1"}
				}
			}
			said = append(said, reconcile.SaidOf(nameOf(words[0]), set))
		}
		kept, ended, released := map[lease.Group]reconcile.Kept{}, map[lease.Group]bool{}, map[lease.Group]string{}
		leases, words := numbers(strings.Fields(parts[1]))
		for _, n := range leases {
			empty := slices.Contains(words, fmt.Sprintf("emptied=%d", n))
			kept[defined(n, false).Lease.Group()] = reconcile.Kept{Source: nameOf(words[0]), Definition: defined(n, empty), Suspended: slices.Contains(words, fmt.Sprintf("suspended=%d", n))}
			ended[defined(n, false).Lease.Group()] = slices.Contains(words, fmt.Sprintf("ended=%d", n))
		}
		limits := reconcile.Limits{MaxDeletes: -1, Per: 10 * time.Minute}
		for _, word := range strings.Fields(parts[2]) {
			if n, ok := strings.CutPrefix(word, "most="); ok {
				limits.MaxDeletes, _ = strconv.Atoi(n)
			} else if n, ok := strings.CutPrefix(word, "released="); ok {
				for n, _ := strconv.Atoi(n); n > 0; n-- {
					released[defined(n, false).Lease.Group()] = "prod"
				}
			} else {
				limits.Heal, limits.Manifests = limits.Heal || word == "heal", limits.Manifests || word == "follow"
				limits.TakeOver = limits.TakeOver || word == "take-over"
			}
		}
		view := reconcile.NewView(reconcile.Seen{Said: said, Kept: kept, Ended: ended, Released: released}, limits)
		var out strings.Builder
		for _, g := range view.Groups() {
			if text := textOf(view.Decide(g)); text != "" {
				fmt.Fprintf(&out, "%d: %s\n", g.DSeq, text)
			}
		}
		return out.String() + fmt.Sprintf("over are %d", len(view.Over()))
	}}.Check(t, "testdata/decisions.txt")
}

// nameOf is the name of a source.
func nameOf(word string) string {
	switch word {
	case "none":
		return ""
	case "akash":
		return reconcile.OfManifests
	}
	return word
}

func textOf(d reconcile.Decision) string {
	if many, ok := errors.AsType[*reconcile.ManyDeletesError](d.Err); ok {
		return "too many: " + many.Error()
	}
	switch {
	case d.Err != nil:
		return d.Err.Error()
	case d.Owned && d.Action == reconcile.Apply && len(d.Definition.Services) == 0:
		return "empty of " + d.Source
	case d.Owned:
		return string(d.Action) + " of " + d.Source
	case d.Source != "":
		return string(d.Action) + " for " + d.Source
	case d.Definition != nil && d.Definition.Manifest != nil:
		return string(d.Action) + " while its Manifest is this one"
	}
	return string(d.Action)
}
