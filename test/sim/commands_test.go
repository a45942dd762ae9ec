package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
	"github.com/akash-net/kubectl-akash-net/state"
)

// invocation is one that a process runs.
type invocation struct {
	verb  string
	id    lease.ID
	hosts []string
	// endpoint is true where an address is wanted too.
	endpoint bool
	expires  time.Duration
	// began and ended are the moments between which it ran; ended is 0 while it does.
	began, ended int
	// wrote is the moment of its last write to a claim before it counted as dead.
	wrote int
	// committed is the moment at which its announcement was deleted, if it has sent nothing since but reads of that.
	committed int
	err       error
	// had are the things of the lease when it began, withheld those that it was not given.
	had, hadForGood []string
	withheld        map[string]bool
	// defs are the definitions of a repair.
	defs []*lease.Definition
	// beside are those for other leases that the same call of the program does.
	beside []*invocation
	// among is true for one of several leases of a call.
	among bool
}

func (c *invocation) String() string {
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
	return lease.ID{Owner: leasetest.Wallet(owner), DSeq: dseq, GSeq: 1, OSeq: 1, Provider: provider}
}

func allLeases() (ids []lease.ID) {
	for _, owner := range []string{"a", "c", "d"} {
		for dseq := range uint64(2) {
			ids = append(ids, leaseOf(owner, dseq+1))
		}
	}
	return ids
}

// draw draws a command; some are for several leases.
func (w *world) draw(leases []lease.ID) *invocation {
	c := w.drawFor(leases[w.Intn(len(leases))])
	if c.verb != "apply" && c.verb != "reserve" || w.Intn(4) > 0 {
		return c
	}
	for _, i := range w.Perm(len(leases)) {
		if other := w.drawFor(leases[i]); other.id != c.id && len(c.beside) < 2 && (other.verb == "apply" || other.verb == "reserve") {
			other.verb, other.expires = c.verb, c.expires
			c.among, other.among = true, true
			c.beside = append(c.beside, other)
		}
	}
	return c
}

// drawFor draws a command for a lease.
func (w *world) drawFor(id lease.ID) *invocation {
	c := &invocation{id: id, withheld: map[string]bool{}}
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

func (c *invocation) definition() *lease.Definition {
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

// all are the command and those for the other leases.
func (c *invocation) all() []*invocation { return append([]*invocation{c}, c.beside...) }

// request is what the command reserves.
func (c *invocation) request(cfg *config.ProviderConfig) (state.Request, lease.Problems) {
	if !c.endpoint {
		return state.NamedRequest(c.id, c.hosts, nil, "", cfg)
	}
	return state.NamedRequest(c.id, c.hosts, []string{state.AutoAddress}, "public", cfg)
}

// do does the command.
func (c *invocation) do(ctx context.Context, p *process) error {
	opts := command.Options{Config: settings(), Prune: true, Concurrency: 1, Expires: c.expires, AssumeServing: true, Report: func(e report.Event) {
		for _, d := range c.all() {
			if e.Action == report.Withheld && e.Lease.Group() == d.id.Group() {
				d.withheld[e.Name] = true
			}
		}
	}}
	if p.watches != nil && (c.verb == "apply" || c.verb == "release" && len(c.hosts) == 0) {
		return c.reconcile(ctx, p, opts)
	}
	a := apply.New(p.cluster, opts)
	switch c.verb {
	case "apply":
		var defs []*lease.Definition
		for _, d := range c.all() {
			defs = append(defs, d.definition())
		}
		return a.Apply(ctx, defs)
	case "reserve":
		var requests []state.Request
		for _, d := range c.all() {
			req, problems := d.request(opts.Config)
			if len(problems) > 0 {
				return problems
			}
			requests = append(requests, req)
		}
		return a.Reserve(ctx, requests)
	case "release":
		return a.Release(ctx, []lease.Group{c.id.Group()}, c.hosts...)
	case "transfer":
		return a.Transfer(ctx, c.id, c.hosts, nil)
	case "repair":
		return repair.Repair(ctx, a, repair.Options{CrashedAfter: crash, Definitions: c.defs})
	}
	panic(c.verb)
}

// errorOf is what of the error of a command is that of a lease.
func errorOf(err error, g lease.Group) error {
	all, ok := errors.AsType[report.Failures](err)
	if !ok {
		return err
	}
	var own []error
	for _, e := range all {
		if of, ok := errors.AsType[*report.LeaseError](e); !ok || of.Lease == g {
			own = append(own, e)
		}
	}
	return errors.Join(own...)
}

// refused is true for an error with which a command says that it has changed nothing.
func refused(err error) bool {
	var held *report.HeldError
	var exhausted *report.ExhaustedError
	var half *report.HalfError
	return !errors.As(err, &half) && (errors.As(err, &held) || errors.As(err, &exhausted))
}

// begin and end note a command's beginning and end.
func (p *process) begin(c *invocation) {
	for _, d := range c.all() {
		p.note("%s: %s begins", p.name, d)
		p.mu.Lock()
		p.commands, p.now = append(p.commands, d), c
		d.began = len(p.trace)
		p.mu.Unlock()
		d.had, d.hadForGood = p.things(d.id.Group(), false), p.things(d.id.Group(), true)
	}
}

func (p *process) end(c *invocation, err error) {
	for _, d := range c.all() {
		d.err = errorOf(err, d.id.Group())
		how := "done"
		if d.err != nil {
			how = strings.Join(strings.Fields(d.err.Error()), " ")
		}
		p.note("%s: %s: %s", p.name, d, how)
		d.ended = len(p.trace)
	}
	p.now, p.announced = nil, ""
	for _, d := range c.all() {
		p.judgeCommand(d, d.ended)
	}
}
