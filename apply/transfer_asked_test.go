package apply

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// What the kept definition says of a part comes before what a note says of it, unless the note asks for something else:
// then it is of a later request.
func TestKeptDefinitionComesBeforeNotes(t *testing.T) {
	_, c := newServer(t, 1)
	a, _ := applier(t, c)
	from, to := someLease(someOwner, 1), someLease(someOwner, 2)
	def := checked(t, withHosts(to, "a.example.com"))
	key := state.RouteKey("/")
	note := func(definition, service string) []state.Part {
		p := state.Part{Key: key, Lease: to, Path: "/", Service: service, Port: 80}
		return []state.Part{p.Wait(definition, nil)}
	}
	for name, tt := range map[string]struct {
		waits   []state.Part
		service string
		kept    bool
	}{
		"no note":                     {nil, "web", true},
		"its own note":                {note(def.Hash, "web"), "web", true},
		"a note that says too little": {note("", "web"), "web", true},
		"of another definition":       {note("later", "web"), "web", false},
		"of a reservation":            {note("", "other"), "other", false},
	} {
		r := newTransfer(a.Command, to, observed.NewSnapshot())
		req, _ := state.NewRequest(def, a.Options.Config)
		r.asked = &asked{def: def, req: req}
		part := state.Part{Key: key, Lease: from, Path: "/", Service: "old", Port: 80}
		claim := &state.Claim{Kind: state.Host, Thing: "a.example.com", Owner: someOwner, Parts: []state.Part{part}, Waits: tt.waits}
		got := r.newPart(claim, part)
		if got.Service != tt.service || got.Lease != to || r.asked.routes(claim, got) != tt.kept {
			t.Errorf("%s: taken is %+v, by the kept definition: %v", name, got, r.asked.routes(claim, got))
		}
	}
}

// The kept definition of another order of the same deployment is not that of the lease.
func TestDefinitionOfAnotherOrder(t *testing.T) {
	s, c := newServer(t, 1)
	a, _ := applier(t, c)
	id := someLease(someOwner, 1)
	if err := a.Apply(t.Context(), []*lease.Definition{checked(t, withHosts(id, "a.example.com"))}); err != nil {
		t.Fatal(err)
	}
	next := id
	next.OSeq++
	for of, want := range map[lease.ID]bool{id: true, next: false} {
		now, err := observed.ReadAll(t.Context(), a.Command, of.Group())
		if err != nil {
			t.Fatal(err)
		}
		r := newTransfer(a.Command, of, now)
		if asked := r.askedFor(); (asked != nil) != want {
			t.Errorf("of %s is kept %+v; the cluster has %q", of, asked, s.names())
		}
	}
}
