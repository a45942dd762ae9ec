package engine_test

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// known has what an exploration makes once: claims and objects, by their contents, and what is read and rendered. sums name what is in
// them; nobody changes them.
type known struct {
	sums    map[any]uint64
	claims  map[uint64]*state.Claim
	objects map[uint64]*stored
	reads   map[uint64]*observed.Snapshot
	bodies  map[any]*unstructured.Unstructured
}

func newKnown() known {
	return known{
		sums: map[any]uint64{}, claims: map[uint64]*state.Claim{}, objects: map[uint64]*stored{},
		reads: map[uint64]*observed.Snapshot{}, bodies: map[any]*unstructured.Unstructured{},
	}
}

// read returns what was read, read once. A nil exploration knows nothing.
func (e *exploration) read(r *reading, of func() *observed.Snapshot) *observed.Snapshot {
	if e == nil {
		return of()
	}
	if e.reads[r.sum] == nil {
		e.reads[r.sum] = of()
	}
	return e.reads[r.sum]
}

// rendered returns an object as it is sent, rendered once.
func (e *exploration) rendered(o render.Object) *unstructured.Unstructured {
	if e == nil {
		return render.Rendered(o)
	}
	if e.bodies[o.Config] == nil {
		e.bodies[o.Config] = render.Rendered(o)
	}
	return e.bodies[o.Config]
}

// claim returns the one claim of a content.
func (e *exploration) claim(c *state.Claim) *state.Claim {
	if e.sums[c] != 0 {
		return c
	}
	sum := sumOfClaim(c)
	if e.claims[sum] == nil {
		e.claims[sum], e.sums[c] = c, sum
	}
	return e.claims[sum]
}

// object returns the one object of a content.
func (e *exploration) object(o *stored) *stored {
	if e.sums[o] != 0 {
		return o
	}
	live := o.live
	sum := sumOf(o.manager, e.body(o.applied), live.GetUID(), live.GetResourceVersion(), live.GetAnnotations()[lease.AnnotationTaken])
	if e.objects[sum] == nil {
		e.objects[sum], e.sums[o] = o, sum
	}
	return e.objects[sum]
}

// body names what was applied.
func (e *exploration) body(applied *unstructured.Unstructured) uint64 {
	if e.sums[applied] == 0 {
		text, err := json.Marshal(applied.Object)
		if err != nil {
			panic(err)
		}
		e.sums[applied] = sumOf(string(text))
	}
	return e.sums[applied]
}

var seed = maphash.MakeSeed()

// sumOf names what it is given.
func sumOf(of ...any) uint64 {
	var m maphash.Hash
	m.SetSeed(seed)
	for _, v := range of {
		maphash.WriteComparable(&m, v)
	}
	return m.Sum64()
}

// moment names a moment: what is stored, what each command was told and what it has under way, and what they are judged by.
func (e *exploration) moment(h *history) uint64 {
	l := h.ledger
	sum := sumOf(l.now, h.troubles, len(h.jumps), h.stood) ^ l.sumOfObjects()
	for name, c := range l.claims {
		l.claims[name] = e.claim(c)
		sum ^= sumOf("claim", e.sums[l.claims[name]])
	}
	for g, d := range l.definitions {
		sum ^= sumOf(g, sumOfDefinition(d))
	}
	for thing, n := range l.versions {
		sum ^= sumOf("version", thing, n)
	}
	for nonce, a := range l.announced {
		sum ^= sumOf(nonce, a.Phase, a.FencedBy, a.ResourceVersion, sumOfAll(a.Groups))
	}
	for nonce, of := range l.fallen {
		sum ^= sumOf("fallen", nonce, sumOfAll(of))
	}
	for name, by := range h.last {
		sum ^= sumOf("last", name, by)
	}
	for thing, crashed := range h.relied {
		sum ^= sumOf("relied", thing, sumOfAll(crashed))
	}
	for had := range h.reported {
		sum ^= sumOf("reported", had)
	}
	for i, c := range h.commands {
		sum ^= sumOf(i, c.sumOf(), sumOfTurning(c.turning), len(c.flying))
	}
	return sum
}

// sumOf names what a command knows; of one that has ended, how.
func (c *command) sumOf() uint64 {
	switch {
	case c.ended:
		sum := sumOf(c.lost)
		for _, o := range c.outcomes {
			sum = sumOf(sum, o.Outcome != nil && o.Err != nil)
		}
		return sum
	case c.half != nil:
		return sumOf(c.sum, c.half.sum)
	}
	return sumOf(c.sum, c.wrote, sumOfAll(c.objects), sumOfHoldings(c.had), sumOfHoldings(c.final))
}

func sumOfTurning(t turning) uint64 {
	other := ""
	if t.other != nil {
		other = t.other.Nonce + " " + t.other.ResourceVersion
	}
	return sumOf(t.then, other, t.announced, t.waited, t.buried, t.stalled)
}

func sumOfHoldings(of map[holding]string) (sum uint64) {
	for had, expires := range of {
		sum ^= sumOf(had, expires)
	}
	return sum
}

func sumOfAll[T comparable](of []T) (sum uint64) {
	for _, v := range of {
		sum = sumOf(sum, v)
	}
	return sum
}

func sumOfClaim(c *state.Claim) uint64 {
	if c == nil {
		return 0
	}
	sum := sumOf(c.Name(), c.Owner, c.UID, c.ResourceVersion, c.Deleting, c.Created, sumOfAll(c.Former))
	for _, p := range slices.Concat(c.Parts, c.Waits) {
		p.HTTP = nil // the definition says the same
		sum = sumOf(sum, p)
	}
	return sum
}

func sumOfDefinition(d *kept.Definition) uint64 {
	if d == nil {
		return 0
	}
	return sumOf(d.UID, d.ResourceVersion, d.Hash, d.Run)
}

// sumOfReading names what was read of claims and definitions.
func sumOfReading(r *reading, owner string) uint64 {
	sum := sumOf(owner)
	for _, c := range r.claims {
		sum ^= sumOfClaim(c)
	}
	for name, d := range r.definitions {
		sum ^= sumOf(name, sumOfDefinition(d))
	}
	return sum
}

// sumOfObjects names what there is of objects, if all moments are explored.
func (l *ledger) sumOfObjects() (sum uint64) {
	if l.explored == nil {
		return 0
	}
	for k, o := range l.objects {
		l.objects[k] = l.explored.object(o)
		sum ^= sumOf(k.String(), l.explored.sums[l.objects[k]])
	}
	return sum
}

// sumOfAnswer names what a command learns from an answer, but for what it has read of everything.
func (e *exploration) sumOfAnswer(l *ledger, r engine.Request, a engine.Answer) uint64 {
	sum := sumOf(
		a.Stale, a.Unclear, a.Over, a.Made, a.Owned, a.Announced, strings.Join(a.Managers, " "), a.Turn.Met, a.Turn.Closing,
		sumOfClaim(a.Claim), sumOfDefinition(a.Definition),
	)
	if a.Err != nil {
		sum = sumOf(sum, a.Err.Error())
	}
	if a.Live != nil {
		sum = sumOf(sum, e.sums[e.object(l.objects[keyOf(r)])])
	}
	for _, c := range a.Claims {
		sum = sumOf(sum, sumOfClaim(c))
	}
	for _, f := range a.Turn.Fenced {
		sum = sumOf(sum, f.Nonce, sumOfAll(f.Groups))
	}
	return sum
}
