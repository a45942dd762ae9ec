package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// drawTree draws a value of an object: a map, a list, a list of named items, or a small scalar.
func drawTree(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 2+2*min(depth, 1)).Draw(t, "of") {
	case 0:
		return rapid.Int64Range(0, 2).Draw(t, "number")
	case 1:
		return rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "text")
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return drawMap(t, depth-1)
	}
	list := []any{}
	for range rapid.IntRange(0, 2).Draw(t, "items") {
		list = append(list, drawTree(t, depth-1))
	}
	return list
}

func drawMap(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(t, name) {
			m[name] = drawTree(t, depth)
		}
	}
	if len(m) == 0 { // an empty map says nothing: API servers drop some
		m["a"] = int64(0)
	}
	return m
}

// drawItems draws a list that is merged by name; each name occurs once.
func drawItems(t *rapid.T) []any {
	list := []any{}
	for _, name := range []any{"p", "q", "r"} {
		if !rapid.Bool().Draw(t, "item") {
			continue
		}
		item := drawMap(t, 1)
		item["name"] = name
		list = append(list, item)
	}
	return list
}

func drawObject(t *rapid.T) map[string]any {
	spec := drawMap(t, 3)
	if rapid.Bool().Draw(t, "list") {
		spec["merged"] = drawItems(t)
	}
	return map[string]any{"kind": "A", "metadata": map[string]any{"name": "a", "uid": "u"}, "spec": spec}
}

// owned draws a subset of an object's fields in the form of managed fields.
func owned(t *rapid.T, v any) map[string]any {
	out := map[string]any{}
	if m, ok := v.(map[string]any); ok {
		for name, value := range m {
			if !rapid.Bool().Draw(t, "owns "+name) {
				continue
			}
			if list, ok := value.([]any); ok && name == "merged" {
				items := map[string]any{}
				for _, item := range list {
					fields := owned(t, item)
					fields["."], fields["f:name"] = map[string]any{}, map[string]any{}
					items[fmt.Sprintf(`k:{"name":"%s"}`, item.(map[string]any)["name"])] = fields
				}
				out["f:"+name] = items
				continue
			}
			out["f:"+name] = owned(t, value)
		}
	}
	return out
}

func manage(t *rapid.T, o map[string]any, managers ...string) *unstructured.Unstructured {
	live := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(o)}
	var entries []metav1.ManagedFieldsEntry
	for _, m := range managers {
		raw, err := json.Marshal(map[string]any{"f:spec": owned(t, o["spec"])})
		if err != nil {
			t.Fatal(err)
		}
		entry := metav1.ManagedFieldsEntry{Manager: m, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{}}
		entry.FieldsV1.SetRawBytes(raw)
		entries = append(entries, entry)
	}
	live.SetManagedFields(entries)
	return live
}

// has is Contains, but allows further items in a list that is merged by keys: others may own them.
func has(have, want any) bool {
	wanted, ok := want.(map[string]any)
	if !ok {
		return managed.Contains(have, want)
	}
	there, _ := have.(map[string]any)
	for name, v := range wanted {
		items, ok := v.([]any)
		if name != "merged" || !ok {
			if !has(there[name], v) {
				return false
			}
			continue
		}
		for _, item := range items {
			if !slices.ContainsFunc(asList(there[name]), func(o any) bool { return has(o, item) }) {
				return false
			}
		}
	}
	return true
}

func sortItems(o map[string]any) {
	spec, _ := o["spec"].(map[string]any)
	slices.SortFunc(asList(spec["merged"]), func(a, b any) int {
		return strings.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
	})
}

// For any object and any owners: after the change the object has the wanted fields, as the plan shows it; a second plan
// is empty; and Write changes neither of its arguments.
func TestWhatIsPlannedComesToBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, want := drawObject(t), drawObject(t)
		live := manage(t, o, ours, "kubectl")
		before, wanted := live.DeepCopy(), runtime.DeepCopyJSON(want)
		c := Write("a", want, live, ours)
		if !has(c.After["spec"], want["spec"]) {
			t.Fatalf("after %v it is not as wanted:\n%v\n%v\n%v", c.Fields, c.After, want, live.Object)
		}
		again := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(c.After)}
		sortItems(again.Object) // the API server puts items that are new in the order in which they are sent
		again.SetManagedFields(live.GetManagedFields())
		if rest := Fields(again, want, ours); len(rest) > 0 {
			t.Errorf("once changed, %v would change again", rest)
		}
		if d := cmp.Diff(before.Object, live.Object) + cmp.Diff(wanted, want); d != "" {
			t.Errorf("what was read has changed: %s", d)
		}
		for i, f := range c.Fields {
			if len(f.Path) == 0 || f.Path.Identifies() || i > 0 && f.Path.String() == c.Fields[i-1].Path.String() {
				t.Errorf("the field %v", f)
			}
			if f.Conflict && f.Before == nil {
				t.Errorf("%v is in conflict with nobody", f)
			}
		}
		if !c.Same(Write("a", want, live, ours)) {
			t.Error("planned again it is another change")
		}
	})
}

// Contains is reflexive, antisymmetric and transitive, and no value contains a field that it lacks.
func TestContainsIsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawTree(t, 2), drawTree(t, 2), drawTree(t, 2)
		if !managed.Contains(a, a) {
			t.Errorf("%v does not contain itself", a)
		}
		if managed.Contains(a, b) && managed.Contains(b, c) && !managed.Contains(a, c) {
			t.Errorf("%v contains %v, and that %v", a, b, c)
		}
		if managed.Contains(a, b) && managed.Contains(b, a) && !cmp.Equal(a, b) {
			t.Errorf("%v and %v contain each other", a, b)
		}
		if m, ok := a.(map[string]any); ok {
			more := maps.Clone(m)
			more["other"] = b
			if !managed.Contains(more, a) || managed.Contains(a, more) {
				t.Errorf("with more, %v", more)
			}
		}
	})
}

const marker = "hunter2"

// No plan shows a password of a Secret or a Manifest, whatever changes, at any depth, whoever has written it.
func TestNoPlanShowsAPassword(t *testing.T) {
	applied := func(t *rapid.T, o map[string]any) {
		if rapid.Bool().Draw(t, "applied by kubectl") {
			o["metadata"].(map[string]any)["annotations"] = map[string]any{"kubectl.kubernetes.io/last-applied-configuration": `{"password":"` + marker + `"}`, "open": "shown"}
		}
	}
	password := func(t *rapid.T) string {
		return rapid.SampledFrom([]string{marker, marker + "3", ""}).Draw(t, "password")
	}
	draw := func(t *rapid.T, kind string) map[string]any {
		o := map[string]any{"kind": kind, "metadata": map[string]any{"name": "a", "uid": "u"}}
		applied(t, o)
		if kind == "secret" {
			for _, in := range []string{"data", "stringData"} {
				if rapid.Bool().Draw(t, in) {
					o[in] = map[string]any{"one": password(t), "two": password(t)}
				}
			}
			return o
		}
		services := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "services") {
			s := map[string]any{"name": fmt.Sprint("s", len(services)), "count": rapid.Int64Range(1, 2).Draw(t, "count")}
			if rapid.Bool().Draw(t, "credentials") {
				s["credentials"] = map[string]any{"host": "h", "username": "shown", "password": password(t)}
			}
			services = append(services, s)
		}
		o["spec"] = map[string]any{"group": map[string]any{"services": services}}
		return o
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"secret", "manifest"}).Draw(t, "kind")
		live, want := draw(t, kind), draw(t, kind)
		for what, c := range map[string]Change{
			"a change": Write(kind, want, manage(t, live, ours, "kubectl"), ours), "a new one": Write(kind, want, nil, ours), "a deletion": Remove(kind, manage(t, live, ours), ""),
		} {
			text, err := json.Marshal(c)
			if err != nil || strings.Contains(string(text), marker) {
				t.Errorf("%s: %v %s", what, err, text)
			}
		}
	})
}

// Runs put together are the texts, and of two neighbours one differs.
func TestLinesAreTheTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, rapid.SampledFrom([]int{8, 400}).Draw(t, "size"))
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		var was, is []string
		differs := false
		for i, run := range Lines(before, after) {
			was, is = append(was, run.Before...), append(is, run.After...)
			if run.Same != slices.Equal(run.Before, run.After) || len(run.Before)+len(run.After) == 0 {
				t.Fatalf("%+v", run)
			}
			if i > 0 && run.Same != differs {
				t.Fatalf("two neighbours, same: %v", run.Same)
			}
			differs = !run.Same
		}
		if !slices.Equal(was, before) || !slices.Equal(is, after) {
			t.Fatalf("%v and %v, want %v and %v", was, is, before, after)
		}
	})
}
