package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// manyLeases is from how many leases on a terminal shows one line for each lease, and how far the command is.
const manyLeases = 6

// leaseView prints events on a terminal: one lease after the other, each when the work on it has ended, with at
// most one line for each object. Of many leases it prints one line for each lease.
type leaseView struct {
	*Events
	progress terminal.Progress
	// counting is true while the status shows how far the command is.
	counting bool
	// blocks are the leases that are not printed yet, failed those that were printed as such.
	blocks map[lease.Group]*leaseBlock
	failed map[lease.Group]bool
}

// leaseBlock is what is printed of one lease.
type leaseBlock struct {
	group   lease.Group
	objects []*objectLine
	// counts are the numbers of events by their action, actions their order.
	counts  map[report.Action]int
	actions []report.Action
	// end is the event that ended the work; its action is empty where none has.
	end report.Event
}

// objectLine is all that is said of one object.
type objectLine struct {
	object report.Event
	said   []string
	next   string
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
	case report.Rolling: // it counts only until it changes
		if !v.counting {
			v.c.status.Show(eventThing(event) + " " + said(event))
		}
	case report.Done, report.Failed:
		b.end = event
		v.print(b)
	default:
		o := b.add(event)
		if !v.counting {
			v.c.status.Show(o.text(v.suffix))
		}
	}
}

// count shows how far the command is.
func (v *leaseView) count(what string, done, all int) {
	if v.counting = all >= manyLeases; v.counting {
		v.c.status.Show(v.progress.Text(what, done, all))
	}
}

// flush prints the leases of which no event has said that the work ended, in their order.
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
	if text := said(event); !slices.Contains(o.said, text) {
		o.said = append(o.said, text)
	}
	o.next = cmp.Or(event.Next, o.next)
	return o
}

func (o *objectLine) text(suffix string) string {
	s := eventThing(o.object) + " " + strings.Join(o.said, ", ") + suffix
	if o.next != "" {
		s += ": " + o.next
	}
	return s
}

func (v *leaseView) print(b *leaseBlock) {
	delete(v.blocks, b.group)
	told := len(b.objects) > 0 || v.isToldAlone(b)
	v.failed[b.group] = v.failed[b.group] || b.end.Action == report.Failed
	if !told {
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

// isToldAlone is true for a lease that gets its line although nothing is said of an object. One error at the end
// tells of all that an interrupt has ended, or of the one lease that there is.
func (v *leaseView) isToldAlone(b *leaseBlock) bool {
	return b.end.Action == report.Done || b.end.Action == report.Failed && v.c.Leases > 1 && !v.failed[b.group] && !isEnding(b.end.Err)
}

// heading names the lease and says what has become of it.
func (v *leaseView) heading(b *leaseBlock) string {
	s, counted := "lease "+b.group.String(), b.actions
	switch {
	case b.end.Action == report.Done:
		s = summary(b.end)
		counted = slices.DeleteFunc(slices.Clone(counted), func(a report.Action) bool { return a != report.Left && a != report.Lacks })
	case b.end.Action == report.Failed && isEnding(b.end.Err):
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
