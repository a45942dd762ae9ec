package apply

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

const (
	claimPath     = "/apis/coordination.k8s.io/v1/namespaces/akash-net/leases/"
	someProvider  = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	someOwner     = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	somebodyElses = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"
)

func someLease(owner string, dseq uint64) lease.ID {
	return lease.ID{Owner: owner, DSeq: dseq, GSeq: 1, OSeq: 1, Provider: someProvider}
}

// withHosts is a definition with hosts of one service.
func withHosts(id lease.ID, hosts ...string) *lease.Definition {
	expose := lease.Expose{Port: 80, Protocol: lease.TCP, Global: true}
	for _, h := range hosts {
		expose.Hosts = append(expose.Hosts, lease.Host{Name: h})
	}
	return &lease.Definition{Lease: id, Hash: "hash", Services: []lease.Service{{Name: "web", Expose: []lease.Expose{expose}}}}
}

// withAddress is a definition with a port on an address that it names.
func withAddress(id lease.ID, address string) *lease.Definition {
	return &lease.Definition{
		Lease: id, Hash: "hash",
		Services:    []lease.Service{{Name: "game", Expose: []lease.Expose{{Port: 443, Protocol: lease.TCP, Global: true, IP: "public"}}}},
		IPEndpoints: []lease.IPEndpoint{{Name: "public", Addresses: []netip.Addr{netip.MustParseAddr(address)}}},
	}
}

// hasty makes retries and patience of an applier short for the test.
func hasty(a *Applier) *Applier {
	a.Command.Cluster.Retries, a.Command.Patience = wait.Backoff{Steps: 10}, wait.Backoff{Steps: 8}
	return a
}

// applier works with one range and keeps its events.
func applier(t *testing.T, c *cluster.Cluster) (*Applier, *events) {
	t.Helper()
	cfg := config.Default()
	r, err := config.ParseRange("203.0.113.0/28")
	if err != nil {
		t.Fatal(err)
	}
	cfg.IP.Ranges.Include = []config.Range{r}
	kept := &events{}
	return hasty(New(c, command.Options{Config: cfg, Prune: true, Concurrency: 1, Report: kept.add})), kept
}

// events are what was reported, as "kind/name action".
type events struct {
	mu    sync.Mutex
	texts []string
}

func (e *events) add(event report.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.texts = append(e.texts, event.Kind+"/"+event.Name+" "+string(event.Action))
}

// claimed puts a claim into the server's store.
func (s *server) claimed(t *testing.T, id lease.ID, host, run string) {
	t.Helper()
	hold := state.HostWant{Host: host, Service: "web", Port: 80}.Hold(id)
	if hold.Parts[0].Run = run; run != "" && s.objects[claimPath+state.AnnouncementName(run)] == nil {
		s.announced(t, id, run, time.Now())
	}
	s.store(t, claimPath+host, hold.Claim().Configuration("akash-net", hold.Parts))
}

// announced puts the announcement of a command into the server's store, as it was renewed at a moment.
func (s *server) announced(t *testing.T, id lease.ID, nonce string, renewed time.Time) {
	t.Helper()
	a := &state.Announcement{
		Nonce: nonce, Groups: []lease.Group{id.Group()}, By: "ann@laptop", Version: "v1",
		Begun: renewed, Renewed: renewed, Lasts: turn.Lasts, Phase: state.Active,
	}
	s.store(t, claimPath+a.Name(), a.Configuration("akash-net"))
}

// store puts an object into the server's store, under a new version, as somebody else would.
func (s *server) store(t *testing.T, path string, object any) {
	t.Helper()
	s.objects[path] = s.put(path, &unstructured.Unstructured{Object: asMap(t, object)}, nil)
}

// A claim whose answer was lost is the run's own all the same: a run that fails gives it back.
func TestLostAnswerIsGivenBack(t *testing.T) {
	s, c := newServer(t, 1)
	lost := false
	s.after = func(s *server, method, path string) (int, bool) {
		if method != http.MethodPatch || path != claimPath+"a.example.com" || lost {
			return 0, false
		}
		lost = true
		s.claimed(t, someLease(somebodyElses, 1), "b.example.com", "")
		return 0, true
	}
	s.before = func(s *server, method, path string) (int, bool) {
		return http.StatusConflict, method == http.MethodPatch && path == claimPath+"b.example.com"
	}
	a, _ := applier(t, c)
	err := a.Apply(t.Context(), []*lease.Definition{withHosts(someLease(someOwner, 1), "a.example.com", "b.example.com")})
	if _, ok := errors.AsType[*report.HeldError](err); !ok || !lost {
		t.Fatalf("error %v (answer lost: %v)", err, lost)
	}
	if got, want := s.names(), []string{"leases/b.example.com"}; !slices.Equal(got, want) {
		t.Errorf("the cluster has %q, want %q", got, want)
	}
}

// A route whose answer was lost is written again: nothing stays behind of which the run knows
// nothing.
func TestLostAnswerOfARoute(t *testing.T) {
	const host = "a.example.com"
	id := someLease(someOwner, 1)
	for name, code := range map[string]int{"no answer": 0, "a gateway's answer": http.StatusBadGateway} {
		t.Run(name, func(t *testing.T) {
			s, c := newServer(t, 1)
			lost := false
			s.after = func(_ *server, _, path string) (int, bool) {
				first := strings.Contains(path, "/ingresses/") && !lost
				lost = lost || first
				return code, first
			}
			a, kept := applier(t, c)
			if err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, host)}); err != nil || !lost {
				t.Fatalf("error %v (answer lost: %v)", err, lost)
			}
			if !slices.Contains(kept.texts, "ingress/"+host+" created") || !slices.Contains(s.names(), "leases/"+host) {
				t.Errorf("events %q, cluster %q", kept.texts, s.names())
			}
		})
	}
}

// Leases share pools, all of one owner's even that of one address: a lease that fails does not take
// a pool from under the others.
func TestFailingLeaseLeavesThePool(t *testing.T) {
	tests := []struct {
		mode, address, pool string
		other               lease.ID
	}{
		{config.ModeRange, "203.0.113.2", "akash-net-203-0-113-0-28", someLease(somebodyElses, 1)},
		{config.ModeDedicated, "203.0.113.1", "akash-ip-203-0-113-1", someLease(someOwner, 2)},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			s, c := newServer(t, 1)
			failing := someLease(someOwner, 1)
			s.before = func(_ *server, _, path string) (int, bool) {
				return http.StatusForbidden, strings.Contains(path, failing.Namespace()+"/services/")
			}
			a, _ := applier(t, c)
			a.Command.Options.Config.IP.Mode = tt.mode
			err := a.Apply(t.Context(), []*lease.Definition{withAddress(failing, "203.0.113.1"), withAddress(tt.other, tt.address)})
			if err == nil {
				t.Fatal("no error")
			}
			names := s.names()
			for _, want := range []string{"ipaddresspools/" + tt.pool, "l2advertisements/" + tt.pool, "leases/" + state.AddressName(netip.MustParseAddr(tt.address)), "services/game-ip-443-tcp"} {
				if !slices.Contains(names, want) {
					t.Errorf("%s is missing in %q", want, names)
				}
			}
			if tt.mode == config.ModeRange && slices.Contains(names, "leases/ip--203-0-113-1") {
				t.Errorf("the failed lease keeps its claim: %q", names)
			}
		})
	}
}

// What was read while another command of the lease was at work is old once that has ended: a command that then fails
// does not take what the other has left for what a crashed one had taken.
func TestWhatIsReadBesideAnotherCommandIsReadAgain(t *testing.T) {
	const host, other = "a.example.com", "b.example.com"
	id := someLease(someOwner, 1)
	s, c := newServer(t, 1)
	s.claimed(t, id, host, "first")
	ended := false
	s.before = func(s *server, method, path string) (int, bool) {
		switch {
		case method == http.MethodPatch && strings.HasPrefix(path, claimPath+"run--") && !ended:
			ended = true
			delete(s.objects, claimPath+state.AnnouncementName("first"))
		case method == http.MethodPatch && path == claimPath+other:
			s.claimed(t, someLease(somebodyElses, 1), other, "")
			return http.StatusConflict, true
		}
		return 0, false
	}
	a, _ := applier(t, c)
	err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, host, other)})
	if _, ok := errors.AsType[*report.HeldError](err); !ok || !ended {
		t.Fatalf("error %v (the other command has ended: %v)", err, ended)
	}
	if want := "leases/" + host; !slices.Contains(s.names(), want) {
		t.Errorf("the cluster has %q, and no %s", s.names(), want)
	}
}
