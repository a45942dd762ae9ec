package plan

import (
	"slices"
	"testing"
)

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
