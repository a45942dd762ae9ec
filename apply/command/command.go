// Package command is one run of the program: its connection and ledger, its options, its turn among other commands, and whom it
// reports to. All that is done for leases is done for a command.
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
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plan"
)

// The ways to run without changing anything.
const (
	// DryRunClient decides by what the cluster holds and sends no write.
	DryRunClient = cluster.DryRunClient
	// DryRunServer sends each write for the API server to judge and not to keep.
	DryRunServer = cluster.DryRunServer
)

// Options say how leases are applied.
type Options struct {
	Config *config.ProviderConfig
	// DryRun is empty, DryRunClient or DryRunServer.
	DryRun string
	// Prune removes what the leases no longer define.
	Prune bool
	// Wait is how long to wait for addresses to be granted; 0 does not wait.
	Wait time.Duration
	// Expires makes what is reserved a hold that ends after this time; 0 holds it for good.
	Expires time.Duration
	// Check only tells what may be done; it goes with DryRunClient.
	Check bool
	// Operators says whether Akash's operators make the routes of hosts and the Services of
	// addresses: OperatorsAuto, OperatorsOn or OperatorsOff (which the empty value is too).
	Operators string
	// AssumeServing takes a new route for served where no controller says so: then the old one goes.
	AssumeServing bool
	// AssumeCrashed takes other commands that are at work on the same leases for crashed, without waiting until their
	// announcements are over.
	AssumeCrashed bool
	// Version is that of the program, for the announcement of the command.
	Version string
	// Adopt lets a lease take over what objects of its own owner use without a claim, and what Akash's provider has
	// deployed of it.
	Adopt bool
	// Workloads say that what the leases run is applied too, of definitions that say it; nil leaves it alone.
	Workloads *Workloads
	// Prove is asked for every host that a lease wants, before anything is claimed for it; nil asks
	// for no proof.
	Prove Prove
	// DeleteNamespace deletes the namespaces of the leases that are released, where this program made them and
	// nothing else is in them.
	DeleteNamespace bool
	// Concurrency bounds the leases, and the objects of a lease, that are worked on at a time.
	Concurrency int
	// Only is the plan beyond which nothing is changed; nil sets no such bound.
	Only *plan.Plan
	// Refused says why the plan changes nothing for some of its leases.
	Refused map[lease.ID]error
	// Heal applies definitions that the ledger keeps: as far as their leases hold what they name.
	Heal bool
	// CrashedAfter is for how long a command may not have renewed its announcement before it counts as crashed, where
	// that is shorter than the announcement says; 0 is as it says.
	CrashedAfter time.Duration
	// Turn is the command's turn, once it has one.
	Turn *turn.Turn
	// Report receives the events, one at a time.
	Report func(report.Event)
	// Progress is told how many of all the works of a step are done; what they are is a plural.
	Progress func(what string, done, all int)
	// Plan receives what would be changed, one change at a time; it goes with DryRunClient.
	Plan func(lease.ID, plan.Change)
}

// Send reports an event. Events are reported one at a time.
func (c *Command) Send(e report.Event) {
	if c.Options.Report != nil {
		c.Report.Lock()
		defer c.Report.Unlock()
		c.Options.Report(e)
	}
}

// Counter tells how many works are done: none at first, and one more with each call of what it returns.
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

// Prove finds out whether a host, or a wildcard, is the owner's own. It returns how that is proved,
// in words, or why it is not.
type Prove func(ctx context.Context, owner, host string) (how string, err error)

// Command is one run of the program: its connection and ledger, its options, and whom it reports to.
type Command struct {
	Cluster *cluster.Cluster
	Ledger  ledger.Ledger
	Options Options
	// Patience is how long a run waits for another run that holds a thing and has not ended: it may yet give
	// the thing back.
	Patience wait.Backoff
	Report   sync.Mutex
}

// New begins a command on a cluster.
func New(c *cluster.Cluster, opts Options) *Command {
	if c = c.DryRun(opts.DryRun); !c.Waits() { //nolint:forbidigo // here the connection of a dry run is made
		opts.Wait = 0
	}
	book := ledger.New(c, opts.Config.LedgerNamespace)
	if opts.Turn != nil { // a part of another command's work knows whose runs have ended
		book = opts.Turn.Ledger()
	}
	return &Command{
		Cluster: c, Options: opts, Ledger: book,
		Patience: wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.6, Jitter: 0.3, Steps: 8},
	}
}

// ChangesOf are the changes that a run on a lease may make: its own, and those of what leases share. nil is any.
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

// AsPlanned is the error of the work on a lease: where the plan refuses the lease, and the work was kept from a change, that
// is why.
func (o Options) AsPlanned(id lease.ID, err error) error {
	if _, kept := errors.AsType[*report.MovedError](err); kept && o.Refused[id] != nil {
		return o.Refused[id]
	}
	return err
}

// Shared is true for the write of what several leases of a command may need: whichever comes first makes it.
func Shared(c plan.Change) bool {
	return c.Action != plan.Delete && slices.ContainsFunc(kinds.Pools, func(k kinds.Kind) bool { return k.Singular == c.Kind })
}

// Workloads say that what leases run is applied too, and how.
type Workloads struct {
	// Scheduler is what a reservation chose for the one lease, by the id of the resource unit; nil where that is not
	// given.
	Scheduler map[uint32]*lease.SchedulerParams
}
