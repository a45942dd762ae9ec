package plan

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// What another program has applied stays its own: an apply that no longer sends a field leaves it in place. So the fields of who has
// delivered a rendered object become those of the manager that applies it from then on, as kubectl, Flux and Argo CD do it. Where another
// manager keeps a field that is not sent any more, that is a conflict.

// Takes says whose fields an apply takes over beside those that kubectl has delivered before the first apply.
type Takes struct {
	// ByHand are those that kubectl has delivered, or keeps, at any time; Delivered those that any program has delivered.
	ByHand, Delivered bool
}

// TakeOver returns a live object as it is once a manager has taken over fields of others: the same values, with other managed fields.
// It returns the object itself if there is nothing to take over.
func TakeOver(live *unstructured.Unstructured, want map[string]any, manager string, takes Takes) *unstructured.Unstructured {
	own, applied := managed.Applied(live, manager)
	if !applied {
		own.Manager, own.Operation, own.APIVersion = manager, metav1.ManagedFieldsOperationApply, live.GetAPIVersion()
	}
	mine, _ := own.Set()
	var entries []metav1.ManagedFieldsEntry
	took := false
	for _, entry := range live.GetManagedFields() {
		e := managed.Entry{ManagedFieldsEntry: entry}
		if e.Manager == manager && e.Operation == own.Operation && e.Subresource == "" {
			continue
		}
		theirs, readable := e.Set()
		hand := managed.IsHand(e.Manager)
		switch {
		case !readable || e.Subresource != "" || e.APIVersion != own.APIVersion:
		case e.Delivers() && (takes.Delivered || hand && (takes.ByHand || !applied)):
			mine, took = mine.Union(delivered(theirs, live)), true
			if own.Time == nil || own.Time.Before(e.Time) {
				own.Time = e.Time
			}
			continue
		case hand && takes.ByHand:
			if kept := without(mine.Intersection(theirs), want); !kept.Empty() {
				entry.FieldsV1, took = managed.FieldsOf(theirs.RecursiveDifference(kept)), true
			}
		}
		entries = append(entries, entry)
	}
	if !took {
		return live
	}
	own.FieldsType, own.FieldsV1 = "FieldsV1", managed.FieldsOf(mine)
	out := live.DeepCopy()
	out.SetManagedFields(append(entries, own.ManagedFieldsEntry))
	return out
}

// delivered returns those of a deliverer's fields that it has sent. What kubectl has sent from its own side is in an annotation: as the
// creator of the object it owns the defaults too, and these keep their values.
func delivered(theirs *fieldpath.Set, live *unstructured.Unstructured) *fieldpath.Set {
	text := live.GetAnnotations()[managed.AnnotationLastApplied]
	if !theirs.Has(fieldpath.MakePathOrDie("metadata", "annotations", managed.AnnotationLastApplied)) {
		return theirs
	}
	var sent map[string]any
	if json.Unmarshal([]byte(text), &sent) != nil {
		return theirs
	}
	put(sent, Path{"metadata", "annotations", managed.AnnotationLastApplied}, text)
	return theirs.Difference(without(theirs, sent))
}

// without returns the fields of a set that an object does not have.
func without(set *fieldpath.Set, object map[string]any) *fieldpath.Set {
	out := fieldpath.NewSet()
	set.Iterate(func(at fieldpath.Path) {
		if _, has := get(object, pathOf(at)); !has {
			out.Insert(slices.Clone(at))
		}
	})
	return out
}

// pathOf returns the path of an owned field; of an item of a list that is not merged by keys, that of the list.
func pathOf(owned fieldpath.Path) (path Path) {
	for _, element := range owned {
		if element.FieldName == nil && element.Key == nil {
			break
		}
		path = append(path, toElement(element))
	}
	return path
}

// addKept adds the fields that another manager has delivered and that want does not have. One that has delivered the same definition adds
// to it what it likes; the marks by which it finds its objects again are no fields of a definition.
func (c *comparison) addKept(want map[string]any) {
	hash := Path{"metadata", "annotations", lease.AnnotationDefinition}
	wanted, hashed := get(want, hash)
	is, _ := get(c.live.Object, hash)
	for e := range managed.Of(c.live) {
		if !e.Delivers() || hashed && is == wanted && e.Owns(hash...) {
			continue
		}
		theirs, _ := e.Set()
		delivered(theirs, c.live).Leaves().Iterate(func(at fieldpath.Path) {
			if !isTracking(pathOf(at)) {
				c.addDropped(at, want)
			}
		})
	}
}

// tracking are the domains of the labels and annotations by which programs find again what they have delivered.
var tracking = []string{
	"kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "argocd.argoproj.io", "app.kubernetes.io", "meta.helm.sh",
	"applyset.kubernetes.io", "kubectl.kubernetes.io",
}

func isTracking(path Path) bool {
	if len(path) != 3 || path[0] != "metadata" {
		return false
	}
	domain, _, _ := strings.Cut(path[2], "/")
	return slices.Contains(tracking, domain)
}

// keeps reports whether an entry keeps a field that a manager no longer sends, against its will: that of Akash's provider, and those of
// other deployments, are no objection.
func keeps(e managed.Entry, manager string) bool {
	applied := e.Operation == metav1.ManagedFieldsOperationApply || e.Delivers() || managed.IsHand(e.Manager)
	return applied && e.Manager != managed.Akash && foreign(e.Manager, manager)
}
