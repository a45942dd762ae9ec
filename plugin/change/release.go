package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/reconcile"
)

// releaseFlags are the flags of release.
type releaseFlags struct {
	leaseCommand
	selection
	deleteNamespace, force bool
}

// NewRelease returns the command that gives up what leases hold.
func NewRelease(c *session.Session) *cobra.Command {
	f := &releaseFlags{leaseCommand: leaseCommand{c: c}}
	cmd := &cobra.Command{
		Use:   "release (LEASE [HOST|ADDRESS|ENDPOINT...] | LEASE... | -f FILE | -l SELECTOR | --all)",
		Short: "Give up what leases hold",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.files = f.input.Given()
			err := f.check(args, "release", "-f, -l and --all")
			switch {
			case err == nil && f.files:
				err = f.input.Check()
			case err == nil && f.input.Lease != "":
				err = usage.Errorf("--lease names the lease of an input without one, and requires -f; to release it: release %s", f.input.Lease)
			}
			if err != nil {
				return err
			}
			f.namespace = session.GivenNamespace(cmd)
			f.short = !slices.Equal(args, cmd.Flags().Args())
			return f.run(cmd.Context(), args)
		},
		ValidArgsFunction: completeRelease(c),
	}
	f.leaseCommand.add(cmd, "")
	f.addWait(cmd,
		"until objects with finalizers, or that Akash's operators delete, are gone before giving up their claims; and until "+
			"namespaces are gone")
	f.addBool(cmd, flagAssumeCrashed)
	flags.AddIgnoreMissing(cmd, &f.ignoreMissing)
	cmd.Flags().BoolVar(&f.force, "force", false, "Also release leases that a source of reconcile has named; while it is watched it brings them back")
	f.input.AddFiles(cmd)
	f.selection.add(cmd, "Release")
	cmd.Flags().BoolVar(&f.deleteNamespace, "delete-namespace", false,
		"Also delete the leases' namespaces, if \"apply\" created them and nothing else is in them")
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease, Namespace: func(args []string) string {
		if f.input.Given() {
			return "can be used only with --all or --selector; the definitions name their leases"
		}
		return session.OnlySelected(args)
	}})
}

// defined returns the names of the leases of which files have definitions. An error in a file stops the command.
func (f *releaseFlags) defined(ctx context.Context) (names []string, err error) {
	err = f.input.Read(ctx, &f.c.Console, f.cluster, f.cfg, 0, func(def *lease.Definition) error {
		names = append(names, def.Lease.String())
		return nil
	})
	if err == nil && len(names) == 0 {
		err = checkNotEmpty(nil, false)
	}
	return names, err
}

// parseRelease parses the arguments of release: leases, or one lease and things that it holds.
func parseRelease(args []string) (groups []lease.Group, things []thing.Thing, err error) {
	parsed, err := flags.ParseThings(args, thing.Lease, thing.Host, thing.Address, thing.Endpoint)
	if err != nil {
		return nil, nil, err
	}
	for i, t := range parsed {
		switch {
		case t.Kind == thing.Lease && len(things) == 0:
			if !slices.Contains(groups, t.Group) {
				groups = append(groups, t.Group)
			}
		case t.Kind == thing.Lease:
			return nil, nil, usage.Errorf("%s: name the lease first, and then what it gives up", args[i])
		case len(groups) == 0:
			return nil, nil, usage.Errorf("%s: name the lease (OWNER/DSEQ/GSEQ) first, and then what it gives up", args[i])
		case len(groups) > 1:
			return nil, nil, usage.Errorf("%s: things of one lease are released at a time", args[i])
		default:
			things = append(things, t)
		}
	}
	return groups, things, nil
}

// namedLeases returns the leases among the arguments that are named by their order, with or without the provider.
func namedLeases(args []string) []lease.ID {
	var named []lease.ID
	for _, arg := range args {
		arg = flags.TrimLease(arg)
		if id, err := lease.ParseID(arg); err == nil {
			named = append(named, id)
		} else if o, err := lease.ParseOrder(arg); err == nil {
			named = append(named, lease.ID{Owner: o.Owner, DSeq: o.DSeq, GSeq: o.GSeq, OSeq: o.OSeq})
		}
	}
	return named
}

// question returns what to ask before a release.
func (f *releaseFlags) question(groups []lease.Group, things []thing.Thing) string {
	if !f.short {
		return fmt.Sprintf("Release everything held by %s?", lease.Count(len(groups), "lease"))
	}
	what := "everything"
	for i, t := range things {
		if what += ", " + t.String(); i == 0 {
			what = t.String()
		}
	}
	of := make([]string, len(groups))
	for i, g := range groups {
		of[i] = g.String()
	}
	return fmt.Sprintf("Release %s held by %s?", what, strings.Join(of, ", "))
}

func (f *releaseFlags) run(ctx context.Context, args []string) error {
	groups, things, err := parseRelease(args)
	if err != nil {
		return err
	}
	if f.deleteNamespace && len(things) > 0 {
		return usage.Errorf("--delete-namespace releases whole leases; it cannot be used with %s", things[0])
	}
	names, err := claimNames(things, "release")
	if err != nil {
		return err
	}
	if err := f.open(ctx); err != nil {
		return err
	}
	switch {
	case f.files:
		if args, err = f.defined(ctx); err == nil {
			groups, _, err = parseRelease(args)
		}
		if err != nil {
			return err
		}
	case len(args) == 0:
		held := 0
		if groups, held, err = f.selected(ctx); err != nil {
			return err
		}
		if len(groups) == 0 {
			return f.nothing(&f.c.Console, held, "holds anything", f.ignoreMissing)
		}
	}
	if !f.confirm(&f.c.Console, f.dryRun, len(groups), f.question(groups, things)) {
		return errors.New("nothing was released; -y answers the question")
	}
	events := f.events()
	f.c.Leases = len(groups)
	watcher := newMissingWatcher(events.Report)
	opts := f.options(events)
	opts.Report, opts.DeleteNamespace, opts.Named = watcher.add, f.deleteNamespace, namedLeases(args)
	if !f.force {
		opts.Owned = []string{"", reconcile.OfEvents} // an event that was carried out does not come back
	}
	err = apply.New(f.cluster, opts).Release(ctx, groups, names...)
	switch {
	case err != nil || f.ignoreMissing:
		return err
	case len(things) > 0:
		return flags.MissingThings(things, watcher.notReleased, "%s is not held by lease %s", groups[0])
	}
	return watcher.missing(groups, sync.OnceValue(func() map[lease.Group]*reading.Holding {
		held, _ := reading.Groups(ctx, f.cluster, f.cfg.LedgerNamespace) // only to find one that is meant
		return held
	}))
}

// selected returns the deployment groups that match the selector and the namespace, and that have claims, or objects without
// one. held is the number of all such groups.
func (f *releaseFlags) selected(ctx context.Context) (groups []lease.Group, held int, err error) {
	all, err := reading.Releasable(ctx, f.cluster, f.cfg)
	if err != nil {
		return nil, 0, err
	}
	for g, holding := range all {
		set := labels.Set{
			lease.LabelManaged: "true", lease.LabelOwner: g.Owner,
			lease.LabelDSeq: strconv.FormatUint(g.DSeq, 10), lease.LabelGSeq: strconv.FormatUint(uint64(g.GSeq), 10),
		}
		if f.matches.Matches(set) && (f.namespace == "" || holding.Namespaces[f.namespace]) {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, lease.Group.Compare)
	return groups, len(all), nil
}

// completeRelease completes a lease, then leases and the things that the first one holds.
func completeRelease(c *session.Session) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		leases, directive := flags.CompleteThings(c, thing.Lease)(cmd, args, toComplete)
		if len(args) == 0 {
			return leases, directive
		}
		first, err := thing.Parse(args[0])
		if err != nil || first.Kind != thing.Lease {
			return nil, directive
		}
		held, directive := flags.CompleteThingsOf(c, first.Group, thing.Host, thing.Address)(cmd, args, toComplete)
		return append(held, leases...), directive
	}
}

// NewSuspend returns the command that takes leases from the reconciler.
func NewSuspend(c *session.Session) *cobra.Command {
	return newSuspend(c, true, &cobra.Command{
		Use:   "suspend LEASE...",
		Short: "Let the reconciler leave leases as they are",
	})
}

// NewResume returns the command that gives leases back to the reconciler.
func NewResume(c *session.Session) *cobra.Command {
	return newSuspend(c, false, &cobra.Command{
		Use:   "resume LEASE...",
		Short: "Let the reconciler go on with suspended leases",
	})
}

func newSuspend(c *session.Session, suspend bool, cmd *cobra.Command) *cobra.Command {
	var output, dryRun string
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage.Errorf("name a lease: %s OWNER/DSEQ/GSEQ", cmd.CommandPath())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		things, err := flags.ParseThings(args, thing.Lease)
		if err != nil {
			return err
		}
		var groups []lease.Group
		for _, t := range things {
			groups = append(groups, t.Group)
		}
		ctx := cmd.Context()
		to, cfg, err := c.Open(ctx, 1)
		if err != nil {
			return err
		}
		c.Leases = len(groups)
		events := console.NewEvents(&c.Console, output, dryRun)
		return apply.Suspend(ctx, to.DryRun(dryRun), cfg.LedgerNamespace, groups, suspend, events.Report)
	}
	cmd.ValidArgsFunction = flags.CompleteThings(c, thing.Lease)
	flags.AddDryRun(cmd, &dryRun)
	flags.AddEvents(cmd, &output, "")
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease})
}
