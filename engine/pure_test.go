package engine_test

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/akash-net/kubectl-akash-net/engine"
)

// A decision is a function of what was seen: it writes into nothing that it is given, and is the same again, whatever order maps have and
// whether decisions before it are remembered or not, and whatever is decided for other leases at the same time. All decisions of the traces
// and of some histories are made twice, and what they are given is compared with what it was.
func TestDecisionsArePure(t *testing.T) {
	t.Parallel()
	for seed := range int64(60) {
		l := newLedger()
		l.pure = &purity{}
		if h := liveIn(l, seed); len(l.pure.wrong) > 0 {
			t.Fatalf("history %d, after %d steps: %s", seed, len(h.trace), short(l.pure.wrong[0]))
		}
	}
}

// purity has what is wrong with the decisions of a ledger's commands.
type purity struct {
	decisions int
	wrong     []string
}

// next decides for a lease, and says what is wrong with how that is decided. A nil purity says nothing.
func (p *purity) next(c *command, place int) engine.Step {
	w := c.know()
	if p == nil {
		return engine.Next(w, c.plan, place, c.memos[place])
	}
	p.decisions++
	before := fingerprintOfRoom(w, c.plan)
	s := engine.Next(w, c.plan, place, c.memos[place])
	if fingerprintOfRoom(w, c.plan) != before {
		p.wrong = append(p.wrong, fmt.Sprintf("%s: the decision on lease %d changes what it is given: %s", c.name, place, textOfStep(s)))
	}
	all, group := make([]engine.Step, len(c.wants)), sync.WaitGroup{}
	for i := range all {
		if w.Outcome(i) == nil {
			group.Go(func() { all[i] = engine.Next(w, c.plan, i, c.memos[i]) })
		}
	}
	group.Wait()
	for i := range all {
		if w.Outcome(i) != nil {
			continue
		}
		if again := engine.Next(w, c.plan, i, engine.NewMemo()); fingerprint(again) != fingerprint(all[i]) || i == place && fingerprint(again) != fingerprint(s) {
			p.wrong = append(p.wrong, fmt.Sprintf("%s: lease %d: once %s, and then %s", c.name, i, textOfStep(all[i]), textOfStep(again)))
		}
	}
	return s
}

func textOfStep(s engine.Step) string {
	var out []string
	for _, r := range s.Requests {
		out = append(out, r.String()+" ("+r.Why+")")
	}
	for _, e := range s.Tells {
		out = append(out, fmt.Sprintf("tells %s %s %s", e.Action, e.Thing, e.Message))
	}
	if s.Outcome != nil {
		out = append(out, fmt.Sprintf("ends: %v", s.Outcome.Err))
	}
	return strings.Join(append(out, s.Wait), ", ")
}

// fingerprint names the content of values with all to which they point.
func fingerprint(of ...any) uint64 { return printing{sums: map[visit]uint64{}}.all(of) }

// fingerprintOfRoom is fingerprint with the room behind slices, into which an append would write.
func fingerprintOfRoom(of ...any) uint64 {
	return printing{sums: map[visit]uint64{}, room: true}.all(of)
}

type printing struct {
	sums map[visit]uint64
	room bool
}

type visit struct {
	at uintptr
	of reflect.Type
}

func (p printing) all(of []any) (sum uint64) {
	for _, v := range of {
		sum = sumOf(sum, p.of(reflect.ValueOf(v)))
	}
	return sum
}

// of names the content of a value. What points back to itself counts once.
func (p printing) of(v reflect.Value) (sum uint64) {
	switch v.Kind() {
	case reflect.Bool:
		return sumOf(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return sumOf(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return sumOf(v.Uint())
	case reflect.Float32, reflect.Float64:
		return sumOf(v.Float())
	case reflect.String:
		return maphash.String(seed, v.String())
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return sumOf(v.Elem().Type().String(), p.of(v.Elem()))
	case reflect.Pointer:
		at := visit{v.Pointer(), v.Type()}
		known, is := p.sums[at]
		if v.IsNil() || is {
			return known
		}
		p.sums[at] = 1
		p.sums[at] = sumOf("pointer", p.of(v.Elem()))
		return p.sums[at]
	case reflect.Slice:
		if p.room {
			v = v.Slice(0, v.Cap())
		}
		fallthrough
	case reflect.Array:
		sum = sumOf(v.Len())
		for i := range v.Len() {
			sum = sumOf(sum, p.of(v.Index(i)))
		}
	case reflect.Map:
		if v.Type().Name() == "memo" { // it is beside what was seen
			return 0
		}
		sum = sumOf(v.Len())
		for all := v.MapRange(); all.Next(); {
			sum += sumOf(p.of(all.Key()), p.of(all.Value()))
		}
	case reflect.Struct:
		sum = sumOf(v.Type().String())
		for i := range v.NumField() {
			sum = sumOf(sum, p.of(v.Field(i)))
		}
	}
	return sum // a function and a channel have none
}
