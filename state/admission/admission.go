package admission

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// Admission is the verdict of one shard on one route.
type Admission struct {
	*Route
	// Shard is the name of the shard. It is empty if no shards are configured or none selects the route.
	Shard string
	Verdict
}

// Decide returns the verdicts on the routes. Each shard decides independently, so a host is unique within a shard only.
// namespaces are the labels of namespaces by name. The result does not depend on the order of the routes. It is sorted
// by shard in the order of the configuration, then by host, path and age.
func Decide(rules Rules, claims *Claims, routes []Route, namespaces map[string]map[string]string) []Admission {
	byAge := make([]*Route, len(routes))
	for i := range routes {
		byAge[i] = &routes[i]
	}
	slices.SortFunc(byAge, compareAge)
	if len(rules.shards) == 0 {
		return decide(make([]Admission, 0, len(routes)), "", &rules, claims, byAge)
	}
	var out []Admission
	selected := make(map[*Route]bool, len(routes))
	for _, shard := range rules.shards {
		var seen []*Route
		for _, r := range byAge {
			if shard.Selects(labels.Set(r.Labels), labels.Set(namespaces[r.Namespace])) {
				seen = append(seen, r)
				selected[r] = true
			}
		}
		out = decide(out, shard.Name, &rules, claims, seen)
	}
	unseen := slices.DeleteFunc(byAge, func(r *Route) bool { return selected[r] })
	none := Verdict{Reason: ReasonNoShard, Message: "no shard selects the route"}
	return appendSorted(out, "", unseen, slices.Repeat([]Verdict{none}, len(unseen)))
}

// decide appends the verdicts of one shard on its routes, which are sorted by age.
func decide(out []Admission, shard string, rules *Rules, claims *Claims, byAge []*Route) []Admission {
	f := newFold(rules, claims, byAge)
	verdicts := make([]Verdict, len(byAge))
	for i, r := range byAge {
		verdicts[i] = f.next(r)
	}
	return appendSorted(out, shard, byAge, verdicts)
}

// appendSorted appends verdicts sorted by host, path and age.
func appendSorted(out []Admission, shard string, byAge []*Route, verdicts []Verdict) []Admission {
	order := make([]int, len(byAge))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := byAge[i], byAge[j]
		if c := cmp.Compare(a.Host, b.Host); c != 0 {
			return c
		}
		if c := cmp.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return cmp.Compare(i, j)
	})
	for _, i := range order {
		out = append(out, Admission{Route: byAge[i], Shard: shard, Verdict: verdicts[i]})
	}
	return out
}
