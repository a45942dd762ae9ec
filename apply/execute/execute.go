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
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
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
	// Barred returns why the command must not work on a lease, nil if it may; nil if it may work on all.
	Barred func(place int, s *observed.Snapshot) error
	// Ended is called with the leases of a transaction on which the work has ended, before the command commits. Done is called
	// for a lease that has what it wants and gives nothing back any more, for several at a time. With Done both are called for a
	// lease as soon as its work has ended in the command's turn, while the command works on others; else Done is called after the commit.
	Ended func(context.Context, []*Lease)
	Done  func(context.Context, *Lease) error
	// Fresh reads where hosts are reached now; else what was read for all is taken.
	Fresh bool
	// GoesOn is the command that goes on where an old route has to stay; empty for the same one.
	GoesOn string
	// Of are what report the work on each lease, for work that goes on; nil for new ones.
	Of []*executor.Executor
	// Silent sends no events of what is written.
	Silent bool
	// heals is true for what a lost command does at its end.
	heals bool
}

// Lease is one lease of a command.
type Lease struct {
	// X reports what happens to the lease, and keeps count of it.
	X     *executor.Executor
	Place int
	Want  engine.Want
	// Outcome is how the work on the lease has ended, nil before.
	Outcome *engine.Outcome
	// Unmarked is what was seen to run for the lease without a Manifest, and is not ours; ran is all that was seen to run for a released one.
	Unmarked workloads.Unmarked
	ran      *workloads.Ran
	// Runs is the definition of what the lease runs, nil if that is left alone; Work is the work on it once it was read.
	Runs *lease.Definition
	Work *workloads.Work
	// running is what was read of it. chosen are the GPUs that the lease's order has reserved; takesOver is true if the reservation is
	// yet to become the lease's, replaces if others are chosen then; taken is true once it has.
	running                    *workloads.Live
	chosen                     map[uint32]*lease.SchedulerParams
	takesOver, replaces, taken bool
	err                        error
	// isNew is true if the lease had neither claims nor objects when the command began.
	isNew bool
	// concluded is closed once what follows the work is done, of a lease for which that began before the commit; nil for others.
	concluded chan struct{}
}

// Run works on all leases, at most as many at a time as one announcement can name. The error joins those of all leases.
func (w Work) Run(ctx context.Context) error {
	snapshot, err := w.Read(cluster.Early(ctx))
	if err != nil {
		return err
	}
	c := w.Command
	wants := w.Wants()
	l := &loop{work: w, command: c, world: engine.NewWorld(), count: c.Counter("leases", len(wants))}
	l.world.ReadAll(snapshot, l.world.Send())
	all := make([]*Lease, len(wants))
	for i, want := range wants {
		all[i] = &Lease{Place: i, Want: want}
		if all[i].X = executor.New(c, want.Request); w.Of != nil {
			all[i].X = w.Of[i]
		}
		if w.Barred != nil {
			all[i].err = w.Barred(i, snapshot)
		}
		all[i].X.Snapshot = snapshot
		all[i].isNew = all[i].X.IsNew()
		if want.Apply != nil {
			all[i].X.Only = c.Options.ChangesOf(want.Request.Lease)
			all[i].Runs = want.Apply.Workloads
		}
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
	work    Work
	command *command.Command
	world   *engine.World
	memos   []*engine.Memo
	turn    *turn.Turn
	count   func()

	// leases are those of the transaction, with the marks of the work on each. steps is what happens next for each, busy how many of its requests are under way,
	// due whether something new is known about it.
	leases []*Lease
	marks  []string
	plan   *engine.Transaction
	steps  []engine.Step
	busy   []int
	due    []bool
	// flying counts the requests that are under way, brief those among them that wait for nobody; shared is true if one of
	// them is for all leases. Answers come by came.
	// written are the claims that are being written: leases that share a claim write it one after the other.
	flying  int
	brief   int
	shared  bool
	written map[string]bool
	came    chan reply
	// leased reads which leases have taken over the reservations of their orders, marked the Manifests of what the leases run: once for all of
	// them, after each reading of everything, and marked again in the command's turn.
	leased func(context.Context) (map[lease.Group][]lease.ID, error)
	marked func(context.Context) (workloads.Marks, error)
	// writing is the context of requests in the command's turn, nil before.
	writing context.Context
	// concludes begins what follows the work on a lease; nil where that is for after the commit.
	concludes func(*Lease)
}

// reply is the answer to a request of a lease.
type reply struct {
	place   int
	request engine.Request
	answer  engine.Answer
	sent    engine.Stamp
}

// transaction works on leases in one turn of the command. It returns the error of the turn if that belongs to no lease.
func (l *loop) transaction(ctx context.Context, leases []*Lease) error {
	l.leases = slices.DeleteFunc(slices.Clone(leases), func(one *Lease) bool { return one.err != nil })
	wants := make([]engine.Want, len(l.leases))
	var groups []lease.Group
	for _, one := range leases {
		if groups = append(groups, one.Want.Groups()...); one.err != nil {
			l.count()
		}
	}
	for i, one := range l.leases {
		wants[i] = one.Want
	}
	now := l.command.Options.Turn
	own := now == nil
	if own { // else it is part of another command's work, which commits it
		now = l.command.NewTurn(groups)
	}
	l.turn = now
	l.begin(now, wants)
	l.leased, l.marked = l.reserved(groups), l.readMarks(groups)
	if l.concludes = nil; l.work.Done != nil && own {
		l.concludes = func(one *Lease) { l.conclude(ctx, one) }
	}
	fault := parallel.Guard(func() error { l.run(ctx); return nil })
	var ends []*Lease
	for i, one := range l.leases {
		if l.world.Turn.Alone == 0 {
			l.count()
		}
		if one.concluded == nil {
			l.report(i, one)
		}
		if one.Outcome == nil || one.Outcome.Unfinished {
			now.Leave(one.Want.Groups()...)
		}
		if one.Outcome != nil && one.concluded == nil {
			ends = append(ends, one)
		}
	}
	fault = errors.Join(fault, parallel.Guard(func() error { l.work.Ended(now.Context(ctx), ends); return nil }))
	ended := fault
	if own {
		ended = errors.Join(fault, parallel.Guard(func() error { return now.Commit(ctx) }))
	}
	l.finish(ctx, leases, ended, l.heal(ctx, leases, ended))
	if slices.ContainsFunc(leases, func(one *Lease) bool { return one.err != nil || one.X.Changed() }) {
		return nil
	}
	return ended
}

// begin begins a transaction of wants.
func (l *loop) begin(t *turn.Turn, wants []engine.Want) {
	l.marks, l.memos = make([]string, len(wants)), make([]*engine.Memo, len(wants))
	for i := range wants {
		l.marks[i], l.memos[i] = t.Mark(), engine.NewMemo()
	}
	l.world.Begin(t.Nonce(), l.marks)
	l.tick()
	l.plan = engine.Assign(l.world, l.settings(), wants)
	l.steps, l.busy, l.due = make([]engine.Step, len(wants)), make([]int, len(wants)), slices.Repeat([]bool{true}, len(wants))
	l.flying, l.brief, l.shared, l.written, l.writing = 0, 0, false, map[string]bool{}, nil
	l.came = make(chan reply, len(wants)+l.command.Options.Concurrency)
}

// settings are what the engine decides by for all leases.
func (l *loop) settings() engine.Settings {
	c := l.command
	patience, pause := time.Duration(0), c.Patience
	for pause.Steps > 1 {
		patience += pause.Step()
	}
	return engine.Settings{
		Config: c.Options.Config, OnePort: l.world.Snapshot.Operators.IP, Patience: patience, Tries: c.Cluster.Retries.Steps,
		Wait: c.Options.Wait, Waits: c.Cluster.Waits(), AssumeServing: c.Options.AssumeServing, GoesOn: l.work.GoesOn, Plans: c.Options.Plan != nil,
		Reclaims: c.Options.Reclaim, InTurn: c.Options.InTurn,
	}
}

// tick tells the world the time.
func (l *loop) tick() { l.world.At(l.command.Cluster.Now(), time.Now()) }

// report reports how the work on a lease has ended.
func (l *loop) report(i int, one *Lease) {
	o := l.world.Outcome(i)
	if one.Outcome = o; o == nil {
		return
	}
	rest := o.Rest
	rest.Held = rest.Held || !one.isNew
	if one.X.Ends(rest); len(o.Kept) > 0 {
		rest.Stays = true
	}
	if one.err = o.Err; len(o.Kept) > 0 {
		one.err = &report.HalfError{Lease: one.X.Request.Lease, Why: o.Err, Left: errors.Join(o.Kept...), Rest: rest}
	}
}

// Err is why the lease was refused or has failed so far, nil if it has what it wants.
func (one *Lease) Err() error { return one.err }

// Fail adds an error, before those that the lease has.
func (one *Lease) Fail(err error) { one.err = report.Gather([]error{err, one.err}) }
