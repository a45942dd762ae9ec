package engine_test

import (
	"flag"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

var exhaustive = flag.Bool("exhaustive", false, "let something go wrong in each situation, and objects change while they are read: 20 minutes")

// situations are commands that meet, between bars. What is before the semicolon has ended before, and what it holds without an end is
// served; what is after "then" begins when the one before has ended. "clock" is a time that passes at any moment, whatever is under way.
// Where it is "calm" nothing else goes wrong, unless the test is exhaustive, and where it is "long" only then it is explored; where it is
// "torn" objects change while a command reads everything.
var situations = map[string]string{
	"two owners want one host":                         "A/1 a.example.com | B/1 a.example.com",
	"two owners want two hosts":                        "A/1 a.example.com b.example.com | B/1 b.example.com a.example.com",
	"two owners apply one host":                        "A/1 apply a.example.com | B/1 apply a.example.com",
	"two deployments of an owner":                      "A/1 a.example.com | A/2 a.example.com",
	"two deployments, and two paths":                   "A/1 a.example.com a.example.com/path | A/2 a.example.com/path b.example.com",
	"one deployment twice":                             "A/1 a.example.com | A/1 a.example.com prune",
	"one deployment twice, and another owner":          "A/1 a.example.com | A/1 a.example.com | B/1 a.example.com",
	"a host, another owner, and a release":             "A/1 a.example.com | B/1 a.example.com | A/1 release",
	"a host and the wildcard above it":                 "A/1 a.example.com | B/1 *.example.com",
	"a wildcard and a host below it":                   "A/1 *.example.com | B/1 a.example.com",
	"a host and a wildcard, and time passes":           "A/1 a.example.com | B/1 *.example.com | clock 3s | calm",
	"a wildcard is pending for long":                   "A/1 a.example.com | B/1 *.example.com | clock 70s",
	"an apply below a wildcard":                        "A/1 apply a.example.com | B/1 *.example.com",
	"each has a host below the other's wildcard":       "A/1 a.example.com *.example.net | B/1 a.example.net *.example.com",
	"two hosts and two wildcards of two owners":        "A/1 a.example.com | B/1 a.example.net | B/2 *.example.com | A/2 *.example.net | long",
	"two hosts, and the wildcard above both":           "A/1 a.example.com | B/1 b.example.com | C/1 *.example.com | calm",
	"a host, and two owners want the wildcard":         "A/1 a.example.com | B/1 *.example.com | C/1 *.example.com | calm",
	"two owners want the host, and one the wildcard":   "A/1 a.example.com | B/1 a.example.com | C/1 *.example.com | calm",
	"a host twice, and the wildcard goes":              "B/1 *.example.com ; A/1 a.example.com | A/1 a.example.com | B/1 release",
	"a host twice, and the wildcard comes and goes":    "A/1 a.example.com | A/1 a.example.com | B/1 *.example.com then B/1 release | long",
	"a wildcard twice, and a host goes":                "B/1 a.example.com ; A/1 *.example.com | A/1 *.example.com | B/1 release",
	"a wildcard twice, and a host":                     "A/1 *.example.com | A/1 *.example.com | B/1 a.example.com | calm",
	"a wildcard twice, and a host comes and goes":      "A/1 *.example.com | A/1 *.example.com | B/1 a.example.com then B/1 release | long",
	"two want the last address":                        "C/1 address ; A/1 address | B/1 address",
	"three want two addresses":                         "A/1 address | B/1 address | C/1 address | calm",
	"an address is given up":                           "C/1 address ; A/1 address | B/1 address | C/1 release",
	"an address is given back while another one waits": "A/1 address a.example.com | B/1 address a.example.com | C/1 address | calm",
	"two deployments share an address":                 "A/1 address | A/2 address",
	"a hold ends, and is renewed":                      "A/1 a.example.com expires ; A/1 a.example.com expires | B/1 a.example.com | clock 70s",
	"a hold ends, and becomes a claim":                 "A/1 a.example.com expires ; A/1 a.example.com | B/1 a.example.com | clock 70s",
	"two holds end, and become claims":                 "A/1 a.example.com b.example.com expires ; A/1 a.example.com b.example.com | B/1 b.example.com | clock 70s",
	"a hold ends, and is applied":                      "A/1 a.example.com expires ; A/1 apply a.example.com | B/1 a.example.com | clock 70s | calm",
	"a hold ends below a wildcard":                     "A/1 a.example.com expires ; A/1 a.example.com | B/1 *.example.com | clock 70s",
	"a hold ends, and a sibling":                       "A/1 a.example.com expires ; A/1 a.example.com expires | A/2 a.example.com | clock 70s | calm",
	"a release, and another owner":                     "A/1 a.example.com ; A/1 release | B/1 a.example.com",
	"a release, and the wildcard above":                "A/1 a.example.com ; A/1 release | B/1 *.example.com",
	"a release, and a sibling":                         "A/1 a.example.com ; A/1 release | A/2 a.example.com",
	"a release, and its own lease anew":                "A/1 a.example.com ; A/1 release | A/1 a.example.com b.example.com",
	"a lease is released twice":                        "A/1 a.example.com b.example.com ; A/1 release | A/1 release a.example.com",
	"a wildcard goes, and a host below it":             "A/1 *.example.com ; A/1 release | B/1 a.example.com",
	"one gives up what the other takes":                "A/1 a.example.com ; A/1 b.example.com prune | B/1 a.example.com",
	"an apply gives up what the other takes":           "A/1 apply a.example.com ; A/1 apply prune | B/1 apply a.example.com",
	"a lease is applied twice":                         "A/1 apply a.example.com ; A/1 apply a.example.com timeout | A/1 apply a.example.com | torn",
	"an apply, and the release":                        "A/1 apply a.example.com ; A/1 release | A/1 apply a.example.com timeout",
	"a host goes and comes":                            "A/1 apply a.example.com ; A/1 apply prune | A/1 apply a.example.com",
	"a healing, and the release":                       "A/1 apply a.example.com ; A/1 release | A/1 heal",
	"a lease is applied twice, and another owner":      "A/1 apply a.example.com | A/1 apply a.example.com | B/1 a.example.com | calm",
	"a transfer, and the former holder":                "A/1 apply a.example.com ; A/2 transfer a.example.com with a.example.com | A/1 apply a.example.com timeout | calm",
}

// Commands meet in each order of their requests, and one thing goes wrong at any of them: a write is refused, or gets lost, or its
// answer does; a command is interrupted; or it stands still, is taken for crashed by the next one of its lease, and goes on or does not.
// What was reported as had stays; no two owners have the same thing, or a host and the wildcard above it; who is refused keeps nothing
// and loses nothing; what is lacked is noted; everything ends. If nobody stands still nobody is taken for crashed, and no announcement
// is left; if all goes well somebody gets what it wants, and nothing is left of which nobody was told.
//
// Of the orders a sample is tried, another one each day. With LONG all are.
func TestInterleavings(t *testing.T) {
	for name, text := range situations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := situation(text, "")
			if strings.HasSuffix(text, "long") && !*exhaustive {
				t.Skip("with -exhaustive")
			}
			e := h.ledger.explored
			if !*exhaustive && !long() {
				e.drawn = rand.New(rand.NewSource(time.Now().Unix() / 86400))
			}
			if way := e.explore(h.clone(), nil); way != nil {
				t.Fatalf("%s\n%s", short(strings.Join(e.wrong, "\n")), h.retell(way))
			}
			t.Logf("%d moments, %d ends", len(e.seen), e.ends)
		})
	}
}

// situation is the first moment of commands that meet.
func situation(text, breach string) *history {
	before, text, both := strings.Cut(text, ";")
	if !both {
		before, text = "", before
	}
	h := newHistory(nil)
	h.ledger.breach = breach
	if before != "" {
		c := h.begins("before", strings.Fields(before))
		c.begin()
		for !c.ended {
			h.turn(c, c.answer)
		}
		for _, claim := range h.ledger.list("", "") {
			if p := claim.Parts[0]; p.Expires == "" && !claim.Kind.HasPorts() && len(h.ledger.routes(claim.Thing)) == 0 {
				h.ledger.serve(claim.Thing, p.Lease, kinds.Ingress)
			}
		}
	}
	calm := false
	for i, one := range strings.Split(text, "|") {
		switch words := strings.Fields(one); words[0] {
		case "calm", "long":
			calm = true
			continue
		case "torn":
			h.torn = true
			continue
		case "clock":
			jump, err := time.ParseDuration(words[1])
			if err != nil {
				panic(err)
			}
			h.jumps = append(h.jumps, jump)
			continue
		}
		for j, text := range strings.Split(one, " then ") {
			c := &command{name: fmt.Sprintf("c%d%d", i+1, j), words: strings.Fields(text), after: -1}
			if c.nonce = c.name; j > 0 {
				c.after = len(h.commands) - 1
			}
			h.commands = append(h.commands, c)
		}
	}
	h.applies = strings.Contains(text, "apply")
	if !calm || *exhaustive {
		h.troubles = 1
	}
	h.torn = h.torn || *exhaustive && h.applies && len(h.commands) == 2
	h.silent, h.ledger.explored = true, newExploration()
	return h
}

// retell says what happens on a way.
func (h *history) retell(way []move) string {
	h.silent = false
	for _, m := range way {
		h.moves()
		h.play(m)
	}
	if len(h.verdicts) == 0 {
		h.finish()
	}
	return short(strings.Join(append(h.trace, h.verdicts...), "\n"))
}
