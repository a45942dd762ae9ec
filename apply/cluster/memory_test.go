package cluster_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
)

// What was made of a version of an object is made once, if watches say which versions there are.
func TestRecall(t *testing.T) {
	there, err := cluster.OfObjects(nil)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	recalls := func(m *cluster.Memory, uid, version string) int {
		o := named(kinds.Ingress, "x")
		o.SetUID(types.UID(uid))
		o.SetResourceVersion(version)
		return cluster.Recall(m, o, func() int { made++; return made })
	}
	memory := there.Watching(seen{}).Memory()
	for i, tt := range []struct {
		memory       *cluster.Memory
		uid, version string
		want         int
	}{
		{memory, "a", "1", 1}, {memory, "a", "1", 1}, {memory, "b", "1", 2}, {memory, "a", "2", 3}, {memory, "b", "1", 2},
		{memory, "", "1", 4}, {memory, "", "1", 5}, {memory, "a", "", 6}, {there.Memory(), "a", "2", 7},
	} {
		if got := recalls(tt.memory, tt.uid, tt.version); got != tt.want {
			t.Errorf("%d: %d, want %d", i, got, tt.want)
		}
	}
	if got := cluster.Recall(memory, named(kinds.Ingress, "x"), func() string { return "another thing" }); got != "another thing" {
		t.Error(got)
	}
	if memory.Clear(); recalls(memory, "b", "1") != 8 {
		t.Error("something is remembered that was forgotten")
	}
}
