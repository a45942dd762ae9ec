package lease_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/workgen"
)

// What a definition exposes does not say what it runs, can be kept and read again, and is the same whatever runs.
func TestRoutes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		def, _ := workgen.Definition(r)
		if problems := lease.Check(def); problems.Failed() { // as the readers do
			r.Fatal(problems)
		}
		def.Hash = lease.Sum(def)
		routes := def.Routes()
		if routes.Workloads != nil || routes.Hash != lease.Sum(routes) || routes.Hash == def.Hash {
			r.Fatalf("workloads %v, hash %s of %s", routes.Workloads, routes.Hash, def.Hash)
		}
		for _, s := range routes.Services {
			if len(s.Expose) == 0 {
				r.Fatalf("service %s exposes nothing", s.Name)
			}
			for _, e := range s.Expose {
				if e.Peer != "" || e.Sequence != 0 || e.SaysAs || !e.Global && len(e.Hosts) == 0 && e.IP == "" {
					r.Fatalf("service %s has %+v", s.Name, e)
				}
			}
		}
		if again := routes.Routes(); again != routes {
			r.Fatal("a definition without workloads is another one")
		}
		definition, err := kept.New(routes, "run")
		if err != nil {
			r.Fatal(err)
		}
		if read, err := definition.Decode(); err != nil || read.Hash != routes.Hash {
			r.Fatalf("it cannot be read again: %v", err)
		}
		hash := def.Hash
		for i := range def.Workloads.Services {
			def.Workloads.Services[i].Image = "another:1"
		}
		if other := def.Routes(); other.Hash != routes.Hash || def.Hash != hash {
			r.Fatal("another image makes other routes")
		}
	})
}
