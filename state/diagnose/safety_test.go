package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state"
)

// claimLines are alternative claims by thing: a name is the lock, so each thing has one.
var claimLines = [][]string{
	{
		"claim host shop.example.com A: / A/1 web:80 applied", "claim host shop.example.com A: / A/1 web:80", "claim host shop.example.com A: / A/1 web:80 run=x",
		"claim host shop.example.com B: / B/1 web:80 applied", "claim host shop.example.com A: / A/1 web:80 from=A/2", "claim host shop.example.com A: / A/1 web:80 applied, /v1 A/2 api:80 applied",
		"claim host shop.example.com A unreadable: / A/1 web:80", "claim host shop.example.com A going: / A/1 web:80", "claim host shop.example.com A: / A/1 web:80 run=x, /v1 A/2 api:80 run=y",
		"claim host shop.example.com A: / A/1 web:80 minute=9", "claim host shop.example.com A: / A/1 web:80 minute=20",
	},
	{"claim wildcard *.example.com A: / A/1 web:80 applied", "claim wildcard *.example.com B: / B/1 web:80 run=x", "claim wildcard *.example.com B: / B/1 web:80"},
	{"claim address 203.0.113.0@public A: 443/tcp A/1 web:8443 applied", "claim address 203.0.113.0@public A: 443/tcp A/1 web:8443 run=x", "claim address 203.0.113.0@public A: any A/1", "claim address 203.0.113.0@public A: 443/tcp A/2 web:8443", "claim address 203.0.113.0@other B: 443/tcp B/1 web:8443"},
	{"claim address 203.0.113.1@public A: any A/2", "claim address 203.0.113.1@public A: 443/tcp A/1 web:8443"},
}

var objectLines = []string{
	"ProviderHost A/1 shop.example.com", "ProviderHost A/1 shop.example.com akash", "ProviderHost A/2 shop.example.com", "ProviderHost B/1 shop.example.com akash",
	"Ingress A/1 shop.example.com", "Ingress A/1 shop.example.com api:80 path=/v1", "Ingress A/2 shop.example.com definition=two", "Ingress A/1 shop.example.com api:81", "Ingress A/1 shop.example.com akash",
	"Ingress B/1 shop.example.com", "Ingress B/1 shop.example.com nobody", "HTTPRoute A/1 shop.example.com", "HTTPRoute A/1 shop.example.com redirect", "Ingress A/1 free.example.com unlabelled", "Ingress A/1 *.example.com",
	"service A/1 443/tcp asks=203.0.113.0 has=203.0.113.0", "service A/1 443/tcp asks=203.0.113.0 has=203.0.113.1", "service A/1 443/tcp", "service A/2 443/tcp asks=203.0.113.1", "service B/1 443/tcp asks=203.0.113.0 akash", "service A/1 443/tcp asks=198.51.100.7",
	"leasedip A/1 443/tcp", "leasedip A/2 443/tcp akash",
	"gone A/1", "gone B/1", "run x A/1 renewed=10", "run x A/1 renewed=0", "run y A/2 renewed=10", "run z A/3 renewed=0",
	"pool their admin 203.0.113.0/31", "pool akash-net-203-0-113-0-30 203.0.113.0/30", "pool other 203.0.112.0/30",
}

// drawSituation draws a configuration, claims and objects with different names.
func drawSituation(t *rapid.T) (claims, objects []string) {
	for _, c := range []string{"config blocked=shop.example.com", "config wildcards", "config mode=pool"} {
		if rapid.IntRange(0, 3).Draw(t, c) == 0 {
			claims = append(claims, c)
		}
	}
	for _, of := range claimLines {
		if i := rapid.IntRange(-1, len(of)-1).Draw(t, "claim"); i >= 0 {
			claims = append(claims, of[i])
		}
	}
	return claims, rapid.SliceOfNDistinct(rapid.SampledFrom(objectLines), 0, 8, func(line string) string {
		words := strings.Fields(line)
		if words[0] == "ProviderHost" || words[0] == "leasedip" { // Akash keeps them in one namespace, by the host or the owner's port
			return words[0] + map[bool]string{true: words[1][:1]}[words[0] == "leasedip"] + words[2]
		}
		return strings.Join(words[:min(len(words), 3)], " ") + " " + map[bool]string{true: "path"}[strings.Contains(line, "path=")]
	}).Draw(t, "objects")
}

// situation applies "gone" last, because other lines give a lease its namespace, and runs after the claims that mention
// them.
func situation(t *testing.T, claims, objects []string) *facts {
	f := newExplained(t)
	if slices.ContainsFunc(objects, func(l string) bool { return strings.HasPrefix(l, "pool ") }) {
		f.Contents.Pools = nil
	}
	for _, group := range []func(string) bool{
		func(l string) bool { return !strings.HasPrefix(l, "gone ") && !strings.HasPrefix(l, "run ") },
		func(l string) bool { return strings.HasPrefix(l, "run ") }, func(l string) bool { return strings.HasPrefix(l, "gone ") },
	} {
		for _, line := range slices.Concat(claims, objects) {
			if group(line) {
				f.obey(t, line)
			}
		}
	}
	return f
}

// names returns the problems without their messages, which depend on the order of objects.
func names(found []state.Problem) (out []string) {
	for _, p := range found {
		out = append(out, fmt.Sprintf("%s of %s, manual %t", p.Name(), p.Lease, p.Manual))
	}
	slices.Sort(out)
	return out
}

// In whatever order objects are read, the same problems are found. Each has a message and a repair, either automatic or
// by a command.
func TestWhatIsFoundIsWhole(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		claims, objects := drawSituation(r)
		f := situation(t, claims, objects)
		found := f.find()
		other := rapid.Permutation(objects).Draw(r, "order")
		if diff := cmp.Diff(names(found), names(situation(t, claims, other).find())); diff != "" {
			r.Errorf("in another order: %s\n%s\n%s", diff, strings.Join(append(claims, objects...), "\n"), strings.Join(other, "\n"))
		}
		for _, p := range found {
			whole := p.Thing != "" && p.Message != "" && p.Plan != "" && slices.Contains(state.ProblemKinds, p.Problem)
			if !whole || p.Manual != (p.Command != "") || p.Named && !p.Manual || !p.Manual && p.Fix == nil {
				r.Errorf("%+v", p)
			}
			if p.Lease != "" && strings.HasPrefix(p.Lease, "/") {
				r.Errorf("it names the lease %q: %s", p.Lease, told(p))
			}
		}
	})
}

// isLive reports whether a part is held without an end according to the ledger and the namespaces, or was taken by a
// running command.
func isLive(f *facts, c *state.Claim, key string) bool {
	part := c.Part(key)
	if part == nil || c.Unreadable != "" || c.Deleting || part.Ended(f.Now) {
		return false
	}
	return part.Run == "" && f.Namespaces[part.Lease.Namespace()] ||
		slices.ContainsFunc(f.Runs, func(a *state.Announcement) bool { return a.Nonce == part.Run && !a.Dead(f.Now, f.CrashedAfter) })
}

// Automatic repairs touch nothing of a live claim: they give up or move no part of it unless Akash itself has moved it,
// and delete nothing of its lease that serves it, and nothing of somebody else's. While a command works on the lease,
// repair waits for its turn and looks again.
func TestRepairTouchesNothingLive(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		claims, objects := drawSituation(r)
		f := situation(t, claims, objects)
		for _, p := range f.find() {
			if p.Manual {
				continue
			}
			var deleted []state.ObjectRef
			var left []*state.Fix
			switch p.Fix.Do {
			case state.Release, state.Drop, state.Reject:
				r.Errorf("without a word: %s", told(p))
			case state.Heal:
				if p.Fix.Prune {
					r.Errorf("without a word: %s", told(p))
				}
			case state.DeleteObjects:
				deleted = p.Fix.Objects
			case state.GiveUp:
				left = slices.DeleteFunc(append(p.Fix.Each, p.Fix), func(f *state.Fix) bool { return f.Parts.Claim == nil })
			}
			for _, m := range left {
				deleted = append(deleted, m.Objects...)
				for _, key := range m.Parts.Keys {
					if isLive(f, m.Parts.Claim, key) {
						r.Errorf("%s of a live claim is given up: %s", key, told(p))
					}
				}
			}
			for _, ref := range deleted {
				i := slices.IndexFunc(f.Objects, func(o state.OwnObject) bool { return o.ObjectRef == ref })
				if o := f.Objects[i]; !o.Ours || o.Declared {
					r.Errorf("what is not ours is deleted: %s", told(p))
				}
				for _, u := range f.Objects[i].Uses {
					for _, c := range f.Contents.Claims {
						part := c.Part(u.PartKey(&f.Objects[i]))
						if c.Thing == u.Thing() && part != nil && f.Objects[i].Of(part.Lease.Group()) && part.Run == "" && isLive(f, c, part.Key) && (!c.Kind.HasPorts() || c.SharingKey == u.SharingKey) {
							r.Errorf("what serves a live claim is deleted: %s\n%s", told(p), strings.Join(append(claims, objects...), "\n"))
						}
					}
				}
			}
		}
	})
}

// Everything can be explained, with no empty sentence.
func TestAllCanBeExplained(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		claims, objects := drawSituation(r)
		for _, thing := range []string{"shop.example.com", "shop.example.com/v1", "*.example.com", "free.example.com", "203.0.113.0", "203.0.113.3", "198.51.100.7", "A/1", "A/2", "B/1"} {
			x := situation(t, claims, objects).explain(t, thing)
			if x.Summary == "" || slices.Contains(x.Facts, "") || slices.Contains(x.Next, "") {
				r.Errorf("%s: %+v", thing, x)
			}
		}
	})
}
