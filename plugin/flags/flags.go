// Package flags has the flags and arguments that several commands take.
package flags

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leasestatus"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// AddColor adds --color. As for git, --color alone is --color=always.
func AddColor(cmd *cobra.Command, to *terminal.Color) {
	*to = terminal.ColorAuto
	flag := cmd.Flags().VarPF(to, "color", "", "Print colours: 'always', 'never', or 'auto' on a terminal, unless NO_COLOR is set")
	flag.NoOptDefVal = string(terminal.ColorAlways)
	complete(cmd, "color", []string{"auto", "always", "never"})
}

// FlagCrashedAfter is the name of a flag of state and repair.
const FlagCrashedAfter = "crashed-after"

// AddCrashedAfter adds --crashed-after.
func AddCrashedAfter(cmd *cobra.Command, value *time.Duration) {
	cmd.Flags().DurationVar(value, FlagCrashedAfter, 2*time.Minute, "How long a run may write nothing before it counts as crashed")
}

// TrimLease returns the name of a lease without the optional prefix "lease/".
func TrimLease(text string) string { return thing.TrimKind(text, thing.Lease) }

// ParseLease parses the name of a lease in a flag. It need not be the full name.
func ParseLease(flag, typed string) (thing.Thing, error) {
	t, err := thing.ParseLease(typed)
	if err != nil {
		return t, usage.Errorf("%s: %w", flag, err)
	}
	return t, nil
}

// NamedLease returns the lease that a flag names in full, or by its deployment group if the ledger keeps the group's
// definition or the lease has a namespace.
func NamedLease(ctx context.Context, from *cluster.Cluster, cfg *config.ProviderConfig, flag, typed string) (*lease.ID, error) {
	t, err := ParseLease(flag, typed)
	if err != nil {
		return nil, err
	}
	if t.ID != (lease.ID{}) {
		return &t.ID, nil
	}
	typed = TrimLease(typed)
	defs, err := reading.KeptDefinitions(ctx, from, cfg.LedgerNamespace, []lease.Group{t.Group})
	if err != nil {
		return nil, err
	}
	for _, d := range defs {
		if strings.HasPrefix(d.Lease.String()+"/", typed+"/") {
			return &d.Lease, nil
		}
	}
	id, err := FindLease(ctx, from, typed)
	if _, none := errors.AsType[*session.MissingError](err); none {
		order, err := lease.ParseOrder(typed)
		if err == nil && cfg.Provider != "" {
			id = order.Lease(cfg.Provider)
			return &id, nil
		}
		return nil, usage.Errorf("%s: the cluster does not know lease %s; "+
			"name it in full, as OWNER/DSEQ/GSEQ/OSEQ/PROVIDER", flag, typed)
	}
	return &id, err
}

// FindLease returns the lease that typed names in full, or the only lease of a deployment group or an order that has a
// namespace.
func FindLease(ctx context.Context, from *cluster.Cluster, typed string) (lease.ID, error) {
	t, err := thing.ParseLease(typed)
	if err != nil {
		return lease.ID{}, usage.Wrap(err)
	}
	if t.ID != (lease.ID{}) {
		return t.ID, nil
	}
	typed = TrimLease(typed)
	found, err := leasestatus.Find(ctx, from, t.Group)
	if err != nil {
		return lease.ID{}, err
	}
	if strings.Count(typed, "/") == 3 { // OWNER/DSEQ/GSEQ/OSEQ
		found = slices.DeleteFunc(found, func(id lease.ID) bool { return id.Order().String() != typed })
	}
	switch len(found) {
	case 0:
		return lease.ID{}, &session.MissingError{What: []string{fmt.Sprintf("nothing runs for lease %s: no namespace has its labels", typed)}}
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, id := range found {
		names[i] = id.String()
	}
	return lease.ID{}, usage.Errorf("%s is of several leases; name one in full: %s", typed, strings.Join(names, ", "))
}

// Group makes cmd a group of commands, which alone is its help.
func Group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.DisableFlagsInUseLine, cmd.SuggestionsMinimumDistance = true, 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var likely []string
		for _, name := range cmd.SuggestionsFor(args[0]) {
			likely = append(likely, cmd.CommandPath()+" "+name)
		}
		return usage.Unknown(cmd.CommandPath(), args[0], likely)
	}
	cmd.Run = func(cmd *cobra.Command, _ []string) { _ = cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// Args returns the cobra.PositionalArgs of commands that take from least to most arguments. needed says what they are.
func Args(least, most int, needed string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usage.Errorf("%s", needed)
		}
		return nil
	}
}

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
func (l *Ledger) Check(in *files.Names) error {
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
func (l *Ledger) Read(ctx context.Context, stdin io.Reader, limits config.Limits, once bool, take files.Take) (lease.Problems, error) {
	for _, name := range l.names {
		if _, err := os.Stat(name); name != "-" && errors.Is(err, fs.ErrNotExist) {
			return nil, usage.Errorf("--ledger must be 'cluster', a file or a folder; there is no file or folder %q", name)
		}
	}
	return files.Ledger(ctx, stdin, l.names, limits, once, take)
}
