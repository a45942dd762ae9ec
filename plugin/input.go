package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// inputFlags say where lease definitions come from.
type inputFlags struct {
	files.Flags
	lease       string
	fromCluster bool
}

func (f *inputFlags) add(cmd *cobra.Command) {
	f.Add(cmd, "Files, or folders of files, with lease definitions, SDLs or manifests; - is standard input")
	cmd.Flags().StringVar(&f.lease, "lease", "", "OWNER/DSEQ/GSEQ/OSEQ/PROVIDER: the lease of an input without one (an SDL, a manifest)")
	cmd.Flags().BoolVar(&f.fromCluster, "from-cluster", false, "Read the Manifest objects of Akash's provider from the cluster; with --lease only that lease's")
}

// inputOptions are input flags that make sense.
type inputOptions struct {
	inputFlags
	id *lease.ID
	// workloads is true where what the services run is read too.
	workloads bool
}

func (f *inputFlags) toOptions(c *console) (*inputOptions, error) {
	o := &inputOptions{inputFlags: *f}
	if len(f.Files) == 0 && !f.fromCluster {
		return nil, usage.Errorf("must specify one of -f and --from-cluster")
	}
	if len(f.Files) > 0 && f.fromCluster {
		return nil, usage.Errorf("-f and --from-cluster cannot be used together")
	}
	if f.lease == "" {
		return o, nil
	}
	var err error
	o.id, err = c.parseLease("--lease", f.lease)
	return o, err
}

// parseLease reads a lease that a flag names, and doubts addresses that look mistyped.
func (c *console) parseLease(flag, typed string) (*lease.ID, error) {
	id, err := lease.ParseID(leaseArgument(typed))
	if err != nil {
		return nil, usage.Errorf("%s: %w", flag, err)
	}
	for _, address := range []string{id.Owner, id.Provider} {
		if !lease.ChecksumOK(address) {
			fmt.Fprintf(c.ErrOut, "Warning: %s: the checksum of %s is wrong; is there a typing error?\n", flag, address)
		}
	}
	return &id, nil
}

// namedLease is the lease that a flag names: in full, or by its deployment group where the ledger keeps the group's definition,
// or where the lease has a namespace.
func (c *connection) namedLease(ctx context.Context, from *cluster.Cluster, cfg *config.ProviderConfig, flag, typed string) (*lease.ID, error) {
	typed = leaseArgument(typed)
	group, err := lease.ParseGroup(typed)
	if _, notFull := lease.ParseID(typed); err != nil || notFull == nil {
		return c.parseLease(flag, typed)
	}
	defs, err := apply.KeptDefinitions(ctx, from, cfg.LedgerNamespace, []lease.Group{group})
	if err != nil {
		return nil, err
	}
	for _, d := range defs {
		if strings.HasPrefix(d.Lease.String()+"/", typed+"/") {
			return &d.Lease, nil
		}
	}
	id, err := findLease(ctx, from, typed, group)
	if _, none := errors.AsType[*missingError](err); none {
		return nil, usage.Errorf("%s: the cluster does not know lease %s; name it in full, as OWNER/DSEQ/GSEQ/OSEQ/PROVIDER", flag, typed)
	}
	return &id, err
}

// read yields the definitions of all inputs, which may have limit bytes; 0 sets no bound. Problems of the inputs are its error when there are
// errors among them; warnings are printed.
func (o *inputOptions) read(ctx context.Context, c *console, cluster *cluster.Cluster, cfg *config.ProviderConfig, limit int64, yield func(*lease.Definition) error) error {
	var problems lease.Problems
	note := func(found lease.Problems) {
		c.warn(found)
		problems = append(problems, found.Errors()...)
	}
	if o.fromCluster {
		if err := o.readCluster(ctx, cluster, cfg, note, yield); err != nil {
			return err
		}
	}
	err := o.Each(ctx, c.In, limit, func(r io.Reader, name string) error {
		found, err := input.Read(ctx, r, name, input.Options{Lease: o.id, DocumentSize: cfg.Limits.DocumentSize, Workloads: o.workloads}, func(def *lease.Definition) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return yield(def)
		})
		note(found)
		return err
	})
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

func (o *inputOptions) readCluster(ctx context.Context, cluster *cluster.Cluster, cfg *config.ProviderConfig, note func(lease.Problems), yield func(*lease.Definition) error) error {
	found := false
	err := apply.Manifests(ctx, cluster, cfg.ManifestNamespace, func(name string, data []byte) error {
		if o.id != nil && name != o.id.Namespace() {
			return nil
		}
		found = true
		def, problems := input.ManifestObject(name, data, input.Options{Workloads: o.workloads})
		note(problems)
		if def == nil {
			return nil
		}
		return yield(def)
	})
	if err == nil && o.id != nil && !found {
		return lease.Problems{{Message: fmt.Sprintf("no Manifest object of lease %s is in namespace %s", o.id, cfg.ManifestNamespace)}}
	}
	return err
}

// collect reads all definitions.
func (o *inputOptions) collect(ctx context.Context, c *console, cluster *cluster.Cluster, cfg *config.ProviderConfig) ([]*lease.Definition, error) {
	var defs []*lease.Definition
	err := o.read(ctx, c, cluster, cfg, cfg.Limits.InputSize, func(def *lease.Definition) error {
		defs = append(defs, def)
		return nil
	})
	return defs, err
}

func (c *connection) readConfig(r io.Reader, name string) (*config.ProviderConfig, error) {
	cfg, problems, err := config.Read(r, name)
	if err != nil {
		return nil, err
	}
	c.warn(problems)
	if errs := problems.Errors(); len(errs) > 0 {
		return nil, errs
	}
	return cfg, nil
}
