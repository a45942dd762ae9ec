package operators

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// operator is what both operators have in common: a loop, and a list of leases that are ignored.
type operator struct {
	*Operators
	name string

	failuresMu sync.Mutex
	failures   map[lease.ID]int
}

func (o *Operators) operator(name string) operator {
	return operator{Operators: o, name: name, failures: map[lease.ID]int{}}
}

// loop runs until the context ends. Whatever error a turn ends with, the next begins at once, or after the delay where
// the turn was shorter than that.
func (o *operator) loop(ctx context.Context, synced func(), turn func(context.Context) error) {
	for ctx.Err() == nil {
		began := time.Now()
		if err := turn(ctx); err != nil && ctx.Err() == nil {
			o.note(o.name, err)
		}
		synced()
		if time.Since(began) >= o.options.RetryDelay {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(o.options.RetryDelay):
		}
	}
}

// errClosed ends a turn whose watch the server has closed.
var errClosed = errors.New("the watch is closed")

// source is how an operator follows its objects.
type source[T any] struct {
	resource schema.GroupVersionResource
	// scratch begins the watch without the list's resource version: every object comes twice, and what is deleted
	// between the list and the watch is never seen.
	scratch bool
	// read reads an object. One of the list that cannot be read ends the turn before anything is handled; one of the
	// watch is passed over.
	read func(*unstructured.Unstructured) (T, error)
	// handle does the operator's work. Its first error ends the turn.
	handle func(context.Context, watch.EventType, T) error
}

// follow lists the objects, whatever their labels, hands them over as Added, and goes on with what is watched.
func follow[T any](ctx context.Context, o *operator, synced func(), s source[T]) error {
	in := o.client.Resource(s.resource).Namespace(o.options.ManifestNamespace)
	list, err := in.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	opts := metav1.ListOptions{}
	if !s.scratch {
		opts.ResourceVersion = list.GetResourceVersion()
	}
	events, err := in.Watch(ctx, opts)
	if err != nil {
		return err
	}
	defer events.Stop()
	var added []T
	for i := range list.Items {
		if !o.concerns(&list.Items[i]) {
			continue
		}
		v, err := s.read(&list.Items[i])
		if err != nil {
			return err
		}
		added = append(added, v)
	}
	synced()
	for _, v := range added {
		if err := s.handle(ctx, watch.Added, v); err != nil {
			return err
		}
	}
	for e := range events.ResultChan() {
		object, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type == watch.Error {
			return errClosed
		}
		if !o.concerns(object) {
			continue
		}
		v, err := s.read(object)
		if err != nil {
			continue // a line in its log
		}
		if err := s.handle(ctx, e.Type, v); err != nil {
			return err
		}
	}
	return errClosed
}

// concerns limits the operators to the objects that name their owner in the spec, or in a label where the spec is wrong.
func (o *Operators) concerns(object *unstructured.Unstructured) bool {
	owner, _, _ := unstructured.NestedString(object.Object, "spec", "owner")
	leased, _, _ := unstructured.NestedString(object.Object, "spec", "lease_id", "owner")
	return o.options.Owner == "" || slices.Contains([]string{owner, leased, object.GetLabels()[lease.LabelOwner]}, o.options.Owner)
}

// address reads a bech32 address as Akash's programs do.
func address(s string) error {
	if err := lease.CheckWallet(s); err != nil {
		return fmt.Errorf("decoding bech32 failed: %w", err)
	}
	return nil
}

// selector chooses the routes and Services that the operators take for theirs when they start.
func (o *Operators) selector(more ...string) string {
	terms := append([]string{lease.LabelManaged + "=true"}, more...)
	if o.options.Owner != "" {
		terms = append(terms, lease.LabelOwner+"="+o.options.Owner)
	}
	return strings.Join(terms, ",")
}

// failed counts an error of a lease, where it is of the sort that counts.
func (o *operator) failed(id lease.ID, counts bool) {
	if counts {
		o.failuresMu.Lock()
		defer o.failuresMu.Unlock()
		o.failures[id]++
	}
}

// ignores is true for a lease that has failed as often as is allowed.
func (o *operator) ignores(id lease.ID) bool {
	o.failuresMu.Lock()
	defer o.failuresMu.Unlock()
	return o.failures[id] >= o.options.FailureLimit
}

func (o *operator) ignored() (ids []lease.ID) {
	o.failuresMu.Lock()
	defer o.failuresMu.Unlock()
	for id, n := range o.failures {
		if n >= o.options.FailureLimit {
			ids = append(ids, id)
		}
	}
	return ids
}
