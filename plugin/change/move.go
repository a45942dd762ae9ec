package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// migrateFlags are the flags of migrate.
type migrateFlags struct {
	leaseCommand
	selection
	to              string
	overlap, settle time.Duration
	keepOld         bool
}

// NewMigrate returns the command that moves routes to another kind.
func NewMigrate(c *session.Session) *cobra.Command {
	f := &migrateFlags{leaseCommand: leaseCommand{c: c}}
	cmd := &cobra.Command{
		Use:   "migrate --to KIND (LEASE... | -l SELECTOR | --all)",
		Short: "Move routes to another kind: Ingress, HTTPRoute or OpenShift Route",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return err
			}
			f.namespace = session.GivenNamespace(cmd)
			return f.run(cmd.Context(), args)
		},
		ValidArgsFunction: flags.CompleteThings(c, thing.Lease),
	}
	flags.AddTo(cmd, &f.to)
	f.leaseCommand.add(cmd, "")
	f.addBool(cmd, "assume-serving", flagAssumeCrashed)
	f.addWait(cmd,
		"until the new routes are accepted, where routers report it, and DNS points at them, before deleting the old ones")
	cmd.Flags().DurationVar(&f.overlap, "overlap", migrate.Overlap,
		"How long to keep both routes after the new ones are accepted, because routers need a moment to load them")
	cmd.Flags().DurationVar(&f.settle, "dns-settle", migrate.ForTTL,
		"How long to keep the old routes after DNS points at the new ones; if negative, for the TTL of the old records")
	cmd.Flags().BoolVar(&f.keepOld, "keep-old", false,
		"Keep the old routes, and their DNS records; run the same command without this flag to continue")
	flags.AddIgnoreMissing(cmd, &f.ignoreMissing)
	f.selection.add(cmd, "Migrate")
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease, Namespace: session.OnlySelected})
}

func (f *migrateFlags) check(args []string) error {
	err := cmp.Or(flags.CheckTarget("to", f.to), f.selection.check(args, "migrate", "-l and --all"))
	if err == nil && f.overlap < 0 {
		err = usage.Errorf("--overlap must not be negative")
	}
	return err
}

// selected reports whether a lease is selected. named are the named leases.
func (f *migrateFlags) selected(id lease.ID, named []thing.Thing) bool {
	return f.matches.Matches(labels.Set(id.Labels())) && (f.namespace == "" || id.Namespace() == f.namespace) &&
		(len(named) == 0 || slices.ContainsFunc(named, func(t thing.Thing) bool { return t.Group == id.Group() }))
}

// missing returns the error for named leases that have no route, or nil with --ignore-not-found.
func (f *migrateFlags) missing(named []thing.Thing, found []lease.ID) error {
	if f.ignoreMissing {
		return nil
	}
	return flags.MissingThings(named, func(t thing.Thing) bool {
		return !slices.ContainsFunc(found, func(id lease.ID) bool { return id.Group() == t.Group })
	}, "%s has no route; is its name right? \"kubectl akash-net leases\" lists the leases")
}

func (f *migrateFlags) run(ctx context.Context, args []string) error {
	named := make([]thing.Thing, len(args))
	for i, arg := range args {
		var err error
		if named[i], err = thing.ParseLease(arg); err != nil {
			return usage.Wrap(err)
		}
	}
	if err := f.open(ctx); err != nil {
		return err
	}
	configured := f.cfg.Target
	f.cfg.Target = f.to
	seen := map[lease.ID]bool{}
	choose := func(id lease.ID) bool {
		seen[id] = true
		return f.selected(id, named)
	}
	opts := f.options(f.events())
	if f.to != configured {
		opts.Target = f.to
	}
	if f.dryRun != "" {
		waited := kinds.OfTarget(f.to)
		if f.assumeServing && f.to == config.TargetIngress { // then nobody's word on Ingresses is waited for
			waited = nil
		}
		opts.Report = foresee(ctx, f.cluster, f.cfg, opts.Report, waited...).report
	}
	migration, err := migrate.Plan(ctx, command.New(f.cluster, opts), choose,
		migrate.Options{Overlap: f.overlap, Settle: f.settle, KeepOld: f.keepOld})
	if err != nil {
		return err
	}
	f.c.Leases = len(migration.Leases())
	missing := f.missing(named, migration.Leases())
	if f.c.Leases == 0 && missing != nil {
		return missing
	}
	if f.c.Leases == 0 {
		return f.nothing(&f.c.Console, len(seen), "has a route", f.ignoreMissing)
	}
	question := fmt.Sprintf("Migrate %s of %s?", lease.Count(migration.Routes(), "route"), lease.Count(f.c.Leases, "lease"))
	if migration.Routes() > 0 && !f.confirm(&f.c.Console, f.dryRun, f.c.Leases, question) {
		return errors.New("nothing was migrated; -y answers the question")
	}
	err = migration.Run(ctx)
	if configured != f.to {
		fmt.Fprintf(f.c.ErrOut, "Note: the provider's configuration says \"target: %s\", and the next apply writes that kind again. "+
			"Write \"target: %s\" there.\n", configured, f.to)
	}
	return cmp.Or(err, missing)
}

// transferFlags are the flags of transfer.
type transferFlags struct {
	leaseCommand
	to string
}

// NewTransfer returns the command that moves host names and addresses to another lease.
func NewTransfer(c *session.Session) *cobra.Command {
	f := &transferFlags{leaseCommand: leaseCommand{c: c, prune: true}}
	cmd := &cobra.Command{
		Use:   "transfer (HOST|ADDRESS|ENDPOINT)... --to LEASE [-f FILE]",
		Short: "Move host names and addresses to another lease of the same owner",
		Args:  flags.Args(1, math.MaxInt, "name the hosts or addresses to transfer"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.to == "" {
				return usage.Errorf("--to is missing: the lease that is to hold them")
			}
			things, err := flags.ParseThings(args, thing.Host, thing.Address, thing.Endpoint)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), things)
		},
		ValidArgsFunction: flags.CompleteThings(c, thing.Host, thing.Address),
	}
	cmd.Flags().StringVar(&f.to, "to", "",
		"OWNER/DSEQ/GSEQ[/OSEQ[/PROVIDER]]: the lease to move them to; in full if it is not in the cluster")
	_ = cmd.RegisterFlagCompletionFunc("to", flags.CompleteThings(c, thing.Lease))
	cmd.Flags().StringSliceVarP(&f.input.Files, "filename", "f", nil, "A definition of that lease, to apply with the transfer")
	flags.AddTarget(cmd, &f.target)
	f.add(cmd, "")
	f.addBool(cmd, "assume-serving", flagAssumeCrashed)
	f.addWait(cmd, "until the new routes serve, if the old ones stay until then")
	flags.AddIgnoreMissing(cmd, &f.ignoreMissing)
	return cmd
}

func (f *transferFlags) run(ctx context.Context, things []thing.Thing) error {
	names, err := claimNames(things, "transfer")
	if err != nil {
		return err
	}
	if f.to, err = f.c.Lengthen(ctx, f.to); err != nil {
		return err
	}
	if _, err := flags.ParseLease("--to", f.to); err != nil {
		return err
	}
	if err := f.open(ctx); err != nil {
		return err
	}
	to, err := flags.NamedLease(ctx, f.cluster, f.cfg, "--to", f.to)
	if err != nil {
		return err
	}
	f.input.Lease = to.String()
	var def *lease.Definition
	if len(f.input.Files) > 0 {
		if err := f.input.Check(); err != nil {
			return err
		}
		defs, err := f.input.Collect(ctx, &f.c.Console, f.cluster, f.cfg)
		if err != nil {
			return err
		}
		if len(defs) != 1 || defs[0].Lease != *to {
			return lease.Problems{{Message: "-f must hold the definition of the lease that --to names, and no other"}}
		}
		def = defs[0]
	}
	events := f.events()
	f.c.Leases = 1
	watcher := newMissingWatcher(events.Report)
	opts := f.options(events)
	opts.Report = watcher.add
	if f.dryRun != "" {
		ahead := foresee(ctx, f.cluster, f.cfg, opts.Report, kinds.Reporting...)
		opts.Report = ahead.report
		defer ahead.end()
	}
	err = apply.New(f.cluster, opts).Transfer(ctx, *to, names, def)
	if err != nil || f.ignoreMissing {
		return err
	}
	return flags.MissingThings(things, watcher.notFound, "%s has no claim that can be transferred")
}
