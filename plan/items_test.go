package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const portsOwned = `{"f:spec": {"f:ports": {'k:{"port":53,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:protocol": {}}, 'k:{"port":53,"protocol":"UDP"}': {".": {}, "f:port": {}, "f:protocol": {}}}}}`

// Items of a list that has two keys, of which one has a default: an item that names one key is the one that says nothing against
// it; where several do not, or two items that are sent are one, the list is one field.
func TestItemsWithHalfAKey(t *testing.T) {
	for name, c := range map[string]struct{ live, want, says string }{
		"whole keys":             {"[{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]", "[{port: 53, protocol: TCP, name: a}, {port: 53, protocol: UDP}]", `spec.ports[port=53,protocol="TCP"].name`},
		"half a key, one has it": {"[{port: 53, protocol: TCP}]", "[{port: 53, name: a}]", `spec.ports[port=53,protocol="TCP"].name`},
		"two have half of it":    {"[{port: 53}, {port: 53}]", "[{port: 53, protocol: TCP, name: a}]", `spec.ports[port=53,protocol="TCP"]`},
		"one has half of it":     {"[{port: 53}]", "[{port: 53, protocol: TCP, name: a}]", "spec.ports[port=53].name spec.ports[port=53].protocol"},
		"one that is not there":  {"[{port: 53, protocol: TCP}]", "[{port: 53, protocol: TCP}, {port: 54}]", "spec.ports[port=54]"},
		"two that are one":       {"[{port: 53, protocol: TCP}]", "[{port: 53, name: a}, {port: 53, protocol: TCP}]", "spec.ports"},
		"two new ones that are":  {"[]", "[{port: 53}, {port: 53}]", "spec.ports"},
		"in another order":       {"[{port: 53, protocol: TCP}, {port: 54, protocol: TCP}]", "[{port: 54, protocol: TCP}, {port: 53, protocol: TCP}]", "spec.ports"},
		"no key at all":          {"[{port: 53, protocol: TCP}]", "[{name: a}]", "spec.ports"},
		"no item":                {"[{port: 53, protocol: TCP}]", "[a]", "spec.ports"},
	} {
		live := object(t, "{kind: A, metadata: {name: a}, spec: {ports: "+c.live+"}}", map[string]string{"kubectl": portsOwned})
		var got []string
		for _, f := range Write("a", object(t, "{spec: {ports: "+c.want+"}}", nil).Object, live, ours).Fields {
			got = append(got, fmt.Sprint(f.Path))
		}
		if strings.Join(got, " ") != c.says {
			t.Errorf("%s: %v, want %s", name, got, c.says)
		}
	}
}

// A manager is in conflict with those of others, never with itself, nor with another deployment of its owner; and one that is no
// deployment's is with all others.
func TestWhoIsInConflict(t *testing.T) {
	for manager, conflicts := range map[string][]string{
		ours: {rival, "kubectl", "akash-net"}, rival: {ours, former, "kubectl", "akash-net"}, "akash-net": {ours, former, rival, "kubectl"}, "kubectl": {ours, former, rival, "akash-net"},
	} {
		for _, owner := range []string{ours, former, rival, "kubectl", "akash-net"} {
			live := object(t, "{kind: A, metadata: {name: a}, spec: {x: 1}}", map[string]string{owner: `{"f:spec": {"f:x": {}}}`})
			fields := Fields(live, object(t, "{spec: {x: 2}}", nil).Object, manager)
			if len(fields) != 1 || fields[0].Conflict != slices.Contains(conflicts, owner) {
				t.Errorf("%s writes what %s owns: %+v", manager, owner, fields)
			}
		}
	}
}
