package change

import (
	"time"

	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/spf13/cobra"
)

// crashedFlags say which runs count as crashed.
type crashedFlags struct {
	after  time.Duration
	assume bool
}

const (
	flagAssumeCrashed = "assume-crashed"

	// leastCrashedAfter is for how long a run that works may write nothing: a slow API server, or a
	// laptop that was closed for a moment, keeps it from writing.
	leastCrashedAfter = time.Minute
)

func (f *crashedFlags) add(cmd *cobra.Command) {
	flags.AddCrashedAfter(cmd, &f.after)
	cmd.Flags().BoolVar(&f.assume, flagAssumeCrashed, false, "Allow --crashed-after below 1m: a run that only works slowly counts as crashed too, and loses what it has taken")
}

func (f *crashedFlags) check() error {
	if f.after < leastCrashedAfter && !f.assume {
		return usage.Errorf("--crashed-after must be at least %s, not %s: a run may work and write nothing for that long, and would lose what it has taken. If no run is under way, add --assume-crashed", "1m", f.after)
	}
	return nil
}
