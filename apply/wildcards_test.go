package apply

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The wildcards are looked at once for all leases of a command, after the last of their hosts was written: one that
// another owner has bound while they were written gets its host back, and the others are applied.
func TestWildcardsAreListedOnceForACommand(t *testing.T) {
	s, c := newServer(t, 1)
	bound := false
	var looked []string
	s.before = func(s *server, method, path string) (int, bool) {
		if method == http.MethodPatch && path == claimPath+"c.other.example.com" && !bound {
			bound = true
			hold := state.HostWant{Host: "*.other.example.com", Service: "web", Port: 80}.Hold(someLease(somebodyElses, 1))
			hold.Parts[0].Bound = true
			s.store(t, claimPath+hold.Name(), hold.Claim().Configuration("akash-net", hold.Parts))
		}
		return 0, false
	}
	s.listed = func(path, selector string) {
		if strings.Contains(path, "wc--") || strings.Contains(selector, "wildcard") {
			looked = append(looked, short(path)+" "+selector)
		}
	}
	hosts := []string{"a.example.com", "b.example.com", "c.other.example.com", "d.example.com"}
	var defs []*lease.Definition
	for i, host := range hosts {
		defs = append(defs, withHosts(someLease(someOwner, uint64(i+1)), host))
	}
	a, kept := applier(t, c)
	err := a.Apply(t.Context(), defs)
	if err == nil || !strings.Contains(fmt.Sprint(err), "*.other.example.com") {
		t.Errorf("error %v does not name the wildcard", err)
	}
	names := s.names()
	for _, host := range hosts {
		serves := slices.Contains(names, "leases/"+host) && slices.Contains(names, "ingresses/"+host)
		if below := host == "c.other.example.com"; serves == below {
			t.Errorf("host %s, below the wildcard: %v; served: %v", host, below, serves)
		}
	}
	if !slices.Contains(kept.texts, "host/c.other.example.com released") {
		t.Errorf("the host below the wildcard was not given back: %q", kept.texts)
	}
	if len(looked) != 1 {
		t.Errorf("the wildcards were not read once: %q", looked)
	}
}
