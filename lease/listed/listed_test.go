package listed_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease/listed"
)

// What was made of a version of an object is made once. Without a memory, or a version, it is made each time.
func TestRecall(t *testing.T) {
	made := 0
	recalls := func(m *listed.Memory, uid, version string) int {
		return listed.Recall(m, &metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}, func() int { made++; return made })
	}
	memory := listed.NewMemory()
	for i, tt := range []struct {
		memory       *listed.Memory
		uid, version string
		want         int
	}{
		{memory, "a", "1", 1}, {memory, "a", "1", 1}, {memory, "b", "1", 2}, {memory, "a", "2", 3}, {memory, "b", "1", 2},
		{memory, "", "1", 4}, {memory, "", "1", 5}, {memory, "a", "", 6}, {nil, "a", "2", 7},
	} {
		if got := recalls(tt.memory, tt.uid, tt.version); got != tt.want {
			t.Errorf("%d: %d, want %d", i, got, tt.want)
		}
	}
	if got := listed.Recall(memory, &metav1.ObjectMeta{UID: "b", ResourceVersion: "1"}, func() string { return "another thing" }); got != "another thing" {
		t.Error(got)
	}
	if memory.Clear(); recalls(memory, "b", "1") != 8 {
		t.Error("something is remembered that was forgotten")
	}
}
