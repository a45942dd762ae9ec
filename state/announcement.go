package state

import (
	"cmp"
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
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
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

// RestoreLedger says what to do where the ledger is lost. A plain install would make a configuration without the provider's ranges.
const RestoreLedger = "restore it from its backup (docs/backup.md): kubectl akash-net restore -f FILE, then: kubectl akash-net repair"

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
	// commands that see it take no claims. That of a crashed uninstall stays until somebody opens the ledger again.
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
	// Unreadable says why the announcement cannot be read. Groups are then those that can be read: only their commands
	// have to wait until somebody has deleted it.
	Unreadable string

	UID             types.UID
	ResourceVersion string
}

// MaxLasts limits how long a renewal is valid, whatever the announcement says: nobody stops a deployment group for years with
// one write.
const MaxLasts = time.Minute

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

// HasEndedFor reports whether the command gives nothing of a deployment group back any more: its announcement is gone (a is
// nil), or was left when the command ended, and does not name the group.
func (a *Announcement) HasEndedFor(g lease.Group) bool {
	return a == nil || a.Phase == Fenced && !a.Names(g)
}

// Over reports whether the announcement seems to have expired. now is by the API server's clock, by which a renewal is
// not to come either: that of a server whose clock was ahead says nothing. This is for people. Before a command takes over
// the work of another one, it watches whether the other one renews its announcement (protocol.Watch).
func (a *Announcement) Over(now time.Time) bool {
	return now.Sub(a.Renewed).Abs() > a.Lasts+Margin
}

// Patience is how long another command watches an announcement that does not change before it takes the command for crashed: as long as a
// renewal is valid, and a third more, since steady clocks differ by how fast they run.
func (a *Announcement) Patience() time.Duration { return a.Lasts + a.Lasts/3 }

// Dead reports whether the announcement seems to have expired, or is older than after since its last renewal. With after
// 0 every announcement counts as dead.
func (a *Announcement) Dead(now time.Time, after time.Duration) bool {
	return after <= 0 || a.Over(now) || now.Sub(a.Renewed).Abs() > after
}

// String names the run, who runs it and when it began.
func (a *Announcement) String() string {
	return fmt.Sprintf("run %s of %s, begun %s", a.Nonce, a.By, a.Begun.UTC().Format(time.RFC3339))
}

// InTheWay says for a command that waits for the run which run that is, by which object it is known, and what shows whether it has crashed.
func (a *Announcement) InTheWay() string {
	if a.Unreadable != "" {
		return fmt.Sprintf("the announcement of another command, lease.coordination.k8s.io/%s, cannot be read (%s): kubectl akash-net state --problems says what to do",
			a.Name(), a.Unreadable)
	}
	return fmt.Sprintf("another command is at work on it: %s; it has crashed if it does not renew its announcement, lease.coordination.k8s.io/%s, for %s: "+
		"kubectl akash-net state --problems lists it then, and this command goes on in its place", a, a.Name(), a.Patience())
}

// Stands describes the run and its state. now is by the API server's clock.
func (a *Announcement) Stands(now time.Time) string {
	switch {
	case a.Unreadable != "":
		return "run " + a.Nonce + ", whose announcement cannot be read (" + a.Unreadable + ")"
	case a.Phase == Fenced && a.FencedBy == a.Nonce:
		return a.String() + ", ended with unfinished work"
	case a.Phase == Fenced:
		return a.String() + ", has crashed; run " + a.FencedBy + " has taken over"
	case a.Over(now) && a.Phase == Closing:
		return a.String() + ", has crashed while it uninstalled the ledger (last renewed at " + a.Renewed.UTC().Format(time.RFC3339) + ")"
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
// understand: a client that misreads an announcement could write for groups it should wait for. With the error it
// returns the announcement as far as it can be read, or nil for an object with another name.
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
		By: by, Lasts: lasting(seconds), Begun: at("acquireTime"), Renewed: at("renewTime"),
	})
}

// lasting returns for how long a renewal is valid.
func lasting(seconds int64) time.Duration {
	return time.Duration(min(seconds, int64(MaxLasts/time.Second))) * time.Second
}

// AnnouncementOf reads an announcement from a typed Lease, by the rules of ReadAnnouncement.
func AnnouncementOf(o *coordination.Lease) (*Announcement, error) {
	var spec Announcement
	if by := o.Spec.HolderIdentity; by != nil {
		spec.By = *by
	}
	if seconds := o.Spec.LeaseDurationSeconds; seconds != nil {
		spec.Lasts = lasting(int64(*seconds))
	}
	if at := o.Spec.AcquireTime; at != nil {
		spec.Begun = at.Time
	}
	if at := o.Spec.RenewTime; at != nil {
		spec.Renewed = at.Time
	}
	return readAnnouncement(o, spec)
}

// AnnouncementOfMeta reads an announcement from the metadata of its object, by the rules of ReadAnnouncement. That does not say who runs
// the command, nor how long a renewal is valid.
func AnnouncementOfMeta(meta *metav1.ObjectMeta) (*Announcement, error) {
	at := meta.CreationTimestamp.Time
	renewed := managed.LastWritten(meta)
	if renewed.Before(at) {
		renewed = at
	}
	return readAnnouncement(meta, Announcement{By: "another command", Lasts: MaxLasts, Begun: at, Renewed: renewed})
}

// readAnnouncement adds the metadata of the object to the fields of its spec. Fields that the spec lacks are zero.
func readAnnouncement(o metav1.Object, spec Announcement) (*Announcement, error) {
	annotations := o.GetAnnotations()
	nonce, _ := strings.CutPrefix(o.GetName(), announcementPrefix)
	a := &Announcement{
		Nonce: nonce, Version: annotations[AnnotationVersion], Phase: Phase(annotations[AnnotationPhase]),
		FencedBy: annotations[AnnotationFencedBy], UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
	if nonce == "" || nonce == o.GetName() {
		return nil, fmt.Errorf("lease.coordination.k8s.io/%s cannot be read as the announcement of a run: its name does not say so", o.GetName())
	}
	a.By, a.Lasts, a.Begun, a.Renewed = spec.By, spec.Lasts, spec.Begun.UTC(), spec.Renewed.UTC()
	err := a.readGroups(annotations[AnnotationGroups])
	switch {
	case o.GetLabels()[LabelKind] != KindRun:
		err = fmt.Errorf("its label %s is not %s", LabelKind, KindRun)
	case annotations[AnnotationLedger] != LedgerVersion:
		err = fmt.Errorf("it was written for version %q of the ledger", lease.Clip(annotations[AnnotationLedger]))
	case !slices.Contains([]Phase{Active, Undoing, Fenced, Closing}, a.Phase):
		err = fmt.Errorf("there is no phase %q", lease.Clip(string(a.Phase)))
	case (a.Phase == Fenced) != (a.FencedBy != ""):
		err = errors.New("it is not fenced and said by whom, or neither")
	case a.FencedBy != "" && len(validation.IsDNS1123Subdomain(AnnouncementName(a.FencedBy))) > 0:
		err = fmt.Errorf("%q, which has fenced it, is no run", lease.Clip(a.FencedBy))
	case err != nil:
	case spec.Lasts < time.Second:
		err = errors.New("it has no spec.leaseDurationSeconds")
	case spec.Begun.IsZero():
		err = errors.New("its spec.acquireTime is no time")
	case spec.Renewed.IsZero():
		err = errors.New("its spec.renewTime is no time")
	}
	if err != nil {
		a.Unreadable = err.Error()
		return a, fmt.Errorf("lease.coordination.k8s.io/%s cannot be read as the announcement of a run: %w", o.GetName(), err)
	}
	return a, nil
}

// readGroups reads the deployment groups that the announcement names. After an error it goes on with the next.
func (a *Announcement) readGroups(text string) (err error) {
	if text == "" && a.Phase == Closing {
		return nil
	}
	for name := range strings.SplitSeq(text, " ") {
		g, unread := lease.ParseGroup(name)
		if unread == nil {
			a.Groups = append(a.Groups, g)
		}
		err = cmp.Or(err, unread)
	}
	return err
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

// AutoAddress asks for the next free address of each configured family.
const AutoAddress = "auto"

// NamedRequest returns the request for things that are named one by one: hosts (HOST, HOST/PATH or *.DOMAIN,
// case-insensitive) and addresses for an IP endpoint.
func NamedRequest(id lease.ID, hosts, addresses []string, endpoint string, cfg *config.ProviderConfig) (Request, lease.Problems) {
	var problems lease.Problems
	req := Request{Lease: id}
	for _, text := range hosts {
		w, err := ParseHostWant(text, cfg)
		if err != nil {
			problems.Add(lease.Place{}, "%v", err)
			continue
		}
		if slices.ContainsFunc(req.Hosts, func(v HostWant) bool { return w.compare(v) == 0 }) {
			problems.Add(lease.Place{}, "%s is named twice", text)
		}
		req.Hosts = append(req.Hosts, w)
	}
	if len(addresses) > 0 {
		want := EndpointWant{Name: endpoint, SharingKey: lease.SharingKey(id.Owner, endpoint)}
		if err := lease.CheckEndpointName(endpoint); err != nil {
			problems.Add(lease.Place{Path: "--endpoint"}, "%v", err)
		}
		for _, text := range addresses {
			problems = append(problems, want.addAddress(text, cfg)...)
		}
		if len(want.Addresses) > 0 && len(want.Families) > 0 {
			problems.Add(lease.Place{Path: "--address"}, "%s stands for an address of each family: name addresses, or %s alone",
				AutoAddress, AutoAddress)
		}
		req.Endpoints = []EndpointWant{want}
	}
	slices.SortFunc(req.Hosts, HostWant.compare)
	return req, append(problems, req.checkParts()...)
}

// addAddress adds an address that the command line names.
func (w *EndpointWant) addAddress(text string, cfg *config.ProviderConfig) (problems lease.Problems) {
	at := lease.Place{Path: "--address"}
	switch {
	case cfg.IP.Mode == config.ModePool:
		problems.Add(at, "in pool mode MetalLB chooses the addresses: there is none to reserve")
		return problems
	case text == AutoAddress:
		w.Families = cfg.IP.Families
		checkHasRanges(&problems, at, cfg)
		return problems
	}
	a, err := config.ParseAddr(text)
	if err != nil {
		problems.Add(at, "%v", err)
		return problems
	}
	checkInRanges(&problems, at, a, cfg)
	for _, other := range w.Addresses {
		if other == a || config.FamilyOf(other) == config.FamilyOf(a) {
			problems.Add(at, "%s: an IP endpoint has one address of each family", a)
		}
	}
	w.Addresses = append(w.Addresses, a)
	return problems
}

// ParseHostWant parses HOST, HOST/PATH or *.DOMAIN and checks it against the rules of definitions and the provider's
// configuration.
func ParseHostWant(text string, cfg *config.ProviderConfig) (HostWant, error) {
	host, path, hasPath := strings.Cut(text, "/")
	host = strings.ToLower(host)
	w := HostWant{Host: host, Path: "/"}
	if hasPath {
		w.Path = "/" + path
	}
	if err := lease.CheckRoute(host, w.Path); err != nil {
		return w, err
	}
	if why := Refuse(host, config.Backend{}, cfg); why != "" {
		return w, fmt.Errorf("%s %s", host, why)
	}
	return w, nil
}
