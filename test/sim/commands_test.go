package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// command is one that a process runs.
type command struct {
	verb  string
	id    lease.ID
	hosts []string
	// endpoint is true where an address is wanted too.
	endpoint bool
	expires  time.Duration
	// began and ended are the moments between which it ran; ended is 0 while it does.
	began, ended int
	err          error
	// had are the things of the lease when it began, withheld those that it was not given.
	had, hadForGood []string
	withheld        map[string]bool
	// crashedAfter is that of a repair, defs are its definitions.
	defs []*lease.Definition
}

func (c *command) String() string {
	text := fmt.Sprintf("%s %s %s", c.verb, c.id.Group(), strings.Join(c.hosts, " "))
	if c.endpoint {
		text += " and an address"
	}
	if c.expires > 0 {
		text += " for " + c.expires.String()
	}
	return text
}

var (
	allHosts  = []string{"a.example.com", "b.example.com", "*.example.com", "c.example.net"}
	crash     = 2 * time.Minute
	addresses = "10.0.0.0/30"
)

func settings() *config.ProviderConfig {
	cfg := config.Default()
	cfg.Hosts.Wildcards, cfg.Target = true, config.TargetIngress
	r, err := config.ParseRange(addresses)
	if err != nil {
		panic(err)
	}
	cfg.IP.Ranges.Include = []config.Range{r}
	return cfg
}

// leaseOf is one of the two leases of an owner; the owners are a, b and c.
func leaseOf(owner string, dseq uint64) lease.ID {
	const provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	return lease.ID{Owner: "akash1" + owner + strings.Repeat("q", 37), DSeq: dseq, GSeq: 1, OSeq: 1, Provider: provider}
}

func allLeases() (ids []lease.ID) {
	for _, owner := range []string{"a", "c", "d"} {
		for dseq := range uint64(2) {
			ids = append(ids, leaseOf(owner, dseq+1))
		}
	}
	return ids
}

// draw draws a command.
func (w *world) draw(leases []lease.ID) *command {
	c := &command{id: leases[w.Intn(len(leases))], withheld: map[string]bool{}}
	for _, i := range w.Perm(len(allHosts))[:1+w.Intn(3)] {
		c.hosts = append(c.hosts, allHosts[i])
	}
	slices.Sort(c.hosts)
	c.endpoint = w.Intn(3) == 0
	switch n := w.Intn(20); {
	case n < 9:
		c.verb = "apply"
	case n < 13:
		c.verb = "reserve"
		if w.Intn(4) == 0 {
			c.expires = time.Duration(1+w.Intn(20)) * time.Second
		}
	case n < 16:
		c.verb, c.endpoint = "release", false
		if w.Intn(2) == 0 {
			c.hosts = nil
		} else {
			c.hosts = c.hosts[:1]
		}
	case n < 19:
		c.verb, c.endpoint, c.hosts = "transfer", false, c.hosts[:1]
	default:
		c.verb, c.endpoint, c.hosts = "repair", false, nil
	}
	return c
}

func (c *command) definition() *lease.Definition {
	web := lease.Expose{Port: 8080, As: 80, Protocol: lease.TCP, Global: true}
	for _, h := range c.hosts {
		web.Hosts = append(web.Hosts, lease.Host{Name: h})
	}
	d := &lease.Definition{Name: "shop", Lease: c.id, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{web}}}}
	if c.endpoint {
		d.Services[0].Expose = append(d.Services[0].Expose, lease.Expose{Port: 8443, As: 443, Protocol: lease.TCP, Global: true, IP: "public"})
		d.IPEndpoints = []lease.IPEndpoint{{Name: "public"}}
	}
	d.Hash = lease.Sum(d)
	return d
}

// do does the command.
func (c *command) do(ctx context.Context, p *process) error {
	opts := apply.Options{Config: settings(), Prune: true, Concurrency: 1, Expires: c.expires, AssumeServing: true, Report: func(e apply.Event) {
		if e.Action == apply.Withheld {
			c.withheld[e.Name] = true
		}
	}}
	a := apply.New(p.cluster, opts)
	switch c.verb {
	case "apply":
		return a.Apply(ctx, []*lease.Definition{c.definition()})
	case "reserve":
		var wanted []string
		if c.endpoint {
			wanted = []string{state.AutoAddress}
		}
		endpoint := ""
		if c.endpoint {
			endpoint = "public"
		}
		req, problems := state.NamedRequest(c.id, c.hosts, wanted, endpoint, opts.Config)
		if len(problems) > 0 {
			return problems
		}
		return a.Reserve(ctx, []state.Request{req})
	case "release":
		return a.Release(ctx, []lease.Group{c.id.Group()}, c.hosts...)
	case "transfer":
		return a.Transfer(ctx, c.id, c.hosts, nil)
	case "repair":
		return a.Repair(ctx, apply.RepairOptions{CrashedAfter: crash, Definitions: c.defs})
	}
	panic(c.verb)
}

// refused is true for an error with which a command says that it has changed nothing.
func refused(err error) bool {
	var held *apply.HeldError
	var exhausted *apply.ExhaustedError
	var half *apply.HalfError
	return !errors.As(err, &half) && (errors.As(err, &held) || errors.As(err, &exhausted))
}

// begin and end note a command's beginning and end.
func (p *process) begin(c *command) {
	p.note("%s: %s begins", p.name, c)
	p.mu.Lock()
	p.commands, p.now = append(p.commands, c), c
	c.began = len(p.trace)
	p.mu.Unlock()
	c.had, c.hadForGood = p.things(c.id.Group(), false), p.things(c.id.Group(), true)
}

func (p *process) end(c *command, err error) {
	how := "done"
	if err != nil {
		how = strings.Join(strings.Fields(err.Error()), " ")
	}
	p.note("%s: %s: %s", p.name, c, how)
	c.err, c.ended, p.now = err, len(p.trace), nil
	p.judgeCommand(c, c.ended)
}
