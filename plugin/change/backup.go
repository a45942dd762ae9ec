package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/backup"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/install"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// NewBackup returns the command that prints the ledger.
func NewBackup(c *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Print the ledger as YAML, to restore it from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			from, cfg, err := c.Open(ctx, session.Requests)
			if err != nil {
				return err
			}
			ledger, err := backup.Read(ctx, from, cfg.LedgerNamespace)
			if err != nil {
				return err
			}
			out, err := emit.NewEncoder(c.Out, "yaml")
			if err != nil {
				return err
			}
			for _, o := range ledger.Objects() {
				if err := out.Encode(o.Object); err != nil {
					return err
				}
			}
			return out.Close()
		},
	}
	return c.SetScope(cmd, session.Scope{})
}

// restoreFlags are the flags of restore.
type restoreFlags struct {
	files       files.Names
	dryRun      string
	concurrency int
}

// NewRestore returns the command that brings back a ledger.
func NewRestore(c *session.Session) *cobra.Command {
	f := &restoreFlags{}
	cmd := &cobra.Command{
		Use:   "restore -f FILE",
		Short: "Bring back the ledger from a backup",
		Args:  flags.NoFiles,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(f.files.Files) == 0 {
				return usage.Errorf("must specify -f")
			}
			return f.run(cmd.Context(), c)
		},
	}
	flags.AddFiles(cmd, &f.files, "Files, or folders of files, with a backup; - is standard input")
	flags.AddDryRun(cmd, &f.dryRun)
	flags.AddConcurrency(cmd, &f.concurrency)
	return c.SetScope(cmd, session.Scope{})
}

func (f *restoreFlags) run(ctx context.Context, c *session.Session) error {
	var objects []*unstructured.Unstructured
	limits := config.Default().Limits
	limits.InputSize = 0 // a ledger has no limit either
	warnings, err := f.files.Objects(ctx, c.In, limits, true, func(o *unstructured.Unstructured) { objects = append(objects, o) })
	if c.Warn(warnings); err != nil {
		return err
	}
	to, err := c.Connect(f.concurrency)
	if err != nil {
		return err
	}
	to = to.DryRun(f.dryRun)
	cfg, ledger, err := f.open(ctx, c, to, objects)
	if err != nil {
		return install.Refused(err)
	}
	events := console.NewEvents(&c.Console, "", f.dryRun)
	created := false
	r := backup.Restorer{Cluster: to, Namespace: cfg.LedgerNamespace, Concurrency: f.concurrency, Report: func(e report.Event) {
		created = created || e.Action == report.Created
		events.Report(e)
	}}
	err = r.Restore(ctx, ledger.Records)
	if created && f.dryRun == "" {
		fmt.Fprintln(c.ErrOut, "What a backup does not hold, the managed fields by which leases own their claims, is written again by: kubectl akash-net repair")
	}
	return err
}

// open returns the ledger in the objects, and the configuration that it is restored with. It installs the ledger where there is none.
func (f *restoreFlags) open(
	ctx context.Context, c *session.Session, to *cluster.Cluster, objects []*unstructured.Unstructured,
) (*config.ProviderConfig, *backup.Ledger, error) {
	cfg, read, err := c.Configured(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	there := read.Text
	if c.ConfigFile != "" {
		o, err := to.ConfigMap(ctx, cfg.LedgerNamespace)
		if err != nil {
			return nil, nil, err
		}
		there, _, _ = cluster.ConfigText(o) // one without a configuration counts as none
	}
	ledger, problems := backup.Of(objects, cfg.LedgerNamespace)
	if problems.Failed() {
		return nil, nil, problems
	}
	namespace, err := to.Get(ctx, kinds.Namespace, "", cfg.LedgerNamespace)
	switch {
	case err != nil:
		return nil, nil, err
	case namespace != nil && (there != "" || read.Text+ledger.Config == ""):
		if ledger.Config != "" && ledger.Config != there {
			c.Warn(lease.Problems{{Warning: true, Message: "the configuration in the backup is another one than that of the cluster, which stays"}})
		}
		return cfg, ledger, nil
	}
	if c.ConfigFile == "" && read.Text == "" { // nothing configures the cluster: the backup does
		if read = (session.Document{Text: ledger.Config, Place: "configmap/config of the backup"}); read.Text == "" {
			return nil, nil, errors.New("neither the cluster nor the backup has the provider's configuration: name it with --config FILE")
		}
		if cfg, err = c.ReadConfig(read); err != nil {
			return nil, nil, err
		}
	}
	return cfg, ledger, newInstaller(c, to, cfg, f.dryRun).Install(ctx, read.Text, install.GuardNone)
}
