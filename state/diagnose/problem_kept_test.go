package diagnose

import (
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// keeps adds a kept definition of a lease: hosts and paths of one service, and port 443 of the endpoint "public". The
// lease's objects were rendered from it; the run with the marks wrote it in minute 2.
func (f *facts) keeps(id lease.ID, hosts ...string) *KeptDefinition {
	def := &lease.Definition{Lease: id, Hash: "d", Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{Port: 8443, As: 443, Protocol: lease.TCP, Global: true, IP: "public"}}}}}
	for _, host := range hosts {
		h, path := splitPath(host)
		def.Services[0].Expose = append(def.Services[0].Expose, lease.Expose{Port: 80, Protocol: lease.TCP, Global: true, Path: path, Hosts: []lease.Host{{Name: h}}})
	}
	f.Definitions = append(f.Definitions, KeptDefinition{ObjectRef: state.ObjectRef{Kind: "lease", Name: "df--" + id.Group().String(), UID: "df"}, Def: def, Run: "n0nce", Written: statetest.Minute(2)})
	return &f.Definitions[len(f.Definitions)-1]
}

func splitPath(host string) (string, string) {
	for i, r := range host {
		if r == '/' {
			return host[:i], host[i:]
		}
	}
	return host, ""
}

func atPath(path string) func(*state.Part) {
	return func(p *state.Part) { p.Key, p.Path, p.Applied = state.RouteKey(path), path, true }
}

// A problem that a definition fixes needs no file if the ledger keeps the definition.
var keptProblems = []aProblem{
	{state.MissingRoute, "the route of a path was deleted", func(f *facts) {
		f.holds(statetest.Shop, atHost, atPath("/v1"))
		f.routes("ingress", statetest.Shop, "other.example.com")
		f.holds(statetest.Shop, "other.example.com")
		f.keeps(statetest.Shop, atHost+"/v1", "other.example.com")
	}, besides{
		"no definition is kept":              func(f *facts) { f.Definitions = nil },
		"the definition has no such path":    func(f *facts) { f.Definitions[0].Def.Services[0].Expose[1].Path = "/v2" },
		"the objects are of another":         func(f *facts) { f.Objects[0].Definition = "e" },
		"nothing of the lease is there":      func(f *facts) { f.Objects, f.Uses = nil, map[string][]state.Use{} },
		"the definition was kept of late":    func(f *facts) { f.Definitions[0].Written = statetest.Minute(9) },
		"it is the root, which Akash knows":  func(f *facts) { atPath("/")(&f.Claims[0].Parts[0]) },
		"it was only reserved":               func(f *facts) { f.Claims[0].Parts[0].Applied = false },
		"its route is there":                 func(f *facts) { f.routes("ingress", statetest.Shop, atHost, func(u *state.Use) { u.Path = "/v1" }) },
		"the definition is of another order": func(f *facts) { f.Definitions[0].Def.Lease.OSeq++ },
	}},
	{state.NotServed, "a ProviderHost stands alone, and the definition is kept", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
		f.keeps(statetest.Shop, atHost)
	}, besides{"a route serves it": func(f *facts) { f.routes("ingress", statetest.Shop, atHost) }}},
	{state.MixedDefinitions, "the objects are of two definitions, of which one is kept", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes("ingress", statetest.Shop, atHost)
		f.object("service", statetest.Shop, "x").Definition = "e"
		f.keeps(statetest.Shop, atHost)
	}, besides{"they are of one": func(f *facts) { f.Objects[1].Definition = "d" }}},
	{state.NothingLeft, "all of a lease was deleted, and its definition is kept", func(f *facts) {
		f.holds(statetest.Shop, atHost, wasApplied)
		f.keeps(statetest.Shop, atHost)
	}, besides{"a route serves it": func(f *facts) { f.routes("ingress", statetest.Shop, atHost) }}},
	{state.NothingLeft, "a run died before it gave up what its definition does not name", func(f *facts) {
		f.holds(statetest.Shop, atHost, wasApplied)
		f.holds(statetest.Shop, "other.example.com", wasApplied)
		f.routes("ingress", statetest.Shop, "other.example.com")
		f.keeps(statetest.Shop, "other.example.com")
	}, besides{"a route serves it": func(f *facts) { f.routes("ingress", statetest.Shop, atHost) }}},
	{state.CrashedRun, "a run died after it had kept its definition", func(f *facts) {
		f.holds(statetest.Shop, atHost, marked)
		f.keeps(statetest.Shop, atHost)
	}, besides{"it is under way": func(f *facts) { f.Runs = []*state.Announcement{announced("n0nce", 10)} }}},
	{state.CrashedRun, "a run died before it had kept its definition", func(f *facts) {
		f.holds(statetest.Shop, atHost, marked)
		f.keeps(statetest.Shop, "other.example.com").Run = "another"
	}, besides{"it has ended": func(f *facts) { f.Claims[0].Parts[0].Run = "" }}},
	{state.StrayDefinition, "the definition of a lease that has nothing, and whose namespace is gone", func(f *facts) {
		f.keeps(statetest.Shop, atHost)
		delete(f.Namespaces, statetest.Shop.Namespace())
	}, besides{
		"the lease goes on": func(f *facts) { f.Namespaces[statetest.Shop.Namespace()] = true },
		"it holds a claim":  func(f *facts) { f.holds(statetest.Shop, atHost) },
		"it waits for one": func(f *facts) {
			c := f.holds(sibling, atHost)
			c.Waits = []state.Part{{Key: "w", For: state.RouteKey("/"), Lease: statetest.Shop}}
		},
		"it has an object":  func(f *facts) { f.object("ingress", statetest.Shop, "x") },
		"it was kept now":   func(f *facts) { f.Definitions[0].Written = statetest.Minute(9) },
		"it cannot be read": func(f *facts) { f.Definitions[0].Def = nil },
	}},
	{state.UnreadableDefinition, "a kept definition cannot be understood", func(f *facts) {
		k := f.keeps(statetest.Shop, atHost)
		k.Def, k.Unreadable = nil, "leases/df--x: it is not a LeaseDefinition"
	}, besides{"it can": func(f *facts) { f.Definitions[0].Def = &lease.Definition{Lease: statetest.Shop} }}},
}

// A kept definition is used only if it is certainly what was applied last.
func TestKeptDefinitionThatIsNotUsed(t *testing.T) {
	tests := map[string]func(f *facts){
		"the objects are of another":    func(f *facts) { f.Definitions[0].Def.Hash = "e" },
		"it was kept a moment ago":      func(f *facts) { f.Definitions[0].Written = statetest.Minute(9) },
		"an object was written of late": func(f *facts) { f.Objects[0].Written = statetest.Minute(9) },
		"it cannot be read":             func(f *facts) { f.Definitions[0].Def = nil },
		"it is of another lease":        func(f *facts) { f.Definitions[0].Def.Lease = sibling },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFacts(t)
			f.holds(statetest.Shop, atHost)
			f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
			f.keeps(statetest.Shop, atHost)
			change(f)
			found := f.find()
			i := slices.IndexFunc(found, func(p state.Problem) bool { return p.Problem == state.NotServed })
			if i < 0 || !found[i].Manual || found[i].Mend.(state.ApplyDefinition).Kept || found[i].Command != "kubectl akash-net repair -f FILE" {
				t.Errorf("found %+v", found)
			}
		})
	}
}
