// Package plan represents what a command would change as a value: the things that it would claim or give up, and the
// objects that it would create, update or delete, field by field. It does no I/O.
package plan

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
)

// Action is what a change does to one object or one thing.
type Action string

// The actions.
const (
	// Claim claims a thing, or parts of it, for the lease; GiveUp releases it.
	Claim  Action = "claim"
	GiveUp Action = "giveUp"
	// Withhold leaves a thing to another deployment of the same owner, which holds it.
	Withhold Action = "withhold"
	// Leave skips a thing of a kept definition that the lease has given up since; it is not claimed again. It leaves an
	// object to one of Akash's operators, which writes it differently.
	Leave  Action = "leave"
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
)

// Change is one step of a plan.
type Change struct {
	Action Action `json:"action"`
	// Kind and Name identify the object, or the claimed thing; a thing has no namespace.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID and ResourceVersion are those of the object, or of the claim, as read; empty if it does not exist.
	UID             types.UID `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	// Unpinned is true for an object that was read from a file without a UID: only the fields in the file identify it.
	Unpinned bool `json:"unpinned,omitempty"`
	// Planned is true for an object, or a claim, that another lease of the plan creates first.
	Planned bool `json:"planned,omitempty"`
	// Before and After are the object before and after the change, without managed fields and status; for a claim,
	// the parts that the lease holds. A created object has no Before, a deleted one no After.
	Before map[string]any `json:"before,omitempty"`
	After  map[string]any `json:"after,omitempty"`
	// Fields are the fields that an update changes. They are empty if it only changes field owners.
	Fields []Field `json:"fields,omitempty"`
	// ByHand is true if the fields in conflict are those that kubectl users have set on an object of the lease: an apply with
	// --force-conflicts takes them back.
	ByHand bool `json:"byHand,omitempty"`
	// Why explains the change, if that is not obvious.
	Why string `json:"why,omitempty"`
}

// Lease lists the changes for one lease.
type Lease struct {
	Lease string `json:"lease"`
	// Definition is the LeaseDefinition from which the plan was made.
	Definition json.RawMessage `json:"definition,omitempty"`
	Changes    []Change        `json:"changes"`
	// Refused is the reason why an apply would refuse the lease; empty if it would not.
	Refused string `json:"refused,omitempty"`
}

// Differs reports whether anything would change, or the lease would be refused.
func (l Lease) Differs() bool { return len(l.Changes) > 0 || l.Refused != "" }

// Plan lists the changes of each lease.
type Plan struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Settings   Settings `json:"settings"`
	Leases     []Lease  `json:"leases"`
}

// Settings are the flags with which a plan was made.
type Settings struct {
	Target        string `json:"target"`
	Operators     string `json:"operators"`
	Prune         bool   `json:"prune"`
	AssumeServing bool   `json:"assumeServing"`
	// Workloads is true if the plan includes the workloads of the leases; Adopt if it takes over objects that exist
	// without a claim or that Akash's provider deployed. Scheduler is the placement that a reservation chose for the
	// one lease.
	Workloads bool            `json:"workloads,omitempty"`
	Adopt     bool            `json:"adopt,omitempty"`
	Scheduler json.RawMessage `json:"scheduler,omitempty"`
	// Kept is true for a plan of the definitions that the ledger keeps; such a plan claims nothing anew.
	Kept bool `json:"kept,omitempty"`
	// RequireDNSProof is true if nothing is claimed for a lease unless DNS proves its hosts: whoever carries out the plan asks again.
	RequireDNSProof bool `json:"requireDNSProof,omitempty"`
}

// APIVersion and Kind are those of a plan.
const (
	APIVersion = lease.Domain + "/v1alpha1"
	Kind       = "Plan"
)

// New returns a plan for leases.
func New(settings Settings, leases []Lease) Plan {
	return Plan{APIVersion: APIVersion, Kind: Kind, Settings: settings, Leases: leases}
}

// ID returns the kind and name of the changed object or thing, as "ingress/NAMESPACE/NAME".
func (c Change) ID() string {
	if c.Namespace == "" {
		return c.Kind + "/" + c.Name
	}
	return c.Kind + "/" + c.Namespace + "/" + c.Name
}

// Same reports whether two changes have the same effect on the same object. It ignores the resource version, because
// controllers write status and annotations: updates are compared by the changed fields, deletions by the spec, and
// releases of a claim by the released parts, whatever else the lease has claimed meanwhile. An unpinned object matches
// if the cluster has every field of the file.
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

// exists reports whether the object, or the claim, existed when the change was planned.
func (c Change) exists() bool { return c.UID != "" || c.Unpinned || c.Planned }

// contains is Contains after a round trip of both values through JSON.
func contains(have, want any) bool { return managed.Contains(toData(have), toData(want)) }

// equal reports whether two values have the same JSON.
func equal(a, b any) bool { return reflect.DeepEqual(toData(a), toData(b)) }

// toData converts a value to what its JSON decodes to.
func toData(value any) (out any) {
	if text, err := json.Marshal(value); err == nil {
		_ = json.Unmarshal(text, &out) // Marshal wrote the text
	}
	return out
}

// givenUp returns the parts of a claim that the change releases.
func (c Change) givenUp() map[string]bool {
	out := map[string]bool{}
	for part := range c.Before {
		if _, kept := c.After[part]; !kept {
			out[part] = true
		}
	}
	return out
}

// Moved returns the IDs of the changes that only one of two plans of a lease has.
func (l Lease) Moved(now Lease) []string {
	var moved []string
	compare := func(from, to []Change) {
		for _, c := range from {
			if !slices.ContainsFunc(to, c.Same) && !slices.Contains(moved, c.ID()) {
				moved = append(moved, c.ID())
			}
		}
	}
	compare(l.Changes, now.Changes)
	compare(now.Changes, l.Changes)
	if l.Refused != now.Refused {
		moved = append(moved, "lease/"+l.Lease)
	}
	return moved
}

// Differs reports whether anything would change.
func (p Plan) Differs() bool { return slices.ContainsFunc(p.Leases, Lease.Differs) }

// Write returns the change that a server-side apply of want under a field manager makes to the live object; live is nil
// if there is none.
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

// Remove returns the change that deletes an object.
func Remove(kind string, live *unstructured.Unstructured, why string) Change {
	c := Change{
		Action: Delete, Kind: kind, Namespace: live.GetNamespace(), Name: live.GetName(),
		UID: live.GetUID(), ResourceVersion: live.GetResourceVersion(), Before: shown(live.Object), Why: why,
	}
	c.hide()
	return c
}

// shown returns a copy of an object without managed fields and status.
func shown(o map[string]any) map[string]any {
	u := (&unstructured.Unstructured{Object: o}).DeepCopy()
	u.SetManagedFields(nil)
	delete(u.Object, "status")
	return u.Object
}

// Hidden replaces values that no plan shows: the data of a Secret, and the registry passwords that Akash's provider
// keeps in Manifests. If such a value changes, its two sides are marked.
const (
	Hidden       = "***"
	hiddenBefore = Hidden + " (before)"
	hiddenAfter  = Hidden + " (after)"
)

// hide replaces the secret values of a change.
func (c *Change) hide() {
	secret := c.Kind == "secret"
	if !secret && c.Kind != "manifest" {
		return
	}
	c.Before, c.After = runtime.DeepCopyJSON(c.Before), runtime.DeepCopyJSON(c.After) // the snapshot has the same lists
	before, after := Hidden, Hidden
	if c.Action == Update && !reflect.DeepEqual(secretValues(c.Before, secret), secretValues(c.After, secret)) {
		before, after = hiddenBefore, hiddenAfter
	}
	hideIn(c.Before, secret, before)
	hideIn(c.After, secret, after)
	for i := range c.Fields {
		f := &c.Fields[i]
		f.Before, f.After = hideAt(f.Path, f.Before, secret, hiddenBefore), hideAt(f.Path, f.After, secret, hiddenAfter)
	}
}

// hideAt returns a copy of the value at a path with its secret values replaced. It builds an object around the value,
// because the path decides what is secret.
func hideAt(path Path, v any, secret bool, by string) any {
	if v == nil {
		return nil
	}
	object, _ := put(nil, path, runtime.DeepCopyJSONValue(v)).(map[string]any)
	hideIn(object, secret, by)
	v, _ = get(object, path)
	return v
}

// secretValues returns the secret values of an object in a stable order.
func secretValues(object map[string]any, secret bool) (values []any) {
	eachHidden(object, secret, func(holder map[string]any, key string) { values = append(values, holder[key]) })
	return values
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// hideIn replaces the secret values of an object in place.
func hideIn(object map[string]any, secret bool, by string) {
	eachHidden(object, secret, func(holder map[string]any, key string) { holder[key] = by })
}

// eachHidden calls do for each secret value in a stable order: the data of a Secret, or the passwords of any other
// object; then the annotation in which kubectl keeps the last applied object.
func eachHidden(object map[string]any, secret bool, do func(holder map[string]any, key string)) {
	if !secret {
		eachPassword(object, do)
	} else {
		for _, name := range []string{"data", "stringData"} {
			data, _ := object[name].(map[string]any)
			for _, key := range sortedKeys(data) {
				do(data, key)
			}
		}
	}
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, applied := annotations[corev1.LastAppliedConfigAnnotation]; applied {
		do(annotations, corev1.LastAppliedConfigAnnotation)
	}
}

// eachPassword calls do for the password of each "credentials" object, at any depth.
func eachPassword(value any, do func(holder map[string]any, key string)) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(value) {
			if credentials, ok := value[key].(map[string]any); ok && key == "credentials" && credentials["password"] != nil {
				do(credentials, "password")
			}
			eachPassword(value[key], do)
		}
	case []any:
		for _, item := range value {
			eachPassword(item, do)
		}
	}
}

// Unchanged reports whether applying the object would change nothing: the live object has every field of it, the
// manager owns no other field, and nobody keeps one that was delivered. It saves the PATCH.
func Unchanged(o render.Object, live *unstructured.Unstructured, manager string) bool {
	if live == nil || live.GetDeletionTimestamp() != nil {
		return false
	}
	desired := render.Look(o).Object
	if !managed.Contains(live.Object, desired) {
		return false
	}
	entry, ok := managed.Applied(live, manager)
	if !ok || !entry.Within(desired) { // Contains has compared list items
		return false // another manager set the fields
	}
	c := comparison{live: live}
	c.addKept(desired)
	return len(c.fields) == 0
}
