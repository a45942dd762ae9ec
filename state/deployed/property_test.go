package deployed

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// effective returns what the container gets of a list: of variables with one name the last.
func effective(list []any) map[string]string {
	out := map[string]string{}
	for _, v := range list {
		e := v.(map[string]any)
		out[fmt.Sprint(e["name"], e["containerPort"], e["protocol"])] = fmt.Sprint(e["value"])
	}
	return out
}

// Lists that are left out mean what is wanted, all others are sent as wanted, and nothing else of the object changes.
func TestWhatIsLeftMeansWhatIsWanted(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		draw := func(label string, once bool) []any {
			list, names := []any{}, map[string]bool{}
			for range rapid.IntRange(0, 4).Draw(r, label) {
				e := map[string]any{"name": rapid.SampledFrom([]string{"A", "B"}).Draw(r, "name"), "value": rapid.SampledFrom([]string{"1", "2"}).Draw(r, "value")}
				if once && names[e["name"].(string)] {
					continue
				}
				names[e["name"].(string)] = true
				list = append(list, e)
			}
			return list
		}
		want, live := pod(t, "image: a"), pod(t, "image: b")
		wanted, has := draw("wanted", true), draw("has", false)
		containers(want)[0]["env"], containers(live)[0]["env"] = wanted, has
		before := runtime.DeepCopyJSON(want)
		got := LeaveRepeated(want, live)
		_, sent := containers(got)[0]["env"]
		if !sent && !maps.Equal(effective(has), effective(wanted)) {
			r.Errorf("%v stays, and %v is wanted", has, wanted)
		}
		if repeats := len(effective(has)) < len(has); sent && repeats && maps.Equal(effective(has), effective(wanted)) || !sent && !repeats {
			r.Errorf("%v for %v: sent %t", wanted, has, sent)
		}
		containers(got)[0]["env"] = wanted
		if diff := cmp.Diff(before, got); diff != "" {
			r.Errorf("the object: %s", diff)
		}
	})
}

// Unwanted returns only objects of the lease, once each, in the order of deletion, and none that is wanted or kept.
// Without pruning it returns only objects that a wanted one replaces.
func TestWhatGoes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var live []Object
		wanted, keep := map[Key]bool{}, map[Key]bool{}
		for _, kind := range kinds.RunningEnds {
			for _, name := range []string{"web", "db"} {
				if !rapid.Bool().Draw(r, "there") {
					continue
				}
				by := rapid.SampledFrom([]string{group.FieldManager() + "!", another.FieldManager() + "!", "kubectl", "akash"}).Draw(r, "by")
				o := Object{kind, written(t, kind.Kind, name, rapid.SampledFrom([]string{namespace, ""}).Draw(r, "labels"), by)}
				live = append(live, o)
				wanted[o.Key()], keep[o.Key()] = rapid.Bool().Draw(r, "wanted"), kind == kinds.Secret && rapid.Bool().Draw(r, "kept")
			}
		}
		live = rapid.Permutation(live).Draw(r, "order")
		all, some := Unwanted(live, group, wanted, keep, true), Unwanted(live, group, wanted, keep, false)
		last := -1
		for _, o := range all {
			at := slices.Index(kinds.RunningEnds, o.Kind)
			if at < last || StandingOf(o.Live, group, namespace) != Ours || wanted[o.Key()] || keep[o.Key()] {
				r.Errorf("%v goes", o.Key())
			}
			last = at
		}
		for _, o := range some {
			other := Key{"StatefulSet", o.Live.GetName()}
			if o.Kind == kinds.StatefulSet {
				other.Kind = "Deployment"
			}
			if !wanted[other] || !slices.ContainsFunc(all, func(a Object) bool { return a.Key() == o.Key() }) {
				r.Errorf("%v goes without pruning", o.Key())
			}
		}
		if released := Release(live, group); len(released) < len(all) || len(Release(live, lease.Group{Owner: "akash1x", DSeq: 1, GSeq: 1})) > 0 {
			r.Errorf("released are %d, unwanted %d", len(released), len(all))
		}
	})
}
