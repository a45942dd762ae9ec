package flags

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render/workload"
)

// Input are the flags that name the sources of lease definitions.
type Input struct {
	files.Names
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
	AddFiles(cmd, &f.Names, "Files, or folders of files, with lease definitions, SDLs or manifests; - is standard input")
	cmd.Flags().StringVar(&f.Lease, "lease", "",
		"OWNER/DSEQ/GSEQ/OSEQ[/PROVIDER]: the lease of an input without one (an SDL, a manifest); the provider is optional if the configuration has it, and a short name will do if the cluster knows the lease")
}

// AddFiles adds -f and -R to a command. what describes the contents of the files.
func AddFiles(cmd *cobra.Command, f *files.Names, what string) {
	cmd.Flags().StringSliceVarP(&f.Files, "filename", "f", nil, what)
	cmd.Flags().BoolVarP(&f.Recursive, "recursive", "R", false, "Also read the subfolders of the folders of --filename")
	cobra.CheckErr(cmd.MarkFlagFilename("filename", "json", "yaml", "yml"))
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
	opts := input.Options{Lease: id, DocumentSize: int64(cfg.Limits.DocumentSize), Workloads: f.Workloads}
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
	err := reading.EachManifest(ctx, cluster, cfg.ManifestNamespace, func(name string, _ lease.Manifest, data []byte) error {
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
func (f *Input) Collect(ctx context.Context, c *console.Console, cluster *cluster.Cluster, cfg *config.ProviderConfig) ([]*lease.Definition, error) {
	var defs []*lease.Definition
	err := f.Read(ctx, c, cluster, cfg, int64(cfg.Limits.InputSize), func(def *lease.Definition) error {
		defs = append(defs, def)
		return nil
	})
	return defs, err
}

// Workloads are the flags of commands that can process the workloads of leases.
type Workloads struct {
	workloads   bool
	Given       func() bool
	scheduler   string
	ShowSecrets bool
}

// Add adds the flags. verb begins the usage text.
func (f *Workloads) Add(cmd *cobra.Command, verb string) {
	cmd.Flags().BoolVar(&f.workloads, "workloads", false,
		verb+" the workloads of the leases too: namespaces, Manifests, Deployments, … (default: workloads.enabled of the "+
			"configuration)")
	f.Given = func() bool { return cmd.Flags().Changed("workloads") }
	cmd.Flags().StringVar(&f.scheduler, "scheduler-params", "",
		"A file with the scheduler params of a reservation for the only lease, as JSON or YAML, by the ids of resource units")
}

// Requested reports whether the command line requests workloads.
func (f *Workloads) Requested() bool { return f.Given() && f.workloads || f.scheduler != "" }

// RenderOptions returns the options for rendering workloads, or nil if neither the flags nor the configuration request them.
func (f *Workloads) RenderOptions(ctx context.Context, cfg *config.ProviderConfig) (*workload.Options, error) {
	w, _, err := f.Load(ctx, cfg)
	if w == nil || err != nil {
		return nil, err
	}
	return &workload.Options{Secrets: f.ShowSecrets, Scheduler: w.Scheduler}, nil
}

// Load returns the options for applying workloads, or nil if neither the flags nor the configuration request them. params is
// the text of the file with scheduler params, if there is one.
func (f *Workloads) Load(ctx context.Context, cfg *config.ProviderConfig) (w *command.Workloads, params []byte, err error) {
	enabled := cfg.Workloads.Enabled
	if f.Given() {
		enabled = f.workloads
	}
	switch {
	case !enabled && f.scheduler != "":
		return nil, nil, usage.Errorf("--scheduler-params requires --workloads")
	case !enabled:
		return nil, nil, nil
	case f.scheduler == "":
		return &command.Workloads{}, nil, nil
	}
	w = &command.Workloads{}
	err = files.Read(ctx, f.scheduler, func(r io.Reader, name string) (err error) {
		if params, err = io.ReadAll(io.LimitReader(r, maxScheduler+1)); err == nil {
			w.Scheduler, err = ReadParams(params, name)
		}
		return err
	})
	return w, params, err
}

// maxScheduler is the maximum size of scheduler params, in bytes.
const maxScheduler = 4 << 20

// ReadParams parses scheduler params: the choices of a reservation for a lease, by resource unit.
func ReadParams(text []byte, name string) (map[uint32]*lease.SchedulerParams, error) {
	if len(text) > maxScheduler {
		return nil, lease.Problems{{At: lease.Place{File: name, Line: 1, Column: 1}, Message: "scheduler params are longer than 4 MiB"}}
	}
	params, problems, err := input.ReadScheduler(bytes.NewReader(text), name)
	if err == nil && problems.Failed() {
		err = problems.Errors()
	}
	return params, err
}

// AddIgnoreMissing adds --ignore-not-found.
func AddIgnoreMissing(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "ignore-not-found", false, "Exit with 0 instead of 1 if something that is named does not exist")
}

// ParseThings parses arguments, each of which must name a thing of one of the kinds.
func ParseThings(args []string, kinds ...thing.Kind) ([]thing.Thing, error) {
	things := make([]thing.Thing, len(args))
	for i, arg := range args {
		t, err := thing.Parse(arg)
		if err != nil {
			return nil, usage.Wrap(err)
		}
		if !slices.Contains(kinds, t.Kind) {
			return nil, usage.Errorf("%s is not what this command takes: %s", t, DescribeKinds(kinds))
		}
		things[i] = t
	}
	return things, nil
}

// DescribeKinds returns the kinds with an example of each, for messages.
func DescribeKinds(kinds []thing.Kind) string {
	words := map[thing.Kind]string{
		thing.Host: "a host (host/shop.example.com)", thing.Address: "an address (address/203.0.113.7)",
		thing.Endpoint: "an IP endpoint (endpoint/public)", thing.Lease: "a lease (OWNER/DSEQ/GSEQ)",
		thing.Order: "an order (order/OWNER/DSEQ/GSEQ/OSEQ)",
	}
	texts := make([]string, len(kinds))
	for i, k := range kinds {
		texts[i] = words[k]
	}
	return strings.Join(texts, ", ")
}

// MissingThings returns a *session.MissingError with a message for each missing thing, or nil if there are none. The first verb of
// format is for the thing.
func MissingThings(things []thing.Thing, isMissing func(thing.Thing) bool, format string, args ...any) error {
	var what []string
	for _, t := range things {
		if isMissing(t) {
			what = append(what, fmt.Sprintf(format, append([]any{t}, args...)...))
		}
	}
	if len(what) == 0 {
		return nil
	}
	return &session.MissingError{What: what}
}

// CompleteThings completes things of the kinds that leases hold, and the leases.
func CompleteThings(c *session.Session, kinds ...thing.Kind) cobra.CompletionFunc {
	return CompleteThingsOf(c, lease.Group{}, kinds...)
}

// CompleteThingsOf completes things of the kinds that a deployment group holds. The zero group means all groups.
func CompleteThingsOf(c *session.Session, g lease.Group, kinds ...thing.Kind) cobra.CompletionFunc {
	return c.Complete(func(ctx context.Context, in *cluster.Cluster, cfg *config.ProviderConfig, prefix string) ([]string, error) {
		var out []string
		things, err := reading.HeldThings(ctx, in, cfg.LedgerNamespace, g)
		for _, t := range things {
			name := t.Name()
			if strings.HasPrefix(prefix, string(t.Kind)+"/") {
				name = t.String()
			}
			if t.Kind == thing.Lease {
				name, _ = thing.Complete(t.Group, prefix)
			}
			if slices.Contains(kinds, t.Kind) {
				out = append(out, name)
			}
		}
		return out, err
	})
}

// CompleteOrders completes the orders that have reservations.
func CompleteOrders(c *session.Session) cobra.CompletionFunc {
	return c.Complete(func(ctx context.Context, in *cluster.Cluster, cfg *config.ProviderConfig, _ string) ([]string, error) {
		var out []string
		claims, err := reservation.New(in, cfg).List(ctx)
		for _, claim := range claims {
			if claim.Unreadable == "" {
				out = append(out, claim.Order.String())
			}
		}
		return out, err
	})
}
