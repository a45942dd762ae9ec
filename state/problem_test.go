package state

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Of two pools ours gives way, of two of ours the one that is not configured; what is not ours is left.
func TestPoolOverlapGivesWay(t *testing.T) {
	pool := func(name string, ours bool, addresses ...any) PoolObject {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"addresses": addresses}}}
		o.SetName(name)
		if ours {
			o.SetLabels(map[string]string{lease.LabelOurs: "true"})
		}
		return PoolObjectOf(o)
	}
	const configured, dedicated = "akash-net-203-0-113-0-28", "akash-ip-203-0-113-7"
	for name, tt := range map[string]struct {
		mode  string
		pools [2]PoolObject
		// gives is the pool that gives way, empty for none; plan is what it begins with.
		gives, plan string
		exclude     bool
	}{
		"the configured range, and another's":      {config.ModeRange, [2]PoolObject{pool("zz", false, "203.0.113.4/30"), pool(configured, true, "203.0.113.0/28")}, configured, "take 203.0.113.4/30 out", true},
		"the configured range, within another's":   {config.ModeRange, [2]PoolObject{pool("admin", false, "203.0.113.0/24"), pool(configured, true, "203.0.113.0/28")}, configured, "delete pool", true},
		"a range of the past, and another's":       {config.ModeRange, [2]PoolObject{pool("admin", false, "198.51.100.0/30"), pool("akash-net-198-51-100-0-28", true, "198.51.100.0/28")}, "akash-net-198-51-100-0-28", "take 198.51.100.0/30 out", false},
		"an address of the past, in the range":     {config.ModeRange, [2]PoolObject{pool(dedicated, true, "203.0.113.7/32"), pool(configured, true, "203.0.113.0/28")}, dedicated, "delete pool", false},
		"a range of the past, over an address":     {config.ModeDedicated, [2]PoolObject{pool(dedicated, true, "203.0.113.7/32"), pool(configured, true, "203.0.113.0/28")}, configured, "take 203.0.113.7/32 out", false},
		"an address, in another's":                 {config.ModeDedicated, [2]PoolObject{pool("admin", false, "203.0.113.0/24"), pool(dedicated, true, "203.0.113.7/32")}, dedicated, "delete pool", true},
		"a range of the past, where MetalLB picks": {config.ModePool, [2]PoolObject{pool("admin", false, "203.0.113.0/24"), pool(configured, true, "203.0.113.0/28")}, configured, "delete pool", false},
		"two of others":                            {config.ModeRange, [2]PoolObject{pool("a", false, "203.0.113.0/24"), pool(configured, false, "203.0.113.0/28")}, "", "it is not repair's", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, pools := range [][]PoolObject{tt.pools[:], {tt.pools[1], tt.pools[0]}} {
				found := Problems(ProblemFacts{
					View: &View{Config: bookConfig(t, tt.mode, "203.0.113.0/28"), Book: &Book{}}, Contents: Contents{Pools: pools},
				})
				if len(found) != 1 || found[0].Problem != PoolOverlap {
					t.Fatalf("found %+v", found)
				}
				gives := ""
				if p := found[0]; p.Mend.Narrow != nil {
					gives = p.Mend.Narrow.Name
				}
				if gives != tt.gives || found[0].Manual != (tt.gives == "") || !strings.HasPrefix(found[0].Plan, tt.plan) || found[0].Mend.Exclude != tt.exclude {
					t.Errorf("%s gives way (exclude: %t): %s", gives, found[0].Mend.Exclude, found[0].Plan)
				}
			}
		})
	}
}

// Of rival routes those go which are not the holder's; what else they serve is said.
func TestRivalRoutes(t *testing.T) {
	const host = "shop.example.com"
	stranger := lease.ID{}
	route := func(name string, id lease.ID, minutes int) Use {
		return Use{Kind: "ingress", Namespace: "n", Name: name, Host: host, Path: "/", Lease: id, HasLease: id != stranger, Since: bookMinute(minutes), UID: types.UID(name)}
	}
	claim := bookHostClaim(host, bookShop, "")
	for name, tt := range map[string]struct {
		claims []*Claim
		routes []Use
		// ours are the routes that this program wrote.
		ours []string
		want []string
	}{
		"the holder's and a stranger's":          {[]*Claim{claim}, []Use{route("a", stranger, 1), route("b", bookShop, 2)}, []string{"b"}, []string{"a"}},
		"two strangers' beside a claim":          {[]*Claim{claim}, []Use{route("a", stranger, 1), route("b", bookBlog, 2)}, nil, []string{"a", "b"}},
		"the holder's, of which one is not ours": {[]*Claim{claim}, []Use{route("a", bookShop, 1), route("b", bookShop, 2)}, []string{"b"}, []string{"a"}},
		"the holder's, none ours":                {[]*Claim{claim}, []Use{route("a", bookShop, 2), route("b", bookShop, 1)}, nil, []string{"a"}},
		"the holder's, both ours":                {[]*Claim{claim}, []Use{route("a", bookShop, 1), route("b", bookShop, 2)}, []string{"a", "b"}, nil},
		"nobody holds it":                        {nil, []Use{route("a", bookBlog, 2), route("b", bookShop, 1)}, nil, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			facts := ProblemFacts{
				View: &View{
					Config: config.Default(), Claims: tt.claims, Book: &Book{}, Now: bookMinute(9),
					Uses: map[string][]Use{host: tt.routes, "too.example.com": {{Kind: "ingress", UID: "a", Path: "/"}}},
				},
				Namespaces: map[string]bool{bookShop.Namespace(): true},
			}
			for _, name := range tt.ours {
				facts.Objects = append(facts.Objects, OwnObject{ObjectRef: ObjectRef{Kind: "ingress", UID: name}, Ownership: Ownership{Ours: true}})
			}
			found := Problems(facts)
			if len(found) != 1 || found[0].Problem != TwoRoutes {
				t.Fatalf("found %+v", found)
			}
			p := found[0]
			var got []string
			for _, ref := range p.Mend.Reject {
				got = append(got, ref.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if byDefinition := tt.want == nil; p.Mend.Definition != byDefinition || p.Named == byDefinition {
				t.Errorf("it is mended by %q", p.Command)
			}
			if goes := len(tt.want) > 0 && tt.want[0] == "a"; strings.Contains(p.Plan, "(which serves too.example.com too)") != goes {
				t.Errorf("the plan is %s", p.Plan)
			}
		})
	}
	facts := ProblemFacts{View: &View{
		Config: config.Default(), Book: &Book{}, Uses: map[string][]Use{host: {route("a", stranger, 1), route("b", stranger, 2)}},
	}}
	if found := Problems(facts); len(found) > 0 {
		t.Errorf("routes that concern no lease are problems: %+v", found)
	}
}
