package flags

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leasestatus"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// Input says where lease definitions come from.
type Input struct {
	files.Flags
	Lease       string
	FromCluster bool
	// Workloads is true where what the services run is read too.
	Workloads bool
	id        *lease.ID
}

// Add adds the flags.
func (f *Input) Add(cmd *cobra.Command) {
	f.Flags.Add(cmd, "Files, or folders of files, with lease definitions, SDLs or manifests; - is standard input")
	cmd.Flags().StringVar(&f.Lease, "lease", "", "OWNER/DSEQ/GSEQ/OSEQ/PROVIDER: the lease of an input without one (an SDL, a manifest)")
	cmd.Flags().BoolVar(&f.FromCluster, "from-cluster", false, "Read the Manifest objects of Akash's provider from the cluster; with --lease only that lease's")
}

// Given is true where the flags name something to read.
func (f *Input) Given() bool { return len(f.Files) > 0 || f.FromCluster }

// Check refuses flags that make no sense, and reads the lease that they name.
func (f *Input) Check(c *console.Console) (err error) {
	switch {
	case !f.Given():
		return usage.Errorf("must specify one of -f and --from-cluster")
	case len(f.Files) > 0 && f.FromCluster:
		return usage.Errorf("-f and --from-cluster cannot be used together")
	case f.Lease != "":
		f.id, err = parseLease(c, "--lease", f.Lease)
	}
	return err
}

// parseLease reads a lease that a flag names, and doubts addresses that look mistyped.
func parseLease(c *console.Console, flag, typed string) (*lease.ID, error) {
	id, err := lease.ParseID(LeaseArgument(typed))
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

// NamedLease is the lease that a flag names: in full, or by its deployment group where the ledger keeps the group's definition,
// or where the lease has a namespace.
func NamedLease(ctx context.Context, c *session.Session, from *cluster.Cluster, cfg *config.ProviderConfig, flag, typed string) (*lease.ID, error) {
	typed = LeaseArgument(typed)
	group, err := lease.ParseGroup(typed)
	if _, notFull := lease.ParseID(typed); err != nil || notFull == nil {
		return parseLease(&c.Console, flag, typed)
	}
	defs, err := observed.KeptDefinitions(ctx, from, cfg.LedgerNamespace, []lease.Group{group})
	if err != nil {
		return nil, err
	}
	for _, d := range defs {
		if strings.HasPrefix(d.Lease.String()+"/", typed+"/") {
			return &d.Lease, nil
		}
	}
	id, err := FindLease(ctx, from, typed, group)
	if _, none := errors.AsType[*MissingError](err); none {
		return nil, usage.Errorf("%s: the cluster does not know lease %s; name it in full, as OWNER/DSEQ/GSEQ/OSEQ/PROVIDER", flag, typed)
	}
	return &id, err
}

// Read yields the definitions of all inputs, which may have limit bytes; 0 sets no bound. Problems of the inputs are its error when there are
// errors among them; warnings are printed.
func (f *Input) Read(ctx context.Context, c *console.Console, cluster *cluster.Cluster, cfg *config.ProviderConfig, limit int64, yield func(*lease.Definition) error) error {
	var problems lease.Problems
	note := func(found lease.Problems) {
		c.Warn(found)
		problems = append(problems, found.Errors()...)
	}
	if f.FromCluster {
		if err := f.readCluster(ctx, cluster, cfg, note, yield); err != nil {
			return err
		}
	}
	err := f.Each(ctx, c.In, limit, func(r io.Reader, name string) error {
		found, err := input.Read(ctx, r, name, input.Options{Lease: f.id, DocumentSize: cfg.Limits.DocumentSize, Workloads: f.Workloads}, func(def *lease.Definition) error {
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

func (f *Input) readCluster(ctx context.Context, cluster *cluster.Cluster, cfg *config.ProviderConfig, note func(lease.Problems), yield func(*lease.Definition) error) error {
	found := false
	err := observed.Manifests(ctx, cluster, cfg.ManifestNamespace, func(name string, data []byte) error {
		if f.id != nil && name != f.id.Namespace() {
			return nil
		}
		found = true
		def, problems := input.ManifestObject(name, data, input.Options{Workloads: f.Workloads})
		note(problems)
		if def == nil {
			return nil
		}
		return yield(def)
	})
	if err == nil && f.id != nil && !found {
		return lease.Problems{{Message: fmt.Sprintf("no Manifest object of lease %s is in namespace %s", f.id, cfg.ManifestNamespace)}}
	}
	return err
}

// Collect reads all definitions.
func (f *Input) Collect(ctx context.Context, c *console.Console, cluster *cluster.Cluster, cfg *config.ProviderConfig) ([]*lease.Definition, error) {
	var defs []*lease.Definition
	err := f.Read(ctx, c, cluster, cfg, cfg.Limits.InputSize, func(def *lease.Definition) error {
		defs = append(defs, def)
		return nil
	})
	return defs, err
}

// FindLease is the lease that is typed in full, or the one of a group, or of an order, that has a namespace.
func FindLease(ctx context.Context, from *cluster.Cluster, typed string, group lease.Group) (lease.ID, error) {
	if id, err := lease.ParseID(typed); err == nil {
		return id, nil
	}
	found, err := leasestatus.Find(ctx, from, group)
	if err != nil {
		return lease.ID{}, err
	}
	if strings.Count(typed, "/") == 3 { // with the order's number
		found = slices.DeleteFunc(found, func(id lease.ID) bool { return id.Order().String() != typed })
	}
	switch len(found) {
	case 0:
		return lease.ID{}, &MissingError{What: []string{fmt.Sprintf("nothing runs for lease %s: no namespace has its labels", typed)}}
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, id := range found {
		names[i] = id.String()
	}
	return lease.ID{}, usage.Errorf("%s is of several leases; name one in full: %s", typed, strings.Join(names, ", "))
}
