// Package leaseevents reads the Kubernetes events about a lease's objects.
package leaseevents

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
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

// Read returns the events of a lease's namespace, or of one of its services, oldest first.
func Read(ctx context.Context, c *cluster.Cluster, id lease.ID, service string) ([]Event, error) {
	found, err := c.Objects(ctx, kinds.Event.Resource(), id.Namespace(), metav1.ListOptions{})
	if err != nil {
		return nil, cluster.NeedsRoleIn(err, id.Namespace(), Role)
	}
	return eventsOf(found, service)
}

// Watch passes the existing events to show, then each that is created or updated, until the context ends or show fails.
func Watch(ctx context.Context, c *cluster.Cluster, id lease.ID, service string, show func([]Event) error) error {
	seen := map[types.UID]string{}
	err := c.Follow(ctx, kinds.Event.Resource(), id.Namespace(), metav1.ListOptions{}, func(found []*unstructured.Unstructured) error {
		fresh := slices.DeleteFunc(found, func(o *unstructured.Unstructured) bool {
			return seen[o.GetUID()] == o.GetResourceVersion()
		})
		for _, o := range fresh {
			seen[o.GetUID()] = o.GetResourceVersion()
		}
		events, err := eventsOf(fresh, service)
		if err != nil || len(events) == 0 {
			return err
		}
		return show(events)
	})
	return cluster.NeedsRoleIn(err, id.Namespace(), Role)
}

// eventsOf decodes events, and sorts them by their last occurrence.
func eventsOf(found []*unstructured.Unstructured, service string) ([]Event, error) {
	var out []Event
	for _, o := range found {
		e := Event{Object: o}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &e.Event); err != nil {
			return nil, fmt.Errorf("event %s/%s cannot be read: %w", o.GetNamespace(), o.GetName(), err)
		}
		if service != "" && !workload.Made(service, e.InvolvedObject.Kind, e.InvolvedObject.Name) {
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
