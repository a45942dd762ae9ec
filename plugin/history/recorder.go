package history

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leasestatus"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Controller is the reporting controller of the Events.
const Controller = lease.FieldManager

// annotationNames has the names that an Event is about, separated by spaces. Its note has room for a few of them.
const annotationNames = lease.Domain + "/names"

// maxInstance is the longest name of a reporting instance that the API server takes.
const maxInstance = 128

// writer is who writes Events: the ledger's namespace, and the name of the machine or the pod.
type writer struct{ ledger, instance string }

// event returns the Event of a note, in the namespace of a lease. What is only said again has the same name, so that one Event counts it;
// what is done again is another one.
func (w writer) event(n *note, of lease.ID) *eventsv1.Event {
	text, kind, what := n.text(), corev1.EventTypeWarning, n.reason+"\n"
	if what += text; !n.warning {
		kind = corev1.EventTypeNormal
		what += "\n" + w.instance + n.at.Format(time.RFC3339Nano)
	}
	namespace := of.Namespace()
	e := &eventsv1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: eventsv1.SchemeGroupVersion.String(), Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: namespace + "." + lease.Hash(what)[:16], Labels: of.Labels(),
			Annotations: map[string]string{annotationNames: strings.Join(n.names, " ")},
		},
		EventTime: metav1.NewMicroTime(n.at), ReportingController: Controller, ReportingInstance: fit(w.instance, maxInstance),
		Type: kind, Reason: n.reason, Action: n.reason, Note: text,
		// Without its own name as its namespace, the Event of a Namespace would have to be in the namespace default.
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: kinds.Namespace.Kind, Name: namespace, Namespace: namespace},
	}
	delete(e.Labels, lease.LabelManaged) // Akash's provider does not look after Events
	if n.only {
		e.Related = w.related(n.first)
	}
	return e
}

// related returns the claim or the object that a line is about, nil if it is about neither.
func (w writer) related(l line) *corev1.ObjectReference {
	claim := func(name string) *corev1.ObjectReference {
		return &corev1.ObjectReference{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: w.ledger, Name: name}
	}
	switch state.Kind(l.kind) {
	case state.Host, state.Wildcard:
		return claim(state.HostName(l.name))
	case state.Endpoint:
		return claim(state.EndpointName(l.name))
	case state.Address:
		if a, err := netip.ParseAddr(l.name); err == nil {
			return claim(state.AddressName(a))
		}
		return nil
	}
	k := kinds.Of(l.kind)
	if k.Kind == "" {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: k.GroupVersion().String(), Kind: k.Kind, Namespace: l.namespace, Name: l.name}
}

// Names returns the names that an Event is about.
func Names(e metav1.Object) []string { return strings.Fields(e.GetAnnotations()[annotationNames]) }

// How Events are written.
const (
	// settle is how long nothing more is reported of a lease before its Events are written, unless the work on it ends before.
	settle = 2 * time.Second
	// burst is how many Events of a lease are written at once at most, and every how long it may be one more. The others wait, and say
	// what is reported meanwhile as well.
	burst = 25
	every = time.Minute
	// well is how many Events of all leases tell at once what went well, and often every how long it may be one more. The rest is left out:
	// a command on many leases is not to write one Event for each. What went wrong is always told.
	well  = 10
	often = time.Second
	// writers is how many Events are written at a time.
	writers = 2
	// patience limits a request, and closing how long a command waits for its Events when it ends.
	patience = 5 * time.Second
	closing  = time.Second
	// silence is how long nothing is written after the API server has refused the right to it.
	silence = time.Minute
)

// Recorder writes what commands report of leases as Events. It delays no command: it writes beside it, and what cannot be written is
// left out. A nil Recorder writes nothing.
type Recorder struct {
	now    func() time.Time
	writer writer
	ctx    context.Context
	cancel context.CancelFunc
	places chan struct{}
	// wells limits the Events of what went well.
	wells *rate.Limiter
	// send writes an Event.
	send func(context.Context, *eventsv1.Event) error
	// leases returns the leases of a deployment group that have a namespace.
	leases func(context.Context, lease.Group) ([]lease.ID, error)

	mu      sync.Mutex
	stories map[lease.ID]*story
	closed  bool
	under   sync.WaitGroup
	// silent is until when nothing is written.
	silent time.Time
}

// story is what is still to be written of a lease.
type story struct {
	notes notes
	// homes are the leases of the deployment group that have a namespace, nil if that is not known; the lease has got one if it is housed.
	homes   []lease.ID
	housed  bool
	limit   *rate.Limiter
	wake    *time.Timer
	writing bool
}

// New returns a Recorder, which writes until the context ends. ledger is the ledger's namespace.
func New(ctx context.Context, to *cluster.Cluster, ledger string) *Recorder {
	host, _ := os.Hostname() // without a name it is unknown
	r := &Recorder{
		now: to.Now, writer: writer{ledger, cmp.Or(host, "unknown")}, places: make(chan struct{}, writers), stories: map[lease.ID]*story{},
		wells: rate.NewLimiter(rate.Every(often), well),
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.send = func(ctx context.Context, e *eventsv1.Event) error { return write(ctx, to, e) }
	r.leases = func(ctx context.Context, g lease.Group) ([]lease.ID, error) { return leasestatus.Find(ctx, to, g) }
	return r
}

// Report notes what a command reports.
func (r *Recorder) Report(e report.Event) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for _, l := range linesOf(e) {
		s := r.story(l.of)
		s.notes.add(l, now)
		r.wakeAfter(s, settle)
	}
	s := r.stories[e.Lease]
	if s != nil {
		s.see(e)
	}
	switch {
	case s == nil:
	case e.Action == report.Failed:
		r.wakeAfter(s, 0)
	case e.Action == report.Done:
		if e.Summary != nil && !e.Summary.Changed { // it is as it was, and so is what is withheld
			s.notes = slices.DeleteFunc(s.notes, func(n *note) bool { return n.reason == reasons[report.Withheld] })
		}
		r.wakeAfter(s, 0)
	}
}

// see notes where the story is told.
func (s *story) see(e report.Event) {
	if e.Homes != nil {
		s.homes = e.Homes
	}
	namespace := e.Lease.Namespace()
	s.housed = s.housed || e.Namespace == namespace || e.Action == report.Created && e.Kind == kinds.Namespace.Singular && e.Name == namespace
}

// story returns the story of a lease.
func (r *Recorder) story(of lease.ID) *story {
	s := r.stories[of]
	if s == nil {
		s = &story{limit: rate.NewLimiter(rate.Every(every), burst)}
		s.wake = time.AfterFunc(settle, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if !r.closed {
				r.under.Go(func() { r.tell(of, s) })
			}
		})
		r.stories[of] = s
	}
	return s
}

// wakeAfter lets the Events of a lease be written after a time.
func (r *Recorder) wakeAfter(s *story, after time.Duration) {
	if !s.writing && !r.closed {
		s.wake.Reset(after)
	}
}

// tell writes the Events of a lease, and forgets the lease once it may have all its Events at once again.
func (r *Recorder) tell(of lease.ID, s *story) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.writing {
		return
	}
	if len(s.notes) == 0 && s.limit.Tokens() >= burst {
		delete(r.stories, of)
		return
	}
	s.writing = true
	for due := r.due(s); len(due) > 0; due = r.due(s) {
		homes := s.homes
		if homes != nil && s.housed {
			homes = append(slices.Clone(homes), of)
		}
		r.mu.Unlock()
		r.writeAll(of, homes, due)
		r.mu.Lock()
	}
	s.writing = false
	if len(s.notes) > 0 {
		r.wakeAfter(s, every)
	} else {
		r.wakeAfter(s, burst*every)
	}
}

// due takes the notes that may be written now.
func (r *Recorder) due(s *story) (due notes) {
	if time.Now().Before(r.silent) {
		s.notes = nil
	}
	s.notes = s.notes.essential()
	for len(s.notes) > 0 && s.limit.Allow() {
		if n := s.notes[0]; n.warning || r.wells.Allow() {
			due = append(due, n)
		}
		s.notes = s.notes[1:]
	}
	return due
}

// writeAll writes notes of a lease, or of all leases of a deployment group, into the namespaces that there are.
func (r *Recorder) writeAll(of lease.ID, homes []lease.ID, due notes) {
	select {
	case r.places <- struct{}{}:
	case <-r.ctx.Done():
		return
	}
	defer func() { <-r.places }()
	ids := []lease.ID{of}
	switch {
	case homes != nil && of.Provider == "":
		ids = homes
	case homes != nil && !slices.Contains(homes, of):
		return
	case of.Provider == "":
		ctx, cancel := context.WithTimeout(r.ctx, patience)
		defer cancel()
		ids, _ = r.leases(ctx, of.Group()) // whose namespaces are unknown have no story
	}
	for _, id := range ids {
		for _, n := range due {
			ctx, cancel := context.WithTimeout(r.ctx, patience)
			err := r.send(ctx, r.writer.event(n, id))
			cancel()
			if apierrors.IsForbidden(err) && !cluster.IsTerminating(err) {
				r.mu.Lock()
				r.silent = time.Now().Add(silence)
				r.mu.Unlock()
				return
			}
		}
	}
}

// Close writes what is left, for a second at most, and not at all if the context has ended.
func (r *Recorder) Close(ctx context.Context) {
	if r == nil {
		return
	}
	defer r.cancel()
	r.mu.Lock()
	r.closed = true
	for of, s := range r.stories {
		if s.wake.Stop(); len(s.notes) > 0 {
			r.under.Go(func() { r.tell(of, s) })
		}
	}
	r.mu.Unlock()
	written := make(chan struct{})
	go func() {
		r.under.Wait()
		close(written)
	}()
	select {
	case <-written:
	case <-ctx.Done():
	case <-time.After(closing):
	}
}

// write creates an Event. One that is there already is counted once more.
func write(ctx context.Context, to *cluster.Cluster, e *eventsv1.Event) error {
	client := to.Dynamic.Resource(eventsv1.SchemeGroupVersion.WithResource("events")).Namespace(e.Namespace)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e)
	if err != nil {
		return err
	}
	_, err = client.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{FieldManager: Controller})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	found, err := client.Get(ctx, e.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch, err := again(found, e)
	if patch == nil || err != nil {
		return err
	}
	_, err = client.Patch(ctx, e.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Controller})
	return err
}

// again returns the patch that counts an Event once more, and pins the version that was read; nil if it is not the same Event.
func again(found *unstructured.Unstructured, e *eventsv1.Event) ([]byte, error) {
	var was eventsv1.Event
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &was); err != nil {
		return nil, err
	}
	if was.ReportingController != e.ReportingController || was.Reason != e.Reason || was.Note != e.Note {
		return nil, nil
	}
	count := int32(1)
	if was.Series != nil {
		count = min(max(was.Series.Count, 1), math.MaxInt32-1)
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": was.ResourceVersion},
		"series":   eventsv1.EventSeries{Count: count + 1, LastObservedTime: e.EventTime},
	})
}
