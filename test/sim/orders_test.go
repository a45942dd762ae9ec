package sim

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// others are further leases of a lease's deployment group: its next order, and its order at another provider.
func others(id lease.ID) map[string]lease.ID {
	next, moved := id, id
	next.OSeq++
	moved.Provider = "akash1" + strings.Repeat("p", 38)
	return map[string]lease.ID{"the next order": next, "another provider": moved}
}

// A reservation for another lease of the deployment group leaves what a lease serves as it is, whatever it names and
// however it is made. It is no problem, and repair changes nothing.
func TestReserveBesideALiveLease(t *testing.T) {
	t.Parallel()
	const host, address = "a.example.com", "10.0.0.0"
	id := leaseOf("a", 1)
	for which, to := range others(id) {
		for how, reserve := range map[string]struct {
			request func() (state.Request, lease.Problems)
			expires time.Duration
		}{
			"by name": {func() (state.Request, lease.Problems) {
				return state.NamedRequest(to, []string{host}, nil, "", settings())
			}, 0},
			"for a time": {func() (state.Request, lease.Problems) {
				return state.NamedRequest(to, []string{host}, nil, "", settings())
			}, time.Hour},
			"with more": {func() (state.Request, lease.Problems) {
				return state.NamedRequest(to, []string{host, "b.example.com"}, nil, "", settings())
			}, 0},
			"nothing of it": {func() (state.Request, lease.Problems) {
				return state.NamedRequest(to, []string{"b.example.com"}, nil, "", settings())
			}, 0},
			"its address by name": {func() (state.Request, lease.Problems) {
				return state.NamedRequest(to, []string{host}, []string{address}, "public", settings())
			}, 0},
			"a definition": {func() (state.Request, lease.Problems) {
				def := (&invocation{id: to, hosts: []string{host}, endpoint: true}).definition()
				def.Services[0].Name = "other"
				return state.NewRequest(def, settings())
			}, 0},
		} {
			t.Run(which+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newScene(t)
					s.apply(id, true, host)
					s.must(func(a *apply.Applier) error { // for the live lease too, and not served yet
						later, _ := state.NamedRequest(id, []string{"c.example.net"}, nil, "", settings())
						return a.Reserve(t.Context(), []state.Request{later})
					}, func(o *command.Options) { o.Prune = false })
					before := s.everything()
					told := s.must(func(a *apply.Applier) error {
						req, problems := reserve.request()
						if len(problems) > 0 {
							return problems
						}
						return a.Reserve(t.Context(), []state.Request{req})
					}, func(o *command.Options) { o.Expires = reserve.expires })
					if how != "nothing of it" && !strings.Contains(told, "host/"+host+" kept (lease "+id.String()+" of the same deployment serves it") {
						t.Errorf("it says %q", told)
					}
					same := func(after map[string]string) {
						t.Helper()
						delete(after, "leases akash-net/b.example.com") // the reservation's own
						if diff := cmp.Diff(before, after); diff != "" {
							t.Errorf("what the lease serves has changed:\n%s", diff)
						}
					}
					same(s.everything(to))
					if found := s.problems(); len(found) > 0 {
						t.Errorf("the problems are %q", found)
					}
					s.repair()
					same(s.everything(to))
				})
			})
		}
	}
}

// Of a lease that is gone nothing serves: the next order's reservation takes its place, and repair keeps it.
func TestReserveAfterALeaseThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, id, host := newScene(t), leaseOf("a", 1), "a.example.com"
		to := others(id)["the next order"]
		s.apply(id, false, host)
		s.send(http.MethodDelete, "/apis/networking.k8s.io/v1/namespaces/"+id.Namespace()+"/ingresses/"+host, "")
		s.send(http.MethodDelete, "/api/v1/namespaces/"+id.Namespace(), "")
		s.must(func(a *apply.Applier) error {
			req, _ := state.NamedRequest(to, []string{host}, nil, "", settings())
			return a.Reserve(t.Context(), []state.Request{req})
		})
		s.repair()
		held := (&world{server: s.server}).claims()
		if len(held) != 1 || held[0].Parts[0].Lease != to || held[0].Parts[0].Applied {
			t.Errorf("the ledger has %+v", held)
		}
	})
}

// What an older version has left: the claim names the next order, of which nothing is there. Nothing of the live lease is
// a problem, and its next apply mends the claim.
func TestAClaimThatNamesAnotherOrder(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *state.Part){
		"a reservation": func(p *state.Part) { p.Applied, p.Service, p.Port = false, "", 0 },
		"applied":       func(p *state.Part) { p.Applied = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, id, host := newScene(t), leaseOf("a", 1), "a.example.com"
				s.apply(id, false, host)
				o := s.server.Objects("leases")
				i := slices.IndexFunc(o, func(o *unstructured.Unstructured) bool { return o.GetName() == host })
				annotations := o[i].GetAnnotations()
				part := (&world{server: s.server}).claims()[0].Parts[0]
				part.Lease = others(id)["the next order"]
				part.LeaseText, part.Run = part.Lease.String(), ""
				change(&part)
				text, err := json.Marshal(part)
				if err != nil {
					t.Fatal(err)
				}
				annotations[part.Key] = string(text)
				patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
				if err != nil {
					t.Fatal(err)
				}
				s.send(http.MethodPatch, "/apis/coordination.k8s.io/v1/namespaces/akash-net/leases/"+host, string(patch))
				before := s.everything()
				if found := s.problems(); slices.Contains(found, "NamespaceGone/"+host) {
					t.Errorf("the problems are %q", found)
				}
				s.repair()
				if diff := cmp.Diff(before, s.everything()); diff != "" {
					t.Errorf("repair has changed:\n%s", diff)
				}
				s.apply(id, false, host)
				if p := (&world{server: s.server}).claims()[0].Parts[0]; p.Lease != id || p.Service != "web" || !p.Applied {
					t.Errorf("after an apply the claim has %+v", p)
				}
			})
		})
	}
}

// A transfer to another lease of a live lease's group, and a release of one, are refused and change nothing: its routes
// would lead nowhere, and what serves would go. The live lease and its group are named as before.
func TestAnotherLeaseOfALiveGroup(t *testing.T) {
	t.Parallel()
	const host, own = "a.example.com", "b.example.com"
	blue, green := leaseOf("a", 1), leaseOf("a", 2)
	for which, to := range others(green) {
		t.Run(which, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				s.apply(blue, false, host)
				s.apply(green, false, host, own) // the first is withheld: a note and the kept definition say how it is to be routed
				before := s.everything()
				refused := func(err error) {
					t.Helper()
					elsewhere := (*report.ElsewhereError)(nil)
					if !errors.As(err, &elsewhere) || elsewhere.Live != green || !strings.Contains(err.Error(), green.Group().String()) {
						t.Errorf("want it refused, got %v", err)
					}
					if diff := cmp.Diff(before, s.everything()); diff != "" {
						t.Errorf("it has changed:\n%s", diff)
					}
				}
				for _, thing := range []string{host, own} {
					_, err := s.run(func(a *apply.Applier) error { return a.Transfer(t.Context(), to, []string{thing}, nil) })
					refused(err)
				}
				_, err := s.run(func(a *apply.Applier) error { return a.Release(t.Context(), []lease.Group{to.Group()}) },
					func(o *command.Options) { o.Named = []lease.ID{to} })
				refused(err)
				_, err = s.run(func(a *apply.Applier) error { return a.Release(t.Context(), []lease.Group{to.Group()}, own) },
					func(o *command.Options) { o.Named = []lease.ID{to} })
				refused(err)

				s.must(func(a *apply.Applier) error { return a.Transfer(t.Context(), green, []string{host}, nil) })
				if s.everything()["ingresses "+green.Namespace()+"/"+host] == "" {
					t.Error("the transfer to the live lease has made no route")
				}
				s.must(func(a *apply.Applier) error { return a.Release(t.Context(), []lease.Group{green.Group()}) },
					func(o *command.Options) { o.Named = []lease.ID{green} })
				if has := (&world{server: s.server}).things(green.Group(), false); len(has) > 0 {
					t.Errorf("after its release the lease holds %q", has)
				}
			})
		})
	}
}

// A lease that serves nothing is live by its definition and its namespace: it may run workloads.
func TestReleaseBesideALeaseWithoutRoutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, id := newScene(t), leaseOf("a", 1)
		s.apply(id, false, "a.example.com")
		s.apply(leaseOf("a", 2), false, "a.example.com")
		s.must(func(a *apply.Applier) error {
			return a.Transfer(t.Context(), leaseOf("a", 2), []string{"a.example.com"}, nil)
		})
		before := s.everything()
		elsewhere := (*report.ElsewhereError)(nil)
		_, err := s.run(func(a *apply.Applier) error { return a.Release(t.Context(), []lease.Group{id.Group()}) },
			func(o *command.Options) { o.Named = []lease.ID{others(id)["the next order"]} })
		if !errors.As(err, &elsewhere) {
			t.Errorf("the next order is released: %v", err)
		}
		if diff := cmp.Diff(before, s.everything()); diff != "" {
			t.Errorf("it has changed:\n%s", diff)
		}
	})
}

// A redeployment is an apply of the next order: it moves everything to the namespace of that, and the first lease's name
// takes nothing away any more.
func TestApplyOfTheNextOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, id, host := newScene(t), leaseOf("a", 1), "a.example.com"
		to := others(id)["the next order"]
		s.apply(id, false, host)
		s.must(func(a *apply.Applier) error {
			req, _ := state.NamedRequest(to, []string{host}, nil, "", settings())
			return a.Reserve(t.Context(), []state.Request{req})
		})
		s.apply(to, false, host)
		after := s.everything()
		if after["ingresses "+to.Namespace()+"/"+host] == "" || after["ingresses "+id.Namespace()+"/"+host] != "" {
			t.Errorf("the routes are not those of the next order: %v", after)
		}
		if p := (&world{server: s.server}).claims()[0].Parts[0]; p.Lease != to || !p.Applied {
			t.Errorf("the claim has %+v", p)
		}
		elsewhere := (*report.ElsewhereError)(nil)
		if _, err := s.run(func(a *apply.Applier) error { return a.Release(t.Context(), []lease.Group{id.Group()}) },
			func(o *command.Options) { o.Named = []lease.ID{id} }); !errors.As(err, &elsewhere) {
			t.Errorf("a late release of the first order: %v", err)
		}
		if diff := cmp.Diff(after, s.everything()); diff != "" {
			t.Errorf("it has changed:\n%s", diff)
		}
		if found := s.problems(); len(found) > 0 {
			t.Errorf("the problems are %q", found)
		}
	})
}
