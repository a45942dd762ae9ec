package diagnose

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// A pool of this program gives way to another's, an unconfigured one to a configured one. Pools of others stay.
func TestPoolOverlapGivesWay(t *testing.T) {
	pool := func(name string, ours bool, addresses ...any) state.PoolObject {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"addresses": addresses}}}
		o.SetName(name)
		if ours {
			o.SetLabels(map[string]string{lease.LabelOurs: "true"})
		}
		return state.PoolObjectOf(o)
	}
	const configured, dedicated = "akash-net-203-0-113-0-28", "akash-ip-203-0-113-7"
	for name, tt := range map[string]struct {
		mode  string
		pools [2]state.PoolObject
		// gives is the pool that gives way, or empty. plan is how the plan starts.
		gives, plan string
		exclude     bool
	}{
		"the configured range, and another's":      {config.ModeRange, [2]state.PoolObject{pool("zz", false, "203.0.113.4/30"), pool(configured, true, "203.0.113.0/28")}, configured, "take 203.0.113.4/30 out", true},
		"the configured range, within another's":   {config.ModeRange, [2]state.PoolObject{pool("admin", false, "203.0.113.0/24"), pool(configured, true, "203.0.113.0/28")}, configured, "delete pool", true},
		"a range of the past, and another's":       {config.ModeRange, [2]state.PoolObject{pool("admin", false, "198.51.100.0/30"), pool("akash-net-198-51-100-0-28", true, "198.51.100.0/28")}, "akash-net-198-51-100-0-28", "take 198.51.100.0/30 out", false},
		"an address of the past, in the range":     {config.ModeRange, [2]state.PoolObject{pool(dedicated, true, "203.0.113.7/32"), pool(configured, true, "203.0.113.0/28")}, dedicated, "delete pool", false},
		"a range of the past, over an address":     {config.ModeDedicated, [2]state.PoolObject{pool(dedicated, true, "203.0.113.7/32"), pool(configured, true, "203.0.113.0/28")}, configured, "take 203.0.113.7/32 out", false},
		"an address, in another's":                 {config.ModeDedicated, [2]state.PoolObject{pool("admin", false, "203.0.113.0/24"), pool(dedicated, true, "203.0.113.7/32")}, dedicated, "delete pool", true},
		"a range of the past, where MetalLB picks": {config.ModePool, [2]state.PoolObject{pool("admin", false, "203.0.113.0/24"), pool(configured, true, "203.0.113.0/28")}, configured, "delete pool", false},
		"two of others":                            {config.ModeRange, [2]state.PoolObject{pool("a", false, "203.0.113.0/24"), pool(configured, false, "203.0.113.0/28")}, "", "it is not repair's", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, pools := range [][]state.PoolObject{tt.pools[:], {tt.pools[1], tt.pools[0]}} {
				found := Problems(ProblemFacts{
					View: &View{Config: statetest.Config(t, tt.mode, "203.0.113.0/28"), Book: &view.Book{}}, Contents: view.Contents{Pools: pools},
				})
				if len(found) != 1 || found[0].Problem != state.PoolOverlap {
					t.Fatalf("found %+v", found)
				}
				gives := ""
				narrow, ok := found[0].Mend.(state.NarrowPool)
				if ok {
					gives = narrow.Pool.Name
				}
				if gives != tt.gives || found[0].Manual != (tt.gives == "") || !strings.HasPrefix(found[0].Plan, tt.plan) || narrow.Exclude != tt.exclude {
					t.Errorf("%s gives way (exclude: %t): %s", gives, narrow.Exclude, found[0].Plan)
				}
			}
		})
	}
}

// Competing routes that are not the holder's are deleted. The plan names other hosts that they serve.
func TestRivalRoutes(t *testing.T) {
	const host = "shop.example.com"
	stranger := lease.ID{}
	route := func(name string, id lease.ID, minutes int) state.Use {
		return state.Use{Kind: "ingress", Namespace: "n", Name: name, Host: host, Path: "/", Lease: id, HasLease: id != stranger, Since: statetest.Minute(minutes), UID: types.UID(name)}
	}
	claim := claimtest.HostClaim(host, statetest.Shop, "")
	for name, tt := range map[string]struct {
		claims []*state.Claim
		routes []state.Use
		// ours are the routes that this program wrote.
		ours []string
		want []string
	}{
		"the holder's and a stranger's":          {[]*state.Claim{claim}, []state.Use{route("a", stranger, 1), route("b", statetest.Shop, 2)}, []string{"b"}, []string{"a"}},
		"two strangers' beside a claim":          {[]*state.Claim{claim}, []state.Use{route("a", stranger, 1), route("b", statetest.Blog, 2)}, nil, []string{"a", "b"}},
		"the holder's, of which one is not ours": {[]*state.Claim{claim}, []state.Use{route("a", statetest.Shop, 1), route("b", statetest.Shop, 2)}, []string{"b"}, []string{"a"}},
		"the holder's, none ours":                {[]*state.Claim{claim}, []state.Use{route("a", statetest.Shop, 2), route("b", statetest.Shop, 1)}, nil, []string{"a"}},
		"the holder's, both ours":                {[]*state.Claim{claim}, []state.Use{route("a", statetest.Shop, 1), route("b", statetest.Shop, 2)}, []string{"a", "b"}, nil},
		"nobody holds it":                        {nil, []state.Use{route("a", statetest.Blog, 2), route("b", statetest.Shop, 1)}, nil, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			facts := ProblemFacts{
				View: &View{
					Config: config.Default(), Claims: tt.claims, Book: &view.Book{}, Now: statetest.Minute(9),
					Uses: map[string][]state.Use{host: tt.routes, "too.example.com": {{Kind: "ingress", UID: "a", Path: "/"}}},
				},
				Namespaces: map[string]bool{statetest.Shop.Namespace(): true},
			}
			for _, name := range tt.ours {
				facts.Objects = append(facts.Objects, state.OwnObject{ObjectRef: state.ObjectRef{Kind: "ingress", UID: name}, Ownership: state.Ownership{Ours: true}})
			}
			found := Problems(facts)
			if len(found) != 1 || found[0].Problem != state.TwoRoutes {
				t.Fatalf("found %+v", found)
			}
			p := found[0]
			var got []string
			reject, _ := p.Mend.(state.RejectObjects)
			for _, ref := range reject.Reject {
				got = append(got, ref.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if byDefinition := tt.want == nil; isDefinition(p.Mend) != byDefinition || p.Named == byDefinition {
				t.Errorf("it is mended by %q", p.Command)
			}
			if goes := len(tt.want) > 0 && tt.want[0] == "a"; strings.Contains(p.Plan, "(which serves too.example.com too)") != goes {
				t.Errorf("the plan is %s", p.Plan)
			}
		})
	}
	facts := ProblemFacts{View: &View{
		Config: config.Default(), Book: &view.Book{}, Uses: map[string][]state.Use{host: {route("a", stranger, 1), route("b", stranger, 2)}},
	}}
	if found := Problems(facts); len(found) > 0 {
		t.Errorf("routes that concern no lease are problems: %+v", found)
	}
}

// A command can be pasted into a shell, which would expand the asterisk of a wildcard to names of files.
func TestCommandQuotesWildcard(t *testing.T) {
	const wildcard = "*.example.com"
	hold := state.HostWant{Host: wildcard, Service: "web", Port: 80}.Hold(statetest.Shop)
	hold.Parts[0].Bound = true
	claim := &state.Claim{Kind: state.Wildcard, Thing: wildcard, Owner: statetest.Alice, Parts: hold.Parts}
	for name, tt := range map[string]struct {
		by   lease.ID
		want string
	}{
		"two owners want it": {statetest.Blog, "kubectl akash-net release " + statetest.Shop.Group().String() + " '*.example.com'"},
		"one owner wants it": {sibling, "kubectl akash-net transfer '*.example.com' --to " + sibling.String()},
	} {
		t.Run(name, func(t *testing.T) {
			use := state.Use{Kind: "ingress", Namespace: tt.by.Namespace(), Name: "any", Host: wildcard, Path: "/", Lease: tt.by, HasLease: true}
			found := Problems(ProblemFacts{
				View: &View{Config: config.Default(), Claims: []*state.Claim{claim}, Book: &view.Book{}},
				Objects: []state.OwnObject{{
					ObjectRef: state.ObjectRef{Kind: "ingress", Namespace: use.Namespace, Name: use.Name},
					Ownership: state.Ownership{Lease: tt.by, HasLease: true, Shared: true}, Uses: []state.Use{use},
				}},
				Namespaces: map[string]bool{statetest.Shop.Namespace(): true}, CrashedAfter: time.Hour,
			})
			if len(found) != 1 || found[0].Problem != state.StrayRoute || found[0].Command != tt.want {
				t.Errorf("found %+v, want a StrayRoute with %s", found, tt.want)
			}
		})
	}
}
