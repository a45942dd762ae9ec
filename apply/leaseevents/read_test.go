package leaseevents

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// When an event was noted first and last, and how often: of both forms of the API, and of what is missing.
func TestCount(t *testing.T) {
	const at = "2026-01-01T00:0%d:00Z"
	for name, tt := range map[string]struct{ fields, want string }{
		"once":        {`"firstTimestamp":"1","lastTimestamp":"1"`, "1 1 x1"},
		"often":       {`"firstTimestamp":"1","lastTimestamp":"5","count":7`, "1 5 x7"},
		"new":         {`"eventTime":"2"`, "2 2 x1"},
		"new, often":  {`"eventTime":"2","series":{"count":3,"lastObservedTime":"6"}`, "2 6 x3"},
		"no times":    {``, "9 9 x1"},
		"last before": {`"firstTimestamp":"4","lastTimestamp":"1"`, "4 4 x1"},
		"no count":    {`"eventTime":"2","series":{"lastObservedTime":"6"}`, "2 6 x1"},
	} {
		fields := tt.fields
		for n := range 10 {
			fields = strings.ReplaceAll(fields, fmt.Sprintf(`"eventTime":"%d"`, n), `"eventTime":"`+strings.Replace(fmt.Sprintf(at, n), "Z", ".000000Z", 1)+`"`)
			fields = strings.ReplaceAll(fields, fmt.Sprintf(`ObservedTime":"%d"`, n), `ObservedTime":"`+strings.Replace(fmt.Sprintf(at, n), "Z", ".000000Z", 1)+`"`)
			fields = strings.ReplaceAll(fields, fmt.Sprintf(`Timestamp":"%d"`, n), `Timestamp":"`+fmt.Sprintf(at, n)+`"`)
		}
		o := &unstructured.Unstructured{}
		text := `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","creationTimestamp":"` + fmt.Sprintf(at, 9) + `"},"involvedObject":{"kind":"Pod","name":"web-0"}`
		if fields != "" {
			text += "," + fields
		}
		if err := o.UnmarshalJSON([]byte(text + "}")); err != nil {
			t.Fatal(err)
		}
		got, err := OfService(lease.ID{}, "web").of([]*unstructured.Unstructured{o})
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, %v", name, got, err)
		}
		if said := fmt.Sprintf("%d %d x%d", got[0].First.Minute(), got[0].Last.Minute(), got[0].Times); said != tt.want {
			t.Errorf("%s: %s, want %s", name, said, tt.want)
		}
		if others, _ := OfService(lease.ID{}, "db").of([]*unstructured.Unstructured{o}); len(others) > 0 {
			t.Errorf("%s: is of another service too", name)
		}
	}
	if _, err := (Selection{}).of([]*unstructured.Unstructured{{Object: map[string]any{"message": 7}}}); err == nil {
		t.Error("an event that cannot be read is read")
	}
}

// A watch passes an event on once for each of its versions, also when all are listed again, and remembers no more than are listed.
func TestFresh(t *testing.T) {
	known := versions{}
	for i, tt := range []struct {
		found, fresh string
		whole        bool
		remembers    int
	}{
		{"a1 b1", "a1 b1", true, 2},
		{"c1", "c1", false, 3},
		{"b2", "b2", false, 3},
		{"b2 c1", "", true, 2},
		{"b2 d1", "d1", true, 2},
		{"c1", "c1", false, 3},
	} {
		var found []*unstructured.Unstructured
		for _, text := range strings.Fields(tt.found) {
			found = append(found, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": text[:1], "resourceVersion": text[1:]}}})
		}
		var got []string
		for _, o := range known.fresh(found, tt.whole) {
			got = append(got, string(o.GetUID())+o.GetResourceVersion())
		}
		if strings.Join(got, " ") != tt.fresh || len(known) != tt.remembers {
			t.Errorf("%d: of %s %s are fresh, and %d are remembered", i+1, tt.found, got, len(known))
		}
	}
}
