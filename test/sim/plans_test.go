package sim

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// A plan is what apply does, in any situation: see checkPlans.
func TestPlansOfAnything(t *testing.T) {
	t.Parallel()
	empty := furnished(t)
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) { // a bubble has no deadline
			s := drawSituation(t, empty)
			s.checkPlans(t, s.drawDefinitions(t, 4), rapid.SampledFrom([]int{1, 8}).Draw(t, "concurrency"))
		})
	})
}

// Leases of one input give each other hosts, ports and addresses, and get what others are refused.
func TestPlansOfWhatLeasesGive(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode string
		// adopt takes over what nobody has claimed.
		adopt bool
		// before are applied, one after the other; lost are objects that somebody deletes then. Leases are as defined reads them.
		before, lost, input []string
		// refused are the leases that are refused, withheld those that do not get something; gone are objects that are not
		// there in the end.
		refused, withheld, gone []string
	}{
		"a wildcard goes, and a host below it comes": {before: []string{"a1 *.example.com"}, input: []string{"d1 a.example.com", "a1 example.org"}},
		"a host goes to another owner":               {before: []string{"a1 a.example.com"}, input: []string{"d1 a.example.com", "a1 example.org"}},
		"a host goes to another deployment":          {before: []string{"a1 a.example.com"}, input: []string{"a2 a.example.com", "a1 example.org"}},
		"a path goes to another deployment":          {before: []string{"a1 a.example.com"}, input: []string{"a2 a.example.com", "a1 a.example.com /v2"}},
		"a port goes to another deployment":          {before: []string{"a1 public:443"}, input: []string{"a2 public:443", "a1 public:444"}},
		"a named address goes to another owner":      {before: []string{"a1 own1:443@10.0.1.0"}, input: []string{"d1 own1:443@10.0.1.0", "a1 a.example.com"}},
		"a host is handed on while others write":     {before: []string{"a1 a.example.com"}, input: []string{"c1 public:443", "d1 a.example.com", "a1 public:443"}},
		"who is refused has picked an address": {
			before: []string{"a1 example.org"}, input: []string{"d2 b.example.com public:443", "c2 b.example.com other:443", "a1 public:443"}, refused: []string{"c2"},
		},
		"an object is left without its claim": {
			before: []string{"d1 example.org"}, lost: []string{"leases/example.org"}, input: []string{"a1 example.org", "d1 a.example.com"},
		},
		"the last address comes from one that is later": {
			before: []string{"a1 public:443 other:443", "c1 public:443 other:443"}, input: []string{"d1 public:443", "c1 public:443"},
		},
		"no address is free for the second endpoint": {
			before: []string{"a1 public:443 other:443", "c1 public:443"}, input: []string{"d1 public:443 other:443"}, refused: []string{"d1"},
		},
		"who was refused is in nobody's way": {
			input: []string{"d1 *.example.com /v2", "a2 a.example.com", "d2 *.example.com b.example.com"}, refused: []string{"a2"},
		},
		"two give up an address that has a pool of its own": {
			mode: config.ModeDedicated, before: []string{"a1 public:443", "a2 public:444"}, input: []string{"a1 a.example.com", "a2 b.example.com"},
			gone: []string{"ipaddresspools/akash-ip-10-0-0-0", "l2advertisements/akash-ip-10-0-0-0"},
		},
		"an address that has a pool of its own goes to another owner": {
			mode: config.ModeDedicated, before: []string{"a1 own1:443@10.0.1.0"}, input: []string{"d1 own1:443@10.0.1.0", "a1 a.example.com"},
		},
		"two name different addresses for a port of one endpoint": {input: []string{"a1 public:443@10.0.0.0", "a2 public:443@10.0.0.1"}, withheld: []string{"a2"}},
		"two get an address whose pool is there": {
			mode: config.ModeDedicated, before: []string{"a1 public:443"}, lost: []string{"leases/ip--10-0-0-0"}, input: []string{"a1 public:443", "a2 public:444"},
		},
		"a port that another deployment has at another address is not adopted": {
			adopt: true, before: []string{"a2 public:444@10.0.1.0"}, input: []string{"a1 public:443@10.0.1.1 public:444@10.0.1.1"}, withheld: []string{"a1"},
		},
		"a port that nobody has claimed is adopted": {
			adopt: true, before: []string{"a2 public:444@10.0.1.0"}, lost: []string{"leases/ip--10-0-1-0"}, input: []string{"a1 public:444@10.0.1.1"},
		},
		"a port is claimed by one lease of the input, and not adopted by the next": {
			adopt: true, before: []string{"a2 public:444@10.0.1.0"}, lost: []string{"leases/ip--10-0-1-0"},
			input: []string{"a2 public:444@10.0.1.0", "a1 public:444@10.0.1.1"}, withheld: []string{"a1"},
		},
		"two get an address that has a pool of its own": {mode: config.ModeDedicated, input: []string{"a1 public:443", "a2 public:444"}},
	} {
		for _, concurrency := range []int{1, 8} {
			t.Run(fmt.Sprintf("%s, %d at a time", name, concurrency), func(t *testing.T) {
				empty := furnished(t)
				synctest.Test(t, func(t *testing.T) {
					s := newSituation(empty)
					s.adopt = tt.adopt
					if tt.mode != "" {
						s.cfg.IP.Mode = tt.mode
					}
					for _, text := range tt.before {
						if err := apply.New(connect(s.server), s.options(1)).Apply(t.Context(), []*lease.Definition{defined(text)}); err != nil {
							t.Fatal(err)
						}
					}
					s.lose(t, tt.lost...)
					var input []*lease.Definition
					for _, text := range tt.input {
						input = append(input, defined(text))
					}
					p, after := s.checkPlans(t, input, concurrency)
					for i, l := range p.Leases {
						if refused := slices.Contains(tt.refused, tt.input[i][:2]); refused != (l.Refused != "") {
							t.Errorf("lease %s is refused: %q", tt.input[i], l.Refused)
						}
						if slices.Contains(tt.withheld, tt.input[i][:2]) != (len(withheld(l)) > 0) {
							t.Errorf("what the plan withholds from %s: %q", tt.input[i], withheld(l))
						}
					}
					for _, name := range tt.gone {
						if after.has(name) {
							t.Errorf("%s is there", name)
						}
					}
				})
			})
		}
	}
}

// A plan with a lease that is refused is carried out for the others, and says why.
func TestPlanWithARefusedLeaseIsCarriedOut(t *testing.T) {
	t.Parallel()
	empty := furnished(t)
	synctest.Test(t, func(t *testing.T) {
		s, ctx := newSituation(empty), context.Background()
		for _, text := range []string{"a1 public:443 other:443", "c1 public:443"} {
			if err := apply.New(connect(s.server), s.options(1)).Apply(ctx, []*lease.Definition{defined(text)}); err != nil {
				t.Fatal(err)
			}
		}
		defs := []*lease.Definition{defined("d1 public:443 other:443"), defined("c2 example.org")}
		p, err := apply.Plan(ctx, connect(s.server), s.options(1), defs)
		if err != nil {
			t.Fatal(err)
		}
		err = apply.New(connect(s.server), s.options(1)).CarryOut(ctx, p, defs)
		want := `lease ` + defs[0].Lease.Group().String() + `: no address is free in 10.0.0.0/31, 10.0.1.0/31 for IP endpoint "public"`
		if fmt.Sprint(err) != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if s.server.has("leases/ip--10-0-1-1") || !s.server.has("ingresses/example.org") {
			t.Error("the refused lease has an address, or the other no route")
		}
	})
}
