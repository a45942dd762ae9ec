package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// since is when a field was written: for what the plan itself writes, that is when it is made.
var since = regexp.MustCompile(`"since": "[^"]*"`)

// A plan is a function of what is wanted and what was seen: leases that want the same, of few addresses, get it in the order of
// the input, however many are worked on at a time.
func TestPlanIsAFunction(t *testing.T) {
	owners := []string{someOwner, somebodyElses, "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}
	hosts := []string{"a.example.com", "b.example.com", "*.example.com", "example.org"}
	rapid.Check(t, func(t *rapid.T) {
		var defs []*lease.Definition
		for i := range rapid.IntRange(2, 8).Draw(t, "leases") {
			id := someLease(rapid.SampledFrom(owners).Draw(t, "owner"), uint64(i+1))
			def := withHosts(id, rapid.SliceOfNDistinct(rapid.SampledFrom(hosts), 0, 2, rapid.ID[string]).Draw(t, "hosts")...)
			for _, endpoint := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"public", "other"}), 0, 2, rapid.ID[string]).Draw(t, "endpoints") {
				game := anyAddress(id)
				game.Services[0].Name, game.Services[0].Expose[0].IP, game.IPEndpoints[0].Name = "game-"+endpoint, endpoint, endpoint
				if endpoint == "other" && rapid.IntRange(0, 4).Draw(t, "named") == 0 {
					game.IPEndpoints[0].Addresses = []netip.Addr{netip.MustParseAddr("203.0.113.2")}
				}
				game.Services[0].Expose[0].Port = rapid.SampledFrom([]uint16{443, 444}).Draw(t, "port")
				def.Services, def.IPEndpoints = append(def.Services, game.Services...), append(def.IPEndpoints, game.IPEndpoints...)
			}
			def.Services[0].Expose[0].Path = rapid.SampledFrom([]string{"", "/v2"}).Draw(t, "path")
			if len(def.Services[0].Expose[0].Hosts) == 0 {
				def.Services = def.Services[1:]
			}
			defs = append(defs, def)
		}
		holders := []lease.ID{someLease(rapid.SampledFrom(owners).Draw(t, "holder"), 99)}
		for _, def := range defs {
			holders = append(holders, def.Lease)
		}
		seen := map[string]*unstructured.Unstructured{}
		for range rapid.IntRange(0, 5).Draw(t, "claims") {
			holder := rapid.SampledFrom(holders).Draw(t, "holder")
			held := state.HostWant{Host: rapid.SampledFrom(append(hosts, "old.example.org")).Draw(t, "host"), Service: "web", Port: 80}.Hold(holder)
			if rapid.Bool().Draw(t, "address") {
				endpoint := rapid.SampledFrom([]string{"public", "other", "old"}).Draw(t, "endpoint")
				want := state.EndpointWant{Name: endpoint, SharingKey: lease.SharingKey(holder.Owner, endpoint), Ports: []state.PortWant{{Protocol: lease.TCP, ExternalPort: 443, Service: "game-" + endpoint, Port: 443}}}
				held = want.Hold(holder, netip.MustParseAddr(fmt.Sprintf("203.0.113.%d", rapid.IntRange(0, 3).Draw(t, "at"))))
			}
			claim := render.Rendered(render.Object{Config: held.Claim().Configuration("akash-net", held.Parts)})
			seen[claim.GetName()] = claim
		}

		cfg := config.Default()
		cfg.Hosts.Wildcards = true
		r, err := config.ParseRange("203.0.113.0/30")
		if err != nil {
			t.Fatal(err)
		}
		cfg.IP.Ranges.Include = []config.Range{r}
		planned := func(concurrency int) string {
			var objects []*unstructured.Unstructured
			for _, name := range slices.Sorted(maps.Keys(seen)) {
				objects = append(objects, seen[name].DeepCopy())
			}
			c, err := ofFiles(objects...)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Plan(t.Context(), c, command.Options{Config: cfg, Prune: true, Concurrency: concurrency}, defs)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.MarshalIndent(p, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			return since.ReplaceAllString(string(text), "")
		}
		want := planned(1)
		for _, concurrency := range []int{2, 16, 16} {
			if diff := cmp.Diff(want, planned(concurrency)); diff != "" {
				t.Fatal(fmt.Sprintf("%d at a time:\n", concurrency), diff)
			}
		}
	})
}
