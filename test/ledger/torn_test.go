package ledger_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// The LISTs of a command are not of one moment. Here each of them in turn is answered from another moment
// than the others: from before, between and after the writes of another command, for all pairs of commands.

// thorough are the pairs of which all is tried always: they were seen to go wrong.
var thorough = []string{
	"repair beside handover and apply, applied",
	"apply beside handover and apply, applied",
	"repair beside release of the same lease, applied",
	"repair beside apply of the same lease, nothing",
	"release beside apply of the same lease, applied",
	"apply beside release of the same lease, applied",
	"reserve beside handover and reserve, applied",
	"migrate beside release of the same lease, applied",
	"migrate beside apply of the same lease, applied",
}

// Whatever moments a command has read, it deletes nothing of a live claim, takes nothing for a lease that
// was released, and leaves nothing that serves without a claim. Run again, it leaves no problem, and what one
// of the two commands after the other does.
//
// With LEDGER_OPERATIONS all of this is tried for all pairs, with the moments between the writes of the other
// command too. Without, most pairs have one LIST torn, each pair another, and only the moments before and
// after the other command.
func TestTornReads(t *testing.T) {
	var known listsOf
	for i, p := range pairs() {
		t.Run(strings.ReplaceAll(p.String(), " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, fmt.Sprintf("t%d", i), p.target())
			defer w.reset(t)
			if p.torn.name == "uninstall" {
				p.amid(t, w, i, false)
				return
			}
			if os.Getenv("LEDGER_OPERATIONS") == "" && !slices.Contains(thorough, p.String()) {
				p.once(t, w, i, known.of(t, p, w))
				return
			}
			lists, first := p.serial(t, w)
			moments, second := p.between(t, w, lists)
			all := tears(moments)
			for _, x := range all {
				p.try(t, w, lists, x, first, second)
				if t.Failed() {
					return
				}
			}
			t.Logf("%d interleavings", len(all))
		})
	}
}

// listsOf are the LISTs of each command, with WORLD for the name of the world.
type listsOf struct {
	mu    sync.Mutex
	lists map[string][]string
}

// of finds out which LISTs the torn command of a pair sends.
func (known *listsOf) of(t *testing.T, p pair, w *world) (lists []string) {
	t.Helper()
	known.mu.Lock()
	defer known.mu.Unlock()
	key := p.torn.name + p.target() + p.before
	if known.lists == nil {
		known.lists = map[string][]string{}
	}
	if known.lists[key] == nil {
		p.prepare(t, w)
		for _, list := range p.solo(t, w) {
			known.lists[key] = append(known.lists[key], strings.ReplaceAll(list, w.name, "WORLD"))
		}
	}
	for _, list := range known.lists[key] {
		lists = append(lists, strings.ReplaceAll(list, "WORLD", w.name))
	}
	return lists
}

// solo runs the torn command, and says which LISTs it has sent, of kinds that the cluster serves.
func (p pair) solo(t *testing.T, w *world) (lists []string) {
	t.Helper()
	solo := &tearer{}
	_ = p.run(t, w, solo)
	for list := range w.record(t, solo.lists) {
		lists = append(lists, list)
	}
	slices.Sort(lists)
	return lists
}

// serial runs the torn command, then the other, then the torn one again.
func (p pair) serial(t *testing.T, w *world) (lists, end []string) {
	t.Helper()
	p.prepare(t, w)
	lists = p.solo(t, w)
	_ = p.do(t, w) // may be refused for what the torn one has done
	_ = p.run(t, w, &tearer{})
	return lists, p.settle(t, w, " of the torn command first")
}

// between runs the other command, records the moments between its writes, and then runs the torn one.
func (p pair) between(t *testing.T, w *world, lists []string) (moments []moment, end []string) {
	t.Helper()
	p.prepare(t, w)
	moments = p.record(t, w, lists)
	_ = p.run(t, w, &tearer{})
	_ = p.run(t, w, &tearer{})
	return moments, p.settle(t, w, " of the other command first")
}

// record runs the other command, and records the moments before, between and after its writes.
func (p pair) record(t *testing.T, w *world, lists []string) []moment {
	t.Helper()
	moments := []moment{w.record(t, lists)}
	var through []func(*rest.Config)
	if os.Getenv("LEDGER_OPERATIONS") != "" {
		through = append(through, afterWrites(func() { moments = append(moments, w.record(t, lists)) }))
	}
	if err := p.do(t, w, through...); err != nil {
		t.Fatal(err)
	}
	return append(moments, w.record(t, lists))
}

// run runs the torn command.
func (p pair) run(t *testing.T, w *world, reads *tearer) error {
	t.Helper()
	return p.torn.run(t.Context(), w, w.client(t, w.cfg, reads.through), "a", false)
}

// settle repairs what is left to be repaired; then nothing is. It says what there is in the end.
func (p pair) settle(t *testing.T, w *world, where string) []string {
	t.Helper()
	if problems := w.problems(t.Context(), t); len(problems) > 0 {
		err := commandOf("repair").run(t.Context(), w, w.client(t, w.cfg), "", false)
		if left := w.problems(t.Context(), t); len(left) > 0 {
			t.Errorf("after repair (%v) there are problems%s: %q; before it %q", err, where, left, problems)
		}
	}
	return w.view(t).text(t)
}

// try lets one LIST of the torn command be of another moment than the others. Allowed is what there may be
// in the end.
func (p pair) try(t *testing.T, w *world, lists []string, x tear, allowed ...[]string) {
	t.Helper()
	p.prepare(t, w)
	moments := p.record(t, w, lists)
	p.tear(t, w, moments, x, allowed...)
}

// once tries one of the tears, and not what there may be in the end.
func (p pair) once(t *testing.T, w *world, which int, lists []string) {
	t.Helper()
	p.prepare(t, w)
	moments := p.record(t, w, lists)
	if all := tears(moments); len(all) > 0 {
		p.tear(t, w, moments, all[which%len(all)])
	}
}

// tear runs the torn command once the other has ended.
func (p pair) tear(t *testing.T, w *world, moments []moment, x tear, allowed ...[]string) {
	t.Helper()
	before := w.view(t)
	err := p.run(t, w, &tearer{answers: x.of(moments)})
	where := fmt.Sprintf(" after %s of moment %d of %d, late: %v (%v)", x.one, x.at, len(moments), x.late, err)
	p.judge(t, w, before, w.view(t), where)
	err = p.run(t, w, &tearer{})
	end := p.settle(t, w, where)
	if len(allowed) > 0 && !slices.ContainsFunc(allowed, func(want []string) bool { return slices.Equal(want, end) }) {
		t.Errorf("it ends as neither order does%s, run again: %v (-the torn command first +got)\n%s", where, err, cmp.Diff(allowed[0], end))
	}
}
