package rollout_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/rollout"
)

// lines are different objects of the rules.
var lines = []string{
	"manifest web=2 db=1 gone=1", "namespace", "deployment web {spec: {replicas: 2}, status: {replicas: 1, updatedReplicas: 1, availableReplicas: 1}}", "deployment old rolled=1",
	"deployment db rolled=3", "statefulset db minute=2 {spec: {replicas: 1}, status: {}}", "statefulset web2 alien rolled=1",
	"pod web-1 of=web {status: {phase: Pending}}", "pod web-2 of=web {status: {containerStatuses: [{state: {waiting: {reason: ErrImagePull}}}]}}", "pod web-3 of=web leaving {status: {}}",
	"pod web-4 of=web minute=4 {status: {phase: Failed, reason: Evicted}}", "pod db-0 of=db minute=1 {status: {phase: Pending}}", "pod x alien of=web {status: {}}",
	"warning StatefulSet/db FailedCreate minute=1: before it", "warning StatefulSet/db FailedCreate minute=3: one", "warning StatefulSet/db FailedCreate minute=3: another",
	"warning StatefulSet/db Other minute=9: later", "warning Pod/db-0 FailedMount minute=3: a", "warning Pod/db-0 Unhealthy minute=3: a", "warning Pod/web-1 BackOff minute=9@new: é",
}

func rolled(t *testing.T, of []string) (rollout.Lease, rollout.Rollout, bool) {
	var l rollout.Lease
	for _, line := range of {
		if err := l.Add(wordObject(t, line)); err != nil {
			t.Fatal(err)
		}
	}
	r, runs := l.Of()
	return l, r, runs
}

// The order of objects does not matter, even for events of the same time. Each service counts once, and the lease has
// the state of its worst service.
func TestTheOrderOfObjectsDoesNotMatter(t *testing.T) {
	rank := map[rollout.State]int{rollout.Complete: 0, rollout.Pending: 1, rollout.Active: 2, rollout.Error: 3}
	rapid.Check(t, func(r *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(lines), 0, len(lines), rapid.ID).Draw(r, "objects")
		l, one, runs := rolled(t, some)
		m, other, runsToo := rolled(t, rapid.Permutation(some).Draw(r, "order"))
		if diff := cmp.Diff(one, other); diff != "" || runs != runsToo || l.Unsettled() != m.Unsettled() || l.LacksPods() != m.LacksPods() {
			r.Fatal(diff)
		}
		ready, total, worst := int64(0), int64(0), rollout.Complete
		for _, s := range one.Services {
			ready, total = ready+int64(s.Ready), total+int64(s.Total)
			if rank[s.State] > rank[worst] {
				worst = s.State
			}
			if (s.State == rollout.Complete) != (s.Reason == "") || s.Ready > s.Total || s.Ready < 0 {
				r.Errorf("%+v", s)
			}
		}
		if runs && (one.Ready != ready || one.Total != total) {
			r.Errorf("%+v", one)
		}
		if runs && one.State != worst && (worst != rollout.Pending || one.State != rollout.Active) {
			r.Errorf("the worst service is %s, the lease %s", worst, one.State)
		}
	})
}

// A reason is one readable line, whatever others write in their messages.
func TestReasonsAreText(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.IntRange(0, 1300), func(n int) string { return strings.Repeat(" ", n) + "é" }),
			rapid.Map(rapid.IntRange(0, 1300), func(n int) string { return strings.Repeat("€", n) })).Draw(r, "text")
		pod, event := wordObject(t, "pod web-1 of=web {status: {phase: Pending}}"), wordObject(t, "warning Pod/web-1 X minute=3: x")
		event.Object["reason"], event.Object["message"] = text, text
		pod.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "PodScheduled", "status": "False", "reason": "x", "message": text}}}
		var l rollout.Lease
		for _, o := range []error{l.Add(wordObject(t, "deployment web {spec: {replicas: 1}}")), l.Add(pod), l.Add(event)} {
			if o != nil {
				r.Skip(o)
			}
		}
		got, _ := l.Of()
		if !utf8.ValidString(got.Reason) || strings.ContainsAny(got.Reason, "\n\r\t") || len(got.Reason) > 1100 {
			r.Errorf("%d bytes: %q", len(got.Reason), got.Reason)
		}
	})
}
