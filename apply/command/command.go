// Package command is one run of the program: its connection, ledger, options, and its turn among other commands.
package command

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The ways to run without changing anything.
const (
	// DryRunClient decides by the cluster's state and sends no write.
	DryRunClient = cluster.DryRunClient
	// DryRunServer lets the API server check each write without persisting it.
	DryRunServer = cluster.DryRunServer
)

// Options configure a command.
type Options struct {
	Config *config.ProviderConfig
	// DryRun is empty, DryRunClient or DryRunServer.
	DryRun string
	// Prune deletes what the leases no longer define.
	Prune bool
	// Wait is how long to wait for addresses and routes; 0 does not wait.
	Wait time.Duration
	// Expires is after what time a reservation ends; 0 means never.
	Expires time.Duration
	// Check only reports what may be done. It requires DryRunClient.
	Check bool
	// Operators selects whether Akash's operators create the routes of hosts and the Services of addresses:
	// OperatorsAuto, OperatorsOn or OperatorsOff, the default.
	Operators string
	// AssumeServing treats a new route as serving if no controller reports its status, so that the old route is
	// deleted.
	AssumeServing bool
	// AssumeCrashed treats other commands that work on the same leases as crashed, without waiting until their
	// announcements expire.
	AssumeCrashed bool
	// InTurn lets the command wait for its turn though it has nothing to write: another one for its leases may have crashed.
	InTurn bool
	// Version is the program's version, for the announcement. Lasts is how long that is valid without a renewal; 0 is turn.Lasts.
	Version string
	Lasts   time.Duration
	// Adopt lets a lease take over what objects of its own owner use without a claim, and what Akash's provider has
	// deployed for it.
	Adopt bool
	// Workloads applies what the leases run, if their definitions describe it; nil leaves it alone.
	Workloads *Workloads
	// Prove is called for every host that a lease wants, before anything is claimed; nil requires no proof.
	Prove Prove
	// Named are the leases that are released, as far as they are named by their orders: a lease without a provider is an
	// order at any provider.
	Named []lease.ID
	// DeleteNamespace deletes the namespaces of released leases if this program created them and they contain nothing
	// else.
	DeleteNamespace bool
	// Concurrency bounds how many leases, and how many objects of a lease, are processed at a time.
	Concurrency int
	// Only is the plan to which changes are limited; nil sets no limit.
	Only *plan.Plan
	// Refused says why the plan changes nothing for some of its leases.
	Refused map[lease.ID]error
	// Heal applies stored definitions, limited to what their leases still hold.
	Heal bool
	// Reclaim takes fields of the leases' own objects back that somebody has changed by hand, with kubectl.
	Reclaim bool
	// Source is the name of the source that names the leases, which their kept definitions have; empty for none. Owned are the
	// sources one of which has to own them; an empty name is no source, nil any.
	Source string
	Owned  []string
	// Emptied is true if only leases are released of which the ledger keeps that they are to have nothing.
	Emptied bool
	// Obeys is true for the reconciler: it does nothing with a lease that is suspended.
	Obeys bool
	// Target is the kind of routes that the command line chooses, which their kept definitions have; empty for that of the configuration.
	Target string
	// Turn is that of the command of which this one is a part; nil for none.
	Turn *turn.Turn
	// Report receives the events, one at a time.
	Report func(report.Event)
	// Warn receives what may go wrong of what is reserved; nil for nobody.
	Warn func(lease.Problems)
	// Progress receives how many items of a step are done; what is a plural noun.
	Progress func(what string, done, all int)
	// Plan receives the changes that would be made, one at a time. It requires DryRunClient.
	Plan func(lease.ID, plan.Change)
}

// Send reports an event. Concurrent calls report one after the other.
func (c *Command) Send(e report.Event) {
	if c.Options.Report != nil {
		c.Report.Lock()
		defer c.Report.Unlock()
		c.Options.Report(e)
	}
}

// Counter reports progress: zero items at first, and one more with each call of count.
func (c *Command) Counter(what string, all int) (count func()) {
	done := -1
	count = func() {
		c.Report.Lock()
		defer c.Report.Unlock()
		if done++; c.Options.Progress != nil {
			c.Options.Progress(what, done, all)
		}
	}
	count()
	return count
}

// Prove checks whether a host or a wildcard belongs to the owner. It returns how that was proved, or why it was not.
type Prove func(ctx context.Context, owner, host string) (how string, err error)

// Command is one run of the program.
type Command struct {
	Cluster *cluster.Cluster
	Ledger  ledger.Ledger
	Options Options
	// Configured is the configuration as it was when the command began.
	Configured *config.ProviderConfig
	// Patience bounds how long a run waits for another run that holds a thing and has not ended: that run may still
	// give it back.
	Patience wait.Backoff
	Report   sync.Mutex
}

// New creates a command on a cluster.
func New(c *cluster.Cluster, opts Options) *Command {
	if c = c.DryRun(opts.DryRun); !c.Waits() { //nolint:forbidigo // this creates the connection of a dry run
		opts.Wait = 0
	}
	c.Within(opts.Wait)
	book := ledger.New(c, opts.Config.LedgerNamespace)
	if opts.Turn != nil { // a part of another command: its ledger knows which runs have ended
		book = opts.Turn.Ledger()
	}
	patience := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.6, Jitter: 0.3, Steps: 8}
	if !c.Waits() { // a dry run looks once
		patience.Steps = 1
	}
	return &Command{Cluster: c, Options: opts, Configured: opts.Config, Ledger: book, Patience: patience}
}

// ChangesOf returns the changes that a run on a lease may make: its own, and those of objects that leases share. nil
// means any change.
func (o Options) ChangesOf(id lease.ID) []plan.Change {
	if o.Only == nil {
		return nil
	}
	changes := []plan.Change{}
	for _, l := range o.Only.Leases {
		for _, c := range l.Changes {
			if l.Lease == id.String() || Shared(c) {
				changes = append(changes, c)
			}
		}
	}
	return changes
}

// AsPlanned returns the error of the work on a lease. If the plan refuses the lease, and the work was kept from a change, that
// is the plan's reason.
func (o Options) AsPlanned(id lease.ID, err error) error {
	if _, kept := errors.AsType[*report.MovedError](err); kept && o.Refused[id] != nil {
		return o.Refused[id]
	}
	return err
}

// Shared reports whether a change writes an object that several leases of a command may need. The first of them writes
// it.
func Shared(c plan.Change) bool {
	return c.Action != plan.Delete && slices.ContainsFunc(kinds.Pools, func(k kinds.Kind) bool { return k.Singular == c.Kind })
}

// Workloads configures how what leases run is applied.
type Workloads struct {
	// Scheduler is what a reservation chose for the lease, by the ID of the resource unit; nil if unknown.
	Scheduler map[uint32]*lease.SchedulerParams
}

// NewTurn returns a turn of the command for deployment groups.
func (c *Command) NewTurn(groups []lease.Group) *turn.Turn {
	return turn.New(c.Cluster, c.Ledger, groups, turn.Options{
		By: turn.WhoRuns(), Version: c.Options.Version, Lasts: c.Options.Lasts, AssumeCrashed: c.Options.AssumeCrashed, Waiting: c.reportWaiting,
	})
}

// reportWaiting reports a command that this one waits for.
func (c *Command) reportWaiting(other *state.Announcement) {
	g := other.Groups[0] // an announcement without groups is unreadable
	c.Send(report.Event{
		Time: time.Now(), Action: report.Waiting, Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq},
		Kind: "lease", Name: g.String(), Message: other.InTheWay(),
	})
}

// InTurn runs work that writes for deployment groups in a turn of the command, and then ends the turn. work returns the groups for
// which it is unfinished. InTurn turns a panic into an error and still ends the turn, so that nobody waits for this command.
func (c *Command) InTurn(ctx context.Context, groups []lease.Group, work func(context.Context, *turn.Turn) (unfinished []lease.Group, err error)) error {
	t := c.NewTurn(groups)
	var unfinished []lease.Group
	err := parallel.Guard(func() (err error) {
		unfinished, err = work(t.Context(ctx), t)
		return err
	})
	if _, fault := errors.AsType[*parallel.FaultError](err); fault {
		unfinished = groups // any of them may be
	}
	t.Leave(unfinished...)
	return errors.Join(err, parallel.Guard(func() error { return t.Commit(ctx) }))
}

// CannotUndo reports whether an error forbids undoing anything: the API server is away, or another command works in
// place of this one.
func CannotUndo(err error) bool { return cluster.IsAway(err) || cluster.IsShut(err) }

// WaitEvery asks done until it is true or timeout has passed, and at least once: after each interval, and after what changes tells, which is
// called once the wait begins and may be nil. It returns report.ErrTimedOut. A dry run asks once and assumes success.
func (c *Command) WaitEvery(ctx context.Context, interval, timeout time.Duration, changes func(context.Context) <-chan struct{}, done wait.ConditionWithContextFunc) error {
	if timeout == 0 || !c.Cluster.Waits() {
		ok, err := done(ctx)
		if err == nil && !ok && c.Cluster.Waits() {
			return report.ErrTimedOut
		}
		return err
	}
	all := ctx
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var changed <-chan struct{}
	for {
		ok, err := done(ctx)
		if ok && err == nil {
			return nil
		}
		if err == nil {
			if changed == nil && changes != nil {
				changed = changes(ctx)
			}
			select {
			case <-tick.C:
				continue
			case <-changed:
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if wait.Interrupted(err) && all.Err() == nil {
			return report.ErrTimedOut
		}
		return err
	}
}

// Pause sleeps for d, or until the context ends. A dry run does not sleep.
func (c *Command) Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 || !c.Cluster.Waits() {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Would returns text in a dry run, and "" otherwise.
func (c *Command) Would(text string) string {
	if c.Cluster.Waits() {
		return ""
	}
	return text
}

// Passed reports whether a time has passed. A dry run assumes so.
func (c *Command) Passed(t time.Time) bool { return !t.After(c.Cluster.Now()) || !c.Cluster.Waits() }
