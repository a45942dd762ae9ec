package watch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

func group(n int) lease.Group { return lease.Group{Owner: "akash1a", DSeq: uint64(n), GSeq: 1} }

// Of too many failures the old ones are forgotten, and then those that failed first.
func TestPrune(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		most int
		want string
	}{{5, "12345"}, {4, "345"}, {3, "345"}, {2, "45"}, {0, ""}} {
		by := map[lease.Group]reconcile.Failing{}
		for n, age := range []time.Duration{9, 8, 3, 2, 1} {
			by[group(n+1)] = reconcile.Failing{Last: now.Add(-age * time.Hour)}
		}
		prune(by, tt.most, now.Add(-5*time.Hour))
		got := ""
		for n := range 6 {
			if _, ok := by[group(n)]; ok {
				got += fmt.Sprint(n)
			}
		}
		if got != tt.want {
			t.Errorf("of at most %d these are left: %s", tt.most, got)
		}
	}
}

// What fails is tried again when the queue says so. That there was no answer says nothing of a lease, and changes nothing of what is known.
func TestNote(t *testing.T) {
	var f failures
	g := group(1)
	limiter := backoff{workqueue.NewTypedItemExponentialFailureRateLimiter[lease.Group](time.Second, 5*time.Minute), &f}
	first := time.Now()
	for _, err := range []error{&cluster.AwayError{}, fmt.Errorf("announced: %w", cluster.ErrMoving), context.Canceled} {
		if f.note(g, err, first); len(f.all()) > 0 {
			t.Errorf("%v is a failure of the lease", err)
		}
	}
	f.note(g, errors.New("held"), first)
	f.note(g, errors.New("held"), first.Add(time.Second))
	f.note(g, &cluster.AwayError{}, first.Add(2*time.Second))
	limiter.When(g)
	after := limiter.When(g)
	one := f.all()[g]
	if one.Count != 2 || one.Since != first || one.Last != first.Add(time.Second) || after != 2*time.Second || time.Until(one.Next) > after || !one.Next.After(first) {
		t.Errorf("%+v", one)
	}
	if limiter.Forget(g); limiter.NumRequeues(g) != 2 { // it waits for another command
		t.Error("a lease that still fails is tried as often as one that has failed once")
	}
	if !f.note(g, nil, first) {
		t.Error("nobody looks again at a lease of which something has happened while it failed")
	}
	limiter.Forget(g)
	if f.note(g, nil, first) || len(f.all()) > 0 || limiter.NumRequeues(g) > 0 {
		t.Error("a lease that does not fail any more is known as one that does")
	}
	limiter.When(g)
	if len(f.all()) > 0 {
		t.Error("a lease that does not fail is tried again")
	}
}

// What concerns a lease makes it due, unless it fails: then its time has to come, or what its error waits for has to make way. Anything else
// that makes way lets it be tried again too, but not in a row.
func TestDue(t *testing.T) {
	var f failures
	now := time.Now()
	held := &report.HeldError{Held: []report.HeldThing{{Kind: state.Host, Thing: "a.example.com"}}}
	f.note(group(1), fmt.Errorf("lease: %w", held), now.Add(-time.Second))
	f.note(group(2), errors.New("no address is free for b.example.net"), now.Add(-between/2))
	f.note(group(4), errors.New("no address is free"), now.Add(-time.Minute))
	golden.Rules{"due": func(line string) string {
		leases, frees, _ := strings.Cut(line, "|")
		var concerned []lease.Group
		for _, n := range strings.Fields(leases) {
			concerned = append(concerned, group(int(n[0]-'0')))
		}
		var got []string
		for _, one := range f.due(concerned, strings.TrimSpace(frees), now) {
			got = append(got, fmt.Sprintf("%d after %s", one.group.DSeq, one.after))
		}
		return strings.Join(got, ", ")
	}}.Check(t, "testdata/due.txt")
	f.note(group(1), nil, now)
	if got := f.due([]lease.Group{group(1)}, "", now); fmt.Sprint(got) != fmt.Sprint([]dueAfter{{group: group(1)}}) {
		t.Errorf("one that does not fail any more: %v", got)
	}
}

// What concerns no lease alone is complained of once, and again if it was over meanwhile. That the reconciler is stopped is no complaint.
func TestComplaints(t *testing.T) {
	said := 0
	c := complaints{complain: func(error) { said++ }}
	away := errors.New("away")
	for i, tt := range []struct {
		err  error
		want int
	}{{nil, 0}, {away, 1}, {away, 1}, {context.Canceled, 1}, {away, 1}, {errors.New("forbidden"), 2}, {nil, 2}, {away, 3}} {
		if c.note(tt.err); said != tt.want {
			t.Errorf("%d: after %v it has complained %d times, want %d", i, tt.err, said, tt.want)
		}
	}
}

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

// managed is an object whose fields two managers have.
func managed(name, field string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name, "managedFields": []any{
		map[string]any{"manager": "a", "time": name, "fieldsV1": map[string]any{"f:" + field: map[string]any{}}},
		map[string]any{"manager": "b", "subresource": "status"},
	}}}}
}

func fieldsOf(o *unstructured.Unstructured) uintptr {
	entries, _, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "managedFields")
	return reflect.ValueOf(entries.([]any)[0].(map[string]any)["fieldsV1"]).Pointer()
}

// Objects share what is the same in them, and nothing about an object changes.
func TestSharing(t *testing.T) {
	s := &sharing{}
	first, second, other := managed("first", "spec"), managed("second", "spec"), managed("other", "data")
	for _, o := range []*unstructured.Unstructured{first, second, other} {
		before := o.DeepCopy()
		if out, err := s.transform(o); err != nil || out != any(o) || !reflect.DeepEqual(o, before) {
			t.Errorf("%v, %v, want %v", out, err, before)
		}
	}
	if fieldsOf(first) != fieldsOf(second) || fieldsOf(first) == fieldsOf(other) {
		t.Error("not those share their fields that have the same")
	}
	port := func(of any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"port": of}}}}}
	}
	at := func(o *unstructured.Unstructured) uintptr { return reflect.ValueOf(o.Object["spec"]).Pointer() }
	known := map[string]uintptr{}
	for _, of := range []any{int64(1), 1.0, "1", true, "true", nil, "<nil>", []any{}, map[string]any{}, int64(1), 1.0, "1"} {
		o, before := port(of), port(of)
		if _, err := s.transform(o); err != nil || !reflect.DeepEqual(o, before) {
			t.Errorf("%v, %v, want %v", o, err, before)
		}
		what := fmt.Sprintf("%T %v", of, of)
		if was := known[what]; was != 0 && was != at(o) {
			t.Errorf("%s: not shared", what)
		}
		known[what] = at(o)
	}
	of := func(raw string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(raw)}, {}},
		}}
	}
	one, same := of("{}"), of("{}")
	for _, o := range []*metav1.PartialObjectMetadata{one, same} {
		if _, err := s.transform(o); err != nil {
			t.Error(err)
		}
	}
	if one.ManagedFields[0].FieldsV1 != same.ManagedFields[0].FieldsV1 {
		t.Error("metadata does not share its fields")
	}
	if odd, err := s.transform("a tombstone"); err != nil || odd != "a tombstone" {
		t.Errorf("%v, %v", odd, err)
	}
	if _, err := s.transform(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{"hostile", map[string]any{}}}}}); err != nil {
		t.Error(err)
	}
	for i := range 2 * mostShared {
		if _, err := s.transform(managed("", strconv.Itoa(i))); err != nil || len(s.maps) > mostShared || len(s.strings) > mostShared {
			t.Fatal(len(s.maps), len(s.strings), err)
		}
	}
}

// A lease that fails is looked at again at once when it is over, or suspended or resumed: nobody keeps or defines it any more. A command that
// is refused takes back what it has written, for a lease that a source defines, and is not tried again for that.
func TestOver(t *testing.T) {
	said := reconcile.Said{Source: "prod", Definitions: map[lease.Group]*lease.Definition{}}
	r := &reconciler{leases: reconcile.New(nil, command.Options{}, reconcile.Limits{})}
	owner := leasetest.Wallet("tenant")
	of := func(n int, source, suspended string) *metav1.PartialObjectMetadata {
		def := &lease.Definition{Name: "shop", Lease: lease.ID{Owner: owner, DSeq: uint64(n), GSeq: 1, OSeq: 1, Provider: leasetest.Wallet("provider")}}
		def.Hash = lease.Sum(def)
		if n == 2 {
			said.Definitions[def.Lease.Group()] = def
		}
		d, err := kept.New(def, "")
		if err != nil {
			t.Fatal(err)
		}
		d.Source = source
		ac := d.Configuration("akash-net", def.Lease.Group(), nil)
		ac.Labels[kept.LabelSuspended] = suspended
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: *ac.Name, Labels: ac.Labels, Annotations: ac.Annotations}}
	}
	for _, tt := range []struct {
		what    string
		was, is client.Object
		want    bool
	}{
		{"it is kept no more", of(1, "prod", ""), nil, true},
		{"the source that names it has taken it back", of(2, "prod", ""), nil, false},
		{"another source has released it", of(2, "stage", ""), nil, true},
		{"another source has left it to the one that names it", of(2, "stage", ""), of(2, "prod", ""), true},
		{"it is suspended", of(1, "prod", ""), of(1, "prod", "true"), true},
		{"it is resumed", of(2, "prod", "true"), of(2, "prod", ""), true},
		{"it is written again", of(1, "prod", ""), of(1, "prod", ""), false},
		{"it is kept", nil, of(1, "prod", ""), false},
		{"a claim is gone", &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a.example.com"}}, nil, false},
	} {
		r.leases.Says(0, said)
		if got := r.over(cluster.Leases, tt.was, tt.is); (len(got) == 1 && got[0].Owner == owner) != tt.want || len(got) > 1 {
			t.Errorf("%s: due is %v", tt.what, got)
		}
	}
}
