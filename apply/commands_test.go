package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/sim/simtest"
)

const host = "a.example.com"

// A write whose answer is lost is sent again, whether it took effect or not: the lease has all of it, and what is deleted is told.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	id := someLease(someOwner, 1)
	definition := "leases/" + kept.Name(id.Group())
	for name, tt := range map[string]struct {
		of    string
		done  bool
		code  int
		every bool
	}{
		"a claim":                           {of: "PATCH leases/" + host, done: true},
		"a route":                           {of: "PATCH ingresses/" + host, done: true},
		"a route, by a gateway":             {of: "PATCH ingresses/" + host, done: true, code: http.StatusBadGateway},
		"the definition":                    {of: "PATCH " + definition, done: true, code: http.StatusInternalServerError},
		"the definition, which is not done": {of: "PATCH " + definition, code: http.StatusInternalServerError},
		"a delete":                          {of: "DELETE ingresses/" + host, done: true, code: http.StatusServiceUnavailable},
		"the delete of the definition":      {of: "DELETE " + definition, done: true, code: http.StatusInternalServerError},
		"each delete":                       {of: "DELETE", done: true, code: http.StatusServiceUnavailable, every: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, lost := newBench(t), false
				lose := func(method, path string) (int, bool) {
					if !strings.HasPrefix(method+" "+simtest.Short(path), tt.of) || lost && !tt.every {
						return 0, false
					}
					lost = true
					return tt.code, true
				}
				if b.Before = lose; tt.done {
					b.Before, b.After = nil, lose
				}
				def := checked(t, withHosts(id, host))
				if err := b.apply(def); err != nil || !b.has("ingresses", host) {
					t.Fatalf("error %v, events %q", err, b.told)
				}
				found, err := reading.KeptDefinitions(t.Context(), b.applier.Command.Cluster, "akash-net", []lease.Group{id.Group()})
				if err != nil || len(found) != 1 || found[0].Hash != def.Hash {
					t.Errorf("kept are %v, error %v", found, err)
				}
				if err := b.release(id); err != nil || !lost || !slices.Contains(b.told, "host/"+host+" released") {
					t.Errorf("error %v, lost: %v, events %q", err, lost, b.told)
				}
				if left := b.Names("leases", "ingresses", "providerhosts"); len(left) > 0 {
					t.Errorf("left are %q", left)
				}
			})
		})
	}
}

// A claim whose answer was lost is the run's own all the same: a run that fails gives it back.
func TestLostAnswerIsGivenBack(t *testing.T) {
	t.Parallel()
	b, lost := newBench(t), false
	b.After = func(method, path string) (int, bool) {
		if method != http.MethodPatch || path != claimPath+host || lost {
			return 0, false
		}
		lost = true
		b.claimed(someLease(somebodyElses, 1), "b.example.com", "")
		return 0, true
	}
	err := b.apply(withHosts(someLease(someOwner, 1), host, "b.example.com"))
	if _, ok := errors.AsType[*report.HeldError](err); !ok || !lost || b.has("leases", host) {
		t.Errorf("error %v (answer lost: %v), the cluster has %q", err, lost, b.Names("leases"))
	}
}

// An interrupt ends a command that waits for what another run holds, at once, and it gives back what it has claimed.
func TestInterruptOfAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.claimed(someLease(somebodyElses, 1), "b.example.com", "underway")
		b.applier.Command.Patience = wait.Backoff{Duration: time.Hour, Steps: 5}
		ctx, interrupt := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- b.applier.Apply(ctx, []*lease.Definition{withHosts(someLease(someOwner, 1), host, "b.example.com")})
		}()
		time.Sleep(time.Second)
		waits := b.has("leases", host)
		interrupt()
		began := time.Now()
		if err := <-ended; !errors.Is(err, context.Canceled) || !waits || b.has("leases", host) || time.Since(began) > time.Minute {
			t.Errorf("error %v; waited with a claim: %v; the cluster has %q", err, waits, b.Names("leases"))
		}
	})
}

// A server that goes away for good ends the run, once and not for each lease; the error of each says what was done.
func TestServerGoesAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, gone := newBench(t), false
		first, second := someLease(someOwner, 1), someLease(someOwner, 2)
		b.mustApply(withHosts(first, host), withHosts(second, "b.example.com"))
		c, err := cluster.Connect(&rest.Config{Host: "http://sim", Transport: b.Server, Timeout: time.Second}, 1) // as --request-timeout says
		if err != nil {
			t.Fatal(err)
		}
		b.Before = func(method, path string) (int, bool) {
			gone = gone || method == http.MethodDelete && strings.HasSuffix(path, "/ingresses/b.example.com")
			if method == http.MethodGet {
				return http.StatusServiceUnavailable, gone
			}
			return 0, gone
		}
		b.applier = New(c, b.applier.Command.Options)
		err = b.release(first, second)
		failures := report.Failures{}
		if !errors.As(err, &failures) || len(failures) != 2 {
			t.Fatalf("error %v", err)
		}
		for i, want := range []report.LeaseError{{Lease: first.Group(), Done: []string{"ingress/a.example.com deleted", "providerhost/a.example.com deleted"}}, {Lease: second.Group()}} {
			ended, ok := errors.AsType[*report.LeaseError](failures[i])
			if !ok || ended.Lease != want.Lease || !cluster.IsAway(ended) || !slices.Equal(ended.Done, want.Done) {
				t.Errorf("of lease %s: %#v", want.Lease, failures[i])
			}
		}
	})
}

// A command that was taken for dead while it stood still writes nothing more by itself: a new command brings its lease to what the ledger
// keeps, announced for it. What the late one has made for a host that another owner has got goes, and so does what it has made after a
// release; the claim of its own lease stays, which another command has taken that has crashed.
func TestACommandThatCountsAsDeadHeals(t *testing.T) {
	t.Parallel()
	id, other := someLease(someOwner, 1), someLease(somebodyElses, 1)
	fenced := func(b *bench) {
		for _, o := range b.Objects("leases") {
			if a, err := state.ReadAnnouncement(o); err == nil {
				a.Phase, a.FencedBy, a.UID, a.ResourceVersion = state.Fenced, "later", "", ""
				b.Put("test", claimPath+a.Name(), a.Configuration("akash-net"))
			}
		}
	}
	for name, tt := range map[string]struct {
		meanwhile func(b *bench)
		stays     bool
		owner     string
	}{
		"another owner": {func(b *bench) { fenced(b); b.claimed(other, host, "later") }, false, other.Owner},
		"its own lease": {func(b *bench) { fenced(b); b.claimed(id, host, "later") }, true, id.Owner},
		"released": {func(b *bench) {
			for _, o := range b.Objects("leases") {
				b.Delete(claimPath + o.GetName())
			}
		}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, over := newBench(t), false
				b.Before = func(method, path string) (int, bool) {
					if method != http.MethodDelete || strings.HasPrefix(path, claimPath) {
						return 0, false
					}
					announced := slices.ContainsFunc(b.Objects("leases"), func(o *unstructured.Unstructured) bool {
						a, err := state.ReadAnnouncement(o)
						return err == nil && a.Phase == state.Active && a.Names(id.Group())
					})
					if !announced {
						t.Errorf("%s is deleted by a command that is not announced", path)
					}
					return 0, false
				}
				b.After = func(method, path string) (int, bool) {
					if method == http.MethodPatch && strings.Contains(path, "/ingresses/") && !over {
						over = true
						tt.meanwhile(b)
					}
					return 0, false
				}
				err := b.apply(checked(t, withHosts(id, host)))
				if _, lost := errors.AsType[*turn.LostError](err); !lost {
					t.Fatalf("error %v", err)
				}
				for _, plural := range []string{"ingresses", "providerhosts"} { // without a claim nothing is to serve
					if stays := b.has(plural, host); stays != tt.stays {
						t.Errorf("%s stay: %v", plural, stays)
					}
				}
				if b.has("leases", host) != (tt.owner != "") || tt.owner != "" && b.Get(claimPath + host).GetLabels()[state.LabelOwner] != tt.owner {
					t.Errorf("the ledger has %q", b.Names("leases"))
				}
			})
		})
	}
}

// A lost command gives up no claim: the lease that it was to empty has reserved its host since.
func TestALostCommandGivesNothingUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, id, over := newBench(t), someLease(someOwner, 1), false
		b.mustApply(checked(t, withHosts(id, host)))
		b.After = func(method, path string) (int, bool) {
			if method == http.MethodPatch && strings.HasPrefix(path, claimPath+"df--") && !over {
				over = true
				for _, o := range b.Objects("leases") {
					if _, err := state.ReadAnnouncement(o); err == nil {
						b.Delete(claimPath + o.GetName())
					}
				}
				hold := state.HostWant{Host: host, Service: "web", Port: 80}.Hold(id)
				hold.Parts[0].Applied = true
				b.Put(id.Group().FieldManager(), claimPath+hold.Name(), hold.Claim().Configuration("akash-net", hold.Parts))
			}
			return 0, false
		}
		nothing := withHosts(id)
		nothing.Services = nil
		err := b.apply(checked(t, nothing))
		if _, lost := errors.AsType[*turn.LostError](err); !lost || !b.has("leases", host) || b.has("ingresses", host) {
			t.Errorf("error %v; the cluster has %q", err, b.Names("leases", "ingresses"))
		}
	})
}

// Of several leases it is told how many are done, of those that failed too, and of each once.
func TestProgressOfLeases(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.claimed(someLease(somebodyElses, 1), "b.example.com", "")
	var told []string
	b.applier.Command.Options.Progress = func(what string, done, all int) { told = append(told, fmt.Sprintf("%d of %d %s", done, all, what)) }
	first, second := someLease(someOwner, 1), someLease(someOwner, 2)
	applied := b.apply(withHosts(first, host), withHosts(second, "b.example.com"))
	if err := b.release(first, second); err != nil || applied == nil {
		t.Errorf("of the apply: %v; of the release: %v", applied, err)
	}
	once := []string{"0 of 2 leases", "1 of 2 leases", "2 of 2 leases"}
	if diff := cmp.Diff(slices.Concat(once, once), told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of many leases the definitions are read by one LIST, whoever owns them.
func TestDefinitionsOfManyLeasesAreListed(t *testing.T) {
	t.Parallel()
	for selector, owners := range map[string][]string{kept.Label + "=" + someOwner: {someOwner}, kept.Label: {someOwner, somebodyElses}} {
		b := newBench(t)
		var groups []lease.Group
		var defs []*lease.Definition
		for i := range 17 {
			def := checked(t, withHosts(someLease(owners[i%len(owners)], uint64(i+1)), fmt.Sprintf("h%d.example.com", i)))
			defs, groups = append(defs, def), append(groups, def.Lease.Group())
		}
		b.mustApply(defs...)
		var asked []string
		b.Listed = func(path, selector string) { asked = append(asked, simtest.Short(path)+" "+selector) }
		found, err := reading.KeptDefinitions(t.Context(), b.applier.Command.Cluster, "akash-net", groups)
		if err != nil || len(found) != len(groups) || !slices.Equal(asked, []string{"akash-net/leases " + selector}) {
			t.Errorf("found %d of %d definitions, error %v, by %q", len(found), len(groups), err, asked)
		}
	}
}

// The wildcards are looked at once for all leases of a command, after the last of their hosts was written: one that
// another owner has bound while they were written gets its host back, and the others are applied.
func TestWildcardsAreListedOnceForACommand(t *testing.T) {
	t.Parallel()
	b, bound := newBench(t), false
	b.Before = func(method, path string) (int, bool) {
		if method == http.MethodPatch && path == claimPath+"c.other.example.com" && !bound {
			bound = true
			holder := someLease(somebodyElses, 1)
			hold := state.HostWant{Host: "*.other.example.com", Service: "web", Port: 80}.Hold(holder)
			hold.Parts[0].Bound = true
			b.Put(holder.Group().FieldManager(), claimPath+hold.Name(), hold.Claim().Configuration("akash-net", hold.Parts))
		}
		return 0, false
	}
	var looked []string
	b.Listed = func(path, selector string) {
		if strings.Contains(path, "wc--") || strings.Contains(selector, "wildcard") {
			looked = append(looked, simtest.Short(path)+" "+selector)
		}
	}
	hosts := []string{host, "b.example.com", "c.other.example.com", "d.example.com"}
	var defs []*lease.Definition
	for i, host := range hosts {
		defs = append(defs, withHosts(someLease(someOwner, uint64(i+1)), host))
	}
	if err := b.apply(defs...); err == nil || !strings.Contains(err.Error(), "*.other.example.com") {
		t.Errorf("error %v does not name the wildcard", err)
	}
	for _, host := range hosts {
		if serves := b.has("leases", host) && b.has("ingresses", host); serves == strings.Contains(host, "other") {
			t.Errorf("host %s is served: %v", host, serves)
		}
	}
	if !slices.Contains(b.told, "host/c.other.example.com released") || len(looked) != 1 {
		t.Errorf("told is %q; wildcards were read by %q", b.told, looked)
	}
}

// A second look at a lease shows an object that has lost its labels as the first does: its namespace names the lease.
func TestLookSeesObjectsWithoutLabels(t *testing.T) {
	t.Parallel()
	b, id, asked := newBench(t), someLease(someOwner, 1), 0
	b.mustApply(withHosts(id, host))
	b.Merge("/apis/networking.k8s.io/v1/namespaces/"+id.Namespace()+"/ingresses/"+host, `{"metadata":{"labels":null}}`)
	b.Listed = func(path, selector string) {
		if strings.HasSuffix(path, "/ingresses") && selector != "" {
			asked++
		}
	}
	command := b.applier.Command
	before, err := reading.Read(t.Context(), command.Cluster, command.Ledger, reading.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	now, err := reading.Look(t.Context(), command, before, id.Owner)
	if err != nil {
		t.Fatal(err)
	}
	for name, snapshot := range map[string]*observed.Snapshot{"first": before, "second": now} {
		if !slices.ContainsFunc(snapshot.Written.Of(id.Group()), func(o observed.Object) bool { return o.Kind == kinds.Ingress }) || asked > 0 {
			t.Errorf("the %s reading does not show the Ingress as the lease's, or asks for what has labels (%d times)", name, asked)
		}
	}
}

// A plan of a kept definition is out of date once another one is kept.
func TestPlanOfADefinitionThatIsKeptNoMore(t *testing.T) {
	t.Parallel()
	b, id := newBench(t), someLease(someOwner, 1)
	def := checked(t, withHosts(id, host))
	b.mustApply(def)
	b.Delete("/apis/networking.k8s.io/v1/namespaces/" + id.Namespace() + "/ingresses/" + host)
	p, err := PlanKept(t.Context(), b.applier.Command.Cluster, b.applier.Command.Options, []*lease.Definition{def})
	if err != nil || len(p.Leases[0].Changes) != 1 || !p.Settings.Kept {
		t.Fatalf("the plan is %+v, %v", p, err)
	}
	b.mustApply(checked(t, withHosts(id, host, "b.example.com")))
	err = b.applier.CarryOut(t.Context(), p, []*lease.Definition{def})
	if err == nil || !strings.Contains(err.Error(), "the plan is out of date: the definition that is kept for lease "+id.Group().String()) || !strings.Contains(err.Error(), "diff LEASE -o json") {
		t.Errorf("the error is %v", err)
	}
	if writes := b.Writes(); len(writes) > 0 {
		t.Errorf("the writes were %q", writes)
	}
}

// In dedicated mode the pool of an address goes with its claim, just before it.
func TestDedicatedPoolGoesWithTheClaim(t *testing.T) {
	t.Parallel()
	b, id := newBench(t), someLease(someOwner, 1)
	b.applier.Command.Options.Config.IP.Mode = config.ModeDedicated
	b.mustApply(withAddress(id, "203.0.113.1"))
	if err := b.release(id); err != nil {
		t.Fatal(err)
	}
	var order []int
	writes := b.Writes()
	for _, w := range []string{"services/game-ip-443-tcp", "l2advertisements/akash-ip-203-0-113-1", "ipaddresspools/akash-ip-203-0-113-1", "leases/ip--203-0-113-1"} {
		order = append(order, slices.Index(writes, http.MethodDelete+" "+w))
	}
	if order[0] < 0 || !slices.IsSorted(order) {
		t.Errorf("writes %q", writes)
	}
}

// A claim that the user may not delete is named.
func TestReleaseOfAForbiddenClaim(t *testing.T) {
	t.Parallel()
	b, id := newBench(t), someLease(someOwner, 1)
	b.mustApply(withHosts(id, host))
	b.Before = func(method, path string) (int, bool) {
		return http.StatusForbidden, method == http.MethodDelete && path == claimPath+host
	}
	if err := b.release(id); err == nil || !strings.Contains(err.Error(), "host a.example.com could not be released: not allowed to delete leases") {
		t.Errorf("error %v", err)
	}
}

// A ProviderHost that a transfer has given to another lease of the owner since it was read is that
// lease's: it stays, and so does the claim of what it declares.
func TestReleaseLeavesWhatHasChangedHands(t *testing.T) {
	t.Parallel()
	b, id, moved := newBench(t), someLease(someOwner, 1), false
	b.mustApply(withHosts(id, host))
	b.Before = func(method, path string) (int, bool) {
		if method == http.MethodDelete && simtest.Short(path) == "providerhosts/"+host && !moved {
			moved = true
			b.Merge(path, `{"metadata":{"labels":{"akash.network/lease.id.dseq":"2"}}}`)
		}
		return 0, false
	}
	err := b.release(id)
	if _, stays := errors.AsType[*report.KeptError](err); !stays || !moved || !b.has("providerhosts", host) || !b.has("leases", host) {
		t.Errorf("error %v; changed hands: %v; left: %q", err, moved, b.Names("providerhosts", "leases"))
	}
}

// Akash's provider takes the lease over while its route is to be deleted: the route, which its operator has written meanwhile, stays. What
// the delete rests on is read after it was refused.
func TestReleaseLeavesWhatAkashHasTaken(t *testing.T) {
	t.Parallel()
	b, id, taken := newBench(t), someLease(someOwner, 1), false
	b.mustApply(withHosts(id, host))
	b.Before = func(method, path string) (int, bool) {
		if method == http.MethodDelete && simtest.Short(path) == "ingresses/"+host && !taken {
			taken = true
			b.Take("provider-services", "/apis/akash.network/v2beta2/namespaces/lease/providerhosts/"+host, nil)
			b.Take("provider-services", path, map[string]string{"taken": "yes"})
		}
		return 0, false
	}
	err := b.release(id)
	if !taken || !b.has("ingresses", host) || !b.has("leases", host) {
		t.Errorf("error %v; taken: %v; left: %q", err, taken, b.Names("ingresses", "providerhosts", "leases"))
	}
}

// A transfer that is interrupted at a reading, or whose reading is refused, gives back what it has taken: nobody has to end it.
func TestTransferWhoseReadingFails(t *testing.T) {
	t.Parallel()
	from, to := someLease(someOwner, 1), someLease(someOwner, 2)
	for name, refuses := range map[string]bool{"interrupted": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			for reading, met := 1, true; met; reading++ {
				b, moved, read := newBench(t), false, 0
				b.mustApply(withHosts(from, host))
				ctx, interrupt := context.WithCancel(t.Context())
				b.Before = func(method, path string) (int, bool) {
					moved = moved || method == http.MethodPatch && path == claimPath+host
					if !moved || method != http.MethodGet {
						return 0, false
					}
					if read++; read != reading {
						return 0, false
					}
					if !refuses {
						interrupt()
					}
					return http.StatusForbidden, refuses
				}
				err := b.applier.Transfer(ctx, to, []string{host}, nil)
				met = read >= reading
				interrupt()
				b.Before = nil
				if left := b.Names("leases"); slices.ContainsFunc(left, func(n string) bool { return strings.Contains(n, "run--") }) {
					t.Errorf("reading %d: %v; the ledger has %q", reading, err, left)
				}
			}
		})
	}
}

// The kind of routes that a command has chosen is kept: a lease is healed with it, whatever the configuration says.
func TestHealedWithTheTargetThatWasChosen(t *testing.T) {
	t.Parallel()
	b, id := newBench(t), someLease(someOwner, 1)
	chosen, cfg := b.applier.Command.Options, *b.applier.Command.Options.Config
	cfg.Target = config.TargetHTTPRoute
	chosen.Config, chosen.Target, chosen.AssumeServing = &cfg, cfg.Target, true
	applied := withHosts(id, host)
	if problems := lease.Check(applied); problems.Failed() {
		t.Fatal(problems)
	}
	applied.Hash = lease.Sum(applied)
	if err := New(b.Connect(), chosen).Apply(t.Context(), []*lease.Definition{applied}); err != nil {
		t.Fatal(err)
	}
	route := "/apis/gateway.networking.k8s.io/v1/namespaces/" + id.Namespace() + "/httproutes/" + host
	if b.Delete(route); b.has("httproutes", host) {
		t.Fatal(b.Names("httproutes"))
	}
	kept, err := reading.ReadDefinition(t.Context(), b.applier.Command.Ledger, id.Group())
	if err != nil {
		t.Fatal(err)
	}
	def, err := kept.Decode()
	if err != nil {
		t.Fatal(err)
	}
	heals := b.applier.Command.Options
	heals.Heal = true
	if err := New(b.Connect(), heals).Apply(t.Context(), []*lease.Definition{def}); err != nil || !b.has("httproutes", host) || b.has("ingresses", host) {
		t.Errorf("error %v; the cluster has %q", err, b.Names("httproutes", "ingresses"))
	}
}
