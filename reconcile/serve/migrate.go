package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
)

// Owner is the header of a request to migrate that names the owner of the destination. Akash's gateway knows the owner by the tenant's
// certificate; whoever may post here speaks for all.
const Owner = "Akash-Owner"

// migrating bounds how long a transfer may take.
const migrating = time.Minute

// errAfter is the error of a body that goes on after its JSON.
var errAfter = errors.New("something follows the JSON")

// migration is the body of a request to migrate (provider: gateway/rest/router_migrate.go).
type migration struct {
	Hostnames []string `json:"hostnames_to_migrate"`
	Endpoints []string `json:"endpoints_to_migrate"`
	DSeq      uint64   `json:"destination_dseq"`
	GSeq      uint32   `json:"destination_gseq"`
}

// moving are the things of a request to migrate: what the tenant calls them, and the names that transfer knows them by. missing says
// that the destination does not define one.
type moving struct {
	asked   []string
	name    func(string) string
	defines func(*lease.Definition, string) bool
	missing string
}

func hostsIn(m migration) moving {
	return moving{
		asked: m.Hostnames, name: func(host string) string { return host }, missing: "the hostname %q is not used by this deployment",
		defines: func(def *lease.Definition, host string) bool { return slices.Contains(hostsOf(def), host) },
	}
}

func endpointsIn(m migration) moving {
	return moving{
		asked: m.Endpoints, missing: "the endpoint %q does not exist in the destination deployment",
		name:    func(endpoint string) string { return thing.Thing{Kind: thing.Endpoint, Endpoint: endpoint}.String() },
		defines: func(def *lease.Definition, endpoint string) bool { return def.Endpoint(endpoint) != nil },
	}
}

// migrate moves to a lease what the request names, and nothing else: all of it, or nothing.
func (s *Shown) migrate(of func(migration) moving) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		world, err := s.World()
		if err != nil {
			fail(w, err)
			return
		}
		var m migration
		body := json.NewDecoder(r.Body)
		err = body.Decode(&m)
		if _, rest := body.Token(); err == nil && !errors.Is(rest, io.EOF) {
			err = cmp.Or(rest, errAfter)
		}
		if err != nil {
			status := http.StatusUnprocessableEntity
			if _, long := errors.AsType[*http.MaxBytesError](err); long {
				status = http.StatusRequestEntityTooLarge
			}
			refuse(w, status, "")
			return
		}
		if n := len(r.Header.Values(Owner)); n > 1 {
			refuse(w, http.StatusBadRequest, "the header %s is there %d times", Owner, n)
			return
		}
		group := lease.Group{Owner: r.Header.Get(Owner), DSeq: m.DSeq, GSeq: m.GSeq}
		if err := lease.CheckAddress(group.Owner); err != nil {
			refuse(w, http.StatusBadRequest, "the header %s does not name the owner: %v", Owner, err)
			return
		}
		move := of(m)
		if len(move.asked) == 0 {
			refuse(w, http.StatusBadRequest, "")
			return
		}
		def, err := world.Definition(r.Context(), group)
		switch {
		case err != nil:
			refuse(w, http.StatusInternalServerError, "")
			return
		case def == nil || def.Empty():
			refuse(w, http.StatusBadRequest, "destination deployment does not exist")
			return
		}
		for _, asked := range move.asked {
			if !move.defines(def, asked) {
				refuse(w, http.StatusBadRequest, move.missing, lease.Clip(asked))
				return
			}
		}
		move.run(r.Context(), w, world, def.Lease)
	}
}

// run moves the things, and answers.
func (m moving) run(ctx context.Context, w http.ResponseWriter, world *World, to lease.ID) {
	ctx, cancel := context.WithTimeout(ctx, migrating)
	defer cancel()
	var names []string
	by := map[string]string{}
	for _, asked := range m.asked {
		if name := m.name(asked); by[name] == "" {
			by[name], names = asked, append(names, name)
		}
	}
	unheld, err := world.Transfer(ctx, to, names)
	if held, ok := errors.AsType[*report.HeldError](err); ok {
		var text []string
		for _, h := range held.Held {
			text = append(text, "hostname not allowed: host \""+h.Thing+"\" in use")
		}
		refuse(w, http.StatusBadRequest, "%s", strings.Join(text, "\n"))
		return
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, "failed transferring %q: %v", strings.Join(m.asked, ", "), err)
		return
	}
	moved := []string{}
	for _, name := range names {
		if !slices.Contains(unheld, name) {
			moved = append(moved, by[name])
		}
	}
	write(w, map[string][]string{"transferred": moved})
}
