package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/reconcile"
)

// past is what was in the cluster at a moment of the history.
type past struct {
	objects map[string]*stored
	// at is the length of the trace then.
	at int
}

// remember keeps what is in the cluster, if that has changed.
func (w *world) remember() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.pasts); n == 0 || w.version != w.server.version {
		w.version = w.server.version
		w.pasts = append(w.pasts, past{maps.Clone(w.server.objects), len(w.trace)})
	}
}

// watches are those of a reconciler. Each kind of objects is seen as it was some time ago, one kind later than the other; none goes back.
type watches struct {
	world *world
	name  string

	mu sync.Mutex
	// at is which of the pasts is seen of each resource, reads how often that was read.
	at, reads map[string]int
	// told are the versions of objects of which Changes has told.
	told map[cluster.Change]string
	// oldest is the length of the trace at the oldest moment that was seen since it was set.
	oldest int
}

// see returns the objects of a resource as they are seen now.
func (s *watches) see(resource schema.GroupVersionResource, namespace string) ([]*stored, error) {
	root := "/apis/" + resource.Group
	if resource.Group == "" {
		root = "/api"
	}
	kind := s.world.server.kinds[root+"/"+resource.Version+"/"+resource.Resource]
	if kind == nil {
		return nil, &kinds.MissingError{Resource: resource}
	}
	s.world.mu.Lock()
	pasts := s.world.pasts
	s.world.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads[kind.plural]++
	if behind := len(pasts) - 1 - s.at[kind.plural]; behind > 0 { // it comes nearer, by a step that the history's seed decides
		drawn := fnv.New32a()
		fmt.Fprint(drawn, s.world.seed, s.name, kind.plural, s.reads[kind.plural])
		s.at[kind.plural] += int(drawn.Sum32() % uint32(behind+1))
	}
	seen := pasts[s.at[kind.plural]]
	s.oldest = min(s.oldest, seen.at)
	var out []*stored
	for _, path := range slices.Sorted(maps.Keys(seen.objects)) {
		if o := seen.objects[path]; o.kind == kind && (namespace == "" || o.object.GetNamespace() == namespace) {
			out = append(out, o)
		}
	}
	return out, nil
}

// Objects implements cluster.Watched.
func (s *watches) Objects(_ context.Context, resource schema.GroupVersionResource, namespace string) (out []*unstructured.Unstructured, err error) {
	all, err := s.see(resource, namespace)
	for _, o := range all {
		out = append(out, o.object)
	}
	return out, err
}

// Metas implements cluster.Watched.
func (s *watches) Metas(_ context.Context, resource schema.GroupVersionResource, namespace string) (out []*metav1.ObjectMeta, err error) {
	all, err := s.see(resource, namespace)
	for _, o := range all {
		meta := &metav1.ObjectMeta{}
		if err := json.Unmarshal(o.meta, meta); err != nil {
			return nil, err
		}
		out = append(out, meta)
	}
	return out, err
}

// Meta implements cluster.Watched.
func (s *watches) Meta(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.ObjectMeta, error) {
	all, err := s.Metas(ctx, resource, namespace)
	if i := slices.IndexFunc(all, func(m *metav1.ObjectMeta) bool { return m.Name == name }); i >= 0 {
		return all[i], nil
	}
	return nil, err
}

// Changes implements cluster.Watched.
func (s *watches) Changes(context.Context) (changes []cluster.Change, _ error) {
	s.mu.Lock()
	told, now := s.told, map[cluster.Change]string{}
	s.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(s.world.server.kinds)) {
		kind := s.world.server.kinds[path]
		resource := schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: kind.plural}
		all, err := s.see(resource, "")
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			change, meta := cluster.Change{Resource: resource, Namespace: o.object.GetNamespace(), Name: o.object.GetName()}, &metav1.ObjectMeta{}
			version := listed.VersionOf(o.object)
			was, known := told[change]
			if now[change] = version; known && was == version {
				continue
			}
			if err := json.Unmarshal(o.meta, meta); err != nil {
				return nil, err
			}
			change.Object, change.Meta = o.object, meta
			changes = append(changes, change)
		}
	}
	for gone := range told {
		if _, there := now[gone]; !there {
			changes = append(changes, gone)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = now
	return changes, nil
}

// Has implements cluster.Watched.
func (s *watches) Has(resource schema.GroupVersionResource) error {
	_, err := s.see(resource, "")
	return err
}

// fromSource is the source of the leases that reconcilers apply.
const fromSource = "files"

// watch makes a process a reconciler, which keeps what it remembers.
func (p *process) watch() {
	p.watches = &watches{world: p.world, name: p.name, at: map[string]int{}, reads: map[string]int{}}
	p.watching = p.cluster.Watching(p.watches)
}

// reconcile does as a reconciler does whose source names what the command applies, and does not name what it releases any more. What has
// happened since its watches saw the cluster counts as if it had happened meanwhile: the reconciler will be told of it, and decide anew.
func (c *invocation) reconcile(ctx context.Context, p *process, opts command.Options) error {
	p.watches.mu.Lock()
	p.watches.oldest = c.began
	p.watches.mu.Unlock()
	said := reconcile.Said{Source: fromSource, Complete: true, Definitions: map[lease.Group]*lease.Definition{}}
	var groups []lease.Group
	for _, d := range c.all() {
		if groups = append(groups, d.id.Group()); c.verb == "apply" {
			said.Definitions[d.id.Group()] = d.definition()
		}
	}
	r := reconcile.New(p.watching, opts, reconcile.Limits{MaxDeletes: len(groups)})
	r.Says(0, said)
	failed, err := r.Work(ctx, groups)
	if c.verb == "release" && err == nil && len(failed) == 0 { // it was emptied
		failed, err = r.Work(ctx, groups)
	}
	p.watches.mu.Lock()
	for _, d := range c.all() {
		d.began = min(d.began, p.watches.oldest)
	}
	p.watches.mu.Unlock()
	return report.Gather(append(slices.Collect(maps.Values(failed)), err))
}
