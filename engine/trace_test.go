package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Traces of commands: each line is a request with its reason and what the API server answers. `go test ./engine -rewrite`
// writes what the engine says now.
//
// A block is a story that begins with an empty ledger:
//
//	command NAME OWNER/DSEQ HOST[/PATH]... [address] [prune] [expires] [and OWNER/DSEQ ...]
//	step NAME...      the next request of a command
//	finish NAME...    all its requests to the end
//	interrupt NAME    the user interrupts it
//	lose NAME         its next write takes effect, and the answer is lost
//	hold NAME         its next request is sent; arrive NAME lets it arrive
//	refuse NAME TEXT  its next request is refused
//	miss NAME         its next write meets another version; mute NAME has no answer and no effect
//	crash NAME        it is taken for crashed
//	serve OWNER/DSEQ HOST | silence HOST | terminate HOST | gone HOST | close | clock +5m | ledger
func TestTraces(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			s := &story{ledger: newLedger(), commands: map[string]*command{}}
			for line := range strings.Lines(d.Input) {
				if words := strings.Fields(line); len(words) > 0 {
					s.obey(words)
				}
			}
			return s.out.String()
		})
	})
}

// story is a ledger with commands whose requests are written down.
type story struct {
	ledger   *ledger
	commands map[string]*command
	out      strings.Builder
}

func (s *story) obey(words []string) {
	switch words[0] {
	case "command":
		var wants []engine.Want
		rest := words[2:]
		for len(rest) > 0 {
			end := slices.Index(rest, "and")
			if end < 0 {
				end = len(rest)
			}
			wants = append(wants, s.ledger.want(rest[:end]))
			rest = rest[min(end+1, len(rest)):]
		}
		s.commands[words[1]] = s.ledger.command(words[1], wants...)
	case "step":
		for _, name := range words[1:] {
			s.step(s.commands[name], func(r engine.Request) engine.Answer { return s.commands[name].answer(r) })
		}
	case "finish":
		for _, name := range words[1:] {
			for c := s.commands[name]; !c.ended; {
				s.step(c, c.answer)
			}
		}
	case "interrupt":
		s.commands[words[1]].world.Interrupted = fmt.Errorf("interrupted")
	case "lose":
		c := s.commands[words[1]]
		s.step(c, func(r engine.Request) engine.Answer {
			c.answer(r)
			return engine.Answer{Stale: true, Unclear: true, Err: fmt.Errorf("the connection was reset")}
		})
	case "refuse":
		s.step(s.commands[words[1]], func(engine.Request) engine.Answer {
			return engine.Answer{Err: fmt.Errorf("%s", strings.Join(words[2:], " "))}
		})
	case "miss", "mute":
		s.step(s.commands[words[1]], func(engine.Request) engine.Answer {
			return engine.Answer{Stale: true, Unclear: words[0] == "mute", Err: errStale}
		})
	case "hold":
		c := s.commands[words[1]]
		place, r, _, _ := c.next()
		c.flying = append(c.flying, flying{place, r, c.world.Send()})
		fmt.Fprintf(&s.out, "%s sends: %s (%s)\n", c.name, r, r.Why)
	case "arrive":
		c := s.commands[words[1]]
		f := c.flying[0]
		c.flying = c.flying[1:]
		s.fold(c, f.place, f.request, f.sent, c.arrived(f.request))
	case "crash":
		s.ledger.crash(s.commands[words[1]])
	case "serve":
		s.ledger.serve(words[2], leaseOf(words[1]).Group())
	case "silence":
		delete(s.ledger.serves, words[1])
	case "terminate":
		c := *s.ledger.claims[words[1]]
		c.Deleting = true
		s.ledger.claims[words[1]] = &c
	case "gone":
		delete(s.ledger.claims, words[1])
	case "close":
		s.ledger.closing = true
	case "clock":
		d, err := time.ParseDuration(strings.TrimPrefix(words[1], "+"))
		if err != nil {
			panic(err)
		}
		s.ledger.now = s.ledger.now.Add(d)
	case "ledger":
		for _, c := range s.ledger.list("", "") {
			fmt.Fprintln(&s.out, textOf(c))
		}
		if len(s.ledger.claims) == 0 {
			fmt.Fprintln(&s.out, "nobody holds anything")
		}
	default:
		panic(words[0])
	}
}

// step lets a command send its next request, or ends it.
func (s *story) step(c *command, answer func(engine.Request) engine.Answer) {
	place, r, waits, ok := c.next()
	switch {
	case ok:
		sent := c.world.Send()
		fmt.Fprintf(&s.out, "%s: %s (%s)", c.name, r, r.Why)
		s.fold(c, place, r, sent, answer(r))
	case len(waits) > 0:
		until := time.Time{}
		for _, w := range waits {
			fmt.Fprintf(&s.out, "%s waits: %s\n", c.name, w.Wait)
			if !w.Until.IsZero() && (until.IsZero() || w.Until.Before(until)) {
				until = w.Until
			}
		}
		if until.IsZero() {
			fmt.Fprintf(&s.out, "%s: all leases wait for each other\n", c.name)
			for _, i := range c.plan.Order() {
				if c.world.Outcome(i) == nil {
					c.world.Yield(i)
					break
				}
			}
			return
		}
		s.ledger.now = until
	default:
		c.commit()
		for i := range c.wants {
			s.end(c, i)
		}
	}
}

func (s *story) fold(c *command, place int, r engine.Request, sent engine.Stamp, a engine.Answer) {
	switch {
	case a.Stale && a.Unclear:
		fmt.Fprintf(&s.out, ": no answer")
	case a.Err != nil:
		fmt.Fprintf(&s.out, ": %v", a.Err)
	case r.Verb == engine.Get && a.Claim == nil:
		fmt.Fprintf(&s.out, ": there is none")
	case (r.Verb == engine.Get || r.Verb == engine.Put) && a.Claim != nil:
		fmt.Fprintf(&s.out, "\n  %s", textOf(a.Claim))
	}
	fmt.Fprintln(&s.out)
	c.world.Fold(c.plan, place, r, a, sent)
}

func (s *story) end(c *command, i int) {
	o, id := c.world.Outcome(i), c.wants[i].Request.Lease
	fmt.Fprintf(&s.out, "%s: %s/%d", c.name, id.Owner, id.DSeq)
	switch {
	case o.Err != nil:
		fmt.Fprintf(&s.out, " ends: %v", o.Err)
	default:
		fmt.Fprintf(&s.out, " is done")
	}
	for _, f := range o.Facts {
		if f.Found == engine.Withheld || f.Found == engine.Beside {
			fmt.Fprintf(&s.out, "; %s %s", f.Name, f.Found)
		}
	}
	if o.Unfinished {
		fmt.Fprintf(&s.out, "; unfinished")
	}
	fmt.Fprintln(&s.out)
}

// textOf is a claim as a trace shows it.
func textOf(c *state.Claim) string {
	var parts []string
	for _, p := range c.Parts {
		text := p.Path
		if c.Kind.HasPorts() {
			text = p.PortText()
		}
		text += fmt.Sprintf(" %s/%d", p.Lease.Owner, p.Lease.DSeq)
		if p.Run != "" {
			text += ", mark of " + p.Run
		}
		if c.Kind == state.Wildcard && !p.Bound {
			text += ", pending"
		}
		if p.Expires != "" && c.Kind != state.Wildcard {
			text += ", until " + p.Expires[11:16]
		}
		parts = append(parts, text)
	}
	for _, p := range c.Waits {
		parts = append(parts, fmt.Sprintf("note of %s/%d", p.Lease.Owner, p.Lease.DSeq))
	}
	return fmt.Sprintf("%s of %s: %s", c.Thing, c.Owner, strings.Join(parts, "; "))
}
