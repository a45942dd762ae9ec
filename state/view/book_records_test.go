package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// The state of a record is what its controller reports for the current version of the object.
func TestRecordState(t *testing.T) {
	operation := func(state string) string {
		return `"observedGeneration": 2, "lastOperation": {"type": "Reconcile", "state": "` + state + `", "description": "done"}`
	}
	for name, c := range map[string]struct {
		kind, status         string
		change               func(*unstructured.Unstructured)
		want, last, messages string
	}{
		"new":            {kind: "DNSRecord", want: StatePending},
		"served":         {kind: "DNSRecord", status: operation("Succeeded"), want: StateActive, last: "Reconcile Succeeded"},
		"at work":        {kind: "DNSRecord", status: operation("Processing"), want: StatePending, last: "Reconcile Processing"},
		"error":          {kind: "DNSRecord", status: operation("Error") + `, "lastError": {"description": "no zone"}`, want: StateFailed, last: "Reconcile Error", messages: "no zone"},
		"failed":         {kind: "DNSRecord", status: operation("Failed"), want: StateFailed, last: "Reconcile Failed", messages: "done"},
		"an old success": {kind: "DNSRecord", status: strings.Replace(operation("Succeeded"), ": 2", ": 1", 1), want: StatePending, last: "Reconcile Succeeded"},
		"asked again": {kind: "DNSRecord", status: operation("Succeeded"), want: StatePending, last: "Reconcile Succeeded", change: func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{GardenerOperation: "reconcile"})
		}},
		"going": {kind: "DNSRecord", status: operation("Succeeded"), want: StateTerminating, last: "Reconcile Succeeded", change: func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, "2026-11-18T09:00:00Z", "metadata", "deletionTimestamp")
		}},
		"endpoint new":      {kind: "DNSEndpoint", want: StatePending},
		"endpoint seen":     {kind: "DNSEndpoint", status: `"observedGeneration": 2`, want: StateActive},
		"endpoint outdated": {kind: "DNSEndpoint", status: `"observedGeneration": 1`, want: StatePending},
	} {
		o := statetest.Record(t, c.kind, "shop.example.com", "x", statetest.Shop, 2, statetest.RecordA, c.status)
		if c.change != nil {
			c.change(o)
		}
		if r := RecordObjectOf(o); r.State != c.want || r.Operation != c.last || r.Message != c.messages {
			t.Errorf("%s: %q, %q, %q", name, r.State, r.Operation, r.Message)
		}
	}
}

// The book lists each record with its zone, and says if two objects have the same record.
func TestBookOfRecords(t *testing.T) {
	objects := []RecordObject{
		RecordObjectOf(statetest.Record(t, "DNSRecord", "shop.example.com", "shop.example.com-a", statetest.Shop, 1, statetest.RecordA, `"zone": "found"`)),
		RecordObjectOf(statetest.Record(t, "DNSRecord", "shop.example.com", "shop.example.com-txt", statetest.Shop, 1, `"name": "_akash-net.shop.example.com", "recordType": "TXT", "values": ["x"], "zone": "asked"`, `"zone": "found"`)),
		RecordObjectOf(statetest.Record(t, "DNSEndpoint", "shop.example.com", "shop.example.com", statetest.Blog, 1, `"endpoints": [{"dnsName": "shop.example.com", "recordType": "A", "targets": ["192.0.2.2"]}]`, "")),
		RecordObjectOf(statetest.Record(t, "DNSRecord", "", "somebody-elses", statetest.Shop, 1, statetest.RecordA, "")),
	}
	type row struct{ Name, Type, Values, Zone, Owner, Message string }
	var got []row
	book := NewBook(config.Default(), Contents{Records: objects}, SubjectDNS)
	for _, r := range book.DNS {
		got = append(got, row{r.Name, string(r.Type), strings.Join(r.Values, ","), r.Zone, r.Owner, r.Message})
	}
	want := []row{
		{"shop.example.com", "A", "192.0.2.2", "", statetest.Blog.Owner, ""},
		{"shop.example.com", "A", "192.0.2.1", "found", statetest.Shop.Owner, "dnsendpoint " + statetest.Blog.Namespace() + "/shop.example.com is for it too"},
		{"_akash-net.shop.example.com", "TXT", "x", "asked", statetest.Shop.Owner, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	book.Select(labels.SelectorFromSet(labels.Set{lease.LabelOwner: statetest.Blog.Owner}), "")
	if len(book.DNS) != 1 || book.Empty() {
		t.Errorf("selected %v", book.DNS)
	}
	later := NewBook(config.Default(), Contents{}, SubjectDNS)
	if gone := later.Changes(book); len(gone.DNS) != 1 || gone.DNS[0].State != StateReleased {
		t.Errorf("what a watch tells: %v", gone.DNS)
	}
}
