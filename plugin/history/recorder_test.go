package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// written are the Events that a Recorder has written.
type written struct {
	mu     sync.Mutex
	events []*eventsv1.Event
	// answer answers each write; nil takes it.
	answer func(context.Context, *eventsv1.Event) error
}

func (w *written) send(ctx context.Context, e *eventsv1.Event) error {
	w.mu.Lock()
	w.events = append(w.events, e)
	w.mu.Unlock()
	if w.answer != nil {
		return w.answer(ctx, e)
	}
	return nil
}

// said returns what the Events say, and forgets them.
func (w *written) said() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		all = append(all, e.Labels[lease.LabelDSeq]+" "+e.Reason+" "+e.Note)
	}
	w.events = nil
	return all
}

// newRecorder returns a Recorder that writes to w. The deployment group other has two leases.
func newRecorder(ctx context.Context, t *testing.T, w *written) *Recorder {
	t.Helper()
	to, err := cluster.Connect(&rest.Config{Host: "http://127.0.0.1:1"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := New(ctx, to, "akash-net")
	r.send = w.send
	r.leases = func(_ context.Context, g lease.Group) ([]lease.ID, error) {
		if g != other {
			return nil, errors.New("not to be listed")
		}
		one := lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq, OSeq: 1, Provider: "akash1p"}
		two := one
		two.Provider = "akash1q"
		return []lease.ID{one, two}, nil
	}
	return r
}

func claimed(of lease.ID, host string) report.Event {
	return report.Event{Action: report.Claimed, Lease: of, Kind: "host", Name: host}
}

func done(of lease.ID, changed bool) report.Event {
	return report.Event{Action: report.Done, Lease: of, Summary: &report.Summary{Changed: changed}}
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: written is\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// What is reported of a lease is written when the work on it ends, or when nothing more is reported: an Event a reason.
func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		r := newRecorder(t.Context(), t, w)
		for _, host := range []string{"a", "b"} {
			r.Report(claimed(tenant, host))
			r.Report(report.Event{Action: report.Created, Lease: tenant, Kind: "ingress", Namespace: "n", Name: host})
		}
		synctest.Wait()
		same(t, "before the end", w.said())
		r.Report(done(tenant, true))
		synctest.Wait()
		same(t, "at the end", w.said(), "1 Claimed host/a, host/b")

		for _, host := range []string{"a", "b"} {
			r.Report(report.Event{Action: report.Created, Lease: tenant, Kind: "ingress", Namespace: "n", Name: host})
		}
		r.Report(report.Event{Action: report.Configured, Lease: tenant, Kind: "service", Namespace: "n", Name: "web"})
		r.Report(done(tenant, true))
		synctest.Wait()
		same(t, "without a claim", w.said(), "1 Created ingress/a, ingress/b", "1 Configured service/web")

		r.Report(claimed(tenant, "c"))
		time.Sleep(settle)
		synctest.Wait()
		same(t, "after a while", w.said(), "1 Claimed host/c")

		r.Report(report.Event{Action: report.Withheld, Lease: tenant, Kind: "host", Name: "d"})
		r.Report(done(tenant, false))
		time.Sleep(settle)
		synctest.Wait()
		same(t, "of an apply that changes nothing", w.said())

		r.Report(report.Event{Action: report.Transferred, Lease: tenant, Kind: "host", Name: "e", From: []lease.Group{other}})
		r.Close(t.Context())
		got := w.said()
		slices.Sort(got)
		same(t, "of a deployment group", got, "1 Transferred host/e", "2 Lost host/e (transferred to lease akash1a/1/1)", "2 Lost host/e (transferred to lease akash1a/1/1)")
	})
}

// A lease of which much is reported has few Events: those that come too fast wait, and say what comes meanwhile as well. Other leases do
// not wait for it, and it is forgotten once it is quiet.
func TestRecorderLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		r := newRecorder(t.Context(), t, w)
		r.wells = rate.NewLimiter(rate.Inf, 1)
		second := tenant
		second.DSeq = 3
		for i := range 100 {
			r.Report(claimed(tenant, fmt.Sprint("h", i)))
			r.Report(done(tenant, true))
			synctest.Wait()
			r.Report(done(tenant, false))
			synctest.Wait()
		}
		if n := len(w.said()); n != burst {
			t.Errorf("%d Events at once", n)
		}
		r.Report(claimed(second, "s"))
		r.Report(done(second, true))
		synctest.Wait()
		same(t, "another lease", w.said(), "3 Claimed host/s")
		time.Sleep(every)
		synctest.Wait()
		var all []string
		for i := burst; i < 100; i++ {
			all = append(all, fmt.Sprint("host/h", i))
		}
		same(t, "what waited", w.said(), "1 Claimed "+strings.Join(all, ", "))
		time.Sleep((burst + 2) * every)
		synctest.Wait()
		if len(r.stories) > 0 {
			t.Errorf("%d leases are kept", len(r.stories))
		}
		r.Close(t.Context())
	})
}

// Nothing is sent into a namespace that was not there when the command looked, unless it has made it. The leases of a deployment group that is
// released are those that it has seen.
func TestRecorderOfWhatHasANamespace(t *testing.T) {
	second := tenant
	second.OSeq = 2
	group := lease.ID{Owner: tenant.Owner, DSeq: tenant.DSeq, GSeq: tenant.GSeq}
	for name, tt := range map[string]struct {
		of    lease.ID
		homes []lease.ID
		more  *report.Event
		want  []string
	}{
		"there":     {tenant, []lease.ID{tenant}, nil, []string{tenant.Namespace()}},
		"not there": {tenant, []lease.ID{}, nil, nil},
		"another":   {tenant, []lease.ID{second}, nil, nil},
		"made":      {tenant, []lease.ID{}, &report.Event{Action: report.Created, Kind: "namespace", Name: tenant.Namespace()}, []string{tenant.Namespace()}},
		"served":    {tenant, []lease.ID{}, &report.Event{Action: report.Created, Kind: "ingress", Namespace: tenant.Namespace(), Name: "a"}, []string{tenant.Namespace()}},
		"a group":   {group, []lease.ID{tenant, second}, nil, []string{tenant.Namespace(), second.Namespace()}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &written{}
			r := newRecorder(t.Context(), t, w)
			e := claimed(tt.of, "a")
			e.Homes = tt.homes
			r.Report(e)
			if tt.more != nil {
				tt.more.Lease = tt.of
				r.Report(*tt.more)
			}
			r.Report(done(tt.of, true))
			synctest.Wait()
			var got []string
			for _, e := range w.events {
				got = append(got, e.Namespace)
			}
			same(t, name, got, tt.want...)
			r.Close(t.Context())
		})
	}
}

// A command on many leases does not write an Event for each of what goes well, but for each that is refused.
func TestRecorderOfManyLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		r := newRecorder(t.Context(), t, w)
		tell := func(e report.Event) (events int) {
			for i := range 3 * well {
				e.Lease = tenant
				e.Lease.DSeq = uint64(i)
				r.Report(e)
				r.Report(done(e.Lease, true))
			}
			synctest.Wait()
			return len(w.said())
		}
		if n := tell(report.Event{Action: report.Claimed, Kind: "host", Name: "a"}); n != well {
			t.Errorf("%d Events say what went well", n)
		}
		if n := tell(report.Event{Action: report.Withheld, Kind: "host", Name: "a"}); n != 3*well {
			t.Errorf("%d Events say what is withheld", n)
		}
		time.Sleep(2 * often)
		if n := tell(report.Event{Action: report.Claimed, Kind: "host", Name: "b"}); n != 2 {
			t.Errorf("%d Events say later what went well", n)
		}
		r.Close(t.Context())
	})
}

// Events that are not answered hold a command up for a second at its end, and not at all when it is interrupted.
func TestRecorderDoesNotWait(t *testing.T) {
	for name, interrupt := range map[string]bool{"ends": false, "is interrupted": true} {
		synctest.Test(t, func(t *testing.T) {
			w := &written{answer: func(ctx context.Context, _ *eventsv1.Event) error {
				<-ctx.Done()
				return ctx.Err()
			}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := newRecorder(ctx, t, w)
			begun := time.Now()
			for i := range 100 {
				of := tenant
				of.DSeq = uint64(i)
				r.Report(claimed(of, "a"))
				r.Report(done(of, true))
			}
			synctest.Wait()
			if interrupt {
				cancel()
			}
			r.Close(ctx)
			if took, most := time.Since(begun), closing; took > most || interrupt && took > 0 {
				t.Errorf("a command that %s waits for %s", name, took)
			}
		})
	}
}

// Who may not write Events does not try for a while. A namespace that is being deleted says nothing about rights.
func TestRecorderIsRefused(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "e", nil)
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "e", nil)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tt := range map[string]struct {
		err  error
		most int
	}{"no right": {forbidden, 1}, "a namespace that is being deleted": {terminating, 10}, "no namespace": {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"), 10}} {
		synctest.Test(t, func(t *testing.T) {
			w := &written{answer: func(context.Context, *eventsv1.Event) error { return tt.err }}
			r := newRecorder(t.Context(), t, w)
			tell := func() int {
				for i := range 10 {
					of := tenant
					of.DSeq = uint64(i)
					r.Report(claimed(of, "a"))
					r.Report(done(of, true))
					synctest.Wait()
				}
				return len(w.said())
			}
			if n := tell(); n != tt.most {
				t.Errorf("%s: %d Events are tried", name, n)
			}
			time.Sleep(silence)
			if n := tell(); n != tt.most {
				t.Errorf("%s: %d Events are tried later", name, n)
			}
			r.Close(t.Context())
		})
	}
}

// Reports from many commands at once, also while it is closed, are no race.
func TestRecorderAtOnce(t *testing.T) {
	w := &written{}
	r := newRecorder(t.Context(), t, w)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			of := tenant
			of.DSeq = uint64(i % 5)
			for n := range 50 {
				r.Report(claimed(of, fmt.Sprintf("h%d-%d", i, n)))
				r.Report(done(of, true))
			}
		})
	}
	all.Go(func() { r.Close(t.Context()) })
	all.Wait()
	var none *Recorder
	none.Report(claimed(tenant, "a"))
	none.Close(t.Context())
}

// The same refusal is one Event that counts; the same deed twice is two. An Event of that name that says something else is left alone.
func TestAgain(t *testing.T) {
	of := func(l line, at time.Time) *eventsv1.Event {
		return writer{"akash-net", "host"}.event(newNote(l, at), tenant)
	}
	refused, taken := line{reason: "Refused", warning: true, text: "held"}, line{reason: "Claimed", text: "host/a"}
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	if a, b := of(refused, early), of(refused, late); a.Name != b.Name {
		t.Errorf("a refusal is called %s and %s", a.Name, b.Name)
	}
	if a, b := of(taken, early), of(taken, late); a.Name == b.Name {
		t.Errorf("two claims are called %s", a.Name)
	}
	for name, tt := range map[string]struct {
		edit func(*eventsv1.Event)
		want string
	}{
		"once":       {func(*eventsv1.Event) {}, `{"metadata":{"resourceVersion":"7"},"series":{"count":2,"lastObservedTime":"1970-01-01T00:00:02.000000Z"}}`},
		"often":      {func(e *eventsv1.Event) { e.Series = &eventsv1.EventSeries{Count: 4} }, `{"metadata":{"resourceVersion":"7"},"series":{"count":5,"lastObservedTime":"1970-01-01T00:00:02.000000Z"}}`},
		"negative":   {func(e *eventsv1.Event) { e.Series = &eventsv1.EventSeries{Count: -4} }, `{"metadata":{"resourceVersion":"7"},"series":{"count":2,"lastObservedTime":"1970-01-01T00:00:02.000000Z"}}`},
		"full":       {func(e *eventsv1.Event) { e.Series = &eventsv1.EventSeries{Count: 1<<31 - 1} }, `{"metadata":{"resourceVersion":"7"},"series":{"count":2147483647,"lastObservedTime":"1970-01-01T00:00:02.000000Z"}}`},
		"other note": {func(e *eventsv1.Event) { e.Note = "another" }, ""},
		"somebody's": {func(e *eventsv1.Event) { e.ReportingController = "another" }, ""},
	} {
		was := of(refused, early)
		was.ResourceVersion = "7"
		tt.edit(was)
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(was)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := again(&unstructured.Unstructured{Object: object}, of(refused, late))
		if err != nil || string(patch) != tt.want {
			t.Errorf("%s: %s, %v, want %s", name, patch, err, tt.want)
		}
	}
}
