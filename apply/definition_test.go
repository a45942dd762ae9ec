package apply

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// checked is a definition as it is read from a file.
func checked(t *testing.T, def *lease.Definition) *lease.Definition {
	t.Helper()
	if problems := lease.Check(def); len(problems.Errors()) > 0 {
		t.Fatal(problems)
	}
	def.Hash = lease.Sum(def)
	return def
}

// keptFor is the definition that the server keeps for a group.
func (s *server) keptFor(t *testing.T, g lease.Group) *lease.Definition {
	t.Helper()
	o := s.objects[claimPath+kept.Name(g)]
	if o == nil {
		return nil
	}
	d, _ := kept.Read(&metav1.ObjectMeta{Name: o.GetName(), Annotations: o.GetAnnotations()})
	def, err := d.Decode()
	if err != nil {
		t.Fatal(err)
	}
	return def
}

// The definition is written once the claims are taken and before the first object, and once only; a release
// removes it before anything else.
func TestDefinitionIsKept(t *testing.T) {
	s, c := newServer(t, 1)
	id := someLease(someOwner, 1)
	name := "leases/" + kept.Name(id.Group())
	a, _ := applier(t, c)
	def := checked(t, withHosts(id, "a.example.com"))
	if err := a.Apply(t.Context(), []*lease.Definition{def}); err != nil {
		t.Fatal(err)
	}
	at := func(write string) int { return slices.Index(s.writes, write) }
	if taken, keeps, routes := at("PATCH leases/a.example.com"), at("PATCH "+name), at("PATCH providerhosts/a.example.com"); taken > keeps || keeps > routes || keeps < 0 {
		t.Errorf("the writes were %q", s.writes)
	}
	if got := s.keptFor(t, id.Group()); got == nil || got.Hash != def.Hash {
		t.Errorf("kept is %+v", got)
	}

	more := checked(t, withHosts(id, "a.example.com", "b.example.com"))
	if err := a.Apply(t.Context(), []*lease.Definition{more}); err != nil {
		t.Fatal(err)
	}
	if got := s.keptFor(t, id.Group()); got == nil || got.Hash != more.Hash {
		t.Errorf("kept is %+v", got)
	}

	s.writes = nil
	if err := a.Release(t.Context(), []lease.Group{id.Group()}, "b.example.com"); err != nil {
		t.Fatal(err)
	}
	if s.keptFor(t, id.Group()) == nil {
		t.Error("a lease that gives up one host has lost its definition")
	}
	s.writes = nil
	if err := a.Release(t.Context(), []lease.Group{id.Group()}); err != nil {
		t.Fatal(err)
	}
	// The first write announces the command.
	if len(s.writes) < 2 || s.writes[1] != "DELETE "+name || s.objects[claimPath+kept.Name(id.Group())] != nil {
		t.Errorf("the writes of the release were %q", s.writes)
	}
}

// A lease that is refused before its first object leaves the definition that was kept before it, or none, and gives back
// what it has claimed.
func TestRefusedLeaseKeepsTheFormerDefinition(t *testing.T) {
	long := func(def *lease.Definition) { def.Name = strings.Repeat("x", 5<<20) }
	for name, tt := range map[string]struct {
		before bool
		change func(*lease.Definition)
		method string
	}{
		"first":                     {false, func(*lease.Definition) {}, http.MethodPatch},
		"another":                   {true, func(*lease.Definition) {}, http.MethodPatch},
		"another, too long to keep": {true, long, http.MethodDelete},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := newServer(t, 1)
			id := someLease(someOwner, 1)
			a, _ := applier(t, c)
			before := checked(t, withHosts(id, "a.example.com"))
			if tt.before {
				if err := a.Apply(t.Context(), []*lease.Definition{before}); err != nil {
					t.Fatal(err)
				}
			}
			had, written := s.names(), false
			s.before = func(s *server, method, path string) (int, bool) {
				written = written || method == tt.method && short(path) == "leases/"+kept.Name(id.Group())
				return http.StatusForbidden, method == dryRun && short(path) == "ingresses/b.example.com"
			}
			def := withHosts(id, "a.example.com", "b.example.com")
			tt.change(def)
			if err := a.Apply(t.Context(), []*lease.Definition{checked(t, def)}); err == nil || !written {
				t.Fatalf("error %v, the definition was written: %v", err, written)
			}
			switch got := s.keptFor(t, id.Group()); {
			case !tt.before && got != nil:
				t.Errorf("kept is %+v", got)
			case tt.before && (got == nil || got.Hash != before.Hash):
				t.Errorf("kept is %+v, want the former definition", got)
			}
			if !tt.before { // a namespace stays
				had = []string{"namespaces/" + id.Namespace()}
			}
			if got := s.names(); !slices.Equal(got, had) {
				t.Errorf("the cluster has %q, had %q", got, had)
			}
		})
	}
}

// A lease that is refused after its first object keeps what there is, with its claims and its definition: the next apply
// goes on.
func TestRefusedLeaseGoesOn(t *testing.T) {
	s, c := newServer(t, 1)
	id := someLease(someOwner, 1)
	a, _ := applier(t, c)
	s.before = func(s *server, method, path string) (int, bool) {
		return http.StatusForbidden, method == http.MethodPatch && short(path) == "ingresses/b.example.com"
	}
	def := checked(t, withHosts(id, "a.example.com", "b.example.com"))
	if err := a.Apply(t.Context(), []*lease.Definition{def}); err == nil || !strings.Contains(err.Error(), "b.example.com") {
		t.Fatalf("error %v", err)
	}
	has := []string{
		"ingresses/a.example.com", "leases/a.example.com", "leases/b.example.com", "leases/" + kept.Name(id.Group()),
		"namespaces/" + id.Namespace(), "providerhosts/a.example.com", "providerhosts/b.example.com",
	}
	if got := s.names(); !slices.Equal(got, has) {
		t.Errorf("the cluster has %q, want %q", got, has)
	}
	if got := s.keptFor(t, id.Group()); got == nil || got.Hash != def.Hash {
		t.Errorf("kept is %+v", got)
	}
	s.before = nil
	if err := a.Apply(t.Context(), []*lease.Definition{def}); err != nil || !slices.Contains(s.names(), "ingresses/b.example.com") {
		t.Errorf("error %v, the cluster has %q", err, s.names())
	}
}

// A write of the definition whose answer is lost took effect or did not: one definition is kept, and the apply ends.
func TestLostAnswersOfTheDefinition(t *testing.T) {
	for name, after := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			s, c := newServer(t, 1)
			id := someLease(someOwner, 1)
			a, _ := applier(t, c)
			lost := false
			lose := func(s *server, method, path string) (int, bool) {
				if !lost && short(path) == "leases/"+kept.Name(id.Group()) {
					lost = true
					return http.StatusInternalServerError, true
				}
				return 0, false
			}
			if s.before = lose; after {
				s.before, s.after = nil, lose
			}
			def := checked(t, withHosts(id, "a.example.com"))
			if err := a.Apply(t.Context(), []*lease.Definition{def}); err != nil || !lost {
				t.Fatalf("error %v, an answer was lost: %v", err, lost)
			}
			if got := s.keptFor(t, id.Group()); got == nil || got.Hash != def.Hash {
				t.Errorf("kept is %+v", got)
			}
		})
	}
}

// A lease that gets nothing of what it asks for keeps its definition too: a transfer knows by it what to route.
func TestDefinitionOfWhatIsWithheld(t *testing.T) {
	s, c := newServer(t, 1)
	a, _ := applier(t, c)
	first, second := someLease(someOwner, 1), someLease(someOwner, 2)
	for _, id := range []lease.ID{first, second} {
		if err := a.Apply(t.Context(), []*lease.Definition{checked(t, withHosts(id, "a.example.com"))}); err != nil {
			t.Fatal(err)
		}
	}
	if s.keptFor(t, second.Group()) == nil {
		t.Error("the definition of the second lease is not kept")
	}
	if err := a.Release(t.Context(), []lease.Group{second.Group()}); err != nil {
		t.Fatal(err)
	}
	if s.keptFor(t, second.Group()) != nil || s.keptFor(t, first.Group()) == nil {
		t.Errorf("the cluster has %q", s.names())
	}
}

// Of many leases the definitions are read by one LIST, whoever owns them; none is written that is kept already.
func TestDefinitionsOfManyLeasesAreListed(t *testing.T) {
	for name, test := range map[string]struct {
		owners   []string
		selector string
	}{
		"of one owner":  {[]string{someOwner}, kept.Label + "=" + someOwner},
		"of two owners": {[]string{someOwner, somebodyElses}, kept.Label},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := newServer(t, 1)
			a, _ := applier(t, c)
			var groups []lease.Group
			for i := range uint64(observed.FewDefinitions + 1) {
				def := checked(t, withHosts(someLease(test.owners[int(i)%len(test.owners)], i+1), "h"+string(rune('a'+i))+".example.com"))
				if err := a.Apply(t.Context(), []*lease.Definition{def}); err != nil {
					t.Fatal(err)
				}
				groups = append(groups, def.Lease.Group())
			}
			var selectors []string
			s.listed = func(path, selector string) {
				if strings.Contains(path, kept.Name(groups[0])) {
					t.Errorf("%s is read by itself", path)
				}
				if strings.HasSuffix(path, "/leases") {
					selectors = append(selectors, selector)
				}
			}
			found, err := observed.KeptDefinitions(t.Context(), c, "akash-net", groups)
			if err != nil || len(found) != len(groups) {
				t.Errorf("found %d of %d definitions, error %v", len(found), len(groups), err)
			}
			if want := []string{test.selector}; !slices.Equal(selectors, want) {
				t.Errorf("listed were %q, want %q", selectors, want)
			}
		})
	}
}
