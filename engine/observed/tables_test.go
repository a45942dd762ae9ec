package observed_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

const shop, address = "shop.example.com", "203.0.113.1"

// What objects and claims have to do with each other: testdata/tables.txt, in the words of observedtest. OBJECT and CLAIM may be several.
//
//	grounds OBJECT | CLAIM            the claims on which an object rests: as long as one of them is the lease's, it may not be deleted
//	standing CLAIM | CLAIM            of a route, where these are the claims on its host and on the wildcard above
//	stands OBJECT | CLAIM | KEY       whether an object serves a part that is handed on or given up
//	served OBJECT | CLAIM | KEY       whether a part is served by it, though another than the holder has it, and declared
//	near OBJECT | CLAIM               the claims to which it may belong: a release looks at these alone
//	serves CLAIM | LEASE | OBJECT     whether something of the lease serves the claim: only where nothing does it is given back
//	serving OBJECT | CLAIM            the objects of this program's that serve the first claim, and whether Akash's provider keeps them
//	live LEASE | OBJECT | CLAIM       the leases of the group that are live, and those that are for the claim, where the namespace of blog does not exist
//	stays OBJECT | OBJECT             whether it stays beside the others when its lease gives it up, as it is Akash's
//	strays OBJECT | CLAIM             whether it serves what the claim's first lease is to have
//	tenant OBJECT | OBJECT            whether the tenant of an object is the same as before
//	another, former OBJECT            whether it names another service than game, or is a former Service of its port
//	operators OBJECT                  which of Akash's operators make it, and remove it at a transfer
//	lacks MANIFEST                    what the hostname operator lacks for port 80 of web: "none", or SERVICE COUNT PORT EXTERNAL GLOBAL
//	taken CONDITION=STATUS...         whether a controller has taken a Gateway, before which nobody judges a route; "none" is no Gateway
func TestTables(t *testing.T) {
	parts := func(line string) []string {
		all := append(strings.Split(line, "|"), "", "")
		for i := range all {
			all[i] = strings.TrimSpace(all[i])
		}
		return all
	}
	object := func(text string) *unstructured.Unstructured {
		return append(ot.WordObjects(t, text), nil)[0]
	}
	claim := func(text string) *state.Claim {
		return append(ot.WordClaims(t, text), nil)[0]
	}
	part := func(c *state.Claim, text string) state.Part {
		key := claimtest.WordKey(text)
		if c != nil && c.Part(key) != nil {
			return *c.Part(key)
		}
		return state.Part{Key: key, Path: text}
	}
	about := func(rule func(p []string) any) func(string) string {
		return func(line string) string {
			said := strings.NewReplacer(ot.Shop.Owner, "OWNER", ot.Blog.Owner, "OTHER").Replace(fmt.Sprint(rule(parts(line))))
			for path, short := range map[string]string{"/": "/", "/v1": "/v1"} {
				said = strings.ReplaceAll(said, state.RouteKey(path), short)
			}
			return said
		}
	}
	game := rendered(leasedIP(ot.Next, "game"))
	golden.Rules{
		"grounds": about(func(p []string) any {
			var out strings.Builder
			for _, g := range observed.GroundsOf(ot.Owned(object(p[0])), ot.WordClaims(t, p[1])) {
				if g.Served.Group != ot.Shop.Group() {
					t.Errorf("%s: its group is %s", p[0], g.Served.Group)
				}
				fmt.Fprintf(&out, "%s key=%s endpoint=%s redirect=%t wildcard=%s\n", g.Name, g.Served.Key, g.Served.SharingKey, g.Served.Redirect, g.Wildcard())
			}
			return out.String()
		}),
		"standing": about(func(p []string) any {
			g := observed.GroundsOf(ot.Owned(ot.Ingress(ot.Shop, shop, "/")), nil)[0].Over(claim(p[1]))
			g.Claim = claim(p[0])
			return map[state.Standing]string{state.Unclaimed: "unclaimed", state.Entitled: "entitled", state.Stray: "stray"}[g.Standing()]
		}),
		"stands": about(func(p []string) any {
			return ot.Owned(object(p[0])).StandsFor(claim(p[1]), part(claim(p[1]), p[2]))
		}),
		"served": about(func(p []string) any {
			o, c := object(p[0]), claim(p[1])
			by, declared := ot.Snapshot([]*state.Claim{c}, o).ServedBy(c, part(c, p[2]))
			return fmt.Sprintf("%t, declared %t", slices.ContainsFunc(by, func(owned observed.Object) bool { return owned.Live == o }), declared)
		}),
		"near": about(func(p []string) any {
			o := object(p[0])
			names := ot.Snapshot(ot.WordClaims(t, p[1]), o).Near(ot.Owned(o))
			slices.Sort(names)
			return strings.Join(names, " ")
		}),
		"serves": about(func(p []string) any {
			c := claim(p[0])
			return ot.Snapshot([]*state.Claim{c}, ot.WordObjects(t, p[2])...).Serves(c, ot.WordLease(t, p[1]).Group())
		}),
		"serving": about(func(p []string) any {
			claims := ot.WordClaims(t, p[1])
			var texts []string
			for _, o := range ot.Snapshot(claims, ot.WordObjects(t, p[0])...).Serving(claims[0].Name()) {
				texts = append(texts, fmt.Sprintf("%s stays=%t", o.Kind.Singular, o.Stays))
			}
			return strings.Join(texts, ", ")
		}),
		"live": about(func(p []string) any {
			s, group := ot.Snapshot(nil, ot.WordObjects(t, p[1])...), ot.WordLease(t, p[0]).Group()
			for _, id := range []lease.ID{ot.Shop, ot.Next} {
				s.PutNamespace(id.Namespace(), &observed.Namespace{Alive: true})
			}
			return fmt.Sprintf("%d, %d for the claim", len(s.LiveOf(group)), len(s.LiveFor(claim(p[2]), group)))
		}),
		"stays": about(func(p []string) any {
			o := object(p[0])
			return ot.Snapshot(nil, append(ot.WordObjects(t, p[1]), o)...).Stays(ot.Owned(o).Kind, o)
		}),
		"strays": about(func(p []string) any {
			return observed.Strays(ot.Owned(object(p[0])), claim(p[1]).PartsOf(ot.Next.Group()), claim(p[1]))
		}),
		"tenant": about(func(p []string) any { return state.SameTenant(object(p[0]), object(p[1])) }),
		"another": about(func(p []string) any {
			live := ot.WordObjects(t, p[0])
			for _, o := range live {
				o.SetNamespace(game.Namespace)
			}
			return ot.Snapshot(nil, live...).NamesAnother(ot.Next.Group(), game)
		}),
		"former": about(func(p []string) any {
			return len(ot.Snapshot(nil, object(p[0])).FormerServices(ot.Next.Group(), game)) == 1
		}),
		"operators": about(func(p []string) any {
			o := object(p[0])
			var theirs, moves string
			for _, running := range []string{"hostname", "ip", ""} {
				s := ot.Snapshot(nil)
				s.Operators.Hostname, s.Operators.IP = running == "hostname", running == "ip"
				if s.Operators.Theirs(render.Object{Kind: kinds.Of(o.GetKind()), Namespace: o.GetNamespace(), Name: o.GetName(), Config: o}) {
					theirs += running
				}
				if s.Operators.Moves(observed.Object{Kind: kinds.Of(o.GetKind()), Live: o, Group: ot.Shop.Group()}) {
					moves += running
				}
			}
			return fmt.Sprintf("made by %q, removed by %q", theirs, moves)
		}),
		"lacks": about(func(p []string) any {
			m, service, expose := observed.Manifests{}, "", [3]int64{}
			if _, err := fmt.Sscan(p[0], &service, &expose[0], &expose[1], &expose[2]); err == nil {
				m[ot.Shop.Namespace()] = manifest(service, expose[0], expose[1], expose[2], strings.HasSuffix(p[0], "global"))
			} else if p[0] == "empty" {
				m[ot.Shop.Namespace()] = &unstructured.Unstructured{Object: map[string]any{}}
			}
			return m.Lacks(ot.Shop, "web", 80)
		}),
		"taken": about(func(p []string) any {
			if p[0] == "none" {
				return observed.Taken(nil)
			}
			var conditions []any
			for _, word := range strings.Fields(p[0]) {
				if kind, status, is := strings.Cut(word, "="); is {
					conditions = append(conditions, map[string]any{"type": kind, "status": status})
				}
			}
			return observed.Taken(&unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}})
		}),
	}.Check(t, "testdata/tables.txt")
}

// manifest is a Manifest of Akash's provider with one service and one port.
func manifest(service string, count, port, external int64, global bool) *unstructured.Unstructured {
	expose := map[string]any{"port": port, "external_port": external, "global": global}
	return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"group": map[string]any{"services": []any{
		map[string]any{"name": service, "count": count, "expose": []any{expose}},
	}}}}}
}

// A route without labels in the namespace of a lease is that lease's.
func TestNamespaceNamesTheLease(t *testing.T) {
	route := ot.Ingress(ot.Shop, shop, "/")
	route.SetLabels(nil)
	s := ot.Snapshot(nil)
	s.PutNamespace(ot.Shop.Namespace(), &observed.Namespace{Tenant: ot.Shop, HasTenant: true})
	s.Index(map[string][]*listed.Object{kinds.Ingress.Plural: listed.Of([]*unstructured.Unstructured{ot.Ours(route)})})
	if uses := s.HostUses.At(shop); len(uses) != 1 || !uses[0].Of(ot.Shop.Group()) || !s.Written.Has(ot.Shop.Group()) {
		t.Errorf("uses %v, written %v", uses, s.Written.Of(ot.Shop.Group()))
	}
}
