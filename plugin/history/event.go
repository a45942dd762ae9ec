package history

import (
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
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
