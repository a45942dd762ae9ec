package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// KindRun is the value of the kind label of an announcement. It is no Kind of claim.
const KindRun = "run"

// OwnerRun is the value of the owner label of an announcement: one LIST by that label selects the announcements and the
// claims of an owner. It is no wallet.
const OwnerRun = "run"

// Annotations of an announcement.
const (
	AnnotationGroups   = lease.Domain + "/groups"
	AnnotationPhase    = lease.Domain + "/phase"
	AnnotationFencedBy = lease.Domain + "/fenced-by"
	AnnotationVersion  = lease.Domain + "/version"
)

// announcementPrefix starts the name of each announcement.
const announcementPrefix = "run--"

// MaxAnnounced limits the deployment groups of one announcement: other commands wait for all of them, and the
// annotations of an object have at most 256 KiB.
const MaxAnnounced = 500

// Phase is the state of a command that has announced itself.
type Phase string

// The phases of a command.
const (
	// Active commands write for their deployment groups.
	Active Phase = "active"
	// Undoing commands give back what they took, for at least some of their groups.
	Undoing Phase = "undoing"
	// Fenced commands count as dead. Another command has taken over their work; they no longer write.
	Fenced Phase = "fenced"
	// Closing is the phase of an uninstall that removes the ledger. It names no groups: nobody waits for it, and
	// commands that see it take no claims. It is never renewed; install or uninstall deletes it.
	Closing Phase = "closing"
)

// Announcement records that a command is running and for which deployment groups it writes. It is a Lease object in the
// ledger's namespace. It exists from before the command's first write until the command ends.
type Announcement struct {
	// Nonce identifies the command. The marks on the parts that it takes contain it.
	Nonce  string
	Groups []lease.Group
	// By is who runs the command, as USER@HOST. Version is the version of the program.
	By, Version string
	// Begun is when the command announced itself, Renewed when it last renewed the announcement, both by the API
	// server's clock. A renewal is valid for Lasts.
	Begun, Renewed time.Time
	Lasts          time.Duration
	Phase          Phase
	// FencedBy is the nonce of the command that has taken over. It is the command's own nonce if the command ended with
	// unfinished work.
	FencedBy string

	UID             types.UID
	ResourceVersion string
}

// Name returns the name of the object.
func (a *Announcement) Name() string { return AnnouncementName(a.Nonce) }

// AnnouncementName returns the object name of the announcement with the nonce.
func AnnouncementName(nonce string) string { return announcementPrefix + nonce }

// AnnouncedNonce returns the nonce in the name of an announcement. ok is false for any other name.
func AnnouncedNonce(name string) (nonce string, ok bool) {
	return strings.CutPrefix(name, announcementPrefix)
}

// IsAnnouncement reports whether the name is the name of an announcement.
func IsAnnouncement(name string) bool { return strings.HasPrefix(name, announcementPrefix) }

// Names reports whether the announcement names one of the deployment groups.
func (a *Announcement) Names(groups ...lease.Group) bool {
	return slices.ContainsFunc(groups, func(g lease.Group) bool { return slices.Contains(a.Groups, g) })
}

// Over reports whether the announcement seems to have expired. now is by the API server's clock, by which a renewal is
// not to come either: that of a server whose clock was ahead says nothing. This is for people. Before a command takes over
// the work of another one, it watches whether the other one renews its announcement (protocol.Watch).
func (a *Announcement) Over(now time.Time) bool {
	return a.Phase != Closing && now.Sub(a.Renewed).Abs() > a.Lasts+Margin
}

// Dead reports whether the announcement seems to have expired, or is older than after since its last renewal. With after
// 0 every announcement counts as dead, except one that is Closing.
func (a *Announcement) Dead(now time.Time, after time.Duration) bool {
	return a.Phase != Closing && (after <= 0 || a.Over(now) || now.Sub(a.Renewed).Abs() > after)
}

// String names the run, who runs it and when it began.
func (a *Announcement) String() string {
	return fmt.Sprintf("run %s of %s, begun %s", a.Nonce, a.By, a.Begun.UTC().Format(time.RFC3339))
}

// Stands describes the run and its state. now is by the API server's clock.
func (a *Announcement) Stands(now time.Time) string {
	switch {
	case a.Phase == Fenced && a.FencedBy == a.Nonce:
		return a.String() + ", ended with unfinished work"
	case a.Phase == Fenced:
		return a.String() + ", has crashed; run " + a.FencedBy + " has taken over"
	case a.Over(now):
		return a.String() + ", has crashed (last renewed at " + a.Renewed.UTC().Format(time.RFC3339) + ")"
	case a.Phase == Closing:
		return a.String() + ", is uninstalling the ledger"
	case a.Phase == Undoing:
		return a.String() + ", gives back what it took"
	}
	return a.String() + ", is at work"
}

// ReadAnnouncement reads an announcement from an unstructured Lease. It returns an error for any field it does not
// understand: a client that misreads an announcement could write for groups it should wait for.
func ReadAnnouncement(o *unstructured.Unstructured) (*Announcement, error) {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	at := func(field string) time.Time {
		text, _ := spec[field].(string)
		t, _ := time.Parse(time.RFC3339Nano, text)
		return t
	}
	by, _ := spec["holderIdentity"].(string)
	seconds, _ := spec["leaseDurationSeconds"].(int64)
	return readAnnouncement(o, Announcement{
		By: by, Lasts: time.Duration(seconds) * time.Second, Begun: at("acquireTime"), Renewed: at("renewTime"),
	})
}

// AnnouncementOf reads an announcement from a typed Lease, by the rules of ReadAnnouncement.
func AnnouncementOf(o *coordination.Lease) (*Announcement, error) {
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

// readAnnouncement adds the metadata of the object to the fields of its spec. Fields that the spec lacks are zero.
func readAnnouncement(o metav1.Object, spec Announcement) (*Announcement, error) {
	annotations := o.GetAnnotations()
	nonce, _ := strings.CutPrefix(o.GetName(), announcementPrefix)
	a := &Announcement{
		Nonce: nonce, Version: annotations[AnnotationVersion], Phase: Phase(annotations[AnnotationPhase]),
		FencedBy: annotations[AnnotationFencedBy], UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
	fail := func(err error) error {
		return fmt.Errorf("lease.coordination.k8s.io/%s cannot be read as the announcement of a run: %w", o.GetName(), err)
	}
	switch {
	case nonce == "" || nonce == o.GetName():
		return nil, fail(errors.New("its name does not say so"))
	case o.GetLabels()[LabelKind] != KindRun:
		return nil, fail(fmt.Errorf("its label %s is not %s", LabelKind, KindRun))
	case annotations[AnnotationLedger] != LedgerVersion:
		return nil, fail(fmt.Errorf("it was written for version %q of the ledger", annotations[AnnotationLedger]))
	case !slices.Contains([]Phase{Active, Undoing, Fenced, Closing}, a.Phase):
		return nil, fail(fmt.Errorf("there is no phase %q", a.Phase))
	case (a.Phase == Fenced) != (a.FencedBy != ""):
		return nil, fail(errors.New("it is not fenced and said by whom, or neither"))
	case a.FencedBy != "" && len(validation.IsDNS1123Subdomain(AnnouncementName(a.FencedBy))) > 0:
		return nil, fail(fmt.Errorf("%q, which has fenced it, is no run", lease.Clip(a.FencedBy)))
	}
	if groups := annotations[AnnotationGroups]; a.Phase != Closing || groups != "" {
		for text := range strings.SplitSeq(groups, " ") {
			g, err := lease.ParseGroup(text)
			if err != nil {
				return nil, fail(err)
			}
			a.Groups = append(a.Groups, g)
		}
	}
	switch {
	case spec.Lasts < time.Second:
		return nil, fail(errors.New("it has no spec.leaseDurationSeconds"))
	case spec.Begun.IsZero():
		return nil, fail(errors.New("its spec.acquireTime is no time"))
	case spec.Renewed.IsZero():
		return nil, fail(errors.New("its spec.renewTime is no time"))
	}
	a.By, a.Lasts, a.Begun, a.Renewed = spec.By, spec.Lasts, spec.Begun.UTC(), spec.Renewed.UTC()
	return a, nil
}

// Configuration returns the apply configuration that writes the announcement.
func (a *Announcement) Configuration(namespace string) *coordinationv1.LeaseApplyConfiguration {
	ac := coordinationv1.Lease(a.Name(), namespace).
		WithLabels(map[string]string{LabelKind: KindRun, LabelOwner: OwnerRun}).
		WithAnnotations(map[string]string{
			AnnotationLedger: LedgerVersion, AnnotationGroups: strings.Join(groupTexts(a.Groups), " "),
			AnnotationPhase: string(a.Phase), AnnotationVersion: a.Version,
		}).
		WithSpec(coordinationv1.LeaseSpec().WithHolderIdentity(a.By).WithLeaseDurationSeconds(int32(a.Lasts / time.Second)).
			WithAcquireTime(metav1.NewMicroTime(a.Begun.UTC())).WithRenewTime(metav1.NewMicroTime(a.Renewed.UTC())))
	if a.FencedBy != "" {
		ac.WithAnnotations(map[string]string{AnnotationFencedBy: a.FencedBy})
	}
	if a.UID != "" {
		ac.WithUID(a.UID).WithResourceVersion(a.ResourceVersion)
	}
	return ac
}

// groupTexts returns the groups as text.
func groupTexts(groups []lease.Group) []string {
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = g.String()
	}
	return texts
}
