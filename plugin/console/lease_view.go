package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// manyLeases is the number of leases from which a terminal shows one line for each lease, and the progress.
const manyLeases = 6

// leaseView prints events on a terminal, grouped by lease. It prints a lease when its processing ends, with at most one line
// for each object, or one line for the lease if there are many leases.
type leaseView struct {
	*Events
	progress terminal.Progress
	// counted is the progress with "; " while the status shows it, otherwise empty.
	counted string
	// blocks are the leases that have not been printed yet.
	blocks map[lease.Group]*leaseBlock
	// failed are the leases that have been printed as failed.
	failed map[lease.Group]bool
}

// leaseBlock collects the events of a lease.
type leaseBlock struct {
	group   lease.Group
	objects []*objectLine
	// counts are the numbers of events by action, actions the actions in the order of their first event.
	counts  map[report.Action]int
	actions []report.Action
	// end is the event that ended the processing; its action is "" before.
	end report.Event
}

// objectLine collects the events of an object.
type objectLine struct {
	object       report.Event
	descriptions []string
	next         string
}

func newLeaseView(e *Events) *leaseView {
	return &leaseView{Events: e, blocks: map[lease.Group]*leaseBlock{}, failed: map[lease.Group]bool{}}
}

func (v *leaseView) isMany() bool { return v.c.Leases >= manyLeases }

func (v *leaseView) add(event report.Event) {
	g := event.Lease.Group()
	b := v.blocks[g]
	if b == nil {
		b = &leaseBlock{group: g, counts: map[report.Action]int{}}
		v.blocks[g] = b
	}
	switch event.Action {
	case report.Unchanged:
	case report.Rolling, report.Waiting: // shown only as the status
		v.c.status.Show(v.counted + thing.ShortenLeases(eventThing(event)+" "+describe(event)))
	case report.Done, report.Failed:
		b.end = event
		v.print(b)
	default:
		if o := b.add(event); v.counted == "" {
			v.c.status.Show(o.text(v.suffix))
		}
	}
}

// count shows the progress of a step with many items.
func (v *leaseView) count(what string, done, all int) {
	if v.counted = ""; all >= manyLeases {
		text := v.progress.Text(what, done, all)
		v.c.status.Show(text)
		v.counted = text + "; "
	}
}

// flush prints the leases whose processing has not ended, in order.
func (v *leaseView) flush() {
	if v == nil {
		return
	}
	for _, g := range slices.SortedFunc(maps.Keys(v.blocks), lease.Group.Compare) {
		v.print(v.blocks[g])
	}
	v.c.status.Clear()
}

func (b *leaseBlock) add(event report.Event) *objectLine {
	if b.counts[event.Action]++; b.counts[event.Action] == 1 {
		b.actions = append(b.actions, event.Action)
	}
	i := slices.IndexFunc(b.objects, func(o *objectLine) bool {
		return o.object.Kind == event.Kind && o.object.Namespace == event.Namespace && o.object.Name == event.Name
	})
	if i < 0 {
		i = len(b.objects)
		b.objects = append(b.objects, &objectLine{object: event})
	}
	o := b.objects[i]
	if text := describe(event); !slices.Contains(o.descriptions, text) {
		o.descriptions = append(o.descriptions, text)
	}
	o.next = cmp.Or(event.Next, o.next)
	return o
}

func (o *objectLine) text(suffix string) string {
	s := eventThing(o.object) + " " + strings.Join(o.descriptions, ", ") + suffix
	if o.next != "" {
		s += ": " + o.next
	}
	return s
}

func (v *leaseView) print(b *leaseBlock) {
	delete(v.blocks, b.group)
	isPrinted := len(b.objects) > 0 || v.isPrintedWithoutObjects(b)
	v.failed[b.group] = v.failed[b.group] || b.end.Action == report.Failed
	if !isPrinted {
		v.c.status.Clear() // what it waited for is over
		return
	}
	head, indent := v.heading(b), "  "
	summaryLast := v.c.Leases == 1 && b.end.Action == report.Done
	if summaryLast {
		indent = ""
	} else {
		v.line(v.c.Text, "%s", head)
	}
	if !v.isMany() {
		for _, o := range b.objects {
			v.line(v.c.Text, "%s%s", indent, o.text(v.suffix))
		}
	}
	if summaryLast {
		v.line(v.c.Text, "%s", head)
	}
}

// isPrintedWithoutObjects reports whether a lease without events about objects is printed: one that is done, or one of several
// that has failed for the first time. End prints the error of an only lease, and of leases that a stop ended.
func (v *leaseView) isPrintedWithoutObjects(b *leaseBlock) bool {
	return b.end.Action == report.Done ||
		b.end.Action == report.Failed && v.c.Leases > 1 && !v.failed[b.group] && !isStop(b.end.Err)
}

// heading returns the name of a lease with its outcome and, if there are many leases, the numbers of its events.
func (v *leaseView) heading(b *leaseBlock) string {
	s, counted := "lease "+b.group.String(), b.actions
	switch {
	case b.end.Action == report.Done:
		s = summary(b.end)
		counted = slices.DeleteFunc(slices.Clone(counted), func(a report.Action) bool { return !a.Undone() && a != report.Lacks })
	case b.end.Action == report.Failed && isStop(b.end.Err) && !b.end.Rest.Stays:
		s += " is as it was before"
	case b.end.Action == report.Failed && isStop(b.end.Err):
		s += " is not finished"
	case b.end.Action == report.Failed:
		s += " failed"
	}
	if !v.isMany() {
		if b.end.Action == report.Done {
			s += v.suffix
		}
		return s
	}
	separator := ": "
	if b.end.Action == report.Done {
		separator = ", "
	}
	for _, action := range counted {
		word := string(action)
		if action == report.Lacks {
			word = "lacking"
		}
		s += fmt.Sprintf("%s%d %s", separator, b.counts[action], word)
		separator = ", "
	}
	return s + v.suffix
}
