package lease_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/render"
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
		if routes.Workloads != nil || routes.Hash != lease.Sum(routes) || routes.Hash != def.Hash || lease.SumWhole(def) == def.Hash {
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

// A route may lead to a service that nothing else reaches from outside, and a host counts where its port is not global. With what the lease runs it can be rendered, and
// kept and read again, as without.
func TestRoutesToServicesInside(t *testing.T) {
	const workload = "workload: {image: a, resources: {cpu: 1, memory: 1Gi}}"
	text := `{apiVersion: net.akash.network/v1alpha1, kind: LeaseDefinition, metadata: {name: shop}, spec: {
lease: {owner: akash1xqnd68gm, dseq: 1, gseq: 1, oseq: 1, provider: akash1yqd7y67h}, services: [
{name: canary, expose: [{port: 8080, as: 80, service: web}], ` + workload + `},
{name: db, expose: [{port: 5432, service: web}], ` + workload + `},
{name: worker, ` + workload + `},
{name: admin, expose: [{port: 9000, hosts: [b.example.com]}, {port: 9001}], ` + workload + `},
{name: web, target: route, expose: [{port: 8080, as: 80, global: true, hosts: [a.example.com], alternateBackends: [{service: canary, weight: 10}]}], ` + workload + `}]}}`
	for _, workloads := range []bool{true, false} {
		var def *lease.Definition
		problems, err := input.Read(t.Context(), strings.NewReader(text), "", input.Options{Workloads: workloads}, func(d *lease.Definition) error {
			def = d.Routes()
			return nil
		})
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		names := ""
		for _, s := range def.Services {
			names += fmt.Sprint(s.Name, len(s.Expose), " ")
		}
		if workloads && names != "admin1 canary1 web1 " {
			t.Errorf("the routes are of %s", names)
		}
		if objects, err := render.Lease(def, config.Default(), nil); err != nil || len(objects) != 2 {
			t.Errorf("with workloads %t: %d objects are rendered: %v", workloads, len(objects), err)
		}
		definition, err := kept.New(def, "run")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := definition.Decode(); err != nil || again.Hash != def.Hash {
			t.Errorf("with workloads %t: it cannot be read again: %v", workloads, err)
		}
	}
}
