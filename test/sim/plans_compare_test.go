package sim

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// runMark is the mark of a run on the part of a claim.
var runMark = regexp.MustCompile(`,?"run":"[^"]*"`)

// state is what objects there are, without what tells one write from another.
func (s *Server) state() map[string]any {
	out := map[string]any{}
	for path, o := range s.objects {
		c := o.object.DeepCopy()
		c.SetUID("")
		c.SetResourceVersion("")
		c.SetManagedFields(nil)
		c.SetGeneration(0)
		unstructured.RemoveNestedField(c.Object, "metadata", "creationTimestamp")
		annotations := unmarked(c.GetAnnotations())
		for name, value := range annotations {
			annotations[name] = runMark.ReplaceAllString(value, "")
		}
		c.SetAnnotations(annotations)
		out[path] = c.Object
	}
	return out
}

// unmarked are annotations without the marks of the run that has written, or touched, the object last.
func unmarked(annotations map[string]string) map[string]string {
	for _, name := range []string{lease.AnnotationTaken, kept.AnnotationRun} {
		if delete(annotations, name); len(annotations) == 0 {
			return nil
		}
	}
	return annotations
}

// compareObjects compares what has become of the objects with what the plan says.
func (x *checking) compareObjects(after *Server) {
	expected := map[string]map[string]any{}
	for at, o := range x.server.objects {
		if o.kind.plural != "leases" {
			expected[at] = o.object.Object
		}
	}
	var all []plan.Change
	for _, l := range x.planned.Leases {
		all = append(all, l.Changes...)
	}
	for _, deletes := range []bool{true, false} { // what one lease gives up another may get
		for _, c := range all {
			at, ok := pathOf(c)
			switch {
			case !ok || deletes != (c.Action == plan.Delete):
			case deletes:
				delete(expected, at)
			case c.Action == plan.Create, c.Action == plan.Update:
				expected[at] = c.After
			}
		}
	}
	for at, o := range after.objects {
		if o.kind.plural == "leases" {
			continue
		}
		want, there := expected[at]
		if !there {
			x.fail("%s is there, and the plan does not have it", at)
		}
		w := unstructured.Unstructured{Object: want}
		switch {
		case !managed.Contains(asData(o.object.Object["spec"]), asData(want["spec"])):
			x.fail("%s differs from the plan: %s", at, cmp.Diff(want["spec"], o.object.Object["spec"]))
		case !reflect.DeepEqual(unmarked(w.GetAnnotations()), unmarked(o.object.GetAnnotations())):
			x.fail("%s differs from the plan: %s", at, cmp.Diff(w.GetAnnotations(), o.object.GetAnnotations()))
		}
		delete(expected, at)
	}
	if len(expected) > 0 {
		x.fail("not there: %v", slices.Sorted(maps.Keys(expected)))
	}
}

// pathOf is the path of the object that a change is about; ok is false for a claim.
func pathOf(c plan.Change) (path string, ok bool) {
	if c.Kind == kinds.Namespace.Singular {
		return "/api/v1/namespaces/" + c.Name, true
	}
	k := kinds.Of(c.Kind)
	prefix := "/apis/" + k.Group + "/" + k.Version
	if k.Group == "" {
		prefix = "/api/" + k.Version
	}
	return prefix + "/namespaces/" + c.Namespace + "/" + k.Plural + "/" + c.Name, k.Kind != ""
}

// asData is a value with numbers of one type.
func asData(v any) (out any) {
	if err := json.Unmarshal([]byte(asJSON(v)), &out); err != nil {
		panic(err)
	}
	return out
}

// compareAgain compares a plan after the apply with the one before: what was refused is refused, what was withheld is
// withheld, and nothing else differs. Leases that give to each other in a circle may get something now.
func (x *checking) compareAgain(text string) {
	var again plan.Plan
	if err := json.Unmarshal([]byte(text), &again); err != nil {
		x.fail("the second plan cannot be read: %v", err)
	}
	circular := x.circular()
	for i, l := range again.Leases {
		was := x.planned.Leases[i]
		var left []string
		for _, c := range l.Changes {
			if c.Action != plan.Withhold {
				left = append(left, string(c.Action)+" "+c.ID())
			}
		}
		switch {
		case circular[i]:
		case (l.Refused == "") != (was.Refused == ""):
			x.fail("the second plan refuses %s: %q; the first %q", l.Lease, l.Refused, was.Refused)
		case len(left) > 0:
			x.fail("the second plan of %s: %q %s", l.Lease, left, asJSON(l))
		case was.Refused == "" && !slices.Equal(withheld(was), withheld(l)):
			x.fail("the second plan withholds %q from %s, the first %q", withheld(l), l.Lease, withheld(was))
		}
	}
}

func withheld(l plan.Lease) (out []string) {
	for _, c := range l.Changes {
		if c.Action == plan.Withhold {
			out = append(out, c.ID()+" "+c.Why)
		}
	}
	return out
}

// circular are the leases that are served before one which gives up what they ask for, as that asks for something too that
// they, or others, come first for; and those that ask for what a circular one gives up, once it gets what it asks for.
func (x *checking) circular() map[int]bool {
	held := map[lease.Group][]*state.Claim{}
	for _, o := range x.server.Objects("leases") {
		c, ok := state.ReadClaim(&metav1.ObjectMeta{Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(), ManagedFields: o.GetManagedFields()})
		if !ok || c.Thing == "" {
			continue
		}
		for _, g := range c.Writers() {
			held[g] = append(held[g], &c)
		}
	}
	out, wishes, rank := map[int]bool{}, make([]state.Wish, len(x.defs)), map[int]int{}
	for i, d := range x.defs {
		req, _ := state.NewRequest(d, x.cfg)
		wishes[i] = state.WishOf(req, held[d.Lease.Group()], nil)
		if !x.prune {
			wishes[i].Gives = nil
		}
	}
	for at, i := range state.Serve(wishes).Order {
		rank[i] = at
	}
	gives := func(k, i int) bool {
		short := strings.Contains(x.planned.Leases[i].Refused, "no address is free")
		return i != k && (short && wishes[k].GivesAddress() || state.Serve([]state.Wish{{Asks: wishes[i].Asks}, {Gives: wishes[k].Gives}}).Given[0])
	}
	for range wishes { // as long as one may follow from another
		for i := range wishes {
			for k := range wishes {
				out[i] = out[i] || gives(k, i) && (rank[k] > rank[i] || out[k])
			}
		}
	}
	return out
}
