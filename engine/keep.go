package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// The ledger keeps the definition with which a lease was last applied. It is written after the claims and before the first object,
// so that repair can finish the work of a command that has crashed. A release deletes it first, so that nothing heals a lease that
// is being released.

// kept returns the definition that the ledger keeps for the deployment group, as far as it is known.
func (v view) kept() (d *kept.Definition, known bool) {
	if v.f.kept.sent > 0 {
		return v.f.kept.definition, true
	}
	return v.w.Snapshot.Definition(v.group)
}

// holdsNothing reports whether the deployment group had no claim when everything was read.
func (v view) holdsNothing() bool { return len(v.w.Snapshot.Claims.Held(v.group)) == 0 }

// tookAnew reports whether the lease has taken a claim on which its deployment group had no entry.
func (v view) tookAnew() bool {
	for _, t := range v.f.taken {
		if len(t.Before) == 0 {
			return true
		}
	}
	return false
}

// readDefinition reads the kept definition of a lease that held something: again in the command's turn, because another command
// may have applied or released the lease since everything was read. A lease that held nothing seldom has one: it is read only if
// nothing is to be claimed.
func (v view) readDefinition() Step {
	if v.want.Apply == nil {
		return Step{}
	}
	d, known := v.kept()
	switch asks := len(v.want.Request.Hosts) + len(v.want.Request.Endpoints); {
	case !known && (asks == 0 || v.want.Apply.Heal || v.follows()):
		return do(Request{Verb: GetDefinition, On: OfDefinition{Group: v.group}, Early: true, Why: "whether the lease was applied otherwise"})
	case v.w.Turn.Alone > 0 && known && !v.holdsNothing() && max(v.f.kept.sent, v.w.read) < v.w.Turn.Alone:
		return do(Request{Verb: GetDefinition, On: OfDefinition{Group: v.group, Was: d, Compares: true}, Why: "whether another command has applied the lease meanwhile"})
	}
	return Step{}
}

// checkOwned refuses what is not wanted for the source that owns the lease, or what a reconciler wants for a lease that is suspended, until
// the lease has written something. That is read in the command's turn, and counts before where it is known.
func (v view) checkOwned() Step {
	d, known := v.kept()
	old := !known || v.w.Turn.Alone > 0 && max(v.f.kept.sent, v.w.read) < v.w.Turn.Alone
	source := ""
	if d != nil {
		source = d.Source
	}
	switch {
	case v.f.kept.isOurs() || v.hasWritten():
	case v.want.Obeys && d != nil && d.Suspended:
		return v.giveBack(&report.SuspendedError{Lease: v.group})
	case v.want.Owned == nil && !v.want.Obeys, old && v.w.Turn.Alone == 0:
	case old:
		return do(Request{Verb: GetDefinition, On: OfDefinition{Group: v.group}, Why: "which source owns the lease"})
	case v.want.Owned != nil && !slices.Contains(v.want.Owned, source):
		return v.giveBack(&report.SourceError{Lease: v.group, Source: source})
	case v.want.Release != nil && v.want.Release.Emptied && !d.IsEmpty():
		return v.giveBack(report.ErrChanged) // it was applied again
	}
	return Step{}
}

// checkManifest refuses what rests on a Manifest of Akash's provider that is another one in the command's turn, until the lease has written
// something: what is written for a lease that is over stops the hostname operator for all tenants.
func (v view) checkManifest() Step {
	if v.hasWritten() {
		return Step{}
	}
	return v.confirmManifest(v.w.Turn.Alone)
}

// confirmManifest reads the Manifest on which the want rests, unless that was done after a request was sent, and ends the work if it is
// another one now.
func (v view) confirmManifest(after Stamp) Step {
	m := v.want.Manifest
	if m == nil || v.w.Turn.Alone == 0 {
		return Step{}
	}
	k := Key{kinds.Manifest, v.t.Settings.Config.ManifestNamespace, v.id.Namespace()}
	now, read := v.w.lives[k]
	if !read || now.sent <= after {
		return do(Request{Verb: GetLive, On: k, Why: "what Akash's provider says of the lease now"})
	}
	var is lease.Manifest
	if now.live != nil {
		is = lease.Manifest{UID: string(now.live.GetUID()), ResourceVersion: now.live.GetResourceVersion()}
	}
	if is != *m {
		return v.giveBack(report.ErrChanged)
	}
	return Step{}
}

// keep writes the definition that the lease is applied with, unless the ledger keeps it. After anything was claimed anew it is
// written in any case: a release may have deleted it since it was read. So it is in the place of a crashed command, which may be
// about to delete it.
func (v view) keep() Step {
	apply := v.want.Apply
	if apply == nil || v.follows() || apply.Heal && !v.succeeds() {
		return Step{}
	}
	k, target := v.f.kept, apply.Target
	d, known := v.kept()
	if target == "" && d != nil && d.Target == v.t.Settings.Config.Target {
		target = d.Target // the configuration says it, too
	}
	if s := v.readStaleDefinition(); !s.idle() {
		return s
	}
	switch {
	case k.written && d.Says(apply.Definition), known && d.Says(apply.Definition) && d.From(apply.Source) && d.Target == target && !v.succeeds() && (!v.tookAnew() || k.sent > v.w.Turn.Alone):
		return Step{}
	case !known && !v.tookAnew():
		return do(Request{Verb: GetDefinition, On: OfDefinition{Group: v.group}, Early: true, Why: "whether the lease was applied otherwise"})
	case d != nil && d.Deleting:
		return Step{} // a finalizer delays the deletion; the next apply writes the definition
	}
	if apply.Heal && d != nil {
		return do(Request{Verb: Keep, On: OfDefinition{Group: v.group, Definition: d.WithTarget(d.Target, v.mark), Was: d}, Why: "what the lease is applied with"})
	}
	want, err := kept.New(apply.Definition, v.mark)
	if tooLong, ok := errors.AsType[*kept.TooLongError](err); ok {
		if d != nil && d.Suspended {
			return v.giveBack(fmt.Errorf("%w; without it the ledger would not know that the lease is suspended: first, kubectl akash-net resume %s", tooLong, v.group))
		}
		s := v.tells(Event{Action: report.Skipped, Kind: "definition", Thing: v.id.String(), Message: tooLong.Error() + ": repair will not know it", Once: "definition"})
		if d == nil || !s.idle() {
			return s
		}
		return do(Request{Verb: Forget, On: OfDefinition{Group: v.group, Definition: d}, Why: "the lease has another one, which is too long to keep"})
	}
	if err != nil {
		return v.giveBack(err)
	}
	if want.Source = apply.Source; want.Source == "" && d != nil {
		want.Source = d.Source // it stays that source's
	}
	want.Target = target
	s := do(Request{Verb: Keep, On: OfDefinition{Group: v.group, Definition: want, Was: d}, Why: "what the lease is applied with"})
	return v.besideNamespace(s)
}

// besideNamespace returns the step that writes the definition, and that makes the lease's namespace at once if its objects need one: who heals
// the lease makes the namespace only because of the definition, and a namespace is not given back.
func (v view) besideNamespace(s Step) Step {
	if w := v.wanted(); v.want.Apply.Heal || w.err != nil || v.want.Apply.Workloads == nil && len(w.objects) == 0 {
		return s
	}
	if n, err := v.makeNamespace(Desired{Object: namespaceOf(v.id), Manager: lease.FieldManager}); err == nil { // else it is told where that is written
		s.Requests = append(s.Requests, n.Requests...)
	}
	return s
}

// keepTarget keeps with the definition to which kind the lease's routes have all been moved: who heals the lease writes that.
func (v view) keepTarget() Step {
	m, k := v.want.Move, v.f.kept
	if m == nil || m.Target == nil || slices.ContainsFunc(m.Routes, func(r Moving) bool { return !v.isGone(r) }) {
		return Step{}
	}
	if s := v.readStaleDefinition(); !s.idle() {
		return s
	}
	switch {
	case k.sent == 0 || k.sent <= v.w.Turn.Alone:
		return do(Request{Verb: GetDefinition, On: OfDefinition{Group: v.group}, Early: v.w.Turn.Alone == 0, Why: "which kind of routes it is healed with"})
	case k.definition == nil || k.definition.Deleting || k.definition.Target == *m.Target:
		return Step{}
	}
	want := k.definition.WithTarget(*m.Target, v.mark)
	return do(Request{Verb: Keep, On: OfDefinition{Group: v.group, Definition: want, Was: k.definition}, Why: "its routes are of another kind"})
}

// readStaleDefinition reads the kept definition again that a write has found changed.
func (v view) readStaleDefinition() Step {
	k, r := v.f.kept, Request{Verb: GetDefinition, On: OfDefinition{Group: v.group}, Why: "it has changed"}
	if k.misses == 0 || k.sent > 0 && k.misses < v.t.Settings.Tries {
		return Step{}
	}
	if k.unclear && v.want.Release != nil {
		r.On, r.Why = OfDefinition{Group: v.group, Definition: k.definition}, "whether it was deleted"
	}
	return v.retry("the definition of lease "+v.group.String(), k.misses, k.at, fmt.Errorf("the definition of lease %s in the ledger: %w", v.group, k.why), r)
}

// unkeep gives the ledger the definition back that it kept before, unless another command has written one since.
func (v view) unkeep() Step {
	k := v.f.kept
	now := k.definition
	switch {
	case v.want.Apply == nil, v.keepsDefinition() != nil, !k.isOurs(), k.back, now != nil && k.sent > 0 && now.Run != v.mark:
		return Step{}
	case k.sent == 0:
		return do(Request{Verb: GetDefinition, On: OfDefinition{Group: v.group}, Back: true, Why: "it has changed"})
	case k.before == nil || k.before.Deleting:
		if now == nil {
			return Step{}
		}
		return do(Request{Verb: Forget, On: OfDefinition{Group: v.group, Definition: now}, Back: true, Why: "the lease was refused"})
	}
	return do(Request{Verb: Keep, On: OfDefinition{Group: v.group, Definition: k.before, Was: now}, Back: true, Why: "the lease was refused"})
}

// keepsDefinition returns why the definition that was kept before cannot be given back; nil if it can.
func (v view) keepsDefinition() error {
	if k := v.f.kept; k.sent == 0 && k.misses >= 2*v.t.Settings.Tries {
		return k.why
	}
	return v.f.refused[kept.Name(v.group)]
}

// isOurs reports whether the lease has written or deleted the kept definition, or may have.
func (s seenDefinition) isOurs() bool { return s.written || s.unclear }

// foldKeep records the answer to a write of the kept definition.
func (s *seenDefinition) foldKeep(r Request, a Answer, answered Stamp) {
	on := On[OfDefinition](r)
	if a.Stale {
		s.sent, s.why, s.unclear = 0, a.Err, a.Unclear
		s.misses++
	}
	if !s.written {
		s.before = on.Was
	}
	if a.Stale {
		return
	}
	s.definition, s.sent, s.written, s.back = a.Definition, answered, true, r.Back
}

// A kept definition is healed with what its lease still holds: since it was kept, the lease may have given something up or
// transferred it.

// gonePart is a part that the definition names and the lease does not hold.
type gonePart struct {
	hold state.Hold
	name string
	by   []*state.Claim
}

// narrows returns which parts of the request stand; nil if all do. A lease that is healed holds them, and a transfer of them takes
// them over.
func (v view) narrows() (keeps func(c *state.Claim, key string) bool) {
	switch {
	case v.follows():
		return func(c *state.Claim, key string) bool {
			part := c.Part(key)
			return part != nil && (v.isNamed(c.Name()) || c.Kind.HasPorts() && part.Lease.Group() == v.group)
		}
	case v.want.Apply != nil && v.want.Apply.Heal:
		return func(c *state.Claim, key string) bool { return v.own(c, key) != nil }
	}
	return nil
}

// narrowed returns the request without the parts that do not stand, and these.
func narrowed(w *World, r state.Request, holds func(c *state.Claim, key string) bool) (_ state.Request, gone []gonePart) {
	r.Hosts = slices.DeleteFunc(slices.Clone(r.Hosts), func(h state.HostWant) bool {
		claim, held := w.Claim(state.HostName(h.Host)), h.Hold(r.Lease)
		lost := !h.Own && !holds(claim, state.RouteKey(h.Path))
		if lost {
			gone = append(gone, gonePart{held, lease.HostPath(h.Host, h.Path), []*state.Claim{claim}})
		}
		return lost
	})
	endpoints := slices.Clone(r.Endpoints)
	for i, e := range endpoints {
		claims := w.claimsOfEndpoint(e.SharingKey)
		endpoints[i].Ports = slices.DeleteFunc(slices.Clone(e.Ports), func(p state.PortWant) bool {
			key := state.PortKey(p.Protocol, p.ExternalPort)
			lost := !slices.ContainsFunc(claims, func(c *state.Claim) bool { return holds(c, key) })
			if lost {
				held := state.Hold{Kind: state.Endpoint, Thing: e.Name, SharingKey: e.SharingKey, Parts: []state.Part{{Key: key}}}
				gone = append(gone, gonePart{held, e.Name + " " + (state.Part{Key: key}).PortText(), claims})
			}
			return lost
		})
	}
	r.Endpoints = slices.DeleteFunc(endpoints, func(e state.EndpointWant) bool { return len(e.Ports) == 0 })
	return r, gone
}

// claimsOfEndpoint returns the claims on the addresses of an IP endpoint, and on the endpoint itself.
func (w *World) claimsOfEndpoint(sharingKey string) (out []*state.Claim) {
	add := func(name string) {
		if c := w.Claim(name); c != nil && c.SharingKey == sharingKey {
			out = append(out, c)
		}
	}
	for _, c := range w.Snapshot.Claims.Of(sharingKey) {
		add(c.Name())
	}
	for name := range w.keyed[sharingKey] {
		add(name)
	}
	slices.SortFunc(out, (*state.Claim).Compare)
	return slices.Compact(out)
}

// tellGone tells what is not claimed again.
func (v view) tellGone() Step {
	if v.want.Transfer != nil {
		return Step{}
	}
	var events []Event
	for _, g := range v.gone {
		c := plan.Change{Action: plan.Leave, Kind: string(g.hold.Kind), Name: g.name, Why: "the lease has given it up since it was applied, and nobody holds it"}
		e := Event{Action: report.Skipped, Kind: string(g.hold.Kind), Thing: g.name, Once: "gone " + g.name}
		for _, claim := range g.by {
			switch part := claim.Part(g.hold.Parts[0].Key); {
			case claim == nil || len(claim.Parts) == 0:
			case claim.Owner != v.group.Owner:
				c.Why = "held by owner " + claim.Owner
			case part != nil:
				c.Action, c.Why = plan.Withhold, "held by deployment "+part.Lease.Group().String()
				e.Action = report.Withheld
			}
		}
		e.Message = c.Why
		e.Changes = v.change(func() plan.Change { return c })
		events = append(events, e)
	}
	return v.tells(events...)
}

// tellWithheld tells what other deployments of the owner hold.
func (v view) tellWithheld() Step {
	if v.want.Apply == nil {
		return Step{}
	}
	var events []Event
	for _, f := range v.facts() {
		if f.Found != Withheld {
			continue
		}
		c := plan.Change{Action: plan.Withhold, Kind: string(f.Kind), Name: f.Name, Why: heldBy(f.By)}
		events = append(events, Event{
			Action: report.Withheld, Kind: string(f.Kind), Thing: f.Name, Message: c.Why, Once: "withheld " + string(f.Kind) + " " + f.Name,
			Changes: v.change(func() plan.Change { return c }),
		})
	}
	return v.tells(events...)
}

// tellReserved tells what the lease has only reserved and is about to give up, because its definition does not name it.
func (v view) tellReserved() Step {
	if v.want.Apply == nil {
		return Step{}
	}
	var events []Event
	for _, c := range v.w.claimsOf(v.group) {
		if slices.ContainsFunc(c.PartsOf(v.group), func(p state.Part) bool { return !p.Applied && v.drops(c, p) }) {
			events = append(events, Event{
				Action: report.Pruning, Kind: string(c.Kind), Thing: c.Thing, Once: "reserved " + c.Name(),
				Message: "the lease has only reserved it, and the definition does not name it",
			})
		}
	}
	return v.tells(events...)
}

// heldBy formats the holder of a part that is withheld.
func heldBy(by state.Holder) string {
	if by.Lease != (lease.ID{}) {
		return "held by deployment " + by.Lease.Group().String()
	}
	return "held by " + by.Object
}
