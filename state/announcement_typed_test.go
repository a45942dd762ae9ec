package state

import (
	"encoding/json"
	"reflect"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// An object that was read by its type says the same as one that was read as plain maps, or is refused for the same reason.
func TestAnnouncementOfATypedObject(t *testing.T) {
	for name, change := range map[string]func(*coordinationv1.Lease){
		"whole":            func(*coordinationv1.Lease) {},
		"without a holder": func(o *coordinationv1.Lease) { o.Spec.HolderIdentity = nil },
		"without an end":   func(o *coordinationv1.Lease) { o.Spec.LeaseDurationSeconds = nil },
		"never begun":      func(o *coordinationv1.Lease) { o.Spec.AcquireTime = nil },
		"never renewed":    func(o *coordinationv1.Lease) { o.Spec.RenewTime = nil },
		"without a label":  func(o *coordinationv1.Lease) { o.Labels = nil },
	} {
		t.Run(name, func(t *testing.T) {
			plain, typed := writtenRun(t, announcement()), &coordinationv1.Lease{}
			text, err := plain.MarshalJSON()
			if err == nil {
				err = json.Unmarshal(text, typed)
			}
			if err != nil {
				t.Fatal(err)
			}
			change(typed)
			if text, err = json.Marshal(typed); err == nil {
				err = plain.UnmarshalJSON(text)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, refused := AnnouncementOf(typed)
			want, why := ReadAnnouncement(plain)
			if !reflect.DeepEqual(got, want) || (refused == nil) != (why == nil) || refused != nil && refused.Error() != why.Error() {
				t.Errorf("got %+v (%v), want %+v (%v)", got, refused, want, why)
			}
		})
	}
}
