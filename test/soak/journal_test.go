package soak_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// change is one write to a claim, or to an object of a lease. All are in etcd's order, whatever their kind.
type change struct {
	revision uint64
	at       time.Time
	path     string
	gone     bool
	claim    *claim
	routes   []route
}

// journal is every change of the claims and of the leases' objects since it began.
type journal struct {
	mu      sync.Mutex
	changes []change
	// live are the resource versions of what is there, by path.
	live  map[string]string
	fault error
}

// path is where the API server has an object.
func path(resource schema.GroupVersionResource, o *unstructured.Unstructured) string {
	prefix := "/apis/" + resource.Group
	if resource.Group == "" {
		prefix = "/api"
	}
	return fmt.Sprintf("%s/%s/namespaces/%s/%s/%s", prefix, resource.Version, o.GetNamespace(), resource.Resource, o.GetName())
}

func resources() []schema.GroupVersionResource {
	return append([]schema.GroupVersionResource{leases}, ofLeases...)
}

// watched is where the objects of a resource are looked for: the claims are in one namespace.
func watched(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	if resource == leases {
		return harness.Objects.Resource(resource).Namespace("akash-net")
	}
	return harness.Objects.Resource(resource)
}

// keepJournal begins one with what is there. It ends with the test.
func keepJournal(t *testing.T) *journal {
	t.Helper()
	j := &journal{live: map[string]string{}}
	for _, resource := range resources() {
		all, err := watched(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range all.Items {
			j.add(resource, &all.Items[i], false)
		}
		from := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return watched(resource).Watch(ctx, opts)
		}}
		events, err := watchtools.NewRetryWatcherWithContext(t.Context(), all.GetResourceVersion(), from)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(events.Stop)
		go j.follow(resource, events)
	}
	return j
}

func (j *journal) follow(resource schema.GroupVersionResource, events watch.Interface) {
	for e := range events.ResultChan() {
		switch o, ok := e.Object.(*unstructured.Unstructured); {
		case e.Type == watch.Bookmark:
		case !ok || e.Type == watch.Error:
			j.mu.Lock()
			j.fault = fmt.Errorf("the journal of %s has ended: %w", resource.Resource, apierrors.FromObject(e.Object))
			j.mu.Unlock()
			return
		default:
			j.add(resource, o, e.Type == watch.Deleted)
		}
	}
}

// journaled is true for claims and for the objects of leases: the definition of a lease is no claim, nor is an
// announcement.
func journaled(resource schema.GroupVersionResource, o *unstructured.Unstructured) bool {
	return resource != leases || !isNoClaim(o.GetName()) && !strings.HasPrefix(o.GetName(), "run--")
}

func (j *journal) add(resource schema.GroupVersionResource, o *unstructured.Unstructured, gone bool) {
	if !journaled(resource, o) {
		return
	}
	c := change{at: time.Now(), path: path(resource, o), gone: gone}
	c.revision, _ = strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	switch {
	case gone:
	case resource != leases:
		c.routes = readRoutes(o)
	default:
		a := &audit{claims: map[string]claim{}}
		a.readClaim(o)
		for _, x := range a.claims {
			c.claim = &x
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.changes = append(j.changes, c)
	if j.live[c.path] = o.GetResourceVersion(); gone {
		delete(j.live, c.path)
	}
}

// read is every change until now, in order. Nothing may be under way.
func (j *journal) read(t *testing.T) []change {
	t.Helper()
	harness.Eventually(t, "the journal is complete", func(ctx context.Context) (bool, error) {
		live := map[string]string{}
		for _, resource := range resources() {
			all, err := watched(resource).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			for i := range all.Items {
				if o := &all.Items[i]; journaled(resource, o) {
					live[path(resource, o)] = o.GetResourceVersion()
				}
			}
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		return maps.Equal(live, j.live), j.fault
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	slices.SortStableFunc(j.changes, func(a, b change) int { return cmp.Compare(a.revision, b.revision) })
	return slices.Clone(j.changes)
}
