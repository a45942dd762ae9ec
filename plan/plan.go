// Package plan says what a command would change, as a value: which things it would claim or give up, and
// which objects it would create, change or delete, field by field. It is pure.
package plan

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Action is what would be done with one object or one thing.
type Action string

// The actions.
const (
	// Claim takes a thing, or parts of it, for the lease; GiveUp ends that.
	Claim  Action = "claim"
	GiveUp Action = "giveUp"
	// Withhold leaves a thing to another deployment of the same owner, which holds it.
	Withhold Action = "withhold"
	// Leave leaves a thing that a kept definition names: its lease has given it up since, and does not claim it anew.
	Leave  Action = "leave"
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
)

// Change is one step of a plan.
type Change struct {
	Action Action `json:"action"`
	// Kind and Name are the object, or the thing that is claimed; a thing has no namespace.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID and ResourceVersion are those of the object, or of the claim, as it was read; empty where there
	// is none.
	UID             types.UID `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	// Unpinned is true for an object that was read from a file which shows no UID: it is known by what the file
	// says of it.
	Unpinned bool `json:"unpinned,omitempty"`
	// Planned is true for an object, or a claim, that another lease of the plan makes first.
	Planned bool `json:"planned,omitempty"`
	// Before and After are the object as it is and as it would be, without managed fields and status; of a
	// claim they are the parts that the lease holds. One that would be created has no Before, one that would
	// be deleted no After.
	Before map[string]any `json:"before,omitempty"`
	After  map[string]any `json:"after,omitempty"`
	// Fields are the fields that an update would change. There are none where it would only change who owns
	// them.
	Fields []Field `json:"fields,omitempty"`
	// Why says more, where that is not plain.
	Why string `json:"why,omitempty"`
}

// Lease is what would change for one lease.
type Lease struct {
	Lease string `json:"lease"`
	// Definition is the LeaseDefinition that the plan was made of.
	Definition json.RawMessage `json:"definition,omitempty"`
	Changes    []Change        `json:"changes"`
	// Refused says why nothing would be changed for the lease; empty where nothing is in the way.
	Refused string `json:"refused,omitempty"`
}

// Differs is true where anything would change, or where the lease would be refused.
func (l Lease) Differs() bool { return len(l.Changes) > 0 || l.Refused != "" }

// Plan is what would change, lease by lease.
type Plan struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Settings   Settings `json:"settings"`
	Leases     []Lease  `json:"leases"`
}

// Settings are the flags that a plan was made with.
type Settings struct {
	Target        string `json:"target"`
	Operators     string `json:"operators"`
	Prune         bool   `json:"prune"`
	AssumeServing bool   `json:"assumeServing"`
	// Workloads is true where what the leases run is applied too; Adopt where what stands for a lease without a claim, or
	// was deployed by Akash's provider, is taken over. Scheduler is what a reservation chose for the one lease.
	Workloads bool            `json:"workloads,omitempty"`
	Adopt     bool            `json:"adopt,omitempty"`
	Scheduler json.RawMessage `json:"scheduler,omitempty"`
	// Kept is true for a plan of the definitions that the ledger keeps, as far as their leases hold what they name.
	Kept bool `json:"kept,omitempty"`
}

// APIVersion and Kind are those of a plan.
const (
	APIVersion = lease.Domain + "/v1alpha1"
	Kind       = "Plan"
)

// New is the plan of some leases.
func New(settings Settings, leases []Lease) Plan {
	return Plan{APIVersion: APIVersion, Kind: Kind, Settings: settings, Leases: leases}
}

// ID names the object or the thing that a change is about, as "ingress/NAMESPACE/NAME".
func (c Change) ID() string {
	if c.Namespace == "" {
		return c.Kind + "/" + c.Name
	}
	return c.Kind + "/" + c.Namespace + "/" + c.Name
}

// Same is true for two changes that make the same of the same object. Of an object that is updated the fields count
// that change, of one that is deleted what it asks for, and never its resource version: controllers write its
// status and annotations of their own. What is given up of a claim is the same also where the lease has taken other parts
// of it meanwhile. An object that is known from a file alone is the same where all that the file shows is there.
func (c Change) Same(other Change) bool {
	if other.Unpinned {
		c, other = other, c
	}
	loose := c.Unpinned && !other.Unpinned
	unpinned := loose || c.Planned || other.Planned
	if c.Action != other.Action || c.ID() != other.ID() || !unpinned && c.UID != other.UID || c.exists() != other.exists() {
		return false
	}
	switch c.Action {
	case GiveUp:
		return maps.Equal(c.givenUp(), other.givenUp())
	case Update:
		return (!loose || contains(other.Before, c.Before)) &&
			slices.EqualFunc(lasting(c.Fields), lasting(other.Fields), func(a, b Field) bool { return a.same(b, loose) })
	case Delete:
		return loose && contains(other.Before, c.Before) || !loose && equal(c.Before["spec"], other.Before["spec"])
	case Create:
		return equal(timeless(c.After), timeless(other.After))
	case Claim, Withhold, Leave:
	}
	return equal(c.Before, other.Before) && equal(c.After, other.After)
}

// exists is true where there was an object, or a claim, when the change was planned.
func (c Change) exists() bool { return c.UID != "" || c.Unpinned || c.Planned }

// contains is Contains of two values as data.
func contains(have, want any) bool { return Contains(toData(have), toData(want)) }

// equal is true for two values that are the same as data.
func equal(a, b any) bool { return reflect.DeepEqual(toData(a), toData(b)) }

// toData is a value as it is read from JSON.
func toData(value any) (out any) {
	if text, err := json.Marshal(value); err == nil {
		_ = json.Unmarshal(text, &out) // it was marshalled just now
	}
	return out
}

// givenUp are the parts of a claim that are given up.
func (c Change) givenUp() map[string]bool {
	out := map[string]bool{}
	for part := range c.Before {
		if _, kept := c.After[part]; !kept {
			out[part] = true
		}
	}
	return out
}

// Moved are the changes of a lease that differ between two plans, by their IDs.
func (l Lease) Moved(now Lease) []string {
	var moved []string
	note := func(from, to []Change) {
		for _, c := range from {
			same := func(other Change) bool { return c.Same(other) }
			if !slices.ContainsFunc(to, same) && !slices.Contains(moved, c.ID()) {
				moved = append(moved, c.ID())
			}
		}
	}
	note(l.Changes, now.Changes)
	note(now.Changes, l.Changes)
	if l.Refused != now.Refused {
		moved = append(moved, "lease/"+l.Lease)
	}
	return moved
}

// Differs is true where anything would change.
func (p Plan) Differs() bool { return slices.ContainsFunc(p.Leases, Lease.Differs) }

// Write is the change that an apply of an object under a field manager makes. live is the object as it
// was read, nil where there is none.
func Write(kind string, want map[string]any, live *unstructured.Unstructured, manager string) (c Change) {
	name := unstructured.Unstructured{Object: want}
	c = Change{Action: Create, Kind: kind, Namespace: name.GetNamespace(), Name: name.GetName()}
	defer func() { c.hide() }()
	if live == nil {
		c.After = shown(want)
		return c
	}
	c.Action, c.UID, c.ResourceVersion = Update, live.GetUID(), live.GetResourceVersion()
	c.Fields = Fields(live, want, manager)
	c.Before = shown(live.Object)
	c.After = runtime.DeepCopyJSON(c.Before)
	for _, f := range c.Fields {
		f.Set(c.After)
	}
	return c
}

// Remove is the change that deletes an object.
func Remove(kind string, live *unstructured.Unstructured, why string) Change {
	c := Change{
		Action: Delete, Kind: kind, Namespace: live.GetNamespace(), Name: live.GetName(),
		UID: live.GetUID(), ResourceVersion: live.GetResourceVersion(), Before: shown(live.Object), Why: why,
	}
	c.hide()
	return c
}

// shown is an object without what the API server and controllers keep for themselves.
func shown(o map[string]any) map[string]any {
	u := (&unstructured.Unstructured{Object: o}).DeepCopy()
	u.SetManagedFields(nil)
	delete(u.Object, "status")
	return u.Object
}
