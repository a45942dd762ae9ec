package admission

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// world is the input of Decide. It has few names, so that routes compete.
type world struct {
	cfg    *config.ProviderConfig
	claims map[string]string
	routes []Route
}

var (
	worldHosts  = []string{"www.a.test", "api.a.test", "x.www.a.test", "a.test", "b.test", "WWW.a.test", ""}
	worldOwners = []string{"akash1alice", "akash1bob"}
)

func drawWorld(t *rapid.T) world {
	w := world{cfg: config.Default(), claims: map[string]string{}}
	w.cfg.Hosts.Wildcards = rapid.Bool().Draw(t, "wildcards")
	w.cfg.Hosts.NamespaceOwnership = rapid.Bool().Draw(t, "ownership")
	w.cfg.Hosts.DeniedDomains = rapid.SampledFrom([][]string{nil, nil, {"b.test"}, {"www.a.test"}}).Draw(t, "denied")
	w.cfg.Shards = rapid.SampledFrom([][]config.Shard{nil, nil, {shard("red", "shard in (red,both)"), shard("blue", "shard in (blue,both)")}}).Draw(t, "shards")
	for _, host := range []string{"www.a.test", "*.a.test", "x.www.a.test"} {
		if owner := rapid.SampledFrom([]string{"none", "none", "", worldOwners[0], worldOwners[1]}).Draw(t, "claim "+host); owner != "none" {
			w.claims[host] = owner
		}
	}
	seen := map[string]bool{}
	for range rapid.IntRange(0, 12).Draw(t, "routes") {
		r := drawRoute(t)
		if !seen[r.String()] {
			seen[r.String()] = true
			w.routes = append(w.routes, r)
		}
	}
	return w
}

func shard(name, selector string) config.Shard {
	s := config.Shard{Name: name}
	if err := s.Routes.UnmarshalText([]byte(selector)); err != nil {
		panic(err)
	}
	return s
}

func drawRoute(t *rapid.T) Route {
	r := Route{
		Kind: rapid.SampledFrom([]string{KindRoute, KindRoute, KindIngress, KindHTTPRoute}).Draw(t, "kind"),
		// names show the owner
		Namespace: rapid.SampledFrom([]string{"secret-ns1", "secret-ns2", "secret-ns3"}).Draw(t, "namespace"),
		Name:      rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"),
		UID:       types.UID(rapid.StringMatching(`[ab]?`).Draw(t, "uid")),
		Labels:    map[string]string{"shard": rapid.SampledFrom([]string{"red", "blue", "both", "none"}).Draw(t, "shard")},
		Host:      rapid.SampledFrom(worldHosts).Draw(t, "host"),
		Path:      rapid.SampledFrom([]string{"", "/", "/x"}).Draw(t, "path"),
	}
	r.Name += "-of-" + r.Namespace
	if seconds := rapid.IntRange(0, 4).Draw(t, "created"); seconds > 0 {
		r.Created = epoch.Add(time.Duration(seconds) * time.Second)
	}
	switch rapid.IntRange(0, 3).Draw(t, "tls") {
	case 1:
		r.TLS = true
	case 2:
		r.TLS, r.Passthrough = true, true
	}
	if r.Host != "" && rapid.IntRange(0, 2).Draw(t, "wildcard") == 0 {
		switch r.Kind {
		case KindRoute:
			r.Wildcard = WildcardSubdomain
		case KindIngress:
			r.Host, r.Wildcard = "*."+r.Host, WildcardSubdomain
		default:
			r.Host, r.Wildcard = "*."+r.Host, WildcardBelow
		}
	}
	r.Redirect = r.Kind == KindHTTPRoute && rapid.Bool().Draw(t, "redirect")
	switch r.Kind {
	case KindRoute:
		r.Invalid = rapid.SampledFrom([]string{"", "", "", "bad"}).Draw(t, "invalid")
	case KindIngress:
		r.Alias = rapid.IntRange(0, 3).Draw(t, "alias") == 0
	}
	if r.Kind != KindRoute {
		r.Matches = rapid.SampledFrom([][]string{nil, nil, {"GET"}, {"POST"}, {"GET", ""}}).Draw(t, "matches")
	}
	if rapid.Bool().Draw(t, "leased") {
		r.HasLease = true
		r.Lease = lease.ID{Owner: rapid.SampledFrom(worldOwners).Draw(t, "owner"), DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1p"}
	}
	return r
}

func (w world) decide(routes []Route) []Admission {
	claims := NewClaims()
	for host, owner := range w.claims {
		claims.Add(host, owner)
	}
	return Decide(NewRules(w.cfg), claims, routes, nil)
}

func (w world) bytes(t *rapid.T, routes []Route) string {
	out, err := json.Marshal(w.decide(routes))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestOrderDoesNotCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		shuffled := rapid.Permutation(w.routes).Draw(t, "order")
		if a, b := w.bytes(t, w.routes), w.bytes(t, shuffled); a != b {
			t.Fatalf("in another order:\n%s\n%s", a, b)
		}
	})
}

// The verdicts depend only on the present routes, not on what was added and deleted before.
func TestHistoryDoesNotCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		live := map[string]Route{}
		list := func() (routes []Route) {
			for _, r := range live { // in any order
				routes = append(routes, r)
			}
			return routes
		}
		for _, r := range w.routes {
			live[r.String()] = r
			w.decide(list())
		}
		for _, r := range w.routes {
			if rapid.Bool().Draw(t, "delete "+r.String()) {
				delete(live, r.String())
				w.decide(list())
			}
		}
		var left []Route
		for _, r := range w.routes {
			if _, ok := live[r.String()]; ok {
				left = append(left, r)
			}
		}
		if a, b := w.bytes(t, list()), w.bytes(t, left); a != b {
			t.Fatalf("after a history:\n%s\nafresh:\n%s", a, b)
		}
	})
}

// Admitted routes of one shard do not collide.
func TestAdmittedDoNotCollide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		all := w.decide(w.routes)
		for i, a := range all {
			for _, b := range all[:i] {
				if !a.Admitted || !b.Admitted || a.Shard != b.Shard {
					continue
				}
				if a.Host == b.Host && a.Path == b.Path && a.Redirect == b.Redirect && Compete(a.Kind, a.Matches, b.Kind, b.Matches) {
					t.Errorf("%s and %s both have %s%s", a, b, a.Host, a.Path)
				}
				if !w.cfg.Hosts.NamespaceOwnership || a.identity() == b.identity() {
					continue
				}
				if a.Host == b.Host {
					t.Errorf("two owners share host %s: %s, %s", a.Host, a, b)
				}
				if covers(a.Route, b.Route) || covers(b.Route, a.Route) {
					t.Errorf("two owners below one wildcard: %s %s, %s %s", a, a.Host, b, b.Host)
				}
			}
		}
	})
}

// covers reports whether a is a wildcard over b's host or wildcard.
func covers(a, b *Route) bool {
	domain, other := domainOf(a.Host), domainOf(b.Host)
	switch a.Wildcard {
	case WildcardSubdomain:
		return domain == other
	case WildcardBelow:
		return domain == other || strings.HasSuffix(other, "."+domain)
	}
	return false
}

// A claim excludes every other owner from its host, and from wildcards over it.
func TestClaimsShutOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, a := range w.decide(w.routes) {
			if !a.Admitted {
				continue
			}
			owner, claimed := w.claims[a.Host]
			// A wildcard's own claim decides, even over a host with an unreadable claim.
			if above, ok := w.claims["*."+domainOf(a.Host)]; ok && (!claimed || a.Wildcard != WildcardNone) {
				owner, claimed = above, true
			}
			if claimed && (!a.HasLease || a.Lease.Owner != owner) {
				t.Errorf("%s of %q is admitted on %s, which %q has claimed", a, a.Lease.Owner, a.Host, owner)
			}
		}
	})
}

// A message names nothing of another owner.
func TestMessagesNameNoStranger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		all := w.decide(w.routes)
		for _, a := range all {
			text := strings.ReplaceAll(a.Message, a.Name, "") // it may name itself
			for _, b := range all {
				if a.identity() != b.identity() && (strings.Contains(text, b.Name) || b.HasLease && strings.Contains(text, b.Lease.Owner)) &&
					!sharesName(all, a, b) {
					t.Errorf("%s is told %q, which names %s", a, a.Message, b)
				}
			}
			if a.Admitted != (a.Reason == "") || a.Admitted != (a.Message == "") {
				t.Errorf("%+v", a)
			}
		}
	})
}

// sharesName reports whether a's owner has a route with b's name: routes of different kinds may share one.
func sharesName(all []Admission, a, b Admission) bool {
	for _, own := range all {
		if own.identity() == a.identity() && own.Name == b.Name {
			return true
		}
	}
	return false
}

// Deleting a refused route changes no other verdict, with two exceptions that the router shares: a route that passes the
// wildcard layer keeps its place there even if the next layer refuses it, and so does one that is not valid.
func TestRemovingWhatIsNotAdmitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		all := w.decide(w.routes)
		for i, r := range w.routes {
			kept := false
			for _, a := range all {
				kept = kept || a.String() == r.String() && (a.Admitted || a.Reason == ReasonExtendedValidation || w.cfg.Hosts.Wildcards && a.Reason != ReasonNotAdmitted)
			}
			if kept {
				continue
			}
			rest := append(append([]Route{}, w.routes[:i]...), w.routes[i+1:]...)
			var want []string
			for _, a := range all {
				if a.String() != r.String() {
					want = append(want, fmt.Sprint(a.Shard, a, a.Verdict))
				}
			}
			var got []string
			for _, a := range w.decide(rest) {
				got = append(got, fmt.Sprint(a.Shard, a, a.Verdict))
			}
			if strings.Join(want, "\n") != strings.Join(got, "\n") {
				t.Fatalf("without %s:\n%s\nwith it:\n%s", &r, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}

// What most comparisons of a sort are of agrees with the rest of them.
func TestSortsByNumbers(t *testing.T) {
	agrees := func(t *rapid.T, first, all int) {
		t.Helper()
		if first != 0 && first != all {
			t.Errorf("by the number %d, by all %d", first, all)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.Custom(func(t *rapid.T) *Route {
			r := &Route{Alias: rapid.Bool().Draw(t, "alias"), Name: rapid.StringN(0, 2, 2).Draw(t, "name")}
			if rapid.Bool().Draw(t, "made") {
				r.Created = time.Unix(rapid.Int64Range(-2, 2).Draw(t, "second"), rapid.Int64Range(0, 1e9-1).Draw(t, "part"))
			}
			return r
		})
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		agrees(t, cmp.Compare(a.age(), b.age()), compareAge(a, b))
		text := rapid.StringMatching(`[-.a]{0,10}`)
		x, y := text.Draw(t, "x"), text.Draw(t, "y")
		agrees(t, cmp.Compare(prefix(x), prefix(y)), cmp.Compare(x, y))
	})
}
