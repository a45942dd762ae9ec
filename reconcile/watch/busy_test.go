package watch

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// seenAt is the announcement of a command for deployment groups, as it is watched.
func seenAt(nonce string, phase state.Phase, groups ...lease.Group) *metav1.ObjectMeta {
	var names []string
	for _, g := range groups {
		names = append(names, g.String())
	}
	return &metav1.ObjectMeta{Name: state.AnnouncementName(nonce), Annotations: map[string]string{
		state.AnnotationGroups: strings.Join(names, " "), state.AnnotationPhase: string(phase),
	}}
}

// A lease waits for another command that is announced for it, and says which one that is. What is watched is old: a command that has ended
// by now, as one of the reconciler's own, is not waited for, and one for other leases is not asked about.
func TestBusy(t *testing.T) {
	group := func(n int) lease.Group { return lease.Group{Owner: "akash1a", DSeq: uint64(n), GSeq: 1} }
	begun := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(nonce string, phase state.Phase, groups ...lease.Group) *state.Announcement {
		return &state.Announcement{Nonce: nonce, Groups: groups, By: "ann@laptop", Begun: begun, Lasts: 15 * time.Second, Phase: phase}
	}
	now := map[string]*state.Announcement{
		"works":  at("works", state.Active, group(1), group(9)),
		"gaveup": at("gaveup", state.Fenced, group(3)),
		"fewer":  at("fewer", state.Active, group(9)),
	}
	watched := []*metav1.ObjectMeta{
		seenAt("works", state.Active, group(1), group(9)), seenAt("ended", state.Active, group(2)), seenAt("gaveup", state.Active, group(3)),
		seenAt("fewer", state.Active, group(4), group(9)), seenAt("fenced", state.Fenced, group(5)), seenAt("others", state.Active, group(9)),
	}
	groups := []lease.Group{group(1), group(2), group(3), group(4), group(5)}
	busy, err := busyOf(groups, watched, func(nonce string) (*state.Announcement, error) {
		if nonce == "others" || nonce == "fenced" {
			t.Errorf("%s is read, and is in nobody's way", nonce)
		}
		return now[nonce], nil
	})
	if err != nil || len(busy) != 1 || busy[group(1)] == nil {
		t.Fatalf("%v %v", busy, err)
	}
	for _, want := range []string{"run works of ann@laptop, begun 2026-11-20T12:00:00Z", "lease.coordination.k8s.io/run--works", "kubectl akash-net state --problems"} {
		if text := busy[group(1)].Error(); !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	failed := errors.New("no answer")
	if _, err := busyOf(groups, watched, func(string) (*state.Announcement, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Error("an announcement that cannot be read is nobody's")
	}
}
