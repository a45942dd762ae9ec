package documents

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/state"
)

// readLedger reads the claims, Services and pools in files: a Git repository, or the output of "kubectl get -o yaml". All of them
// count, so a broken one is an error.
func readLedger(ctx context.Context, c *console.Console, from *flags.Ledger, cfg *config.ProviderConfig) (*pools.Known, error) {
	found := addressLedger{namespace: cfg.LedgerNamespace}
	problems, err := from.Read(ctx, c.In, cfg.Limits, false, found.add)
	if err != nil {
		return nil, err
	}
	c.Warn(problems)
	if errs := problems.Errors(); len(errs) > 0 {
		return nil, errs
	}
	return found.known(), nil
}

// addressLedger has the objects that decide which addresses are free: claims, Services that use addresses, nodes,
// and pools.
type addressLedger struct {
	// namespace is that of the claims: a Lease of another one is no claim.
	namespace string
	claims    []*state.Claim
	uses      []state.Use
	pools     []state.PoolObject
	// pooled are the names of the pools. Of a pool that several files have, as the cluster's and one that was rendered, the first counts.
	pooled map[string]bool
}

func (l *addressLedger) known() *pools.Known {
	return &pools.Known{Claims: l.claims, Addresses: state.NewAddresses(l.claims, l.uses), Pools: l.pools}
}

func (l *addressLedger) add(o *unstructured.Unstructured) {
	switch o.GetAPIVersion() + "/" + o.GetKind() {
	case "coordination.k8s.io/v1/Lease":
		meta := metav1.ObjectMeta{
			Name: o.GetName(), Namespace: o.GetNamespace(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
			UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), CreationTimestamp: o.GetCreationTimestamp(),
		}
		if claim, ok := state.ReadClaim(&meta); ok && meta.Namespace == l.namespace { // also one of a run that has not finished: its address is not free
			l.claims = append(l.claims, &claim)
		}
	case "v1/Service":
		l.uses = append(l.uses, state.ServiceUses(o)...)
	case "v1/Node":
		l.uses = append(l.uses, state.NodeUses(o)...)
	case "metallb.io/v1beta1/IPAddressPool":
		if name := o.GetNamespace() + "/" + o.GetName(); !l.pooled[name] {
			if l.pooled == nil {
				l.pooled = map[string]bool{}
			}
			l.pooled[name] = true
			l.pools = append(l.pools, state.PoolObjectOf(o))
		}
	}
}

// ledgerIn returns the ledger among the items of a ResourceList.
func ledgerIn(nodes []*kyaml.RNode, namespace string) (*addressLedger, error) {
	found := &addressLedger{namespace: namespace}
	for _, n := range nodes {
		objects, err := objectsOf(n)
		if err != nil {
			return nil, lease.Problems{{At: lease.Place{File: "-"}, Message: err.Error()}}
		}
		for i := range objects {
			found.add(&objects[i])
		}
	}
	return found, nil
}

// objectsOf returns an object, or the items of a List.
func objectsOf(n *kyaml.RNode) ([]unstructured.Unstructured, error) {
	m, err := n.Map()
	if err != nil {
		return nil, err
	}
	o := unstructured.Unstructured{Object: m}
	if !o.IsList() {
		return []unstructured.Unstructured{o}, nil
	}
	list, err := o.ToList()
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
