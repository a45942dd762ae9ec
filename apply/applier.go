package apply

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
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
	// heal applies definitions that the ledger keeps: as far as their leases hold what they name.
	heal bool
	// crashedAfter is for how long a command may not have renewed its announcement before it counts as crashed, where
	// that is shorter than the announcement says; 0 is as it says.
	crashedAfter time.Duration
	// turn is the command's turn, once it has one.
	turn *turn.Turn
	// Report receives the events, one at a time.
	Report func(Event)
	// Progress is told how many of all the works of a step are done; what they are is a plural.
	Progress func(what string, done, all int)
	// Plan receives what would be changed, one change at a time; it goes with DryRunClient.
	Plan func(lease.ID, plan.Change)
}

// Applier drives the cluster to definitions.
type Applier struct {
	cluster *cluster.Cluster
	ledger  ledger.Ledger
	opts    Options
	// patience is how long a run waits for another run that holds a thing and has not ended: it may yet give
	// the thing back.
	patience wait.Backoff
	report   sync.Mutex
}

// New makes an applier for a cluster.
func New(c *cluster.Cluster, opts Options) *Applier {
	if c = c.DryRun(opts.DryRun); !c.Waits() { //nolint:forbidigo // here the connection of a dry run is made
		opts.Wait = 0
	}
	book := ledger.New(c, opts.Config.LedgerNamespace)
	if opts.turn != nil { // a part of another command's work knows whose runs have ended
		book = opts.turn.Ledger()
	}
	return &Applier{
		cluster: c, opts: opts, ledger: book,
		patience: wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.6, Jitter: 0.3, Steps: 8},
	}
}

// Apply takes what each lease must hold, writes its objects, prunes, and waits. Leases are
// independent: each is all or nothing, and one that fails does not keep the others from going on.
// The error joins those of all leases.
func (a *Applier) Apply(ctx context.Context, defs []*lease.Definition) error {
	runs, err := a.prepare(defs)
	if err != nil {
		return err
	}
	errs := a.prove(ctx, runs)
	withAddresses := slices.ContainsFunc(runs, func(r *run) bool { return len(r.req.Endpoints) > 0 })
	for i, r := range runs {
		r.barred = errs[i]
	}
	return a.eachInTurn(ctx, runs, leaseWork{
		read: func(ctx context.Context, runs []*run) (*snapshot, error) {
			snapshot, err := a.readWith(ctx, reading{
				addresses: withAddresses, further: kinds.RecordsOf(a.opts.Config), definitions: groupsOf(runs), holders: !a.opts.heal,
			})
			if err == nil && a.opts.heal {
				for _, r := range runs {
					r.barred = cmp.Or(r.barred, r.narrow(snapshot))
				}
			}
			return snapshot, err
		},
		claim: (*run).claim,
		do:    (*run).applyClaimed,
		end:   (*run).awaitLive,
	})
}

// prepare judges all definitions before anything is read or written.
func (a *Applier) prepare(defs []*lease.Definition) ([]*run, error) {
	var problems lease.Problems
	runs := make([]*run, 0, len(defs))
	seen := map[lease.Group]lease.Place{}
	for _, def := range defs {
		routes := def.Routes()
		req, ps := state.NewRequest(routes, a.opts.Config)
		problems = append(append(problems, ps...), recordProblems(routes, a.opts.Config)...)
		group := def.Lease.Group()
		if first, twice := seen[group]; twice {
			problems.Add(def.At, "deployment group %s is defined twice in one run (first in %s)", group, first)
		}
		seen[group] = def.At
		r := a.newRun(routes, req)
		r.kinds = render.Kinds(routes, a.opts.Config)
		r.running = a.runs(r, def)
		runs = append(runs, r)
	}
	if errs := problems.Errors(); len(errs) > 0 {
		return nil, errs
	}
	return runs, nil
}

func (a *Applier) send(e Event) {
	if a.opts.Report != nil {
		a.report.Lock()
		defer a.report.Unlock()
		a.opts.Report(e)
	}
}
