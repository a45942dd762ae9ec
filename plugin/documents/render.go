// Package documents has the commands that convert documents: render, convert, and render as a KRM function.
package documents

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
)

// renderFlags are the arguments and flags of render.
type renderFlags struct {
	input  flags.Input
	target string
	output string
	// outputDir is the folder that gets a file for each lease; "" to print the objects.
	outputDir string
	// prune is true to delete the files of leases that the input does not name.
	prune         bool
	ledger        flags.Ledger
	allowEmpty    bool
	withNamespace bool
	workloads     flags.Workloads
	// pools is true to print MetalLB's pools instead of the objects of leases.
	pools bool
}

// NewRender returns the command that prints the objects of leases.
func NewRender(c *session.Session) *cobra.Command {
	f := &renderFlags{}
	cmd := &cobra.Command{
		Use:       "render (-f FILE [--lease LEASE] | pools [-f FILE])",
		Short:     "Print the objects that leases need",
		ValidArgs: []string{poolsArgument},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) == 1 && args[0] == poolsArgument {
				return nil
			}
			return usage.Errorf("render takes files with -f, and %q as its only argument, not %q", poolsArgument, strings.Join(args, " "))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.pools = len(args) == 1; f.pools && f.withNamespace {
				return usage.Errorf("--with-namespace cannot be used with %q", poolsArgument)
			}
			if f.pools && f.workloads.Given() {
				return usage.Errorf("--workloads cannot be used with %q", poolsArgument)
			}
			if f.pools && f.outputDir != "" {
				return usage.Errorf("--output-dir cannot be used with %q, which belong to no lease", poolsArgument)
			}
			if err := cmp.Or(f.checkFolder(), f.ledger.Check(&f.input.Names)); err != nil {
				return err
			}
			if f.pools && !f.input.Given() {
				return renderRangePools(cmd.Context(), c, f)
			}
			if !f.pools && resourceListOnStdin(&c.Console, f.input.Files) {
				if f.withNamespace {
					return usage.Errorf("--with-namespace is not for a KRM function")
				}
				if f.outputDir != "" {
					return usage.Errorf("--output-dir is not for a KRM function")
				}
				return runFunction(cmd.Context(), c, f)
			}
			if err := f.input.Check(); err != nil {
				return err
			}
			return f.run(cmd.Context(), c)
		},
	}
	f.input.Add(cmd)
	f.workloads.Add(cmd, "Print")
	addShowSecrets(cmd, &f.workloads.ShowSecrets)
	flags.AddTarget(cmd, &f.target)
	flags.AddOutput(cmd, &f.output, emit.YAML, ", which is YAML files in --output-dir", emit.YAML, emit.JSON, emit.KYAML, outputFolder)
	f.ledger.Add(cmd, "The ledger with the addresses")
	cmd.Flags().BoolVar(&f.allowEmpty, "allow-empty", false, "Print nothing, instead of failing, if the leases need no objects")
	cmd.Flags().BoolVar(&f.prune, "prune", false,
		"Delete the files in --output-dir of leases that the input does not name. It deletes none if there is any error, and no file that "+
			"has other objects than those of its lease")
	cmd.Flags().StringVar(&f.outputDir, "output-dir", "",
		"The folder that gets a file for each lease (OWNER-DSEQ-GSEQ.yaml) instead of standard output. A lease with an error keeps its file")
	cmd.Flags().BoolVar(&f.withNamespace, "with-namespace", false,
		"Also print the leases' namespaces, each before the objects of its lease")
	return c.SetScope(cmd, session.Scope{Leases: session.LeaseFlag, Offline: func() bool { return !f.ledger.IsCluster() && !f.input.FromCluster }})
}

// outputFolder is the value of --output for a folder of YAML files.
const outputFolder = "dir"

// checkFolder validates the flags of --output-dir. The format "dir" is YAML in files.
func (f *renderFlags) checkFolder() error {
	switch {
	case f.output == outputFolder && f.outputDir == "":
		return usage.Errorf("-o dir writes files: name their folder with --output-dir")
	case f.prune && f.outputDir == "":
		return usage.Errorf("--prune deletes files: name their folder with --output-dir")
	case f.output == outputFolder:
		f.output = emit.YAML
	}
	return nil
}

// run prints the objects of the leases, or nothing if there is an error.
func (f *renderFlags) run(ctx context.Context, c *session.Session) error {
	r, err := f.renderer(ctx, c)
	if err != nil {
		return err
	}
	if f.outputDir != "" {
		return f.renderFiles(ctx, c, r)
	}
	return f.emitAll(&c.Console, func(emit func([]render.Object) error) error {
		return f.renderLeases(ctx, c, r, emit)
	})
}

// renderLeases emits the objects of each lease, or the pools that the leases need.
func (f *renderFlags) renderLeases(ctx context.Context, c *session.Session, r *renderer, emit func([]render.Object) error) error {
	err := f.each(ctx, c, r, func(def *lease.Definition) error {
		rendered, err := r.lease(def)
		if err != nil || len(r.problems) > 0 {
			return err
		}
		if f.pools {
			return nil
		}
		c.Warn(r.warnings(def))
		if f.withNamespace && len(rendered) > 0 && r.workloads == nil {
			rendered = slices.Insert(rendered, 0, namespaceOf(def.Lease))
		}
		return emit(rendered)
	})
	if err := joinProblems(err, r.problems); err != nil || !f.pools {
		return err
	}
	pools, err := r.pools()
	if err != nil {
		return err
	}
	return emit(pools)
}

// each calls do with each definition as it is read. If addresses are proposed, it reads all definitions first, so that no
// proposed address is one that a later definition names.
func (f *renderFlags) each(ctx context.Context, c *session.Session, r *renderer, do func(*lease.Definition) error) error {
	if r.picker == nil {
		return f.input.Read(ctx, &c.Console, r.cluster, r.cfg, 0, do)
	}
	var defs []*lease.Definition
	err := f.input.Read(ctx, &c.Console, r.cluster, r.cfg, int64(r.cfg.Limits.InputSize), func(def *lease.Definition) error {
		defs = append(defs, def)
		r.keepNamedAddresses(def)
		return nil
	})
	for _, def := range defs {
		if failed := do(def); failed != nil {
			return failed
		}
	}
	return err
}

// open connects to the cluster if the flags need one, and reads the provider's configuration. That of the cluster counts only
// if its ledger is used.
func (f *renderFlags) open(ctx context.Context, c *session.Session) (in *cluster.Cluster, cfg *config.ProviderConfig, err error) {
	if f.ledger.IsCluster() || f.input.FromCluster {
		if in, err = c.Connect(session.Requests); err != nil {
			return nil, nil, err
		}
	}
	configuredBy := in
	if !f.ledger.IsCluster() {
		configuredBy = nil
	}
	if cfg, err = c.Configuration(ctx, configuredBy); err == nil && f.target != "" {
		cfg.Target = f.target
	}
	return in, cfg, err
}

func (f *renderFlags) renderer(ctx context.Context, c *session.Session) (*renderer, error) {
	in, cfg, err := f.open(ctx, c)
	if err != nil {
		return nil, err
	}
	r := newRenderer(cfg)
	r.cluster = in
	if !f.pools {
		if r.workloads, err = f.workloads.RenderOptions(ctx, r.cfg); err != nil {
			return nil, err
		}
		f.input.Workloads = r.workloads != nil
	}
	known, err := f.known(ctx, &c.Console, r.cluster, r.cfg)
	if err != nil {
		return nil, err
	}
	r.useLedger(known)
	if f.ledger.IsCluster() && !f.pools {
		r.manifests, err = reading.OperatorManifests(ctx, command.New(in, command.Options{Config: cfg, Operators: observed.OperatorsAuto}))
	}
	return r, err
}

func addShowSecrets(cmd *cobra.Command, into *bool) {
	cmd.Flags().BoolVar(into, "show-secrets", false,
		"Print the passwords of registries; otherwise they are omitted, with a warning on standard error")
}

// poolsArgument is the argument of "render pools".
const poolsArgument = "pools"

// renderRangePools prints the pools of all configured ranges. With --ledger it keeps the addresses of existing pools in these,
// as apply does.
func renderRangePools(ctx context.Context, c *session.Session, f *renderFlags) error {
	in, cfg, err := f.open(ctx, c)
	if err != nil {
		return err
	}
	switch cfg.IP.Mode {
	case config.ModeDedicated:
		return usage.Errorf("with ip.mode dedicated each leased address has a pool of its own: name the leases with -f")
	case config.ModePool:
		return f.emitAll(&c.Console, func(func([]render.Object) error) error { return nil })
	}
	known, err := f.known(ctx, &c.Console, in, cfg)
	if err != nil {
		return err
	}
	return f.emitAll(&c.Console, func(emit func([]render.Object) error) error {
		ranges, err := render.RangePools(cfg)
		if known != nil {
			ranges, err = observed.RangesBeside(cfg, known)
		}
		if err != nil {
			return err
		}
		return emit(ranges)
	})
}

// known returns the addresses and pools in the ledger that --ledger names, or nil without the flag.
func (f *renderFlags) known(ctx context.Context, c *console.Console, from *cluster.Cluster, cfg *config.ProviderConfig) (*observed.Known, error) {
	switch {
	case f.ledger.IsCluster():
		return reading.KnownOf(ctx, from, cfg.LedgerNamespace, f.pools)
	case f.ledger.IsFiles():
		return readLedger(ctx, c, &f.ledger, cfg)
	}
	return nil, nil
}

// usePool records that an address needs its pool. Without a ledger the first address of a pool suffices. With one, existing
// pools may have only a part of a range, so every address counts.
func (r *renderer) usePool(a netip.Addr) {
	if name, ok := r.cfg.PoolFor(a); ok && (r.known != nil || !r.poolNames[name]) {
		r.poolNames[name] = true
		r.used[a] = true
	}
}

// pools returns the pools that the rendered leases need.
func (r *renderer) pools() ([]render.Object, error) {
	addresses := slices.SortedFunc(maps.Keys(r.used), netip.Addr.Compare)
	if r.known != nil {
		return observed.Beside(r.cfg, addresses, r.known)
	}
	return render.Pools(r.cfg, addresses)
}
