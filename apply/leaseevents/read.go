// Package leaseevents reads the Kubernetes events about a lease's objects.
package leaseevents

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

// Role is the ClusterRole that allows reading events.
const Role = "akash-net-status"

// Event is an event, with its first and last occurrence and their number.
type Event struct {
	// Object is the event as it was read.
	Object *unstructured.Unstructured
	corev1.Event
	First, Last time.Time
	Times       int32
}

// Selection are the events that are read: those in a namespace, or in all of them, that the API server selects, and of these the ones that
// are kept; nil keeps all.
type Selection struct {
	Namespace string
	Options   metav1.ListOptions
	Keep      func(Event) bool
}

// OfService selects the events of a lease's namespace, or of one of its services.
func OfService(id lease.ID, service string) Selection {
	s := Selection{Namespace: id.Namespace()}
	if service != "" {
		s.Keep = func(e Event) bool { return workload.Made(service, e.InvolvedObject.Kind, e.InvolvedObject.Name) }
	}
	return s
}

// Read returns the selected events, oldest first.
func Read(ctx context.Context, c *cluster.Cluster, s Selection) ([]Event, error) {
	found, err := c.Objects(ctx, kinds.Event.Resource(), s.Namespace, s.Options)
	if err != nil {
		return nil, err
	}
	return s.of(found)
}

// Watch passes the selected events to show, first all that exist, then each that is created or updated, until the context ends or show
// fails.
func Watch(ctx context.Context, c *cluster.Cluster, s Selection, show func([]Event) error) error {
	known := versions{}
	return c.Follow(ctx, kinds.Event.Resource(), s.Namespace, s.Options, func(found []*unstructured.Unstructured, whole bool) error {
		events, err := s.of(known.fresh(found, whole))
		if err != nil || len(events) == 0 {
			return err
		}
		return show(events)
	})
}

// versions are those of the events that a watch has passed on and that may be listed again.
type versions map[types.UID]string

// fresh returns the events that are not known. If they are all that there are, others are forgotten: the API server keeps events for an
// hour.
func (v versions) fresh(found []*unstructured.Unstructured, whole bool) (fresh []*unstructured.Unstructured) {
	listed := map[types.UID]bool{}
	for _, o := range found {
		if listed[o.GetUID()] = true; v[o.GetUID()] != o.GetResourceVersion() {
			fresh = append(fresh, o)
		}
		v[o.GetUID()] = o.GetResourceVersion()
	}
	if whole {
		maps.DeleteFunc(v, func(id types.UID, _ string) bool { return !listed[id] })
	}
	return fresh
}

// of decodes events, leaves out those that are not selected, and sorts the others by their last occurrence.
func (s Selection) of(found []*unstructured.Unstructured) ([]Event, error) {
	var out []Event
	for _, o := range found {
		e := Event{Object: o}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &e.Event); err != nil {
			return nil, fmt.Errorf("event %s/%s cannot be read: %w", o.GetNamespace(), o.GetName(), err)
		}
		if s.Keep != nil && !s.Keep(e) {
			continue
		}
		e.count()
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b Event) int {
		return cmp.Or(a.Last.Compare(b.Last), strings.Compare(a.Name, b.Name))
	})
	return out, nil
}

// count sets First, Last and Times. Writers of the old and the new events API fill different fields.
func (e *Event) count() {
	e.First, e.Last, e.Times = e.FirstTimestamp.Time, e.LastTimestamp.Time, max(e.Count, 1)
	if e.First.IsZero() {
		e.First = e.EventTime.Time
	}
	if e.First.IsZero() {
		e.First = e.CreationTimestamp.Time
	}
	if e.Series != nil {
		e.Last, e.Times = e.Series.LastObservedTime.Time, max(e.Series.Count, 1)
	}
	if e.Last.Before(e.First) {
		e.Last = e.First
	}
}
