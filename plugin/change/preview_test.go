package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
)

// Each change follows the line of its event; other events follow for each lease. On a terminal unchanged objects are omitted, and
// control characters in values are escaped.
func TestPreviewText(t *testing.T) {
	one, two := lease.ID{Owner: "akash1one", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "p"}, lease.ID{Owner: "akash1two", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "p"}
	event := func(id lease.ID, action report.Action, kind, name, message string) report.Event {
		return report.Event{Lease: id, Action: action, Kind: kind, Name: name, Message: message}
	}
	p := plan.New(plan.Settings{}, []plan.Lease{
		{Lease: one.String(), Changes: []plan.Change{
			{Action: plan.Claim, Kind: "host", Name: "a.example.com", After: map[string]any{"/": "web:80"}},
			{Action: plan.Claim, Kind: "wildcard", Name: "*.example.com", Before: map[string]any{"/": "old:80"}, After: map[string]any{"/": "web:80"}},
			{Action: plan.Delete, Kind: "dnsrecord", Name: "a.example.com"},
			{Action: plan.Update, Kind: "ingress", Name: "a.example.com", Fields: []plan.Field{{Path: plan.Path{"spec", "x"}, Before: "1", After: "2\x1b[2J"}}},
			{Action: plan.Update, Kind: "ingress", Name: "b.example.com", Fields: []plan.Field{{Path: plan.Path{"metadata", "annotations", lease.AnnotationDefinition}, Before: "1", After: "2"}}},
		}},
		{Lease: two.String(), Refused: "host b.example.com is held"},
	})
	told := []report.Event{
		event(two, report.Failed, "lease", two.String(), ""),
		event(one, report.Claimed, "host", "a.example.com", ""),
		event(one, report.Left, "definition", "", "too long"),
		event(one, report.Replaced, "dnsrecord", "a.example.com", "by another"),
		event(one, report.Configured, "ingress", "a.example.com", ""),
		event(one, report.Configured, "ingress", "b.example.com", ""),
		event(one, report.Unchanged, "namespace", "ns", ""),
	}
	const before = `lease/akash1one/1/1/1/p
host/a.example.com claimed (dry run)
+   / -> web:80
host/*.example.com claimed (dry run)
-   / -> old:80
+   / -> web:80
dnsrecord/a.example.com replaced (by another) (dry run)
ingress/a.example.com configured (dry run)
  spec
-     x: "1"
+     x: "2\e[2J"
ingress/b.example.com configured (only the definition's hash changes) (dry run)
definition/ left (too long) (dry run)
`
	const after = "lease/akash1two/1/1/1/p\n!   refused: host b.example.com is held\n2 claim, 2 update, 1 delete, 1 left, 1 refused\n"
	for brief, want := range map[bool]string{true: before + after, false: before + "namespace/ns unchanged (dry run)\n" + after} {
		if diff := cmp.Diff(want, string(previewText(p, told, false, brief))); diff != "" {
			t.Errorf("brief %v (-want +got):\n%s", brief, diff)
		}
	}
}
