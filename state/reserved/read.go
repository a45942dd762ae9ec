package reserved

import (
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	strictjson "sigs.k8s.io/json"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Read reads a reservation from the metadata of a Lease object. ok is false for any other object. Read is strict; of a
// claim that it cannot read only what is bound counts, if at least that can be read.
func Read(meta *metav1.ObjectMeta) (c *Claim, ok bool) {
	if !state.IsReservation(meta.Name) && meta.Labels[state.LabelKind] != state.KindResources {
		return nil, false
	}
	c = &Claim{
		ObjectName: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion, Created: meta.CreationTimestamp.Time,
		Deleting: meta.DeletionTimestamp != nil, Finalizers: meta.Finalizers,
	}
	if err := c.read(meta); err != nil {
		c.Unreadable, c.Pending = err.Error(), nil
	}
	return c, true
}

func (c *Claim) read(meta *metav1.ObjectMeta) (err error) {
	if !state.IsReservation(meta.Name) {
		return fmt.Errorf("its label %s is %s, and its name is not that of a reservation", state.LabelKind, state.KindResources)
	}
	if c.Order, err = lease.ParseOrder(meta.Annotations[AnnotationOrder]); err != nil {
		return fmt.Errorf("annotation %s: %w", AnnotationOrder, err)
	}
	switch {
	case meta.Annotations[state.AnnotationLedger] != state.LedgerVersion:
		return fmt.Errorf("it was written for version %q of the ledger, which this program does not know",
			lease.Clip(meta.Annotations[state.AnnotationLedger]))
	case meta.Name != Name(c.Order):
		return fmt.Errorf("its name is not that of order %s", c.Order)
	case meta.Labels[state.LabelKind] != state.KindResources:
		return fmt.Errorf("its label %s is not %s", state.LabelKind, state.KindResources)
	case meta.Labels[state.LabelOwner] != c.Order.Owner:
		return fmt.Errorf("its label %s is not the owner of the order", state.LabelOwner)
	}
	if c.Bound, err = readPart(meta.Annotations, AnnotationBound, AnnotationBoundNodes); err != nil {
		return err
	}
	if c.Pending, err = readPart(meta.Annotations, AnnotationPending, AnnotationPendingNodes); err != nil {
		return err
	}
	if c.Part() == nil {
		return errors.New("it says nothing of what it reserves")
	}
	return nil
}

// readPart reads a part, or returns nil if its annotation does not exist. A former version writes none for its nodes.
func readPart(annotations map[string]string, key, nodesKey string) (*Part, error) {
	value, ok := annotations[key]
	if !ok {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	p := &Part{}
	faults, err := strictjson.UnmarshalStrict([]byte(value), p)
	if err == nil && len(faults) > 0 {
		err = faults[0]
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("annotation %s: %w", key, err)
	case p.Asked == "":
		return nil, fmt.Errorf("annotation %s: it does not say what was asked for", key)
	}
	if _, err := time.Parse(time.RFC3339, p.Expires); p.Expires != "" && err != nil {
		return nil, fmt.Errorf("annotation %s: %q is no time", key, lease.Clip(p.Expires))
	}
	if nodes, ok := annotations[nodesKey]; !ok {
		p.addCards()
	} else if err := p.addNodes(nodes); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", nodesKey, err)
	}
	if p.Provider != "" {
		if err := lease.CheckAddress(p.Provider); err != nil {
			return nil, fmt.Errorf("annotation %s: provider: %w", key, err)
		}
	}
	return p, nil
}

// Find returns the claim of an order, or nil, and the other claims.
func Find(all []*Claim, o lease.Order) (own *Claim, others []*Claim) {
	i := slices.IndexFunc(all, func(c *Claim) bool { return c.ObjectName == Name(o) })
	if i < 0 {
		return nil, all
	}
	return all[i], slices.Delete(slices.Clone(all), i, i+1)
}
