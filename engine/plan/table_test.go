package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// testdata/plans.txt has the fields of live objects that an apply changes, and which plans are the same;
// `go test ./engine/plan -rewrite` writes it.
//
//	fields     LIVE | WANT | MANAGER FIELDS; MANAGER FIELDS: objects and the fields that managers own, as YAML. The managers are
//	           ours, former (of another deployment of the owner), rival (of another owner), and others by their names
//	takes      LIVE | WANT | MANAGER FIELDS; MANAGER FIELDS | by hand, delivered: what an apply changes after it has taken over what
//	           others have delivered, and who manages what then. A manager with "updates" before its fields has updated the object
//	contains   HAVE | WANT
//	same       LIVE | WANT | LIVE | WANT, or "delete" for WANT: two changes of an object, "file" before LIVE where it is of a file
//	lines      BEFORE | AFTER: two texts of a word a line; what stays, what goes and what comes
func TestPlans(t *testing.T) {
	rules := map[string]func(*testing.T, []string) string{"fields": fieldsInWords, "takes": takesInWords, "contains": containsInWords, "same": sameInWords, "lines": linesInWords}
	datadriven.RunTest(t, "testdata/plans.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			parts := strings.Split(line, "|")
			for len(parts) < 4 {
				parts = append(parts, "")
			}
			for i := range parts {
				parts[i] = strings.TrimSpace(parts[i])
			}
			fmt.Fprintf(&out, "%s  =>  %s\n", line, rules[d.Cmd](t, parts))
		}
		return out.String()
	})
}

var short = strings.NewReplacer(ours, "ours", former, "former", rival, "rival")

// managedIn returns an object of a table, with its managers.
func managedIn(t *testing.T, parts []string) *unstructured.Unstructured {
	names := map[string]string{"ours": ours, "former": former, "rival": rival}
	owners := map[string]string{}
	for one := range strings.SplitSeq(parts[2], ";") {
		if who, fields, ok := strings.Cut(strings.TrimSpace(one), " "); ok {
			if long, known := names[who]; known {
				who = long
			}
			owners[who] = fields
		}
	}
	return object(t, parts[0], owners)
}

func takesInWords(t *testing.T, parts []string) string {
	live, want := managedIn(t, parts), object(t, parts[1], nil).Object
	takes := Takes{ByHand: strings.Contains(parts[3], "by hand"), Delivered: strings.Contains(parts[3], "delivered")}
	now := TakeOver(live, want, ours, takes)
	var managers []string
	for _, e := range now.GetManagedFields() {
		set, _ := managed.Entry{ManagedFieldsEntry: e}.Set()
		var fields []string
		set.Leaves().Iterate(func(at fieldpath.Path) { fields = append(fields, pathOf(at).String()) })
		slices.Sort(fields)
		managers = append(managers, fmt.Sprintf("%s %s %s", short.Replace(e.Manager), strings.ToLower(string(e.Operation)), strings.Join(fields, " ")))
	}
	slices.Sort(managers)
	if again := TakeOver(now, want, ours, takes); again != now {
		t.Errorf("%v: taken over twice", parts)
	}
	return fieldsOfChange(Write("a", want, now, ours)) + " -- " + strings.Join(managers, "; ")
}

func fieldsInWords(t *testing.T, parts []string) string {
	return fieldsOfChange(Write("a", object(t, parts[1], nil).Object, managedIn(t, parts), ours))
}

func fieldsOfChange(c Change) string {
	var said []string
	for _, f := range c.Fields {
		text := fmt.Sprintf("%s: %v -> %v", f.Path, f.Before, f.After)
		var owned []string
		for _, o := range f.Owners {
			owned = append(owned, short.Replace(o.Manager))
		}
		if len(owned) > 0 {
			text += " of " + strings.Join(owned, " and ")
		}
		if f.Conflict {
			text += " in conflict"
		}
		said = append(said, text)
	}
	slices.Sort(said)
	return strings.Join(said, "; ")
}

func containsInWords(t *testing.T, parts []string) string {
	value := func(text string) any { return object(t, "{v: "+text+"}", nil).Object["v"] }
	return fmt.Sprint(managed.Contains(value(parts[0]), value(parts[1])))
}

func sameInWords(t *testing.T, parts []string) string {
	change := func(live, want string) Change {
		inFile := strings.HasPrefix(live, "file ")
		var c Change
		var o *unstructured.Unstructured
		if live = strings.TrimPrefix(live, "file "); live != "none" {
			o = object(t, live, map[string]string{ours: `{"f:spec": {"f:a": {}, "f:b": {}}}`})
		}
		if want == "delete" {
			c = Remove("a", o, "it is over")
		} else {
			c = Write("a", object(t, want, nil).Object, o, ours)
		}
		c.Unpinned = inFile
		return c
	}
	a, b := change(parts[0], parts[1]), change(parts[2], parts[3])
	if a.Same(b) != b.Same(a) {
		t.Errorf("%v: one is the same as the other, and not the other way round", parts)
	}
	return fmt.Sprint(a.Same(b))
}

// A deletion has the object as it was read, and the reason.
func TestRemove(t *testing.T) {
	live := object(t, `{kind: A, metadata: {name: a, namespace: ns, uid: u, resourceVersion: "7", managedFields: []}, spec: {x: 1}, status: {y: 2}}`, nil)
	c := Remove("ingress", live, "its lease does not name it")
	if c.Action != Delete || c.Kind != "ingress" || c.ID() != "ingress/ns/a" || c.UID != "u" || c.ResourceVersion != "7" || c.Why != "its lease does not name it" || c.After != nil {
		t.Errorf("the change is %+v", c)
	}
	if _, shown := c.Before["status"]; shown || c.Before["spec"] == nil {
		t.Errorf("it shows %v", c.Before)
	}
	if c := Write("ingress", live.Object, live, ours); c.Kind != "ingress" || c.Action != Update || c.UID != "u" || c.ResourceVersion != "7" || len(c.Fields) > 0 {
		t.Errorf("what is as it should be is written as %+v", c)
	}
}

// The fields of an object's identity are not compared.
func TestIdentifies(t *testing.T) {
	for path, is := range map[string]bool{
		"apiVersion": true, "kind": true, "metadata.name": true, "metadata.namespace": true,
		"metadata": false, "metadata.labels": false, "metadata.labels.name": false, "name": false, "spec.kind": false, "spec": false, "": false,
	} {
		if got := Path(strings.Split(path, ".")).Identifies(); got != is {
			t.Errorf("%q identifies an object: %v", path, got)
		}
	}
}

// A plan differs if it changes or refuses a lease.
func TestPlansDiffer(t *testing.T) {
	none, some, refused := Lease{Lease: "a"}, Lease{Lease: "b", Changes: []Change{{Action: Create}}}, Lease{Lease: "c", Refused: "held"}
	for _, x := range []struct {
		leases []Lease
		want   bool
	}{{nil, false}, {[]Lease{none}, false}, {[]Lease{none, some}, true}, {[]Lease{refused}, true}, {[]Lease{none, refused, none}, true}} {
		p := New(Settings{Target: "ingress"}, x.leases)
		if p.Differs() != x.want || p.Kind != "Plan" || p.APIVersion != "net.akash.network/v1alpha1" || p.Settings.Target != "ingress" {
			t.Errorf("%+v differs: %v", p, p.Differs())
		}
	}
}

func linesInWords(_ *testing.T, parts []string) string {
	var out []string
	for _, run := range Lines(strings.Fields(parts[0]), strings.Fields(parts[1])) {
		before, after := strings.Join(run.Before, " "), strings.Join(run.After, " ")
		switch {
		case run.Same && before == after:
			out = append(out, before)
		case run.Same:
			out = append(out, fmt.Sprintf("[%s] is not [%s]", before, after))
		default:
			out = append(out, fmt.Sprintf("(-%s +%s)", before, after))
		}
	}
	return strings.Join(out, " ")
}
