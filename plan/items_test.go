package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const portsOwned = `{"f:spec": {"f:ports": {'k:{"port":53,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:protocol": {}}, 'k:{"port":53,"protocol":"UDP"}': {".": {}, "f:port": {}, "f:protocol": {}}}}}`

// A list has two keys, and one of them has a default. A sent item with one key matches the only live item that does not
// contradict it. If several match, or two sent items match the same one, the list is one field.
func TestItemsWithHalfAKey(t *testing.T) {
	for name, c := range map[string]struct{ live, want, fields string }{
		"both items have both keys":                    {"[{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]", "[{port: 53, protocol: TCP, name: a}, {port: 53, protocol: UDP}]", `spec.ports[port=53,protocol="TCP"].name`},
		"one live item matches half a key":             {"[{port: 53, protocol: TCP}]", "[{port: 53, name: a}]", `spec.ports[port=53,protocol="TCP"].name`},
		"two live items have the same half of the key": {"[{port: 53}, {port: 53}]", "[{port: 53, protocol: TCP, name: a}]", `spec.ports[port=53,protocol="TCP"]`},
		"one live item has half of the sent key":       {"[{port: 53}]", "[{port: 53, protocol: TCP, name: a}]", "spec.ports[port=53].name spec.ports[port=53].protocol"},
		"a sent item is new":                           {"[{port: 53, protocol: TCP}]", "[{port: 53, protocol: TCP}, {port: 54}]", "spec.ports[port=54]"},
		"two sent items match one live item":           {"[{port: 53, protocol: TCP}]", "[{port: 53, name: a}, {port: 53, protocol: TCP}]", "spec.ports"},
		"two new items have the same key":              {"[]", "[{port: 53}, {port: 53}]", "spec.ports"},
		"the order of the items changes":               {"[{port: 53, protocol: TCP}, {port: 54, protocol: TCP}]", "[{port: 54, protocol: TCP}, {port: 53, protocol: TCP}]", "spec.ports"},
		"a sent item has no key":                       {"[{port: 53, protocol: TCP}]", "[{name: a}]", "spec.ports"},
		"a sent item is no object":                     {"[{port: 53, protocol: TCP}]", "[a]", "spec.ports"},
	} {
		live := object(t, "{kind: A, metadata: {name: a}, spec: {ports: "+c.live+"}}", map[string]string{"kubectl": portsOwned})
		var got []string
		for _, f := range Write("a", object(t, "{spec: {ports: "+c.want+"}}", nil).Object, live, ours).Fields {
			got = append(got, fmt.Sprint(f.Path))
		}
		if strings.Join(got, " ") != c.fields {
			t.Errorf("%s: %v, want %s", name, got, c.fields)
		}
	}
}

// A manager conflicts with those of other owners, not with itself or another deployment of its owner. A manager that
// belongs to no deployment conflicts with every other one.
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
