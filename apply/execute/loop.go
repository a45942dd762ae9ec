package execute

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

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
			for i := range l.steps {
				l.steps[i].Requests = nil
			}
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

// decide asks for the next steps of the leases about which something new is known, until nothing more is decided.
func (l *loop) decide() {
	l.tick()
	for {
		due := slices.DeleteFunc(slices.Clone(l.plan.Order()), func(i int) bool { return !l.isDue(i) })
		if len(due) == 0 {
			return
		}
		steps := ahead(due, l.next)
		for _, i := range due {
			s, known := steps[i]
			if !known || s.Wait != "" { // for a lease before it, which may have ended, or have picked its addresses, meanwhile
				s = l.next(i)
			}
			tells := l.world.Untold(s.Tells)
			l.due[i] = l.world.Decide(i, s)
			if l.tellAll(i, tells); !l.due[i] {
				l.steps[i] = s
			}
			switch {
			case s.Outcome != nil:
				l.end(i, s.Outcome)
			case len(s.Picks) > 0:
				l.wake(func(s engine.Step) bool { return s.Wait != "" })
			}
		}
	}
}

func (l *loop) isDue(i int) bool { return l.due[i] && l.busy[i] == 0 && l.world.Outcome(i) == nil }

func (l *loop) next(i int) engine.Step { return engine.Next(l.world, l.plan, i, l.memos[i]) }

// ahead decides side by side for leases, by what is known before anything is decided for one of them. A lease for which that fails is decided
// for in its turn, where the failure is its own.
func ahead(due []int, next func(i int) engine.Step) map[int]engine.Step {
	var mu sync.Mutex
	steps, group := make(map[int]engine.Step, len(due)), parallel.New(runtime.GOMAXPROCS(0))
	for _, i := range due {
		group.Go(func() error {
			s := next(i)
			mu.Lock()
			defer mu.Unlock()
			steps[i] = s
			return nil
		})
	}
	_ = group.Wait()
	return steps
}

// end ends the work on a lease. In the command's turn, that is final.
func (l *loop) end(i int, o *engine.Outcome) {
	l.world.End(i, o)
	if l.world.Turn.Alone > 0 {
		l.final(i)
	}
	l.wake(func(s engine.Step) bool { return s.Wait != "" })
}

// final counts a lease whose work has ended: it gives nothing back any more.
func (l *loop) final(i int) {
	l.command.Ledger.Runs.Ended(l.marks[i])
	l.count()
	if one := l.leases[i]; l.concludes != nil && l.mayConclude(i) {
		l.report(i, one)
		l.concludes(one)
	}
}

// mayConclude reports whether what follows the work on a lease does not have to wait for the commit: the command works on others, it
// has its turn, and the lease is not to be written again once it is known where its hosts are reached.
func (l *loop) mayConclude(i int) bool {
	busy := slices.ContainsFunc(l.plan.Order(), func(i int) bool { return l.world.Outcome(i) == nil })
	return busy && l.world.Turn.Err == nil && len(l.world.Outcome(i).Applied.Unknown) == 0
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
// nothing else can be sent: then it is newest for most of them. What a step has left is sent when others have been answered.
func (l *loop) send(ctx context.Context) {
	most := max(l.command.Options.Concurrency, 1)
	for _, i := range l.plan.Order() {
		if l.brief >= most {
			break
		}
		var rest []engine.Request
		for _, r := range l.steps[i].Requests {
			if r.IsShared() || l.shared || l.brief >= most || l.written[r.Target()] {
				rest = append(rest, r)
				continue
			}
			l.start(ctx, i, r)
		}
		l.steps[i].Requests = rest
	}
	for _, i := range l.plan.Order() {
		if requests := l.steps[i].Requests; l.brief == 0 && !l.shared && l.busy[i] == 0 && len(requests) > 0 {
			l.shared = true
			l.steps[i].Requests = requests[1:]
			l.start(ctx, i, requests[0])
		}
	}
}

// start sends a request; take gets its answer.
func (l *loop) start(ctx context.Context, place int, r engine.Request) {
	if l.busy[place]++; len(l.leases) > 1 && !r.IsShared() {
		l.leases[place].X.Begin()
	}
	l.flying++
	if !r.MayWait() {
		l.brief++
	}
	if target := r.Target(); target != "" {
		l.written[target] = true
	}
	switch {
	case l.writing != nil:
		ctx = l.writing
	case r.Early:
		ctx = cluster.Early(ctx)
	}
	undo := r.Back || l.world.Interrupted != nil
	out, came, snapshot, one := reply{place: place, request: r, sent: l.world.Send()}, l.came, l.world.Snapshot, l.leases[place]
	go func() {
		err := errNoAnswer
		defer func() {
			_, lost := errors.AsType[*turn.LostError](err)
			out.answer.Err, out.answer.Over = err, lost || cluster.IsShut(err) || cluster.IsAway(err)
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
	if l.due[r.place] = true; r.answer.Err != nil {
		l.steps[r.place].Requests = nil
	}
	if r.request.IsShared() {
		l.shared = false
		l.wake(func(s engine.Step) bool { return len(s.Requests) > 0 && s.Requests[0].IsShared() })
	}
	if target := r.request.Target(); target != "" {
		delete(l.written, target)
		l.wake(func(s engine.Step) bool {
			return slices.ContainsFunc(s.Requests, func(r engine.Request) bool { return r.Target() == target })
		})
	}
	if r.answer.Over || r.request.Verb == engine.Announce {
		l.wake(func(engine.Step) bool { return true })
	}
	l.world.Fold(l.plan, r.place, r.request, r.answer, r.sent)
	if r.request.Verb == engine.ReadAll && r.answer.Err == nil {
		l.leased, l.marked = l.reserved(l.plan.Groups()), l.readMarks(l.plan.Groups())
		for _, one := range l.leases {
			one.ran = nil
		}
	}
	for _, one := range l.leases {
		if r.answer.Snapshot != nil && one.concluded == nil && (r.request.Verb == engine.ReadAll || one.X.Group.Owner == string(engine.On[engine.OfOwner](r.request))) {
			one.X.Snapshot = r.answer.Snapshot
		}
	}
	if r.request.Verb == engine.Announce && r.answer.Err == nil {
		l.writing = l.turn.Context(ctx)
		l.marked = l.readMarks(l.plan.Groups())
		for i := range l.leases {
			if l.world.Outcome(i) != nil {
				l.final(i)
			}
		}
	}
	if r.request.Shows(r.answer) {
		if err := parallel.Guard(func() error { l.tell(l.leases[r.place].X, r.request); return nil }); err != nil {
			l.world.Fail(r.place, err)
		}
	}
}

// tell tells a person what a request has done.
func (l *loop) tell(x *executor.Executor, r engine.Request) {
	if r.Changes != nil {
		l.plans(x, *r.Changes)
	}
	switch {
	case r.Event != nil:
		l.tellOne(x, *r.Event)
	case slices.Contains([]engine.Verb{engine.Put, engine.PutObject, engine.Keep, engine.Forget, engine.GetDefinition}, r.Verb):
		x.Wrote(nil)
	}
}

// tellAll tells a person what was decided for a lease.
func (l *loop) tellAll(place int, events []engine.Event) {
	for _, e := range events {
		if e.Changes != nil {
			l.plans(l.leases[place].X, *e.Changes)
		}
		l.tellOne(l.leases[place].X, e)
	}
}

func (l *loop) tellOne(x *executor.Executor, e engine.Event) {
	switch k := e.Of; {
	case l.work.Silent || e.Action == "":
	case e.Object.Live != nil:
		x.Event(e.Action, e.Object.Kind.Singular, e.Object.Live.GetNamespace(), e.Object.Live.GetName(), e.Message)
	case k != engine.Key{}:
		if e.Message == "" && e.Once == "" && l.command.Cluster.Unchecked(k.Namespace) {
			e.Message = "not checked by the server: its namespace does not exist yet"
		}
		x.Event(e.Action, k.Kind.Singular, k.Namespace, k.Name, e.Message)
	default:
		x.Send(report.Event{Action: e.Action, Kind: e.Kind, Name: e.Thing, Message: e.Message, From: e.From, To: e.To, Since: e.Since, Until: e.Until})
	}
}

// plans records a change of a plan.
func (l *loop) plans(x *executor.Executor, c plan.Change) {
	if l.command.Options.Plan != nil {
		l.command.Report.Lock()
		defer l.command.Report.Unlock()
		l.command.Options.Plan(x.Request.Lease, c)
	}
}
