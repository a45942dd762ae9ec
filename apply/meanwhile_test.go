package apply

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// A command that was taken for dead while it stood still gives no claim back: another one works in its place. What it has
// made for a host that another owner holds by now goes.
func TestACommandThatCountsAsDeadGivesNoClaimBack(t *testing.T) {
	const host = "a.example.com"
	id := someLease(someOwner, 1)
	for name, holder := range map[string]lease.ID{"another owner": someLease(somebodyElses, 1), "its own lease": id} {
		t.Run(name, func(t *testing.T) {
			s, c := newServer(t, 1)
			s.after = func(s *server, method, path string) (int, bool) {
				if method == http.MethodPatch && strings.Contains(path, "/ingresses/") {
					for path, o := range s.objects {
						if a, err := state.ReadAnnouncement(o); err == nil {
							a.Phase, a.FencedBy = state.Fenced, "later"
							s.store(t, path, a.Configuration("akash-net"))
						}
					}
					s.claimed(t, holder, host, "later")
				}
				return 0, false
			}
			a, _ := applier(t, c)
			err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, host)})
			if lost, ok := errors.AsType[*turn.LostError](err); !ok || lost.By != "later" {
				t.Fatalf("error %v", err)
			}
			names := s.names()
			for _, made := range []string{"ingresses/" + host, "providerhosts/" + host} { // without a claim nothing is to serve
				if stays := slices.Contains(names, made); stays != (holder == id) {
					t.Errorf("the cluster has %q", names)
				}
			}
			claim := s.objects[claimPath+host]
			if owner := claim.GetLabels()[state.LabelOwner]; owner != holder.Owner || !strings.Contains(claim.GetAnnotations()[state.RouteKey("/")], "later") {
				t.Errorf("the claim is %s's and says %v", owner, claim.GetAnnotations())
			}
		})
	}
}

// What a command finds changed is written only on claims that were read after it: for a host that another owner has got
// meanwhile nothing is made anew. What the lease has of the others stays.
func TestNothingIsMadeAnewForAHostThatIsLost(t *testing.T) {
	const host, more = "a.example.com", "b.example.com"
	s, c := newServer(t, 1)
	id := someLease(someOwner, 1)
	a, _ := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, host)}); err != nil {
		t.Fatal(err)
	}
	s.before = func(s *server, method, path string) (int, bool) {
		if method == http.MethodPatch && short(path) == "ingresses/"+host {
			for path := range s.objects {
				if name := short(path); name == "ingresses/"+host || name == "providerhosts/"+host {
					delete(s.objects, path)
				}
			}
			s.claimed(t, someLease(somebodyElses, 1), host, "")
		}
		return 0, false
	}
	err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, host, more)})
	if held, ok := errors.AsType[*report.HeldError](err); !ok || held.Held[0].Thing != host {
		t.Fatalf("error %v", err)
	}
	want := []string{"leases/" + host, "leases/" + more, "leases/" + kept.Name(id.Group()), "namespaces/" + id.Namespace(), "providerhosts/" + more}
	if got := s.names(); !slices.Equal(got, want) {
		t.Errorf("the cluster has %q, want %q", got, want)
	}
}

// What was made anew for the lease meanwhile, with its claim, is written over as it is then.
func TestApplyGoesOnOverWhatWasMadeAnew(t *testing.T) {
	const host, more = "a.example.com", "b.example.com"
	s, c := newServer(t, 1)
	id := someLease(someOwner, 1)
	a, _ := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, host)}); err != nil {
		t.Fatal(err)
	}
	anew := false
	s.before = func(s *server, method, path string) (int, bool) {
		if method == http.MethodPatch && short(path) == "providerhosts/"+more && !anew {
			anew = true
			for path, o := range s.objects {
				if name := short(path); name == "ingresses/"+host || name == "providerhosts/"+host {
					s.store(t, path, o.Object)
				}
			}
			s.claimed(t, id, host, "")
		}
		return 0, false
	}
	changed := withHosts(id, host, more)
	changed.Hash = "another" // so that the objects of the first host are written too
	if err := a.Apply(t.Context(), []*lease.Definition{changed}); err != nil || !anew {
		t.Fatalf("error %v, made anew: %v", err, anew)
	}
	for path, o := range s.objects {
		if strings.HasPrefix(short(path), "ingresses/") && o.GetAnnotations()[lease.AnnotationDefinition] != "another" {
			t.Errorf("%s is as it was", short(path))
		}
	}
	if got := s.names(); !slices.Contains(got, "ingresses/"+host) || !slices.Contains(got, "ingresses/"+more) {
		t.Errorf("the cluster has %q", got)
	}
}

// A command waits until the announcement of a crashed one of its lease is over, takes it for dead, and puts its own mark
// in the place of that one's, in one write. At its end neither announcement is there.
func TestMarkOfACrashedRunIsReplaced(t *testing.T) {
	const host = "a.example.com"
	s, c := newServer(t, 1)
	id := someLease(someOwner, 1)
	s.announced(t, id, "crashed", time.Now().Add(-turn.Lasts-state.Margin+time.Second))
	s.claimed(t, id, host, "crashed")
	var runs []string
	s.after = func(s *server, method, path string) (int, bool) {
		if method == http.MethodPatch && path == claimPath+host {
			runs = append(runs, s.objects[path].GetAnnotations()[state.RouteKey("/")])
		}
		return 0, false
	}
	a, kept := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, host)}); err != nil {
		t.Fatal(err)
	}
	if len(runs) != 1 || strings.Contains(runs[0], "crashed") || !strings.Contains(runs[0], `"run":`) {
		t.Errorf("the claim went through %q", runs)
	}
	if names := s.names(); slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "run--") }) {
		t.Errorf("the cluster has %q", names)
	}
	if !slices.Contains(kept.texts, "lease/"+id.Group().String()+" waiting") {
		t.Errorf("it is not told that it waits: %q", kept.texts)
	}
}

// What a run under way holds may yet be given back: it is asked for again, for a while, whoever's run
// it is. What another owner keeps is an error then, what another deployment of the owner keeps withheld.
func TestPatienceWithARunUnderWay(t *testing.T) {
	const host = "a.example.com"
	def := withHosts(someLease(someOwner, 1), host)
	for name, holder := range map[string]lease.ID{"another owner's": someLease(somebodyElses, 1), "the same owner's": someLease(someOwner, 2)} {
		for _, given := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				s, c := newDirect(t)
				s.claimed(t, holder, host, "underway")
				asked := 0
				s.listed = func(path, _ string) {
					if path == claimPath+host {
						asked++
					}
					if given && asked == 3 {
						delete(s.objects, claimPath+host)
					}
				}
				s.before = func(_ *server, method, path string) (int, bool) { // no note: the server would lose the holder's part
					return http.StatusForbidden, !given && method == http.MethodPatch && path == claimPath+host
				}
				a, kept := applier(t, c)
				a.Command.Patience = wait.Backoff{Duration: time.Second, Steps: 5}
				started, err := time.Now(), a.Apply(t.Context(), []*lease.Definition{def})
				if _, held := errors.AsType[*report.HeldError](err); held != (!given && holder.Owner != someOwner) || err != nil && !held {
					t.Errorf("%s run, given back: %v, error: %v", name, given, err)
				}
				if waited := time.Since(started); asked < 3 || waited > 5*time.Second || !given && waited < 4*time.Second {
					t.Errorf("%s run, given back: %v, asked %d times in %s", name, given, asked, waited)
				}
				for told, want := range map[string]bool{"claimed": given, "withheld": !given && holder.Owner == someOwner} {
					if got := slices.Contains(kept.texts, "host/"+host+" "+told); got != want {
						t.Errorf("%s run, given back: %v, events: %q", name, given, kept.texts)
					}
				}
			})
		}
	}
}
