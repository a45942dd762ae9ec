package reserved

import (
	"encoding/json"
	"fmt"

	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"

	"github.com/akash-net/kubectl-akash-net/state"
)

// MaxText is how long a part may be: an object's annotations have 256 KiB together, and a claim that is moved has two.
const MaxText = 112 << 10

// TooLongError says that a reservation is spread over more nodes than can be noted.
type TooLongError struct{ Nodes int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the reservation is spread over %d nodes, more than an object can note: split the group", e.Nodes)
}

// Check says why a part cannot be written; nil where it can.
func (p *Part) Check() error {
	if len(text(p)) > MaxText {
		return &TooLongError{Nodes: len(p.Hold.Nodes)}
	}
	return nil
}

// Configuration is what the order's field manager applies so that the claim says what it is to say. It is pinned to the
// claim as it was read; one that is to be made has no UID.
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

// text is a value as JSON; keys of maps are sorted.
func text(v any) string {
	out, _ := json.Marshal(v) // structs of texts and numbers
	return string(out)
}
