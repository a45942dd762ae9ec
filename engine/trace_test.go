package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// Traces of commands: each line is a request with its reason and what the API server answers. `go test ./engine -rewrite`
// writes what the engine says now.
//
// A block is a story that begins with an empty ledger:
//
//	command NAME OWNER/DSEQ HOST[/PATH]... [address] [prune] [expires] [and OWNER/DSEQ ...]
//	command NAME OWNER/DSEQ apply HOST[/PATH]... ENDPOINT:PORT... [prune] [httproute] [timeout] [adopt] [runs] [manifest] | OWNER/DSEQ heal [prune]
//	command NAME OWNER/DSEQ[/OSEQ] release [HOST...] [named]
//	command NAME OWNER/DSEQ fix [gone | unmarked | unentitled | unserved | unchanged | undeclared] HOST...
//	command NAME OWNER/DSEQ serves HOST
//	command NAME OWNER/DSEQ move HOST... [note] [await | unknown | served] [long] [again] [end]
//	command NAME OWNER/DSEQ transfer HOST... [with HOST[/PATH]... [prune] ...]
//	given ...         the same, and it has ended well before the story begins
//	step NAME...      the next request of a command
//	until NAME VERB   its requests until the next one has that verb
//	finish NAME...    all its requests to the end
//	interrupt NAME    the user interrupts it
//	lose NAME         its next write takes effect, and the answer is lost
//	hold NAME         its next request is sent; arrive NAME lets it arrive
//	delay NAME        its next request is answered, and the answer is under way; arrive NAME lets it arrive
//	refuse NAME TEXT  its next request is refused
//	miss NAME         its next write meets another version; mute NAME has no answer and no effect
//	crash NAME        it is taken for crashed
//	serve OWNER/DSEQ HOST | declare OWNER/DSEQ HOST | silence HOST | terminate HOST | gone HOST | close | clock +5m | ledger | objects
//
// Of what the API server does with objects, by their kind, lease and host:
//
//	forbid KIND OWNER/DSEQ TEXT
//	                  it refuses each write of that kind from now on
//	webhook           it lets a host have one Ingress
//	write, keep, free, delete KIND OWNER/DSEQ HOST
//	                  a controller writes the status; a finalizer keeps it; that is removed; somebody deletes it
//	accept OWNER/DSEQ HOST | address OWNER/DSEQ HOST
//	                  the Gateway says that the HTTPRoute serves; a controller writes an address into the Ingress
//	publish HOST NAME | record OWNER/DSEQ HOST STATE [TYPE without a time...]
//	                  a host is reached by a name; the DNS record of a host that leads there is as its controller says
//	hand KIND OWNER/DSEQ HOST OWNER/DSEQ
//	                  an object gets the labels of another lease
//	moves KIND OWNER/DSEQ HOST OWNER/DSEQ
//	                  Akash's provider gives its object to another lease
//	foreign OWNER/DSEQ MANAGER [NAME HOST]
//	                  a field manager has applied the Deployment that the lease is to run, or an Ingress for a host in its namespace
//	operated OWNER/DSEQ HOST
//	                  Akash's operator has made an Ingress of a host for the lease
//	transfer CLAIM OWNER/DSEQ
//	                  a transfer hands all parts of a claim on
//	mark CLAIM RUN    somebody writes a mark into all parts of a claim
//	manifest, over, abandon OWNER/DSEQ
//	                  Akash's provider writes the lease's Manifest, deletes it; somebody deletes the lease's namespace
//	suspend OWNER/DSEQ
//	                  a person lets the reconciler leave the lease as it is
//	reserved OWNER/DSEQ/OSEQ
//	                  the lease has taken over the reservation of its order
func TestTraces(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s := newStory()
			s.ledger.pure = &purity{}
			for line := range strings.Lines(d.Input) {
				if words := strings.Fields(line); len(words) > 0 {
					s.obey(words)
				}
			}
			for _, wrong := range s.ledger.pure.wrong {
				t.Errorf("%s: %s", d.Pos, short(wrong))
			}
			return short(s.out.String())
		})
	})
}

// story is a ledger with commands whose requests are written down.
type story struct {
	ledger   *ledger
	commands map[string]*command
	// delayed are the answers that are under way, by command.
	delayed map[string]*engine.Answer
	out     strings.Builder
}

func newStory() *story {
	return &story{ledger: newLedger(), commands: map[string]*command{}, delayed: map[string]*engine.Answer{}}
}

func (s *story) obey(words []string) {
	switch words[0] {
	case "given":
		before := s.out.Len()
		s.obey(slices.Concat([]string{"command"}, words[1:]))
		s.obey([]string{"finish", words[1]})
		said := s.out.String()[:before]
		s.out.Reset()
		s.out.WriteString(said)
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
		c := s.ledger.command(words[1], wants...)
		c.plan.Settings.AssumeServing = slices.Contains(words, "assuming")
		c.tell = func(e engine.Event) { s.told(c, e) }
		s.commands[words[1]] = c
	case "step":
		for _, name := range words[1:] {
			s.step(s.commands[name], func(r engine.Request) engine.Answer { return s.commands[name].answer(r) })
		}
	case "finish":
		for _, name := range words[1:] {
			s.repeat(s.commands[name], func(engine.Request, bool) bool { return false })
		}
	case "interrupt":
		s.commands[words[1]].interrupt()
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
	case "hold", "delay":
		c := s.commands[words[1]]
		place, r, _, _ := c.next()
		c.flying = append(c.flying, flying{place, r, c.know().Send()})
		fmt.Fprintf(&s.out, "%s sends: %s (%s)\n", c.name, r, r.Why)
		if words[0] == "delay" {
			a := c.answer(r)
			s.delayed[c.name] = &a
		}
	case "arrive":
		c := s.commands[words[1]]
		f, a := c.flying[0], s.delayed[words[1]]
		c.flying = c.flying[1:]
		if fmt.Fprintf(&s.out, "%s: %s arrives", c.name, f.request); a == nil {
			now := c.arrived(f.request)
			a = &now
		}
		s.fold(c, f.place, f.request, f.sent, *a)
	case "crash":
		s.ledger.crash(s.commands[words[1]])
	case "serve":
		s.ledger.serve(words[2], leaseOf(words[1]), kinds.Ingress)
	case "declare":
		s.ledger.serve(words[2], leaseOf(words[1]), kinds.ClaimLike...)
	case "manifest":
		s.ledger.writeManifest(leaseOf(words[1]))
	case "over":
		delete(s.ledger.objects, s.ledger.manifestKey(leaseOf(words[1])))
	case "suspend":
		s.ledger.suspend(leaseOf(words[1]).Group())
	case "abandon":
		s.ledger.abandon(leaseOf(words[1]))
	case "publish":
		s.ledger.targets[words[1]] = dns.ParseTarget(words[2:])
	case "record":
		s.ledger.record(leaseOf(words[1]), words[2], words[3], words[4:]...)
	case "silence":
		s.ledger.silence(words[1])
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
		for _, g := range slices.SortedFunc(maps.Keys(s.ledger.definitions), lease.Group.Compare) {
			fmt.Fprintf(&s.out, "definition of %s: %s\n", g, s.textOfDefinition(s.ledger.definitions[g]))
		}
		if len(s.ledger.claims) == 0 {
			fmt.Fprintln(&s.out, "nobody holds anything")
		}
	case "until":
		s.repeat(s.commands[words[1]], func(r engine.Request, ok bool) bool { return ok && string(r.Verb) == strings.Join(words[2:], " ") })
	case "objects":
		for _, k := range s.ledger.keys() {
			if k.Kind != kinds.Namespace && k.Kind != kinds.Gateway {
				fmt.Fprintln(&s.out, textOfObject(k, s.ledger.objects[k].live))
			}
		}
	case "forbid":
		s.ledger.refuses[words[1]+" "+leaseOf(words[2]).Namespace()] = strings.Join(words[3:], " ")
	case "webhook":
		s.ledger.webhook = true
	case "transfer":
		s.ledger.transfer(words[1], leaseOf(words[2]))
	case "mark":
		s.ledger.mark(words[1], words[2])
	case "reserved":
		s.ledger.reserved = append(s.ledger.reserved, leaseOf(words[1]))
	case "operated":
		s.ledger.ingress(leaseOf(words[1]), managed.Akash, words[2], words[2], leaseOf(words[1]).Labels())
	case "foreign":
		s.ledger.foreign(leaseOf(words[1]), words[2], words[3:])
	default:
		s.act(words)
	}
}

// repeat lets a command go on until its next request is as wanted, or to the end.
func (s *story) repeat(c *command, until func(r engine.Request, ok bool) bool) {
	for range 300 {
		_, r, _, ok := c.next()
		if c.ended || until(r, ok) {
			return
		}
		s.step(c, c.answer)
	}
	fmt.Fprintf(&s.out, "%s goes on for ever\n", c.name)
}

// step lets a command send its next request, or ends it.
func (s *story) step(c *command, answer func(engine.Request) engine.Answer) {
	place, r, waits, ok := c.next()
	switch {
	case ok:
		sent := c.know().Send()
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
			c.yield()
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
	case r.Verb == engine.GetLive && a.Live == nil, r.Verb == engine.GetObject && a.Live == nil:
		fmt.Fprintf(&s.out, ": there is none")
	case r.Verb == engine.GetDefinition:
		fmt.Fprintf(&s.out, ": %s", s.textOfDefinition(a.Definition))
	case r.Verb == engine.Keep:
		fmt.Fprintf(&s.out, "\n  %s", s.textOfDefinition(a.Definition))
	case r.Verb == engine.CheckObject:
		fmt.Fprintf(&s.out, ": it would be admitted")
	case r.Verb == engine.GetLive:
		fmt.Fprintf(&s.out, "\n  %s", textOfObject(keyOf(r), a.Live))
	case r.Verb == engine.PutObject:
		fmt.Fprintf(&s.out, "\n  %s", textOfObject(keyOf(r), a.Live))
	}
	fmt.Fprintln(&s.out)
	c.fold(place, r, a, sent)
}

func (s *story) end(c *command, i int) {
	o, id := c.outcomes[i], c.wants[i].Request.Lease
	fmt.Fprintf(&s.out, "%s: %s", c.name, id.Group())
	switch {
	case o.Err != nil:
		fmt.Fprintf(&s.out, " ends: %v", o.Err)
	default:
		fmt.Fprintf(&s.out, " is done")
	}
	for _, why := range o.Kept {
		fmt.Fprintf(&s.out, "; %v", why)
	}
	for _, why := range o.Fixed {
		if why != nil {
			fmt.Fprintf(&s.out, "; %v", why)
		}
	}
	if m := c.wants[i].Move; m != nil {
		for _, r := range m.Routes {
			k := engine.Key{Kind: r.Old.Kind, Namespace: r.Old.Live.GetNamespace(), Name: r.Old.Live.GetName()}
			if moved, done := o.Moved[k]; !done {
				fmt.Fprintf(&s.out, "; %s stays", k)
			} else if !moved.Until.IsZero() {
				fmt.Fprintf(&s.out, "; %s stays until %s", k, moved.Until.Format(time.TimeOnly))
			}
		}
	}
	for _, f := range o.Facts {
		if f.Found == engine.Withheld || f.Found == engine.Beside {
			fmt.Fprintf(&s.out, "; %s %s", f.Name, f.Found)
		}
	}
	if o.Unfinished {
		fmt.Fprintf(&s.out, "; unfinished")
	}
	if c.lost {
		fmt.Fprintf(&s.out, "; another command has taken its place")
	}
	fmt.Fprintln(&s.out)
}
