package flags

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// Input are the flags that name the sources of lease definitions.
type Input struct {
	files.Flags
	Lease       string
	FromCluster bool
	// Workloads is true to read the workloads of the leases too.
	Workloads bool
	// Warnings are those of the last Read.
	Warnings lease.Problems
	// order is what --lease names, provider the rest of it; empty if the configuration has it.
	order    lease.Order
	provider string
}

// Add adds the flags.
func (f *Input) Add(cmd *cobra.Command) {
	f.AddFiles(cmd)
	cmd.Flags().BoolVar(&f.FromCluster, "from-cluster", false,
		"Read the Manifest objects of Akash's provider from the cluster; with --lease only that lease's")
}

// AddFiles adds only the flags that name files.
func (f *Input) AddFiles(cmd *cobra.Command) {
	f.Flags.Add(cmd, "Files, or folders of files, with lease definitions, SDLs or manifests; - is standard input")
	cmd.Flags().StringVar(&f.Lease, "lease", "",
		"OWNER/DSEQ/GSEQ/OSEQ[/PROVIDER]: the lease of an input without one (an SDL, a manifest); the provider may be left out if the configuration has it, and a short name will do if the cluster knows the lease")
}

// NoFiles is the cobra.PositionalArgs of commands that take files, and no arguments.
func NoFiles(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage.Errorf("%q: files are named with -f: %s -f %s", args[0], cmd.CommandPath(), args[0])
	}
	return nil
}

// Given reports whether the flags name a source.
func (f *Input) Given() bool { return len(f.Files) > 0 || f.FromCluster }

// Check validates the flags and parses --lease.
func (f *Input) Check() error {
	switch {
	case !f.Given():
		return usage.Errorf("must specify one of -f and --from-cluster")
	case len(f.Files) > 0 && f.FromCluster:
		return usage.Errorf("-f and --from-cluster cannot be used together")
	case f.Lease != "":
		t, err := ParseLease("--lease", f.Lease)
		if err != nil {
			return err
		}
		if f.order, f.provider = t.ID.Order(), t.ID.Provider; t.ID == (lease.ID{}) {
			if f.order, err = lease.ParseOrder(TrimLease(f.Lease)); err != nil {
				return usage.Errorf("--lease: lease %q is not of the form OWNER/DSEQ/GSEQ/OSEQ[/PROVIDER]", lease.Clip(f.Lease))
			}
		}
	}
	return nil
}

// named returns the lease that --lease names, nil if it names none. The configuration has the provider that is left out. Call Check before.
func (f *Input) named(cfg *config.ProviderConfig) (*lease.ID, error) {
	if f.order == (lease.Order{}) {
		return nil, nil //nolint:nilnil // --lease is not given
	}
	id := f.order.Lease(cmp.Or(f.provider, cfg.Provider))
	if id.Provider == "" {
		return nil, usage.Errorf("--lease: lease %q is not of the form OWNER/DSEQ/GSEQ/OSEQ/PROVIDER, and the configuration has no provider to complete it",
			lease.Clip(f.Lease))
	}
	return &id, nil
}

// Read calls yield with each definition in the inputs. All files together may have limit bytes; 0 means no limit. Read prints
// warnings, and returns the errors in the inputs after it has read all of them.
func (f *Input) Read(
	ctx context.Context, c *console.Console, cluster *cluster.Cluster, cfg *config.ProviderConfig, limit int64,
	yield func(*lease.Definition) error,
) error {
	var problems lease.Problems
	f.Warnings = nil
	report := func(found lease.Problems) {
		c.Warn(found)
		f.Warnings = append(f.Warnings, found.Warnings()...)
		problems = append(problems, found.Errors()...)
	}
	id, err := f.named(cfg)
	if err != nil {
		return err
	}
	if f.FromCluster {
		if err := f.readCluster(ctx, cluster, cfg, id, report, yield); err != nil {
			return err
		}
	}
	opts := input.Options{Lease: id, DocumentSize: cfg.Limits.DocumentSize, Workloads: f.Workloads}
	err = f.Each(ctx, c.In, limit, func(r io.Reader, name string) error {
		found, err := input.Read(ctx, r, name, opts, func(def *lease.Definition) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return yield(def)
		})
		report(found)
		return err
	})
	if err == nil && len(problems) > 0 {
		return problems
	}
	return err
}

// readCluster reads the definitions in the cluster's Manifest objects, or in that of one lease.
func (f *Input) readCluster(
	ctx context.Context, cluster *cluster.Cluster, cfg *config.ProviderConfig, id *lease.ID, report func(lease.Problems),
	yield func(*lease.Definition) error,
) error {
	found := false
	err := observed.EachManifest(ctx, cluster, cfg.ManifestNamespace, func(name string, _ lease.Manifest, data []byte) error {
		if id != nil && name != id.Namespace() {
			return nil
		}
		found = true
		def, problems := input.ManifestObject(name, data, input.Options{Workloads: f.Workloads})
		report(problems)
		if def == nil {
			return nil
		}
		return yield(def)
	})
	if err == nil && id != nil && !found {
		return lease.Problems{{Message: fmt.Sprintf("no Manifest object of lease %s is in namespace %s", id, cfg.ManifestNamespace)}}
	}
	return err
}

// Collect returns all definitions in the inputs.
func (f *Input) Collect(
	ctx context.Context, c *console.Console, cluster *cluster.Cluster, cfg *config.ProviderConfig,
) ([]*lease.Definition, error) {
	var defs []*lease.Definition
	err := f.Read(ctx, c, cluster, cfg, cfg.Limits.InputSize, func(def *lease.Definition) error {
		defs = append(defs, def)
		return nil
	})
	return defs, err
}
