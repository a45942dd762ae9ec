// Package execute carries out the steps of the engine: it sends the requests, folds the answers into what was seen, and
// asks for the next steps. It is the only loop of a command, and decides nothing itself.
package execute

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Work is what a command does for its leases.
type Work struct {
	Command *command.Command
	// Read reads the claims, then the objects on which they depend.
	Read func(context.Context) (*observed.Snapshot, error)
	// Wants returns what the leases want, once the time of the API server is known.
	Wants func() []engine.Want
	// Barred returns why the command must not work on a lease, nil if it may.
	Barred func(place int, s *observed.Snapshot) error
	// Ended is called when the work on a lease has ended, before the command commits. It returns what is wrong with the lease
	// besides. Done is called after the commit for a lease that has what it wants.
	Ended func(*Lease) error
	Done  func(*Lease)
	// Silent sends no events of what is written.
	Silent bool
}

// Lease is one lease of a command.
type Lease struct {
	// X reports what happens to the lease, and keeps count of it.
	X     *executor.Executor
	Place int
	Want  engine.Want
	// Outcome is how the work on the lease has ended, nil before.
	Outcome *engine.Outcome
	err     error
}

// Run works on all leases, at most as many at a time as one announcement can name. The error joins those of all leases.
func (w Work) Run(ctx context.Context) error {
	snapshot, err := w.Read(ctx)
	if err != nil {
		return err
	}
	c := w.Command
	wants := w.Wants()
	l := &loop{work: w, command: c, world: engine.NewWorld(0), count: c.Counter("leases", len(wants))}
	l.fold(snapshot, l.world.Send())
	all := make([]*Lease, len(wants))
	for i, want := range wants {
		all[i] = &Lease{X: executor.New(c, want.Request), Place: i, Want: want, err: w.Barred(i, snapshot)}
		all[i].X.Snapshot = snapshot
	}
	var errs []error // first the errors of turns that belong to no lease
	for part := range slices.Chunk(all, state.MaxAnnounced) {
		if err := l.transaction(ctx, part); err != nil {
			errs = append(errs, err)
		}
	}
	for _, one := range all {
		errs = append(errs, one.err)
	}
	return report.Gather(errs)
}

// loop is the work on the leases of one transaction after the other.
type loop struct {
	work     Work
	command  *command.Command
	world    *engine.World
	snapshot *observed.Snapshot
	count    func()

	// leases are those of the transaction. steps is what happens next for each, busy how many of its requests are under way,
	// due whether something new is known about it.
	leases []*Lease
	plan   *engine.Transaction
	steps  []engine.Step
	busy   []int
	due    []bool
	// flying counts the requests that are under way, brief those among them that wait for nobody; shared is true if one of
	// them is for all leases. Answers come by came.
	flying int
	brief  int
	shared bool
	came   chan reply
	// writing is the context of requests in the command's turn, nil before.
	writing context.Context
}

// reply is the answer to a request of a lease.
type reply struct {
	place   int
	request engine.Request
	answer  engine.Answer
	sent    engine.Stamp
	read    *observed.Snapshot
}

// fold records a reading of everything.
func (l *loop) fold(s *observed.Snapshot, sent engine.Stamp) {
	l.snapshot = s
	l.world.ReadAll(s.List(), objects{s, l.command.Options.Config}, sent)
}

// transaction works on leases in one turn of the command. It returns the error of the turn if that belongs to no lease.
func (l *loop) transaction(ctx context.Context, leases []*Lease) error {
	l.leases = slices.DeleteFunc(slices.Clone(leases), func(one *Lease) bool { return one.err != nil })
	groups, wants := make([]lease.Group, len(leases)), make([]engine.Want, len(l.leases))
	for i, one := range leases {
		if groups[i] = one.X.Group; one.err != nil {
			l.count()
		}
	}
	for i, one := range l.leases {
		wants[i] = one.Want
	}
	turn := l.command.NewTurn(groups)
	l.command.Options.Turn = turn
	defer func() { l.command.Options.Turn = nil }()
	l.begin(turn.Nonce(), wants)
	fault := parallel.Guard(func() error { l.run(ctx); return nil })
	for i, one := range l.leases {
		if l.report(i, one); one.Outcome == nil || one.Outcome.Unfinished {
			turn.Leave(one.X.Group)
		}
	}
	ended := errors.Join(fault, parallel.Guard(func() error { return turn.Commit(ctx) }))
	concerned := false
	for _, one := range leases {
		if ended != nil && one.err == nil && (one.Outcome == nil || one.X.Changed()) {
			one.err = ended
		}
		concerned = concerned || one.err != nil || one.X.Changed()
		if one.err == nil {
			l.work.Done(one)
		}
		one.err = one.X.Failed(one.err)
	}
	if concerned {
		return nil
	}
	return ended
}

// begin begins a transaction of wants.
func (l *loop) begin(nonce string, wants []engine.Want) {
	l.world.Begin(nonce, len(wants))
	l.tick()
	l.plan = engine.Assign(l.world, l.settings(), wants)
	l.steps, l.busy, l.due = make([]engine.Step, len(wants)), make([]int, len(wants)), slices.Repeat([]bool{true}, len(wants))
	l.flying, l.brief, l.shared, l.writing = 0, 0, false, nil
	l.came = make(chan reply, len(wants)+l.command.Options.Concurrency)
}

// settings are what the engine decides by for all leases.
func (l *loop) settings() engine.Settings {
	c := l.command
	patience, pause := time.Duration(0), c.Patience
	for pause.Steps > 1 {
		patience += pause.Step()
	}
	return engine.Settings{Config: c.Options.Config, OnePort: l.snapshot.Operators.IP, Patience: patience, Tries: c.Cluster.Retries.Steps}
}

// tick tells the world the time.
func (l *loop) tick() { l.world.At(l.command.Cluster.Now(), time.Now()) }

// run asks for the steps of the leases and carries them out until all have ended.
func (l *loop) run(ctx context.Context) {
	interrupted := ctx.Done()
	for {
		l.decide()
		l.send(ctx)
		after, waits := l.until()
		if l.flying == 0 && !waits {
			if !l.unlock() {
				return
			}
			continue
		}
		var over <-chan time.Time
		if waits {
			over = time.After(after)
		}
		select {
		case r := <-l.came:
			l.take(ctx, r)
		case <-over:
			l.wake(func(s engine.Step) bool { return !s.Until.IsZero() })
		case <-interrupted:
			interrupted = nil
			l.world.Interrupted = ctx.Err()
			l.wake(func(engine.Step) bool { return true })
		}
	}
}

// wake decides again for the leases whose steps are chosen.
func (l *loop) wake(chosen func(engine.Step) bool) {
	for i, s := range l.steps {
		l.due[i] = l.due[i] || chosen(s)
	}
}

// decide asks for the next steps of the leases about which something new is known.
func (l *loop) decide() {
	l.tick()
	for again := true; again; {
		again = false
		for _, i := range l.plan.Order() {
			if !l.due[i] || l.busy[i] > 0 || l.world.Outcome(i) != nil {
				continue
			}
			l.due[i] = false
			s := engine.Next(l.world, l.plan, i)
			for l.world.Decide(i, s) {
				s = engine.Next(l.world, l.plan, i)
			}
			if l.steps[i] = s; s.Outcome != nil {
				l.end(i, s.Outcome)
				again = true
			}
		}
	}
}

// end ends the work on a lease. In the command's turn, that is final.
func (l *loop) end(i int, o *engine.Outcome) {
	l.world.End(i, o)
	if l.world.Turn.Alone > 0 {
		l.command.Ledger.Ended(state.Mark(l.world.Turn.Nonce, i)) // it gives nothing back any more
		l.count()
	}
	l.wake(func(s engine.Step) bool { return s.Wait != "" })
}

// report reports how the work on a lease has ended.
func (l *loop) report(i int, one *Lease) {
	o := l.world.Outcome(i)
	if one.Outcome = o; o == nil {
		return
	}
	if one.err = o.Err; len(o.Kept) > 0 {
		one.err = &report.HalfError{Lease: one.X.Request.Lease, Why: o.Err, Left: errors.Join(o.Kept...), New: one.X.IsNew()}
	}
	one.err = report.Gather([]error{l.work.Ended(one), one.err})
}

// until returns how long to wait until a lease looks again at what it waits for.
func (l *loop) until() (after time.Duration, waits bool) {
	for i, s := range l.steps {
		if l.world.Outcome(i) != nil || l.busy[i] > 0 || s.Until.IsZero() {
			continue
		}
		if d := time.Until(s.Until); !waits || d < after {
			after, waits = d, true
		}
	}
	return after, waits
}

// unlock lets the first lease go on if all that have not ended wait for each other. It returns false if all have ended.
func (l *loop) unlock() bool {
	for _, i := range l.plan.Order() {
		if l.world.Outcome(i) == nil {
			l.world.Yield(i)
			l.due[i] = true
			return true
		}
	}
	return false
}

// send sends requests of the steps, as many as the command may have under way. What is read for all leases is read once
// nothing else can be sent: then it is newest for most of them.
func (l *loop) send(ctx context.Context) {
	most := max(l.command.Options.Concurrency, 1)
	open := func(i int) bool { return l.world.Outcome(i) == nil && l.busy[i] == 0 && !l.shared && l.brief < most }
	for _, i := range l.plan.Order() {
		if !open(i) {
			continue
		}
		for _, r := range l.steps[i].Requests {
			if !r.IsShared() && l.brief < most {
				l.start(ctx, i, r)
			}
		}
	}
	for _, i := range l.plan.Order() {
		if requests := l.steps[i].Requests; l.brief == 0 && open(i) && len(requests) > 0 {
			l.shared = true
			l.start(ctx, i, requests[0])
		}
	}
}

// start sends a request; take gets its answer.
func (l *loop) start(ctx context.Context, place int, r engine.Request) {
	l.busy[place]++
	l.flying++
	if !r.MayWait() {
		l.brief++
	}
	if l.writing != nil {
		ctx = l.writing
	}
	undo := r.Back || l.world.Interrupted != nil
	out, came, snapshot, one := reply{place: place, request: r, sent: l.world.Send()}, l.came, l.snapshot, l.leases[place]
	go func() {
		err := errNoAnswer
		defer func() {
			out.answer.Err, out.answer.Over = err, cluster.IsShut(err) || cluster.IsAway(err)
			came <- out
		}()
		err = parallel.Guard(func() error {
			if undo {
				var cancel context.CancelFunc
				ctx, cancel = executor.UndoContext(ctx)
				defer cancel()
			}
			return executor.UndoError(ctx, l.ask(ctx, one, snapshot, &out))
		})
	}()
}

// errNoAnswer is the error of a request whose goroutine has ended without one.
var errNoAnswer = errors.New("the request has no answer")

// take folds an answer, and decides again for the leases that it concerns.
func (l *loop) take(ctx context.Context, r reply) {
	l.tick()
	l.busy[r.place]--
	l.flying--
	if !r.request.MayWait() {
		l.brief--
	}
	l.due[r.place] = true
	if r.request.IsShared() {
		l.shared = false
		l.wake(func(s engine.Step) bool { return len(s.Requests) > 0 && s.Requests[0].IsShared() })
	}
	if r.answer.Over || r.request.Verb == engine.Announce {
		l.wake(func(engine.Step) bool { return true })
	}
	switch {
	case r.read != nil && r.request.Verb == engine.ReadAll:
		l.fold(r.read, r.sent)
		for _, one := range l.leases {
			one.X.Snapshot = r.read
		}
	default:
		l.world.Fold(l.plan, r.place, r.request, r.answer, r.sent)
	}
	if r.request.Verb == engine.Announce && r.answer.Err == nil {
		l.writing = l.command.Options.Turn.Context(ctx)
	}
	if e := r.request.Event; e != nil && r.answer.Err == nil && !l.work.Silent {
		l.leases[r.place].X.Event(report.Action(e.Doing), string(e.Kind), "", e.Thing, e.Message)
	} else if r.request.Verb == engine.Put && r.answer.Err == nil {
		l.leases[r.place].X.Wrote(nil)
	}
}
