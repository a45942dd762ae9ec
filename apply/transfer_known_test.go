package apply

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// knownOf is what a lease is known to ask for of things, by claims and a kept definition; nil if there is none.
func knownOf(t *testing.T, to lease.ID, def *lease.Definition, things []string, claims ...*state.Claim) *lease.Definition {
	t.Helper()
	s := observed.NewSnapshot()
	s.AddClaims(claims)
	if def != nil {
		d, err := kept.New(def, "r")
		if err != nil {
			t.Fatal(err)
		}
		s.Definitions = map[string]*kept.Definition{kept.Name(to.Group()): d}
	}
	return (&transfer{applier: New(&cluster.Cluster{}, command.Options{Config: config.Default()}), to: to, things: things}).known(s).def
}

// What the kept definition says of a part comes before what a note says of it, unless the note asks for something else:
// then it is of a later request.
func TestKeptDefinitionComesBeforeNotes(t *testing.T) {
	from, to := someLease(someOwner, 1), someLease(someOwner, 2)
	def := checked(t, withHosts(to, "a.example.com", "b.example.com"))
	key := state.RouteKey("/")
	note := func(definition, service string) []state.Part {
		p := state.Part{Key: key, Lease: to, Path: "/", Service: service, Port: 80}
		return []state.Part{p.Wait(definition, nil)}
	}
	for name, tt := range map[string]struct {
		waits []state.Part
		// services are those that route the host.
		services []string
	}{
		"no note":                     {nil, []string{"web"}},
		"its own note":                {note(def.Hash, "web"), []string{"web"}},
		"a note that says too little": {note("", "web"), []string{"web"}},
		"of another definition":       {note("later", "other"), []string{"other"}},
		"of a reservation":            {note("", "other"), nil},
	} {
		part := state.Part{Key: key, Lease: from, Path: "/", Service: "old", Port: 80}
		claim := &state.Claim{Kind: state.Host, Thing: "a.example.com", Owner: someOwner, Parts: []state.Part{part}, Waits: tt.waits}
		var services []string
		for _, s := range knownOf(t, to, def, []string{"a.example.com"}, claim).Services {
			for _, e := range s.Expose {
				for _, h := range e.Hosts {
					if h.Name != "a.example.com" {
						t.Errorf("%s: %s is routed, which is not transferred", name, h.Name)
					}
					services = append(services, s.Name)
				}
			}
		}
		if !slices.Equal(services, tt.services) {
			t.Errorf("%s: the host is routed to %q, want %q", name, services, tt.services)
		}
	}
}

// The kept definition of another order of the same deployment is not that of the lease.
func TestDefinitionOfAnotherOrder(t *testing.T) {
	id := someLease(someOwner, 1)
	next := id
	next.OSeq++
	claim := &state.Claim{Kind: state.Host, Thing: "a.example.com", Owner: someOwner, Parts: []state.Part{{Key: state.RouteKey("/"), Lease: someLease(someOwner, 2), Path: "/"}}}
	for of, want := range map[lease.ID]bool{id: true, next: false} {
		if def := knownOf(t, of, checked(t, withHosts(id, "a.example.com")), []string{"a.example.com"}, claim); def.Exposes() != want {
			t.Errorf("%s is known to ask for %+v", of, def)
		}
	}
}

// A note of a host becomes an expose with its path and options, one of a port an expose of the endpoint.
func TestServiceOfANote(t *testing.T) {
	body := uint32(7)
	host := serviceOf(ot.Host(ot.Shop, "shop.example.com", "/a"), state.Part{
		Path: "/a", Service: "web", Port: 8080, HTTP: &lease.HTTPOptions{MaxBodySize: body},
	})
	if diff := cmp.Diff(lease.Service{Name: "web", Expose: []lease.Expose{{
		Port: 8080, Protocol: lease.TCP, Global: true, Path: "/a", Hosts: []lease.Host{{Name: "shop.example.com"}}, HTTP: lease.HTTPOptions{MaxBodySize: body},
	}}}, host); diff != "" {
		t.Errorf("a host:\n%s", diff)
	}
	port := serviceOf(ot.Address(ot.Shop, "203.0.113.7", 80), state.Part{For: state.PortKey(lease.UDP, 53), Service: "dns", Port: 5353})
	if diff := cmp.Diff(lease.Service{Name: "dns", Expose: []lease.Expose{{
		Port: 5353, As: 53, Protocol: lease.UDP, Global: true, IP: "public",
	}}}, port); diff != "" {
		t.Errorf("a port:\n%s", diff)
	}
}
