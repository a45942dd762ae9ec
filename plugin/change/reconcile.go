package change

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/reconcile/sources"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Watch reconciles until the context ends.
type Watch func(context.Context, reconcile.Watching) error

// reconcileFlags are the flags of reconcile.
type reconcileFlags struct {
	leaseCommand
	files             files.Names
	source            string
	heal, fromCluster bool
	takeOver          bool
	bus               string
	maxDeletes        int
	watch             bool
	elect             bool
	resync            time.Duration
	listen            string
	// inPlace is where Akash's provider is answered in the place of its operators.
	inPlace string
	at      reconcile.Listen
}

// NewReconcile returns the command that brings leases to what sources say of them. watch is for --watch; nil if another program does that.
func NewReconcile(c *session.Session, watch Watch) *cobra.Command {
	f := &reconcileFlags{leaseCommand: leaseCommand{c: c}}
	cmd := &cobra.Command{
		Use:   "reconcile (-f FILE | --from-cluster | --heal | --events FILE) [--source NAME] [--watch]",
		Short: "Keep leases as their definitions say, once or for ever",
		Args:  flags.NoFiles,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.checkAll(); err != nil {
				return err
			}
			if err := f.run(cmd.Context(), watch); !f.watch || cmd.Context().Err() == nil {
				return err
			}
			return nil // it was stopped, if only while it began
		},
	}
	flags.AddFiles(cmd, &f.files, "Files, or folders of files, with lease definitions")
	f.proof.add(cmd, flagRequireProof, proofUsage)
	f.workloads.Add(cmd, "Apply")
	flags.AddTarget(cmd, &f.target)
	f.add(cmd, "")
	f.addBool(cmd, "adopt", "assume-serving", flagAssumeCrashed)
	cmd.Flags().StringVar(&f.source, "source", "", "Record the leases of the files under this name, and release those of its leases that the files do not define")
	cmd.Flags().BoolVar(&f.fromCluster, "from-cluster", false,
		"Also apply the Manifests of Akash's provider in the cluster, and release the leases whose Manifests are gone")
	cmd.Flags().BoolVar(&f.takeOver, "take-over", false, "Also apply leases that the ledger keeps for another source; they are this one's from then on")
	f.addEvents(cmd)
	cmd.Flags().BoolVar(&f.heal, "heal", false, "Also keep the leases that no file defines as the ledger says that they were applied last")
	cmd.Flags().BoolVar(&f.allowEmpty, "allow-empty", false, "Accept files that define nothing; with --source that releases all of its leases")
	cmd.Flags().IntVar(&f.maxDeletes, "max-deletes", -1, "How many leases of the source may be released within --resync; a negative number means a tenth of them, rounded up")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "Go on until the command is stopped")
	cmd.Flags().BoolVar(&f.elect, "leader-elect", true, "With --watch work only while no other command does that watches")
	cmd.Flags().DurationVar(&f.resync, "resync", 10*time.Minute, "With --watch decide everything anew after this time, though nothing is seen to have changed")
	cmd.Flags().StringVar(&f.listen, "listen", "",
		"With --watch answer over HTTP at this port of 127.0.0.1, or at this ADDRESS:PORT over TLS: health, metrics, what is held and what fails")
	cmd.Flags().StringVar(&f.inPlace, "listen-as-operators", "",
		"With --watch answer Akash's provider in the place of its operators, at this port of 127.0.0.1, or at this ADDRESS:PORT: over plain HTTP and without a token, which only the provider may reach")
	cmd.Flags().StringVar(&f.at.CertFile, "tls-cert-file", "", "The certificate for --listen, in PEM; read again when it changes")
	cmd.Flags().StringVar(&f.at.KeyFile, "tls-private-key-file", "", "The key of the certificate")
	return cmd
}

func (f *reconcileFlags) checkAll() error {
	if err := cmp.Or(f.proof.check(), f.checkEvents()); err != nil {
		return err
	}
	switch {
	case !f.hasStates() && f.bus == "":
		return usage.Errorf("must specify one of -f, --from-cluster, --heal and --events")
	case f.source == reconcile.OfManifests:
		return usage.Errorf("--source: %s is the name of the Manifests in the cluster (--from-cluster)", f.source)
	case f.source == reconcile.OfEvents:
		return usage.Errorf("--source: %s is the name of leases whose manifests came with events (--events)", f.source)
	case f.watch && slices.Contains(f.files.Files, "-"):
		return usage.Errorf("- cannot be watched: name files and folders")
	case f.resync < time.Second:
		return usage.Errorf("--resync must be at least one second")
	}
	var err error
	if f.at.Operators, err = reconcile.ParseListen(f.inPlace); err != nil {
		return usage.Errorf("--listen-as-operators: %w", err)
	}
	if f.at.Address, err = reconcile.ParseListen(f.listen); err != nil {
		return usage.Errorf("--listen: %w", err)
	}
	if err := kept.CheckSource(f.source); err != nil {
		return usage.Errorf("--source: %w", err)
	}
	return nil
}

// hasStates reports whether anything says what leases are to be.
func (f *reconcileFlags) hasStates() bool { return len(f.files.Files) > 0 || f.heal || f.fromCluster }

func (f *reconcileFlags) run(ctx context.Context, watch Watch) error {
	if f.watch && watch == nil {
		return beThatProgram()
	}
	if err := f.open(ctx); err != nil {
		return err
	}
	to, cfg, shown := f.cluster, f.cfg, f.shown()
	opts := f.options(shown)
	p := &printer{console: &f.c.Console, output: f.output, next: opts.Report, last: map[lease.ID]string{}}
	unending := opts
	unending.Report, unending.Progress = p.report, nil
	limits := reconcile.Limits{Heal: f.heal, Manifests: f.fromCluster, TakeOver: f.takeOver, MaxDeletes: f.maxDeletes}
	if f.watch {
		limits.Per = f.resync
	}
	in := input.Options{DocumentSize: int64(cfg.Limits.DocumentSize), Workloads: opts.Workloads != nil}
	bus, err := f.carrier(shown, p, unending, in)
	if err != nil {
		return err
	}
	if !f.watch {
		r := reconcile.New(to, opts, limits)
		if f.hasStates() {
			err = f.once(ctx, r, in)
		}
		if bus != nil && ctx.Err() == nil {
			err = beside(err, carry(ctx, bus, to, r))
		}
		return err
	}
	var from []sources.Source
	var names []string
	if len(f.files.Files) > 0 {
		files, err := sources.NewFiles(f.files, in, int64(cfg.Limits.InputSize))
		if err != nil {
			return usage.Wrap(err)
		}
		files.AllowEmpty = f.allowEmpty
		from, names = append(from, files), append(names, f.source)
	}
	rest, err := f.c.REST()
	if err != nil {
		return err
	}
	return watch(ctx, reconcile.Watching{
		Rest: rest, Cluster: to, Command: unending, Limits: limits, Set: f.set(), Sources: from, Names: names, Manifests: f.manifests(in), Events: f.carrying(bus, p), Elect: f.elect, Resync: f.resync,
		Listen: f.at,
		Say:    p.say, Complain: p.complain, Warn: p.warn, Log: f.c.ErrOut,
	})
}

// set returns the sources by kind and name, so that no name is a word of another kind. Files without a name are known by their paths.
func (f *reconcileFlags) set() (set []string) {
	if f.source != "" {
		set = append(set, "files/"+f.source)
	} else {
		for _, path := range f.files.Files {
			set = append(set, "path/"+path)
		}
	}
	for name, asked := range map[string]bool{reconcile.OfManifests: f.fromCluster, reconcile.OfEvents: f.bus != "", "heal": f.heal} {
		if asked {
			set = append(set, name)
		}
	}
	slices.Sort(set)
	return set
}

// once does what is due, and then what is due after that: a lease that has been emptied is released.
func (f *reconcileFlags) once(ctx context.Context, r *reconcile.Reconciler, in input.Options) error {
	var unread []error
	says := func(place int, name string, set sources.Set) {
		f.c.Warn(set.Warnings)
		r.Says(place, reconcile.SaidOf(name, set))
		unread = append(unread, set.Err)
	}
	if len(f.files.Files) > 0 {
		set, err := f.read(ctx, in, int64(f.cfg.Limits.InputSize))
		if err != nil {
			return err
		}
		says(0, f.source, set)
	}
	if read := f.manifests(in); read != nil {
		says(1, reconcile.OfManifests, read(ctx, f.cluster))
	}
	return beside(report.Gather(unread), r.Once(ctx))
}

// manifests returns how the Manifests in the cluster are read; nil if they are no source.
func (f *reconcileFlags) manifests(in input.Options) func(context.Context, *cluster.Cluster) sources.Set {
	if !f.fromCluster && !f.heal {
		return nil
	}
	return func(ctx context.Context, from *cluster.Cluster) sources.Set {
		set, all, problems := sources.Set{Left: map[string]bool{}}, []*lease.Definition(nil), lease.Problems(nil)
		err := reading.EachManifest(ctx, from, f.cfg.ManifestNamespace, func(name string, version lease.Manifest, data []byte) error {
			def, about := input.ManifestObject(name, data, in)
			if problems, set.Left[name] = append(problems, about...), true; def != nil {
				def.Manifest = &version
				all = append(all, def)
			}
			return nil
		})
		switch {
		case cluster.IsMissingKind(err) && !f.fromCluster:
			return sources.Set{}
		case err != nil:
			return sources.Set{Err: err}
		}
		set.Warnings = problems.Warnings()
		set.Definitions, set.Err = ofManifests(all, problems.Errors(), f.cfg, f.allowEmpty)
		for _, def := range set.Definitions {
			delete(set.Left, def.Lease.Namespace()) // which the Manifest is named after
		}
		if set.Complete = true; !f.fromCluster {
			set.Err, set.Warnings = nil, nil // nothing of it is applied
		}
		return set
	}
}

// read reads the files once. Standard input may be one of them, which nobody can watch.
func (f *reconcileFlags) read(ctx context.Context, in input.Options, size int64) (set sources.Set, err error) {
	if !slices.Contains(f.files.Files, "-") {
		files, err := sources.NewFiles(f.files, in, size)
		if err != nil {
			return set, usage.Wrap(err)
		}
		files.AllowEmpty = f.allowEmpty
		return sources.Once(ctx, files)
	}
	var problems lease.Problems
	err = f.files.Each(ctx, f.c.In, size, func(r io.Reader, name string) error {
		defs, found, err := input.All(ctx, r, name, in)
		set.Definitions, problems = append(set.Definitions, defs...), append(problems, found...)
		return err
	})
	if unread, ok := errors.AsType[lease.Problems](err); ok {
		problems, err = append(problems, unread...), nil
	}
	return sources.SetOf(set.Definitions, problems, f.allowEmpty), err
}
