package state

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// AnnouncementOf reads an announcement from a typed Lease, by the rules of ReadAnnouncement.
func AnnouncementOf(o *coordinationv1.Lease) (*Announcement, error) {
	var spec Announcement
	if by := o.Spec.HolderIdentity; by != nil {
		spec.By = *by
	}
	if seconds := o.Spec.LeaseDurationSeconds; seconds != nil {
		spec.Lasts = time.Duration(*seconds) * time.Second
	}
	if at := o.Spec.AcquireTime; at != nil {
		spec.Begun = at.Time
	}
	if at := o.Spec.RenewTime; at != nil {
		spec.Renewed = at.Time
	}
	return readAnnouncement(o, spec)
}
