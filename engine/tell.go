package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// tells tells those of some events that were not told yet.
func (v view) tells(events ...Event) Step {
	return Step{Tells: slices.DeleteFunc(events, func(e Event) bool { return v.f.told[e.Once] })}
}

// Untold returns events without what a person was told of an object that leases share: one lease tells it, a plan has it for each that needs it.
func (w *World) Untold(events []Event) []Event {
	out := slices.Clone(events)
	for i, e := range out {
		if e.Action == report.Unchanged && slices.Contains(kinds.Pools, e.Of.Kind) && w.told[e.Of] {
			out[i].Action = ""
		}
	}
	return out
}

// tell tells what became of objects of a stage, in their order, once all of them are as wanted. Of an object that another lease has written,
// that one tells it.
func (v view) tell(stage []Desired) (events []Event) {
	for _, d := range stage {
		k := d.key()
		did, known := v.f.done[k]
		shared := slices.Contains(kinds.Pools, k.Kind)
		if did.told || !known && k.Kind == kinds.Namespace || v.staysDeclared(k) {
			continue
		}
		if _, unclear := v.f.unclear[k]; unclear && !known {
			if did.action = report.Configured; v.w.at(k) == nil {
				did.action = report.Created
			}
		}
		e := Event{Action: cmp.Or(did.action, report.Unchanged), Of: k}
		switch ends := v.want.Move != nil && v.want.Move.Ends; {
		case e.Action != report.Unchanged:
			e.Message = cmp.Or(did.overwrote, d.Message)
		case ends: // the transaction that wrote it has told of it
			e.Action = ""
		}
		if !known && shared {
			by := v.doneByOther(k)
			if e.Changes = by.changes; by.action != "" {
				e.Action = ""
			}
		}
		events = append(events, e)
	}
	return events
}

// untold tells what a lease has written of a stage that it has not written as a whole.
func (v view) untold() []Event {
	if !v.writes() || v.wanted().err != nil {
		return nil
	}
	stages := v.stages
	if v.want.Move != nil {
		stages = func() [][]Desired { return movedStages(v.want.Move.Routes) }
	}
	return slices.DeleteFunc(v.tell(slices.Concat(stages()...)), func(e Event) bool { return v.f.done[e.Of].action == "" })
}

// doneByOther returns what another lease has done with an object that leases share.
func (v view) doneByOther(k Key) (by done) {
	for _, f := range v.w.leases {
		if did := f.done[k]; f != v.f && did.action != "" && by.changes == nil {
			by = did
		}
	}
	return by
}

// tellLeft tells what of a stage is left to Akash's operators.
func (v view) tellLeft(of []kinds.Kind) (events []Event) {
	for _, o := range v.wanted().objects {
		k := KeyOf(o)
		theirs, live, unlike := v.theirs(o)
		if !slices.Contains(of, o.Kind) || !theirs || v.f.done[k].told {
			continue
		}
		e := Event{Action: report.Unchanged, Of: k}
		switch {
		case unlike != "":
			e.Action, e.Message = report.Kept, unlike
			e.Changes = v.change(func() plan.Change {
				return plan.Change{Action: plan.Leave, Kind: k.Kind.Singular, Namespace: k.Namespace, Name: k.Name, Why: unlike}
			})
		case live == nil:
			e.Action, e.Message = report.Skipped, "Akash's operator makes it"
		}
		events = append(events, e)
	}
	return events
}

// isUnlike reports whether an operator of Akash's gives a route other options than the definition.
func (v view) isUnlike() bool {
	return slices.ContainsFunc(v.wanted().objects, func(o render.Object) bool {
		theirs, _, unlike := v.theirs(o)
		return theirs && unlike != ""
	})
}

// nameOf returns what the API server's messages call an object: its namespace and name.
func nameOf(k Key) string { return strings.TrimPrefix(k.Namespace+"/"+k.Name, "/") }
