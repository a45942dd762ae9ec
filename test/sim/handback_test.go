package sim

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A command that was taken for dead neither ends its work nor gives anything back: another one has worked in its place.
func TestACommandThatCountsAsDeadGivesNothingBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := furnished(t)
		id, opts := leaseOf("a", 1), command.Options{Config: settings(), Prune: true, Concurrency: 1}
		late := connected(t, func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/leases/run--") { // it has taken both hosts, and is about to end
				def := (&invocation{id: id, hosts: []string{"a.example.com"}}).definition()
				hasty := opts
				hasty.AssumeCrashed = true
				if err := apply.New(connected(t, server.RoundTrip), hasty).Apply(t.Context(), []*lease.Definition{def}); err != nil {
					t.Error(err)
				}
			}
			return server.RoundTrip(r)
		})
		req, problems := state.NamedRequest(id, []string{"a.example.com", "b.example.com"}, nil, "", opts.Config)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		err := apply.New(late, opts).Reserve(t.Context(), []state.Request{req})
		if lost := (*turn.LostError)(nil); !errors.As(err, &lost) {
			t.Errorf("want the command to say that it counts as dead, got %v", err)
		}
		if has := (&world{server: server}).things(id.Group(), false); !slices.Equal(has, []string{"a.example.com"}) {
			t.Errorf("the lease holds %q", has)
		}
	})
}

// A claim that goes while repair is about to give it up is left for the next call. (A history found that repair
// ended in a fault of the program.)
func TestRepairOfAClaimThatGoesMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := furnished(t)
		id, opts := leaseOf("a", 1), command.Options{Config: settings(), Concurrency: 1, Expires: time.Second}
		req, problems := state.NamedRequest(id, []string{"a.example.com"}, nil, "", opts.Config)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if err := apply.New(connected(t, server.RoundTrip), opts).Reserve(t.Context(), []state.Request{req}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		writes := 0
		c := connected(t, func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "/leases/a.example.com") {
				writes++
			}
			if writes == 1 { // repair has seen that the claim is as it was, and gives it up
				writes++
				other, _ := state.NamedRequest(leaseOf("c", 1), []string{"a.example.com"}, nil, "", opts.Config)
				if err := apply.New(connected(t, server.RoundTrip), opts).Reserve(t.Context(), []state.Request{other}); err != nil {
					t.Error(err)
				}
			}
			return server.RoundTrip(r)
		})
		left := (*repair.Unmended)(nil)
		if err := repair.Repair(t.Context(), apply.New(c, opts), repair.Options{CrashedAfter: crash}); !errors.As(err, &left) || writes < 2 {
			t.Errorf("want the problem left, got %v", err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func connected(t *testing.T, through roundTripper) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Connect(&rest.Config{Host: "http://sim", Transport: through}, 100)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A command that waits for a deployment group comes to its turn though others go on coming.
func TestWhoWaitsIsNotOvertakenForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := furnished(t)
		id, opts := leaseOf("a", 1), command.Options{Config: settings(), Concurrency: 1}
		var order []string
		var mu sync.Mutex
		var running sync.WaitGroup
		begins := func(name string, works time.Duration) {
			to := connected(t, func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/leases/"+name+".example.com") {
					time.Sleep(works)
					mu.Lock()
					order = append(order, name)
					mu.Unlock()
				}
				return server.RoundTrip(r)
			})
			running.Go(func() {
				req, _ := state.NamedRequest(id, []string{name + ".example.com"}, nil, "", opts.Config)
				if err := apply.New(to, opts).Reserve(t.Context(), []state.Request{req}); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(2100 * time.Millisecond)
		}
		begins("first", 20*time.Second)
		begins("waiting", 0)
		for i := range 30 {
			begins(fmt.Sprint("later", i), 5*time.Second)
		}
		running.Wait()
		if place := slices.Index(order, "waiting"); place > 5 {
			t.Errorf("%d have overtaken it: %q", place, order)
		}
	})
}
