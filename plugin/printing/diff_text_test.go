package printing

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/plan"
)

// A changed field is printed below its parent; of a multi-line value only the changed lines are, with two lines of context.
func TestPlanTextOfFields(t *testing.T) {
	list := func(image string, more ...any) []any {
		return append([]any{map[string]any{"a": 1, "b": 2, "c": 3, "d": 4, "image": image, "name": "web"}}, more...)
	}
	by := []plan.Owner{{Manager: "kubectl"}}
	for name, tt := range map[string]struct {
		fields []plan.Field
		want   string
	}{
		"values below one path": {[]plan.Field{
			{Path: plan.Path{"spec", "a"}, Before: 1, After: 2, Owners: by}, {Path: plan.Path{"spec", "b"}, After: "x"}, {Path: plan.Path{"spec", "c"}, Before: true},
		}, "  spec\n-     a: 1   (kubectl)\n+     a: 2\n+     b: x\n-     c: true\n"},
		"a field of an item": {[]plan.Field{{Path: plan.Path{"spec", "containers", `k:{"name":"web"}`, "image"}, Before: "web:1", After: "web:2"}},
			"  spec.containers[name=\"web\"]\n-     image: web:1\n+     image: web:2\n"},
		"an item": {[]plan.Field{{Path: plan.Path{"spec", "ports", `k:{"port":80,"protocol":"TCP"}`}, Before: map[string]any{"port": 80, "protocol": "TCP"}}},
			"  spec\n-     ports[port=80,protocol=\"TCP\"]:\n-       port: 80\n-       protocol: TCP\n"},
		"a line of many": {[]plan.Field{{Path: plan.Path{"services"}, Before: list("web:1"), After: list("web:2"), Owners: by}},
			"    services:   (kubectl)\n        …\n          c: 3\n          d: 4\n-         image: web:1\n+         image: web:2\n          name: web\n"},
		"lines in conflict": {[]plan.Field{{Path: plan.Path{"l"}, Before: []any{"a", "b"}, After: []any{"a", "c"}, Owners: by, Conflict: true}},
			"    l:   owned by kubectl\n        - a\n!       - b\n+       - c\n"},
		"one line becomes two": {[]plan.Field{{Path: plan.Path{"l"}, Before: []any{"a"}, After: []any{"a", "c"}}},
			"    l:\n        - a\n+       - c\n"},
	} {
		w := PlanWriter{}
		w.fields(tt.fields)
		if diff := cmp.Diff(tt.want, w.out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
