package flags

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// LedgerCluster is the value of --ledger for the cluster.
const LedgerCluster = "cluster"

// Ledger is the flag that names the ledger: the cluster, or files that take its place.
type Ledger struct{ names []string }

// Add adds the flag. what describes it; initial are its values if it is not given.
func (l *Ledger) Add(cmd *cobra.Command, what string, initial ...string) {
	cmd.Flags().StringArrayVar(&l.names, "ledger", initial,
		what+": 'cluster', or files, or folders of files, with a cluster's objects; - is standard input")
	cobra.CheckErr(cmd.MarkFlagFilename("ledger", "json", "yaml", "yml"))
}

// Check refuses names that exclude one another, and a standard input that is read twice. in are the other files of the command.
func (l *Ledger) Check(in *files.Flags) error {
	switch {
	case len(l.names) > 1 && l.IsCluster():
		return usage.Errorf("--ledger: 'cluster' cannot be used together with files")
	case slices.Contains(l.names, ""):
		return usage.Errorf("--ledger must be 'cluster', a file or a folder, not %q", "")
	case l.IsInput() && slices.Contains(in.Files, "-"):
		return usage.Errorf("-f and --ledger cannot both be standard input")
	}
	return nil
}

// IsCluster reports whether the ledger is the cluster's.
func (l *Ledger) IsCluster() bool { return slices.Contains(l.names, LedgerCluster) }

// IsInput reports whether standard input is a part of the ledger.
func (l *Ledger) IsInput() bool { return slices.Contains(l.names, "-") }

// IsFiles reports whether files take the place of a cluster.
func (l *Ledger) IsFiles() bool { return len(l.names) > 0 && !l.IsCluster() }

// Read reads the objects in the files; see files.Ledger.
func (l *Ledger) Read(
	ctx context.Context, stdin io.Reader, limits config.Limits, once bool, take func(*unstructured.Unstructured),
) (lease.Problems, error) {
	return files.Ledger(ctx, stdin, l.names, limits, once, take)
}
