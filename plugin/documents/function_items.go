package documents

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/kyaml/kio/filters"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// withObjects returns the items of a ResourceList with the rendered objects. An object takes the place, the file and the index
// of an item that is the same object. Items that were read as the ledger are marked as local configuration: whoever applied
// them would take the claims of all tenants, and prune them later.
func withObjects(items []*kyaml.RNode, objects []render.Object, ledgerNamespace string) ([]*kyaml.RNode, error) {
	rendered := map[objectKey]*kyaml.RNode{}
	var order []objectKey
	for _, o := range objects {
		n, err := toNode(o)
		if err != nil {
			return nil, err
		}
		rendered[keyOf(n)] = n
		order = append(order, keyOf(n))
	}
	var out []*kyaml.RNode
	for _, item := range items {
		if n, same := rendered[keyOf(item)]; same {
			if err := kioutil.CopyInternalAnnotations(item, n); err != nil {
				return nil, err
			}
			delete(rendered, keyOf(item))
			out = append(out, n)
			continue
		}
		keep, err := markLedger(item, ledgerNamespace, func(n *kyaml.RNode) bool { return rendered[keyOf(n)] != nil })
		if err != nil {
			return nil, err
		}
		if keep {
			out = append(out, item)
		}
	}
	for _, key := range order {
		if n, left := rendered[key]; left {
			out = append(out, n)
		}
	}
	return out, nil
}

// objectKey identifies an object. The version of its API does not count.
type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

func keyOf(n *kyaml.RNode) objectKey {
	return objectKey{schema.FromAPIVersionAndKind(n.GetApiVersion(), n.GetKind()).GroupKind(), n.GetNamespace(), n.GetName()}
}

// markLedger marks an item as local configuration if it was read as the ledger, and reports whether to keep it. In a List it
// marks the objects, and the List if all of them are marked; it removes the objects that are rendered too.
func markLedger(item *kyaml.RNode, namespace string, isRendered func(*kyaml.RNode) bool) (keep bool, err error) {
	mark := kyaml.SetAnnotation(filters.LocalConfigAnnotation, "true")
	list := item.Field("items")
	if list == nil || list.Value.YNode().Kind != kyaml.SequenceNode {
		if is, err := isLedger(item, namespace); err != nil || !is {
			return true, err
		}
		return true, item.PipeE(mark)
	}
	all := true
	var left []*kyaml.Node
	for _, content := range list.Value.YNode().Content {
		n := kyaml.NewRNode(content)
		if isRendered(n) {
			continue
		}
		left = append(left, content)
		is, err := isLedger(n, namespace)
		if err == nil && is {
			err = n.PipeE(mark)
		}
		if err != nil {
			return true, err
		}
		all = all && is
	}
	if len(left) == 0 {
		return len(list.Value.YNode().Content) == 0, nil
	}
	list.Value.YNode().Content = left
	if !all {
		return true, nil
	}
	return true, item.PipeE(mark)
}

// isLedger reports whether an object is a part of the ledger as it was read: a Lease of its namespace, or a Service that uses
// an address and comes from a cluster (it has a UID) or belongs to a lease. Other Services are somebody's own, to be applied.
func isLedger(n *kyaml.RNode, namespace string) (bool, error) {
	switch keyOf(n).kind {
	case schema.GroupKind{Group: coordinationv1.GroupName, Kind: "Lease"}:
		return n.GetNamespace() == namespace, nil
	case schema.GroupKind{Kind: "Service"}:
		m, err := n.Map()
		o := &unstructured.Unstructured{Object: m}
		return err == nil && len(state.ServiceUses(o)) > 0 && (o.GetUID() != "" || o.GetLabels()[lease.LabelManaged] == "true"), err
	}
	return false, nil
}
