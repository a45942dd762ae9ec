package state

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/golden"
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

// What an announcement says: testdata/announcements.txt. A line has what is otherwise than in announcement, quoted as Go
// does where it has to be, with "+" for a blank.
//
//	read    what is wrong with it, and the groups that it concerns: one that cannot be read is an error, since guessing its groups could let a
//	        command write for groups that it should wait for
//	stands  how its command stands after=TIME of its renewal, and whether it is over, or dead with given=TIME. However long an announcement says
//	        that it lasts, or however far ahead it was renewed, it is over some time
func TestAnnouncements(t *testing.T) {
	of := strings.NewReplacer("SHOP", runShop.Group().String(), "BLOG", runBlog.Group().String(), "OWNER", runShop.Owner)
	changed := func(line string) (o *unstructured.Unstructured, times map[string]time.Duration) {
		o, times = writtenRun(t, announcement()), map[string]time.Duration{"given": time.Hour}
		annotations, spec := o.GetAnnotations(), o.Object["spec"].(map[string]any)
		for word := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(word, "=")
			value = strings.ReplaceAll(of.Replace(value), "+", " ")
			if text, err := strconv.Unquote(value); err == nil {
				value = text
			}
			switch name {
			case "name":
				o.SetName(value)
			case "kind":
				o.SetLabels(nil)
			case "ledger":
				annotations[AnnotationLedger] = value
			case "phase":
				annotations[AnnotationPhase] = value
			case "by":
				annotations[AnnotationFencedBy] = value
			case "groups":
				annotations[AnnotationGroups] = value
			case "lasts":
				n, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				spec["leaseDurationSeconds"] = n
			case "begun":
				spec["acquireTime"] = value
			case "renewed":
				spec["renewTime"] = value
			default:
				d, err := time.ParseDuration(value)
				if err != nil {
					t.Fatal(err)
				}
				times[name] = d
			}
		}
		o.SetAnnotations(annotations)
		return o, times
	}
	golden.Rules{
		"read": func(line string) string {
			o, _ := changed(line)
			a, err := ReadAnnouncement(o)
			if a == nil {
				return fmt.Sprintf("none: %v", err)
			}
			if (a.Unreadable != "") != (err != nil) {
				t.Errorf("%s: %v, and it says %q", line, err, a.Unreadable)
			}
			return strings.NewReplacer(runShop.Group().String(), "SHOP", runBlog.Group().String(), "BLOG").Replace(fmt.Sprintf("%v: %v", a.Groups, err))
		},
		"stands": func(line string) string {
			o, times := changed(line)
			a, err := ReadAnnouncement(o)
			if err != nil {
				t.Fatal(line, err)
			}
			now := announcement().Renewed.Add(times["after"])
			return fmt.Sprintf("%s; over %t, dead %t", a.Stands(now), a.Over(now), a.Dead(now, times["given"]))
		},
	}.Check(t, "testdata/announcements.txt")
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
