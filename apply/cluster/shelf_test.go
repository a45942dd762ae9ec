package cluster

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/render"
)

// What files have is listed with what a dry run has written over it, by each selector.
func TestListsOfFilesHaveWhatADryRunWrites(t *testing.T) {
	ingress := func(name, value string) string {
		return fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: %s, namespace: one, uid: u-%[1]s, labels: {l: "%s"}}, spec: {x: 1}}`, name, value)
	}
	c, err := OfObjects(objectsOf(t, ingress("a", "1"), ingress("b", "1"), ingress("c", "2"),
		`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: bare, labels: {l: "1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	dry := c.DryRun(DryRunClient)
	lists := func(c *Cluster, selector string) (names []string) {
		t.Helper()
		list, err := c.Objects(t.Context(), kinds.Ingress.Resource(), "one", metav1.ListOptions{LabelSelector: selector})
		metas, metaErr := ListMetas(t.Context(), c, kinds.Ingress.Resource(), "one", metav1.ListOptions{LabelSelector: selector},
			func(m *metav1.ObjectMeta) (string, bool) { return m.Name, true })
		for _, o := range list {
			names = append(names, o.GetName())
		}
		if err != nil || metaErr != nil || !slices.Equal(names, metas) {
			t.Fatalf("%q: objects %v %v, metadata %v %v", selector, names, err, metas, metaErr)
		}
		slices.Sort(names)
		return names
	}
	for _, selector := range []string{"l=1", "l in (1, 2)", "l notin (2)", ""} {
		lists(dry, selector) // an index that is made before a write knows what it writes
	}
	write := func(name, value string) {
		t.Helper()
		o := objectsOf(t, ingress(name, value))[0]
		o.SetUID("")
		if _, _, err := dry.As("m").applyObject(t.Context(), render.Object{Kind: kinds.Ingress, Namespace: "one", Name: name, Config: o}, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "2")
	write("bare", "2")
	write("d", "1")
	write("d", "3")
	if err := dry.DeletePinned(t.Context(), kinds.Ingress, "one", "c", "", ""); err != nil {
		t.Fatal(err)
	}
	for selector, want := range map[string][]string{
		"": {"a", "b", "bare", "d"}, "l=1": {"b"}, "l in (1, 2)": {"a", "b", "bare"}, "l notin (2)": {"b", "d"}, "l=3,l!=2": {"d"}, "l": {"a", "b", "bare", "d"}, "l=9": nil,
	} {
		if got := lists(dry, selector); !slices.Equal(got, want) {
			t.Errorf("%q of the dry run: %v, want %v", selector, got, want)
		}
	}
	if got := lists(c, "l=1"); !slices.Equal(got, []string{"a", "b", "bare"}) {
		t.Errorf("the files have changed: %v", got)
	}
}

// A selection looks at what it finds, and at nothing else.
func TestSelectionsAreIndexed(t *testing.T) {
	at, looks := newStore(), 0
	for i := range 100 {
		o := objectsOf(t, fmt.Sprintf(`{kind: A, metadata: {name: n%d, labels: {l: "%d"}}}`, i, i%50))[0]
		at.put(schema.GroupResource{}, listed.Unread(fmt.Sprint("one/", i), func() *unstructured.Unstructured {
			looks++
			return o
		}))
	}
	selector, err := labels.Parse("l in (7, 8)")
	for range 10 {
		got := at.list(schema.GroupResource{}, "", selector, nothing)
		if err != nil || len(got) != 4 || got[0].Key != "one/57" || got[3].Key != "one/8" {
			t.Errorf("chosen: %v %v", got, err)
		}
	}
	if looks != 100+10*4 { // each once for the index
		t.Errorf("%d looks", looks)
	}
}
