package state

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// The leases of two owners.
var (
	runShop = lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1}
	runBlog = lease.ID{Owner: "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn", DSeq: 5905802, GSeq: 1}
)

func announcement() *Announcement {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return &Announcement{
		Nonce: "abcdefghijk23", Groups: []lease.Group{runShop.Group(), runBlog.Group()}, By: "ann@laptop", Version: "v1.2.3",
		Begun: at, Renewed: at.Add(time.Minute).Add(123456 * time.Microsecond), Lasts: time.Minute, Phase: Active,
	}
}

// writtenRun returns an announcement as the API server stores it.
func writtenRun(t testing.TB, a *Announcement) *unstructured.Unstructured {
	t.Helper()
	text, err := json.Marshal(a.Configuration("akash-net"))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return o
}

// Reading what Configuration writes returns the same announcement.
func TestAnnouncementRoundTrip(t *testing.T) {
	for name, change := range map[string]func(*Announcement){
		"active":  func(*Announcement) {},
		"undoing": func(a *Announcement) { a.Phase = Undoing },
		"fenced":  func(a *Announcement) { a.Phase, a.FencedBy = Fenced, "another" },
		"pinned":  func(a *Announcement) { a.UID, a.ResourceVersion = "u", "7" },
		"closing": func(a *Announcement) { a.Phase, a.Groups = Closing, nil },
		"of one":  func(a *Announcement) { a.Groups = a.Groups[:1] },
	} {
		t.Run(name, func(t *testing.T) {
			want := announcement()
			change(want)
			got, err := ReadAnnouncement(writtenRun(t, want))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v (%v), want %+v", got, err, want)
			}
		})
	}
}

// A faulty announcement is an error: guessing its groups could let a command write for groups it should wait for.
func TestAnnouncementsThatCannotBeRead(t *testing.T) {
	annotate := func(key, value string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			annotations := o.GetAnnotations()
			annotations[key] = value
			o.SetAnnotations(annotations)
		}
	}
	spec := func(field string, value any) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { o.Object["spec"].(map[string]any)[field] = value }
	}
	for says, change := range map[string]func(*unstructured.Unstructured){
		"its name does not say so":          func(o *unstructured.Unstructured) { o.SetName("shop.example.com") },
		"label net.akash.network/kind":      func(o *unstructured.Unstructured) { o.SetLabels(nil) },
		`version "v2" of the ledger`:        annotate(AnnotationLedger, "v2"),
		`there is no phase "asleep"`:        annotate(AnnotationPhase, "asleep"),
		"it is not fenced and said by whom": annotate(AnnotationFencedBy, "another"),
		`"A\x1b[2Jother", which has fenced`: func(o *unstructured.Unstructured) {
			annotate(AnnotationPhase, "fenced")(o)
			annotate(AnnotationFencedBy, "A\x1b[2Jother")(o)
		},
		"lease \"everybody\"":         annotate(AnnotationGroups, "everybody"),
		"lease \"\"":                  annotate(AnnotationGroups, runShop.Group().String()+" "),
		"spec.leaseDurationSeconds":   spec("leaseDurationSeconds", int64(0)),
		"spec.acquireTime is no time": spec("acquireTime", "yesterday"),
		"spec.renewTime is no time":   spec("renewTime", nil),
	} {
		o := writtenRun(t, announcement())
		change(o)
		if a, err := ReadAnnouncement(o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want an error that says %q, got %+v, %v", says, a, err)
		} else if a != nil && !strings.Contains(a.Unreadable, says) {
			t.Errorf("want that it says %q, got %q", says, a.Unreadable)
		}
	}
}

// An announcement that cannot be read concerns the groups that can be read of it, and no others.
func TestUnreadableAnnouncementNamesItsGroups(t *testing.T) {
	o := writtenRun(t, announcement())
	annotations := o.GetAnnotations()
	annotations[AnnotationGroups] = "everybody " + runShop.Group().String() + " " + runShop.Owner + "/99999999999999999999/1"
	o.SetAnnotations(annotations)
	a, err := ReadAnnouncement(o)
	if err == nil || a == nil || !a.Names(runShop.Group()) || len(a.Groups) != 1 {
		t.Errorf("got %+v, %v", a, err)
	}
}

// However long an announcement says that it lasts, or however far ahead it was renewed, it is over some time.
func TestNoAnnouncementLastsForEver(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		seconds int64
		renewed time.Time
		want    bool
	}{
		"as the program writes it":         {15, now.Add(-20 * time.Second), false},
		"as the program writes it, over":   {15, now.Add(-21 * time.Second), true},
		"68 years":                         {1<<31 - 1, now.Add(-65 * time.Second), false},
		"68 years, over":                   {1<<31 - 1, now.Add(-66 * time.Second), true},
		"more than a number":               {1<<63 - 1, now.Add(-66 * time.Second), true},
		"renewed by a clock that is ahead": {15, now.Add(time.Hour), true},
		"renewed in the year 9999":         {15, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), true},
	} {
		o := writtenRun(t, announcement())
		spec := o.Object["spec"].(map[string]any)
		spec["leaseDurationSeconds"], spec["renewTime"] = tt.seconds, tt.renewed.Format(time.RFC3339Nano)
		a, err := ReadAnnouncement(o)
		if err != nil || a.Over(now) != tt.want {
			t.Errorf("%s: want over %t, got %+v, %v", name, tt.want, a, err)
		}
	}
}

// Arbitrary annotations are an error, or are written again as they were read.
func FuzzAnnouncement(f *testing.F) {
	f.Add(runShop.Group().String(), "active", "")
	f.Add(runShop.Group().String()+" "+runBlog.Group().String(), "fenced", "another")
	f.Add("a/1/1  b/1/1", "undoing", "x")
	f.Fuzz(func(t *testing.T, groups, phase, by string) {
		o := writtenRun(t, announcement())
		annotations := o.GetAnnotations()
		annotations[AnnotationGroups], annotations[AnnotationPhase], annotations[AnnotationFencedBy] = groups, phase, by
		o.SetAnnotations(annotations)
		a, err := ReadAnnouncement(o)
		if err != nil {
			return
		}
		again, err := ReadAnnouncement(writtenRun(t, a))
		if err != nil || !reflect.DeepEqual(a, again) {
			t.Errorf("%q: %+v, and then %+v (%v)", groups, a, again, err)
		}
	})
}

// An announcement is not a claim, whatever its labels are.
func TestAnAnnouncementIsNoClaim(t *testing.T) {
	o := writtenRun(t, announcement())
	meta := metaOf(o)
	if c, ok := ReadClaim(meta); ok {
		t.Errorf("it is read as the claim %+v", c)
	}
	meta.Labels = map[string]string{LabelKind: string(Host)}
	if c, ok := ReadClaim(meta); ok {
		t.Errorf("with another label it is read as the claim %+v", c)
	}
}

// A run counts as dead if it has not renewed its announcement in time, or within a shorter given time.
func TestDeadRuns(t *testing.T) {
	a := announcement()
	for _, tt := range []struct {
		after, given time.Duration
		over, dead   bool
	}{
		{0, time.Hour, false, false},
		{time.Minute + Margin, time.Hour, false, false},
		{time.Minute + Margin + time.Millisecond, time.Hour, true, true},
		{31 * time.Second, 30 * time.Second, false, true},
		{0, 0, false, true},
		{-time.Minute, time.Hour, false, false},
		{-2 * time.Minute, time.Hour, true, true}, // by the clock of a server that was ahead
	} {
		now := a.Renewed.Add(tt.after)
		if a.Over(now) != tt.over || a.Dead(now, tt.given) != tt.dead {
			t.Errorf("%s after its renewal, with %s given: over %v, dead %v", tt.after, tt.given, a.Over(now), a.Dead(now, tt.given))
		}
	}
}

func metaOf(o *unstructured.Unstructured) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations()}
}

// Both readers return the same announcement or the same error.
func TestAnnouncementOfTypedObject(t *testing.T) {
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

func TestStands(t *testing.T) {
	const who = "run abcdefghijk23 of ann@laptop, begun 2026-11-20T12:00:00Z"
	for name, tt := range map[string]struct {
		change func(*Announcement)
		after  time.Duration
		want   string
	}{
		"a renewed command is at work":                     {func(*Announcement) {}, time.Minute, who + ", is at work"},
		"an undoing command gives back":                    {func(a *Announcement) { a.Phase = Undoing }, 0, who + ", gives back what it took"},
		"a command that has not renewed in time crashed":   {func(*Announcement) {}, time.Hour, who + ", has crashed (last renewed at 2026-11-20T12:01:00Z)"},
		"an undoing command crashes too":                   {func(a *Announcement) { a.Phase = Undoing }, time.Hour, who + ", has crashed (last renewed at 2026-11-20T12:01:00Z)"},
		"an uninstall closes the ledger":                   {func(a *Announcement) { a.Phase = Closing }, time.Minute, who + ", is uninstalling the ledger"},
		"an uninstall crashes too":                         {func(a *Announcement) { a.Phase = Closing }, time.Hour, who + ", has crashed while it uninstalled the ledger (last renewed at 2026-11-20T12:01:00Z)"},
		"a fenced command has crashed":                     {func(a *Announcement) { a.Phase, a.FencedBy = Fenced, "other" }, 0, who + ", has crashed; run other has taken over"},
		"a command that fenced itself has unfinished work": {func(a *Announcement) { a.Phase, a.FencedBy = Fenced, a.Nonce }, 0, who + ", ended with unfinished work"},
	} {
		t.Run(name, func(t *testing.T) {
			a := announcement()
			tt.change(a)
			if got := a.Stands(a.Renewed.Add(tt.after)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestNamesOfAnnouncements(t *testing.T) {
	a := announcement()
	if nonce, ok := AnnouncedNonce(a.Name()); !ok || nonce != a.Nonce {
		t.Errorf("the nonce of %s is %q (%v)", a.Name(), nonce, ok)
	}
	if nonce, ok := AnnouncedNonce("shop.example.com"); ok {
		t.Errorf("a host is the announcement %q", nonce)
	}
	other := runShop.Group()
	other.GSeq++
	for name, tt := range map[string]struct {
		groups []lease.Group
		want   bool
	}{
		"no group":               {nil, false},
		"a group of it":          {[]lease.Group{runBlog.Group()}, true},
		"another group":          {[]lease.Group{other}, false},
		"one of several matches": {[]lease.Group{other, runShop.Group()}, true},
	} {
		if got := a.Names(tt.groups...); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
