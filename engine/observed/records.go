package observed

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// RecordHolder returns the other deployment group that may write a host's records: it holds a part of the host's claim, which may
// be nil, and its records are older than those of the group. It is empty if there is none. A DNS name has one writer.
func (s *Snapshot) RecordHolder(group lease.Group, claim *state.Claim, host string) string {
	records := s.Records.Of(host)
	slices.SortStableFunc(records, func(a, b Object) int {
		return cmp.Or(a.Live.GetCreationTimestamp().Compare(b.Live.GetCreationTimestamp().Time), cmp.Compare(a.Live.GetUID(), b.Live.GetUID()))
	})
	for _, o := range records {
		switch {
		case o.Group == group:
			return ""
		case len(claim.PartsOf(o.Group)) > 0:
			return o.Group.String()
		}
	}
	return ""
}

// Replaced is a record that must be gone before others are created, and the reason.
type Replaced struct {
	Object Object
	Why    string
}

// ToReplace returns the records of a host that must be deleted before the group's wanted ones are written: those that
// cannot be updated and, if any record is to be created, all that are not wanted. recreated has the names of the wanted
// records whose live object is deleted.
func (s *Snapshot) ToReplace(group lease.Group, host string, objects []render.Object) (old []Replaced, recreated map[string]bool) {
	recreated = map[string]bool{}
	created := ""
	wanted := sets.New[*unstructured.Unstructured]()
	for _, o := range objects {
		live := s.Find(o)
		if live == nil {
			created = o.String()
			continue
		}
		wanted.Insert(live)
		if why := whyReplaced(o, live); why != "" {
			created, recreated[o.Name] = o.String(), true
			id, _ := lease.IDFromLabels(live.GetLabels())
			old = append(old, Replaced{s.object(o.Kind, live, id.Group()), why})
		}
	}
	if created == "" {
		return old, recreated
	}
	for _, o := range s.Records.Of(host) {
		if wanted.Has(o.Live) {
			continue
		}
		why := "by " + created
		if o.Group != group {
			why += ", from deployment " + o.Group.String()
		}
		old = append(old, Replaced{o, why})
	}
	return old, recreated
}

// fixedFields are the immutable fields of a DNSRecord's spec: Gardener's webhook for DNSRecords rejects a change of
// them, and the resource definition one of the class.
var fixedFields = []string{"type", "class", "name", "recordType"}

// whyReplaced returns the reason why a live record cannot be updated to the wanted one: it is being deleted, or an
// immutable field of a DNSRecord differs. It is empty if the record can be updated; every field of a DNSEndpoint can.
func whyReplaced(o render.Object, live *unstructured.Unstructured) string {
	if live.GetDeletionTimestamp() != nil {
		return "it is being deleted"
	}
	if o.Kind != kinds.DNSRecord {
		return ""
	}
	want := render.Rendered(o)
	for _, name := range fixedFields {
		was, _, _ := unstructured.NestedString(live.Object, "spec", name)
		is, _, _ := unstructured.NestedString(want.Object, "spec", name)
		if was != is {
			return fmt.Sprintf("its %s cannot be changed from %q to %q", name, was, is)
		}
	}
	return ""
}

// prepared returns a rendered record as it is applied over the live one, which may be nil: a DNSRecord with the annotations
// that request a reconcile from Gardener's extension. The extension ignores a new spec without a new request; with an
// unchanged spec the annotations stay as they are, so that the record is not written.
func prepared(o render.Object, live *unstructured.Unstructured, now time.Time) render.Object {
	if o.Kind != kinds.DNSRecord {
		return o
	}
	u := render.Rendered(o)
	annotations := u.GetAnnotations()
	if live != nil && reflect.DeepEqual(live.Object["spec"], u.Object["spec"]) {
		for _, name := range []string{view.GardenerOperation, view.GardenerTimestamp} {
			if value, set := live.GetAnnotations()[name]; set {
				annotations[name] = value
			}
		}
	} else {
		annotations[view.GardenerOperation] = "reconcile"
		annotations[view.GardenerTimestamp] = now.UTC().Format(time.RFC3339Nano)
	}
	u.SetAnnotations(annotations)
	o.Config = u
	return o
}
