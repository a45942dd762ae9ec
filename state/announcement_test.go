package state

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

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

// written is an announcement as the API server stores it.
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

// What is written is what is read.
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

// Who cannot read an announcement does not know for whom it stands: nothing is guessed.
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
		}
	}
}

// Whatever stands in the annotations: what is read is written again as it was, or it is an error.
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

// An announcement is no claim, whatever its labels say, and no claim selects it.
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

// A run counts as dead when it has not said for as long as it said that it would that it is at work, or for a shorter
// time that is given.
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
