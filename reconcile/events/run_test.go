package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
)

// doing is a doer that takes its time, and fails the test if a deployment group has two events at a time.
type doing struct {
	t  *testing.T
	mu sync.Mutex
	// at are the groups that are worked on, done the numbers of the events of each group as they were carried out, most how many events
	// were worked on at a time.
	at   map[lease.Group]bool
	done map[uint64][]int
	most int
	// announced are the groups for which another command is at work.
	announced map[lease.Group]bool
	// work waits as long as a command takes.
	work func(context.Context, []*event) error
}

func newDoing(t *testing.T, work func(context.Context, []*event) error) *doing {
	return &doing{t: t, at: map[lease.Group]bool{}, done: map[uint64][]int{}, announced: map[lease.Group]bool{}, work: work}
}

func (d *doing) carry(ctx context.Context, events []*event) map[lease.Group]*result {
	d.mu.Lock()
	for _, e := range events {
		if g := e.Lease.Group(); d.at[g] || e.Type != events[0].Type {
			d.t.Errorf("event %d begins beside another one of its group, or with one of another type", e.number)
		} else {
			d.at[g] = true
		}
		d.done[e.Lease.DSeq] = append(d.done[e.Lease.DSeq], e.number)
	}
	d.most = max(d.most, len(d.at))
	d.mu.Unlock()
	err := d.work(ctx, events)
	d.mu.Lock()
	defer d.mu.Unlock()
	results := map[lease.Group]*result{}
	for _, e := range events {
		delete(d.at, e.Lease.Group())
		results[e.Lease.Group()] = &result{err: err}
	}
	return results
}

func (d *doing) busy(context.Context) map[lease.Group]bool { return d.announced }

// acks are the acknowledgements so far.
type acks struct {
	mu  sync.Mutex
	all []Ack
}

func (a *acks) take(one Ack) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, one)
	return nil
}

func (a *acks) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.all)
}

// text returns events of deployments as lines.
func text(events ...string) string {
	var out strings.Builder
	for _, e := range events {
		of := eventOf(e, 0)
		id := lease.ID{Owner: leasetest.Wallet("owner"), DSeq: of.Lease.DSeq, GSeq: 1, OSeq: 1, Provider: leasetest.Wallet("provider")}
		fmt.Fprintf(&out, `{"type":%q,"lease":%q,"manifest":[{"name":"dc","services":[{"name":"web","image":"i","count":1,"expose":[{"port":80,"global":true,"proto":"TCP"}]}]}]}`+"\n", of.Type, id)
	}
	return out.String()
}

func newBus(t *testing.T, in io.Reader, acknowledge func(Ack) error) *Bus {
	t.Helper()
	b, err := New(Options{
		Name: "-", Stdin: in, Read: input.Options{DocumentSize: 1 << 16}, Size: 1 << 20, Acknowledge: acknowledge,
		Warn: func(lease.Problems) {}, Complain: func(err error) { t.Error(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// running runs a bus whose lines a test writes, and returns how it ends.
func running(ctx context.Context, t *testing.T, acknowledge func(Ack) error, d *doing) (write func(string), ended chan error) {
	t.Helper()
	in, out := io.Pipe()
	t.Cleanup(func() { _ = out.Close() })
	b := newBus(t, in, acknowledge)
	ended = make(chan error, 1)
	go func() {
		_, err := b.run(ctx, d)
		ended <- err
	}()
	return func(text string) {
		if _, err := io.WriteString(out, text); err != nil {
			t.Error(err)
		}
	}, ended
}

// Events of many leases are carried out side by side, those of each in their order; each is acknowledged once, also in its order.
func TestOrder(t *testing.T) {
	var lines []string
	for range 2000 {
		lines = append(lines, fmt.Sprintf("%c%d", "WMC"[rand.N(3)], 1+rand.N(50)))
	}
	d := newDoing(t, func(context.Context, []*event) error { return nil })
	d.announced[eventOf("W7", 0).Lease.Group()] = true
	var got acks
	counts, err := newBus(t, strings.NewReader(text(lines...)), got.take).run(t.Context(), d)
	if err != nil || counts != (Counts{Events: 2000}) || len(got.all) != 2000 {
		t.Errorf("%+v, %v, and %d acknowledgements", counts, err, len(got.all))
	}
	last := map[uint64]int{}
	for _, a := range got.all {
		if a.Line <= last[a.Result.Lease.DSeq] {
			t.Errorf("line %d is acknowledged after line %d", a.Line, last[a.Result.Lease.DSeq])
		}
		last[a.Result.Lease.DSeq] = a.Line
	}
	for dseq, numbers := range d.done {
		for i := range numbers[1:] {
			if numbers[i] >= numbers[i+1] {
				t.Errorf("deployment %d: event %d is carried out before event %d", dseq, numbers[i], numbers[i+1])
			}
		}
	}
}

// A lease that another command works on holds up no other, nor do commands that take long: others begin meanwhile.
func TestOneHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoing(t, func(_ context.Context, events []*event) error {
			if slices.ContainsFunc(events, func(e *event) bool { return e.Lease.DSeq <= 9 }) {
				time.Sleep(time.Minute)
			}
			time.Sleep(time.Second)
			return nil
		})
		var lines []string
		for dseq := range 100 {
			lines = append(lines, fmt.Sprintf("M%d", dseq+1))
		}
		for dseq := range uint64(9) {
			e := eventOf(fmt.Sprintf("M%d", dseq+1), 0)
			e.Lease.Owner = leasetest.Wallet("owner")
			d.announced[e.Lease.Group()] = true
		}
		var got acks
		in, out := io.Pipe()
		go newBus(t, in, got.take).run(t.Context(), d) //nolint:errcheck // it ends with the test
		if _, err := io.WriteString(out, text("M200")+text(lines...)); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		if n := got.count(); n < 92 {
			t.Errorf("%d events are acknowledged beside the slow ones", n)
		}
		_ = out.Close()
		time.Sleep(2 * time.Minute)
		if n := got.count(); n != 101 {
			t.Errorf("%d events are acknowledged", n)
		}
	})
}

// As many events are held as may be, until their acknowledgements are taken.
func TestSlowReader(t *testing.T) {
	var got acks
	in, out := io.Pipe()
	most := make(chan int, 1)
	go func() {
		ahead := 0
		for i := range 3000 {
			if _, err := io.WriteString(out, text(fmt.Sprintf("W%d", i+1))); err != nil {
				t.Error(err)
			}
			ahead = max(ahead, i-got.count())
		}
		_ = out.Close()
		most <- ahead
	}()
	slow := func(a Ack) error {
		time.Sleep(100 * time.Microsecond)
		return got.take(a)
	}
	_, err := newBus(t, in, slow).run(t.Context(), newDoing(t, func(context.Context, []*event) error { return nil }))
	if ahead := <-most; err != nil || got.count() != 3000 || ahead > maxEvents+10 {
		t.Errorf("%v, %d acknowledgements, and up to %d events were read ahead", err, got.count(), ahead)
	}
}

// When the program is stopped, commands go on for a while; what has not ended or begun by then is acknowledged as such.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoing(t, func(ctx context.Context, events []*event) error {
			took := 2 * time.Second
			if events[0].Type == input.LeaseClosed {
				took = time.Hour
			}
			select {
			case <-time.After(took):
			case <-ctx.Done():
			}
			return ctx.Err()
		})
		ctx, stop := context.WithCancel(t.Context())
		var got acks
		write, ended := running(ctx, t, got.take, d)
		write(text("M1", "C2", "M2", "M3"))
		synctest.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		want := map[int]bool{1: false, 2: true, 3: true, 4: false}
		for _, a := range got.all {
			if want[a.Line] != errors.Is(a.Result.Err, errStopped) || a.Retry != want[a.Line] {
				t.Errorf("acknowledged is %+v", a)
			}
			delete(want, a.Line)
		}
		if len(want) > 0 {
			t.Errorf("lines %v are not acknowledged", want)
		}
	})
}

// A program that is stopped ends though nobody reads its acknowledgements.
func TestStopUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		never := make(chan struct{})
		write, ended := running(ctx, t, func(Ack) error { <-never; return nil }, newDoing(t, nil))
		write("bad\n")
		synctest.Wait()
		stop()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "nobody reads") {
			t.Error(err)
		}
		close(never)
	})
}

// When acknowledgements cannot be written, what is under way is finished, and no more is read.
func TestUnwritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken pipe")
		d := newDoing(t, func(context.Context, []*event) error { time.Sleep(time.Minute); return nil })
		write, ended := running(t.Context(), t, func(Ack) error { return broken }, d)
		write(text("M1") + "bad\n")
		if err := <-ended; !errors.Is(err, broken) || !errors.Is(err, errUnread) || len(d.at) > 0 || len(d.done) != 1 {
			t.Errorf("%v, %+v", err, d)
		}
	})
}

// Standard input goes on where it was when another one has reconciled meanwhile: no line is lost.
func TestGoesOn(t *testing.T) {
	in, out := io.Pipe()
	var got acks
	first := make(chan struct{}, 9)
	b := newBus(t, in, func(a Ack) error { first <- struct{}{}; return got.take(a) })
	d := newDoing(t, func(context.Context, []*event) error { return nil })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := b.run(ctx, d)
		ended <- err
	}()
	go func() {
		_, _ = io.WriteString(out, text("W1"))
		<-first
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(out, text("W2", "W3"))
		_ = out.Close()
	}()
	<-ctx.Done()
	if _, err := b.run(t.Context(), d); err != nil || got.count() != 3 {
		t.Errorf("%v, and %d acknowledgements", err, got.count())
	}
}
