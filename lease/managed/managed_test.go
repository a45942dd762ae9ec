package managed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
)

func entry(text string) Entry {
	e := Entry{ManagedFieldsEntry: metav1.ManagedFieldsEntry{FieldsV1: &metav1.FieldsV1{}}}
	e.FieldsV1.SetRawBytes([]byte(text))
	return e
}

// The fields of an entry are read as the API server writes them, whatever they are.
func TestOwns(t *testing.T) {
	const text = `{"f:metadata":{"f:labels":{".":{},"f:akash.network":{}}},"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}`
	typed := entry(text)
	var read Entry
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(`{"kind":"Ingress","apiVersion":"v1","metadata":{"managedFields":[{"manager":"a","operation":"Update","subresource":"status","fieldsV1":{"f:status":{}}},
		{"manager":"a","operation":"Apply","apiVersion":"v1","time":"2026-11-22T10:00:00Z","fieldsV1":` + text + `}]}}`)); err != nil {
		t.Fatal(err)
	}
	for e := range Of(o) {
		read = e
	}
	if read.Manager != "a" || read.Operation != metav1.ManagedFieldsOperationApply || read.APIVersion != "v1" || read.Time.Hour() != 10 {
		t.Errorf("read %+v", read)
	}
	for _, e := range []Entry{typed, read} {
		testOwns(t, e)
	}
	for _, text := range []string{`{`, `[]`, `{"x":{}}`, ``} {
		if broken := entry(text); broken.Owns("spec") || len(broken.Names("spec")) > 0 {
			t.Errorf("%q owns spec", text)
		}
	}
	if (Entry{}).Owns("spec") {
		t.Error("an entry without fields owns spec")
	}
}

func testOwns(t *testing.T, e Entry) {
	t.Helper()
	for _, tt := range []struct {
		path []string
		want bool
	}{
		{nil, true},
		{[]string{"spec"}, true},
		{[]string{"spec", "ports"}, true},
		{[]string{"spec", "type"}, false},
		{[]string{"status"}, false},
		{[]string{"metadata", "labels", "akash.network"}, true},
		{[]string{"metadata", "labels", "akash.network", "below"}, false},
		{[]string{"metadata", "annotations"}, false},
	} {
		if got := e.Owns(tt.path...); got != tt.want {
			t.Errorf("owns %v: %v, want %v", tt.path, got, tt.want)
		}
	}
	if got := slices.Collect(maps.Keys(e.Names("metadata", "labels"))); !slices.Equal(got, []string{"akash.network"}) {
		t.Errorf("the labels are %v", got)
	}
}

const (
	owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
)

// both are the object as structs and as plain maps: what is read of them is the same.
func both(t *testing.T, entries ...metav1.ManagedFieldsEntry) map[string]metav1.Object {
	t.Helper()
	typed := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries}}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]metav1.Object{"structs": typed, "maps": &unstructured.Unstructured{Object: fields}}
}

func written(manager string, operation metav1.ManagedFieldsOperationType, subresource, version string, second int) metav1.ManagedFieldsEntry {
	e := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, Subresource: subresource, APIVersion: version,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:a":{}}}`),
	}
	if second > 0 {
		e.Time = &metav1.Time{Time: time.Unix(int64(second), 0).UTC()}
	}
	return e
}

func TestNamesOfManagers(t *testing.T) {
	for _, tt := range []struct {
		metadata any
		want     bool
	}{
		{map[string]any{"managedFields": []any{map[string]any{"manager": "kubectl"}, map[string]any{"manager": "akash-net/a"}}}, true},
		{map[string]any{"managedFields": []any{map[string]any{"manager": "xakash-net"}}}, false},
		{map[string]any{"managedFields": []any{map[string]any{"manager": 7}, "akash-net", map[string]any{}}}, false},
		{map[string]any{"managedFields": "akash-net"}, false},
		{map[string]any{}, false},
		{nil, false},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"metadata": tt.metadata}}
		if got := Names(o, "akash-net"); got != tt.want {
			t.Errorf("%v: %v", tt.metadata, got)
		}
		if tt.want {
			continue
		}
		for e := range Of(o) {
			if e.Manager == "akash-net" {
				t.Errorf("%v: an entry of %q", tt.metadata, e.Manager)
			}
		}
	}
}

// The names directly below a path are those of fields, and not of items of lists.
func TestNamesBelow(t *testing.T) {
	e := entry(`{"f:a":{".":{},"f:b":{},"k:{\"c\":1}":{},"v:1":{},"i:0":{}}}`)
	if names := e.Names("a"); len(names) != 1 || !names["b"] {
		t.Errorf("the names are %v", names)
	}
	if names := e.Names("x"); len(names) != 0 {
		t.Errorf("the names below nothing are %v", names)
	}
}

// Whose an entry of the managed fields is, and what an object's entries say together: testdata/managers.txt; `go test
// ./lease/managed -rewrite` writes it. An entry is "MANAGER OPERATION [SUBRESOURCE] [SECOND] [of VERSION]"; GROUP stands for
// akash-net/OWNER/7/1.
//
//	entry      whose it is
//	object     entries, ";" between them: those that count, those that name this program and Akash, who has applied for the group
func TestManagersInWords(t *testing.T) {
	group := lease.Group{Owner: owner, DSeq: 7, GSeq: 1}
	words := strings.NewReplacer("GROUP", group.FieldManager(), "OWNER", owner)
	said := strings.NewReplacer(owner, "OWNER")
	read := func(t *testing.T, text string) metav1.ManagedFieldsEntry {
		fields := strings.Fields(words.Replace(text))
		e := written(fields[0], metav1.ManagedFieldsOperationType(fields[1]), "", "v1", 0)
		for i := 2; i < len(fields); i++ {
			second := 0
			switch _, err := fmt.Sscan(fields[i], &second); {
			case err == nil:
				e = written(e.Manager, e.Operation, e.Subresource, e.APIVersion, second)
			case fields[i] == "of":
				i++
				e.APIVersion = fields[i]
			default:
				e.Subresource = fields[i]
			}
		}
		return e
	}
	datadriven.RunTest(t, "testdata/managers.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			var answers []string
			if d.Cmd == "entry" {
				e := Entry{ManagedFieldsEntry: read(t, line)}
				if e.Ours() {
					answers = append(answers, "ours")
				}
				if g, ok := e.Group(); ok {
					answers = append(answers, "applied for "+g.String())
				}
				if g, ok := GroupOf(e.Manager); ok {
					answers = append(answers, "a manager of "+g.String())
				}
			} else {
				answers = objectAnswers(t, line, group, read)
			}
			fmt.Fprintf(&out, "%s  =>  %s\n", line, said.Replace(strings.Join(answers, ", ")))
		}
		return out.String()
	})
}

// objectAnswers is what the entries of an object say; as structs and as maps they say the same.
func objectAnswers(t *testing.T, line string, group lease.Group, read func(*testing.T, string) metav1.ManagedFieldsEntry) (answers []string) {
	var entries []metav1.ManagedFieldsEntry
	for one := range strings.SplitSeq(line, ";") {
		entries = append(entries, read(t, one))
	}
	for form, o := range both(t, entries...) {
		var counted []string
		for e := range Of(o) {
			counted = append(counted, e.Manager)
		}
		got := []string{"counted: " + strings.Join(counted, " ")}
		if _, ok := Applied(o, group.FieldManager()); ok {
			got = append(got, "applied for the group")
		}
		if at := LastWritten(o); !at.IsZero() {
			got = append(got, fmt.Sprintf("written at %d", at.Unix()))
		}
		if at := LastWritten(o, Status); !at.IsZero() {
			got = append(got, fmt.Sprintf("status at %d", at.Unix()))
		}
		if last := LastWriter(o); last != "" {
			got = append(got, "last by "+last)
		}
		if Edited(o) {
			got = append(got, "edited")
		}
		if at := LastWritten(o, "", Status); !at.IsZero() && !at.Equal(LastWritten(o)) {
			got = append(got, fmt.Sprintf("both at %d", at.Unix()))
		}
		if of, others := OfVersion(o, schema.GroupVersion{Version: "v1"}); others > 0 {
			got = append(got, fmt.Sprintf("%d of v1 and %d of other versions", len(of), others))
		}
		if meta := (&metav1.ObjectMeta{ManagedFields: entries}); AppliedBy(meta, group) {
			got = append(got, "its manager has applied")
		}
		if answers != nil && strings.Join(answers, ", ") != strings.Join(got, ", ") {
			t.Errorf("%s: as %s it says %q, else %q", line, form, got, answers)
		}
		answers = got
	}
	return answers
}

const listFields = `{"f:spec":{
	"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},
	"f:rules":{},
	"f:finalizers":{"v:\"a\"":{}}}}`

func TestListsAreKeyedByWhatManagedFieldsName(t *testing.T) {
	e := written("a", metav1.ManagedFieldsOperationApply, "", "v1", 0)
	e.FieldsV1 = metav1.NewFieldsV1(listFields)
	status := written("b", metav1.ManagedFieldsOperationUpdate, Status, "v1", 0)
	status.FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:rules":{"k:{\"name\":\"x\"}":{}}}}`)
	broken := written("c", metav1.ManagedFieldsOperationUpdate, "", "v1", 0)
	broken.FieldsV1 = metav1.NewFieldsV1(`{`)
	for form, o := range both(t, e, status) {
		for _, tt := range []struct {
			name string
			path []string
			want []string
		}{
			{"a list with two keys", []string{"spec", "ports"}, []string{"port", "protocol"}},
			{"an atomic list, whatever a subresource's entry says", []string{"spec", "rules"}, nil},
			{"a set", []string{"spec", "finalizers"}, nil},
			{"a field inside an item", []string{"spec", "ports", `k:{"port":80,"protocol":"TCP"}`}, nil},
			{"a missing field", []string{"spec", "paths"}, nil},
		} {
			if got := Keys(o, tt.path...); !slices.Equal(got, tt.want) {
				t.Errorf("%s, read from %s: %v, want %v", tt.name, form, got, tt.want)
			}
		}
	}
	if got := Keys(&metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{broken}}, "spec", "ports"); got != nil {
		t.Errorf("an entry that cannot be read names the keys %v", got)
	}
}

func TestItemsOfListsAreOwnedByTheirKeys(t *testing.T) {
	e := written("a", metav1.ManagedFieldsOperationApply, "", "v1", 0)
	e.FieldsV1 = metav1.NewFieldsV1(listFields)
	for form, o := range both(t, e) {
		applied, ok := Applied(o, "a")
		if !ok {
			t.Fatalf("read from %s: nothing is applied", form)
		}
		for path, want := range map[string]bool{
			`k:{"port":80,"protocol":"TCP"}`:  true,
			`k:{"port":443,"protocol":"TCP"}`: false,
			`k:{"port":80`:                    false,
			"port":                            false,
		} {
			if got := applied.Owns("spec", "ports", path); got != want {
				t.Errorf("%s, read from %s: owned %v, want %v", path, form, got, want)
			}
		}
	}
}
