package cases

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Lines describes the results to people, one line per request.
func (a Answer) Lines(c Case) []string {
	lines := make([]string, len(a.Results))
	for i, r := range a.Results {
		group := cmp.Or(c.Requests[i].Name, fmt.Sprintf("request %d", i+1))
		lines[i] = cmp.Or(c.Name, "the case") + ": " + group + " " + r.String()
	}
	return lines
}

// String describes the result to people.
func (r Result) String() string {
	if !r.Fits {
		return "does not fit: " + r.Message
	}
	var where []string
	for _, id := range slices.Sorted(maps.Keys(r.Placement)) {
		text := fmt.Sprintf("%d on %s", id, nodes(r.Placement[id]))
		if p := r.SchedulerParams[id]; p != nil {
			text += fmt.Sprintf(" (%s/%s)", p.Resources.GPU.Vendor, p.Resources.GPU.Model)
		}
		where = append(where, text)
	}
	if len(where) == 0 {
		return "fits"
	}
	return "fits: " + strings.Join(where, ", ")
}

// maxNodesNamed limits the nodes of a resource that a line names.
const maxNodesNamed = 10

// nodes lists nodes in the order of placement, each with its number of replicas.
func nodes(placed []string) string {
	var order []string
	count := map[string]int{}
	for _, n := range placed {
		if count[n]++; count[n] == 1 {
			order = append(order, n)
		}
	}
	var texts []string
	for _, n := range order[:min(len(order), maxNodesNamed)] {
		if count[n] > 1 {
			n = fmt.Sprintf("%s ×%d", n, count[n])
		}
		texts = append(texts, n)
	}
	if more := len(order) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, " ")
}
