package watch

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// concerned returns the deployment groups that an object concerns.
func (r *reconciler) concerned(resource schema.GroupVersionResource, o client.Object) []lease.Group {
	meta, ok := o.(*metav1.PartialObjectMetadata)
	switch {
	case resource == cluster.Leases && ok:
		return r.inLedger(&meta.ObjectMeta)
	case resource == nodes:
		return nil
	}
	if id, ok := lease.IDFromLabels(o.GetLabels()); ok {
		return []lease.Group{id.Group()}
	}
	return nil
}

// inLedger returns the deployment groups that an object of the ledger concerns: those that an announcement names, that have an entry on
// a claim, or of which it keeps the definition.
func (r *reconciler) inLedger(meta *metav1.ObjectMeta) []lease.Group {
	if _, ok := state.AnnouncedNonce(meta.Name); ok {
		return groupsIn(meta)
	}
	if d, ok := kept.Read(meta); ok {
		if g, ok := r.leases.Kept(d); ok {
			return []lease.Group{g}
		}
		return nil
	}
	c, ok := state.ReadClaim(meta)
	if !ok {
		return nil
	}
	return c.Writers()
}

// frees returns the name of what may have made way for leases that fail, empty if nothing has: an object is gone, or a claim or something
// that somebody else has written is another one.
func (r *reconciler) frees(resource schema.GroupVersionResource, was, is client.Object) string {
	switch {
	case resource == nodes || was == nil:
		return ""
	case resource == cluster.Leases:
		meta, _ := was.(*metav1.PartialObjectMetadata)
		if c, claim := state.ReadClaim(&meta.ObjectMeta); claim {
			return c.Thing
		}
		return ""
	case is == nil, was.GetGeneration() != is.GetGeneration(), is.GetGeneration() == 0:
		return was.GetName()
	}
	return ""
}

// groupsIn returns the deployment groups that an announcement names.
func groupsIn(meta *metav1.ObjectMeta) (groups []lease.Group) {
	for _, text := range strings.Fields(meta.Annotations[state.AnnotationGroups]) {
		if g, err := lease.ParseGroup(text); err == nil {
			groups = append(groups, g)
		}
	}
	return groups
}
