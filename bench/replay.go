//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// replay makes recorded requests again and does nothing else: the least time that this work can
// take. Lists come first, side by side; then the announcements of the command; then the writes, those of one lease in
// their order, and as many leases at a time as the program works on; and in the end the announcements go.
type replay struct {
	lists  []request
	begins []request
	chains [][]request

	objects dynamic.Interface
	metas   metadata.Interface
}

// newReplay takes the requests of a run over the leases 0 to n.
func newReplay(c *system, requests []request, n int) (*replay, error) {
	r := &replay{metas: c.client, chains: make([][]request, n)}
	var err error
	if r.objects, err = dynamic.NewForConfig(c.Config); err != nil {
		return nil, err
	}
	leases := map[string]int{} // by the names of their objects
	for i := range n {
		d := definition(i)
		for _, name := range []string{d.Lease.Namespace(), d.Services[0].Expose[0].Hosts[0].Name, kept.Name(d.Lease.Group())} {
			leases[name] = i
		}
	}
	for _, q := range requests {
		if state.IsAnnouncement(path.Base(q.path)) {
			r.announces(q)
			continue
		}
		switch q.method {
		case http.MethodGet:
			_, _, name := target(q.path)
			if name == "" && q.query.Get("continue") == "" {
				r.lists = append(r.lists, q)
			}
		case http.MethodPatch, http.MethodPost:
			name := path.Base(q.path)
			if q.method == http.MethodPost { // a namespace
				o := &metav1.PartialObjectMetadata{}
				if err := json.Unmarshal(q.body, o); err != nil {
					return nil, err
				}
				name = o.Name
			}
			i, ok := leases[name]
			if !ok {
				return nil, fmt.Errorf("%s belongs to no lease", q.path)
			}
			r.chains[i] = append(r.chains[i], q)
		default:
			return nil, fmt.Errorf("a replay of %s %s is not possible", q.method, q.path)
		}
	}
	return r, nil
}

// announces keeps the write that made an announcement. How often it is renewed depends on the time, and its end is
// known from its beginning.
func (r *replay) announces(q request) {
	known := slices.ContainsFunc(r.begins, func(b request) bool { return b.path == q.path })
	if q.method == http.MethodPatch && !known {
		r.begins = append(r.begins, q)
	}
}

// run makes all requests and says how long they took.
func (r *replay) run(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	if _, err := r.list(ctx); err != nil {
		return 0, err
	}
	if err := r.chain(ctx, r.begins); err != nil {
		return 0, err
	}
	if err := each(ctx, len(r.chains), func(ctx context.Context, i int) error { return r.chain(ctx, r.chains[i]) }); err != nil {
		return 0, err
	}
	err := r.end(ctx)
	return time.Since(start), err
}

// end deletes the announcements.
func (r *replay) end(ctx context.Context) error {
	for _, q := range r.begins {
		resource, namespace, name := target(q.path)
		if err := r.metas.Resource(resource).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("DELETE %s: %w", q.path, err)
		}
	}
	return nil
}

// list makes the lists, and answers how many objects they bring.
func (r *replay) list(ctx context.Context) (int, error) {
	var mu sync.Mutex
	total := 0
	group, ctx := errgroup.WithContext(ctx)
	for _, q := range r.lists {
		group.Go(func() error {
			n, err := r.pages(ctx, q)
			mu.Lock()
			total += n
			mu.Unlock()
			return err
		})
	}
	return total, group.Wait()
}

func (r *replay) pages(ctx context.Context, q request) (int, error) {
	resource, namespace, _ := target(q.path)
	limit, _ := strconv.ParseInt(q.query.Get("limit"), 10, 64)
	opts := metav1.ListOptions{LabelSelector: q.query.Get("labelSelector"), Limit: limit}
	for total := 0; ; {
		n, next, err := r.page(ctx, q, resource, namespace, opts)
		if apierrors.IsNotFound(err) {
			return 0, nil // a kind that the cluster does not serve, as the program was told too
		}
		total += n
		if opts.Continue = next; err != nil || next == "" {
			return total, err
		}
	}
}

func (r *replay) page(ctx context.Context, q request, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions) (int, string, error) {
	if strings.Contains(q.accept, "PartialObjectMetadataList") {
		list, err := r.metas.Resource(resource).Namespace(namespace).List(ctx, opts)
		if err != nil {
			return 0, "", err
		}
		return len(list.Items), list.Continue, nil
	}
	list, err := r.objects.Resource(resource).Namespace(namespace).List(ctx, opts)
	if err != nil {
		return 0, "", err
	}
	return len(list.Items), list.GetContinue(), nil
}

// chain makes the writes of one name. A write that was pinned to an object is pinned to the one
// that stands there now.
func (r *replay) chain(ctx context.Context, requests []request) error {
	last := map[string]*metav1.PartialObjectMetadata{}
	for _, q := range requests {
		body := q.body
		if o := last[q.path]; o != nil {
			var err error
			if body, err = pin(body, o); err != nil {
				return err
			}
		}
		resource, namespace, name := target(q.path)
		if q.method == http.MethodPost {
			if err := r.create(ctx, resource, namespace, q); err != nil {
				return err
			}
			continue
		}
		o, err := r.metas.Resource(resource).Namespace(namespace).Patch(ctx, name, types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: q.query.Get("fieldManager"), FieldValidation: q.query.Get("fieldValidation")})
		if err != nil {
			return fmt.Errorf("%s %s: %w", q.method, q.path, err)
		}
		last[q.path] = o
	}
	return nil
}

func (r *replay) create(ctx context.Context, resource schema.GroupVersionResource, namespace string, q request) error {
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal(q.body, o); err != nil {
		return err
	}
	_, err := r.objects.Resource(resource).Namespace(namespace).Create(ctx, o, metav1.CreateOptions{FieldManager: q.query.Get("fieldManager")})
	if err != nil {
		return fmt.Errorf("%s %s: %w", q.method, q.path, err)
	}
	return nil
}

// pin puts the object's identity where the body names another.
func pin(body []byte, o *metav1.PartialObjectMetadata) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	if meta, ok := object["metadata"].(map[string]any); ok && meta["uid"] != nil {
		meta["uid"], meta["resourceVersion"] = o.UID, o.ResourceVersion
	}
	return json.Marshal(object)
}

// target is the resource of a path, with the namespace and the name where the path has them.
func target(p string) (resource schema.GroupVersionResource, namespace, name string) {
	segments := strings.Split(strings.Trim(p, "/"), "/")
	if segments[0] == "apis" && len(segments) > 2 {
		resource.Group, segments = segments[1], segments[1:]
	}
	segments = append(segments, "", "", "", "")
	resource.Version, segments = segments[1], segments[2:]
	if segments[0] == "namespaces" && segments[2] != "" {
		namespace, segments = segments[1], segments[2:]
	}
	resource.Resource = segments[0]
	return resource, namespace, segments[1]
}
