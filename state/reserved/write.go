package reserved

import (
	"encoding/json"
	"fmt"

	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"

	"github.com/akash-net/kubectl-akash-net/state"
)

// MaxText limits the stored texts of a part in bytes: the annotations of an object have at most 256 KiB, and a claim
// that is being moved has two parts.
const MaxText = 112 << 10

// TooLongError is returned for a reservation on more nodes than an object can store.
type TooLongError struct{ Nodes int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the reservation is spread over %d nodes, more than an object can note: split the group", e.Nodes)
}

// Check returns an error if the part is too long to store.
func (p *Part) Check() error {
	if len(text(p))+len(text(p.nodes())) > MaxText {
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
	if p := c.Bound; p != nil {
		ac.WithAnnotations(map[string]string{AnnotationBound: text(p), AnnotationBoundNodes: text(p.nodes())})
	}
	if p := c.Pending; p != nil {
		ac.WithAnnotations(map[string]string{AnnotationPending: text(p), AnnotationPendingNodes: text(p.nodes())})
	}
	if c.UID != "" {
		ac.WithUID(c.UID).WithResourceVersion(c.ResourceVersion)
	}
	return ac
}

// onNode is what a part takes of a node beside the amounts in its Hold.
type onNode struct {
	Pods uint64 `json:"pods,omitempty"`
	// GPUs counts GPUs by model, as VENDOR/MODEL.
	GPUs map[string]uint64 `json:"gpus,omitempty"`
}

// nodes returns what the part takes of its nodes, by name.
func (p *Part) nodes() map[string]onNode {
	out := map[string]onNode{}
	for name, a := range p.Hold.Nodes {
		if of := (onNode{Pods: a.Pods, GPUs: p.Hold.Cards[name]}); of.Pods > 0 || len(of.GPUs) > 0 {
			out[name] = of
		}
	}
	return out
}

// addNodes adds to the part what the text says of its nodes.
func (p *Part) addNodes(text string) error {
	var nodes map[string]onNode
	if err := json.Unmarshal([]byte(text), &nodes); err != nil {
		return err
	}
	for name, amounts := range p.Hold.Nodes {
		of := nodes[name]
		amounts.Pods = of.Pods
		p.Hold.Nodes[name] = amounts
		if len(of.GPUs) > 0 {
			if p.Hold.Cards == nil {
				p.Hold.Cards = map[string]map[string]uint64{}
			}
			p.Hold.Cards[name] = of.GPUs
		}
	}
	return nil
}

// text marshals a value to JSON. The result is deterministic: map keys are sorted.
func text(v any) string {
	out, _ := json.Marshal(v) // cannot fail: structs of plain data
	return string(out)
}
