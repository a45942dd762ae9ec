package reserved

import (
	"encoding/json"
	"fmt"

	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"

	"github.com/akash-net/kubectl-akash-net/state"
)

// MaxText limits the stored text of a part in bytes: the annotations of an object have at most 256 KiB, and a claim
// that is being moved has two parts.
const MaxText = 112 << 10

// TooLongError is returned for a reservation on more nodes than an object can store.
type TooLongError struct{ Nodes int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the reservation is spread over %d nodes, more than an object can note: split the group", e.Nodes)
}

// Check returns an error if the part is too long to store.
func (p *Part) Check() error {
	if len(text(p)) > MaxText {
		return &TooLongError{Nodes: len(p.Hold.Nodes)}
	}
	return nil
}

// Configuration returns what the order's field manager applies to store the claim. It is pinned to the version of the
// claim that was read. A new claim has no UID.
func (c *Claim) Configuration(namespace string) *coordinationv1.LeaseApplyConfiguration {
	ac := coordinationv1.Lease(Name(c.Order), namespace).
		WithLabels(map[string]string{state.LabelKind: state.KindResources, state.LabelOwner: c.Order.Owner}).
		WithAnnotations(map[string]string{state.AnnotationLedger: state.LedgerVersion, AnnotationOrder: c.Order.String()}).
		WithSpec(coordinationv1.LeaseSpec().WithHolderIdentity(c.Order.Owner))
	for key, p := range map[string]*Part{AnnotationBound: c.Bound, AnnotationPending: c.Pending} {
		if p != nil {
			ac.WithAnnotations(map[string]string{key: text(p)})
		}
	}
	if c.UID != "" {
		ac.WithUID(c.UID).WithResourceVersion(c.ResourceVersion)
	}
	return ac
}

// text marshals a value to JSON. The result is deterministic: map keys are sorted.
func text(v any) string {
	out, _ := json.Marshal(v) // cannot fail: structs of plain data
	return string(out)
}
