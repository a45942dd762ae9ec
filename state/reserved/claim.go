// Package reserved is the claim with which an order reserves resources: its name, its stored form, and what it takes of
// the cluster. docs/orders.md has the protocol, docs/annotations.md the keys.
package reserved

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"
	strictjson "sigs.k8s.io/json"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
)

// Annotations of a reservation.
const (
	// AnnotationOrder is the order: OWNER/DSEQ/GSEQ/OSEQ.
	AnnotationOrder = lease.Domain + "/order"
	// AnnotationBound holds the bound Part, AnnotationPending the announced one.
	AnnotationBound   = lease.Domain + "/bound"
	AnnotationPending = lease.Domain + "/pending"
	// AnnotationBoundNodes and AnnotationPendingNodes hold what else the parts take of their nodes: pods, and GPUs by model. They
	// stand apart because former versions accept no other keys in a Part.
	AnnotationBoundNodes   = lease.Domain + "/bound-nodes"
	AnnotationPendingNodes = lease.Domain + "/pending-nodes"
)

// Name returns the name of the claim of an order.
func Name(o lease.Order) string { return state.ReservationPrefix + lease.Hash(o.String()) }

// Claim is the reservation of an order: a Lease object in the ledger's namespace. A readable claim has at least one
// part. It is pending until its run has seen that the part fits beside all others, then bound. With both parts the
// claim is bound, and a run is moving it to other resources.
type Claim struct {
	Order lease.Order
	Bound *Part
	// Pending takes room as soon as it is announced, like Bound.
	Pending *Part

	// ObjectName is the name of the Lease object.
	ObjectName      string
	UID             types.UID
	ResourceVersion string
	// Created is when the object was created, by the API server's clock.
	Created time.Time
	// Deleting is true for a claim with a deletion timestamp: it takes no room, but its name is not free yet.
	Deleting   bool
	Finalizers []string
	// Unreadable says why the claim cannot be read. Bound is then what it takes as far as it can be read, or nil, and
	// its order can reserve nothing until somebody has deleted it. Other orders are not concerned.
	Unreadable string
}

// Part is what is reserved, and until when.
type Part struct {
	// Asked is the hash of the requested group (see the function Asked).
	Asked string `json:"asked"`
	// Hold is what the part takes, after commit levels.
	Hold inventory.Hold `json:"hold"`
	// Params are what pods need to use the chosen GPUs, by the ID of the resource unit. It is nil without GPUs.
	Params map[uint32]*lease.SchedulerParams `json:"params,omitempty"`
	// HTTP counts the routed endpoints like Akash's provider: once per resource unit, whatever its replicas. No limit
	// depends on it.
	HTTP uint64 `json:"http,omitempty"`
	// Provider is who has won the order. It is empty for a bid.
	Provider string `json:"provider,omitempty"`
	// By is who made the reservation, as USER@HOST. Run is the nonce of the run.
	By  string `json:"by,omitempty"`
	Run string `json:"run,omitempty"`
	// Expires is when the part ends, by the API server's clock, in RFC 3339. It is empty for a part without an end.
	Expires string `json:"expires,omitempty"`
}

// Over reports whether the part has expired. now is by the API server's clock.
func (p *Part) Over(now time.Time) bool { return state.Part{Expires: p.Expires}.Ended(now) }

// Lapsed reports whether the part, if it is announced, is over. It ends soon, or no run has written it.
func (p *Part) Lapsed(now time.Time) bool { return state.Part{Expires: p.Expires}.Lapsed(now) }

// Over reports whether the claim has expired. Anyone who needs the room may remove it then. A run that is moving the
// claim begins again.
func (c *Claim) Over(now time.Time) bool {
	if c.Bound != nil {
		return c.Bound.Over(now)
	}
	return c.Pending != nil && c.Pending.Lapsed(now)
}

// Part returns the part that counts: the bound one, else the pending one, or nil if the claim cannot be read.
func (c *Claim) Part() *Part {
	if c.Bound != nil {
		return c.Bound
	}
	return c.Pending
}

// Hold returns what the claim takes, including what it is moving to.
func (c *Claim) Hold() inventory.Hold {
	switch {
	case c.Deleting || c.Part() == nil:
		return inventory.Hold{}
	case c.Bound != nil && c.Pending != nil:
		return c.Bound.Hold.Larger(c.Pending.Hold)
	}
	return c.Part().Hold
}

// movingSuffix, after the name of a claim, names the pending part of a claim that is being moved.
const movingSuffix = "+"

// Pieces returns the claim in the form of package capacity: what is bound, and what is announced beyond it. rest
// returns the part of a hold that the order's own pods do not use.
func (c *Claim) Pieces(now time.Time, rest func(inventory.Hold) inventory.Hold) []capacity.Claim {
	switch {
	case c.Deleting || c.Part() == nil:
		return nil
	case c.Bound == nil:
		return []capacity.Claim{{Name: c.ObjectName, Over: c.Pending.Lapsed(now), Hold: rest(c.Pending.Hold)}}
	}
	bound := capacity.Claim{Name: c.ObjectName, Bound: true, Over: c.Bound.Over(now), Hold: rest(c.Bound.Hold)}
	if c.Pending == nil {
		return []capacity.Claim{bound}
	}
	return []capacity.Claim{bound, {
		Name: c.ObjectName + movingSuffix, Over: c.Pending.Lapsed(now), Hold: rest(c.Hold()).Minus(bound.Hold),
	}}
}

// Own returns the order's own claim in the form of package capacity, for a run that asks for a group, or nil if nothing
// is announced for that group. A claim that is bound for another group stays and is moved: the run counts what it holds
// as free.
func (c *Claim) Own(asked string, now time.Time) *capacity.Claim {
	switch {
	case c == nil || c.Deleting:
		return nil
	case c.Bound != nil && c.Bound.Asked == asked:
		return &capacity.Claim{Name: c.ObjectName, Bound: true, Over: c.Bound.Over(now), Hold: c.Bound.Hold}
	}
	return c.Announced(asked, now)
}

// Announced returns only what the order's own claim is moving to, or what it announces as its first: nil if that is not for
// the group.
func (c *Claim) Announced(asked string, now time.Time) *capacity.Claim {
	if c == nil || c.Deleting || c.Pending == nil || c.Pending.Asked != asked {
		return nil
	}
	return &capacity.Claim{Name: c.ObjectName, Over: c.Pending.Lapsed(now), Hold: c.Pending.Hold}
}

// Lost returns the names of the bound claims for which the room is gone. Claims are looked at by age, each beside the older ones
// that have room. rest returns the part of a claim's hold that the order's own lease does not use.
func Lost(all []*Claim, room capacity.Room, now time.Time, rest func(*Claim) inventory.Hold) map[string]bool {
	byAge := slices.SortedFunc(slices.Values(all), func(a, b *Claim) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ObjectName, b.ObjectName))
	})
	out := map[string]bool{}
	for _, c := range byAge {
		if c.Deleting || c.Bound == nil || c.Bound.Over(now) {
			continue
		}
		h := rest(c)
		if !room.Stands(h, nil) {
			out[c.ObjectName] = true
			continue
		}
		room = room.Less(h)
	}
	return out
}

// Without splits the claims that capacity.Decide wants to evict, by the names in Pieces: those to delete, and those
// that stay but lose what they were moving to.
func Without(all []*Claim, names []string, now time.Time) (deleted, stayed []*Claim) {
	for _, c := range all {
		switch {
		case slices.Contains(names, c.ObjectName) && c.Over(now):
			deleted = append(deleted, c)
		case slices.Contains(names, c.ObjectName+movingSuffix):
			stayed = append(stayed, c)
		}
	}
	return deleted, stayed
}

// Asked returns a hash that identifies the requested group.
func Asked(g inventory.Group) string { return lease.Hash(text(g.Resources)) }

// HTTP counts the routed endpoints of a group, once per resource unit.
func HTTP(g inventory.Group) (endpoints uint64) {
	for _, r := range g.Resources {
		for _, e := range r.Endpoints {
			if e.Kind == inventory.SharedHTTP {
				endpoints++
			}
		}
	}
	return endpoints
}

// addCards adds the GPUs of a part whose nodes are not detailed, if it has chosen one model.
func (p *Part) addCards() {
	models := p.Models()
	if len(models) != 1 {
		return
	}
	for node, amounts := range p.Hold.Nodes {
		if amounts.GPU > 0 {
			if p.Hold.Cards == nil {
				p.Hold.Cards = map[string]map[string]uint64{}
			}
			p.Hold.Cards[node] = map[string]uint64{models[0]: amounts.GPU}
		}
	}
}

// Models returns the models of the chosen GPUs, each once, as VENDOR/MODEL.
func (p *Part) Models() []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(p.Params)) {
		if chosen := p.Params[id]; chosen != nil {
			if m := chosen.Resources.GPU.Vendor + "/" + chosen.Resources.GPU.Model; !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}

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
