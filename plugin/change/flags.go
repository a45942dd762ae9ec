package change

import (
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/spf13/cobra"
)

func addAdopt(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "adopt", false, "Take over what objects of the same owner use without a claim, and with --workloads what Akash's provider has deployed for the lease")
}

func addOperators(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "operators", observed.OperatorsAuto, "Whether Akash's hostname and IP operators create routes and Services: one of 'auto' (if their Deployments are in namespace akash-services), 'on' and 'off'")
	flags.Complete(cmd, "operators", observed.OperatorsAuto, observed.OperatorsOn, observed.OperatorsOff)
}

func addAssumeServing(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "assume-serving", false, "When a route replaces another one, remove the old one even if no controller has reported that the new one serves")
}

func checkOperators(value string) error {
	switch value {
	case observed.OperatorsAuto, observed.OperatorsOn, observed.OperatorsOff:
		return nil
	}
	return usage.Errorf("--operators must be 'auto', 'on' or 'off', not %q", value)
}

func addOutput(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVarP(value, "output", "o", "", "One of 'events' (one JSON object per line) or 'name'")
	flags.Complete(cmd, "output", console.OutputEvents, console.OutputName)
}

func checkOutput(value string) error {
	if value != "" && value != console.OutputEvents && value != console.OutputName {
		return usage.Errorf("--output must be 'events' or 'name', not %q", value)
	}
	return nil
}

func addWait(cmd *cobra.Command, wait *bool, timeout *time.Duration, what string) {
	cmd.Flags().BoolVar(wait, "wait", true, "Wait "+what)
	cmd.Flags().DurationVar(timeout, "timeout", time.Minute, "How long to wait; after that the exit code is 5")
}

func addConcurrency(cmd *cobra.Command, value *int) {
	cmd.Flags().IntVar(value, "concurrency", 8, "The maximum number of concurrent requests")
}

// addAssumeCrashed adds the flag by which a command does not wait for another one.
func addAssumeCrashed(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, flagAssumeCrashed, false, "Treat another command that works on the same leases as crashed, without waiting until its announcement expires")
}

func checkConcurrency(value int) error {
	if value < 1 {
		return usage.Errorf("--concurrency must be at least 1")
	}
	return nil
}

// addDryRun adds kubectl's flag; without a value it means client, as it long did there.
func addDryRun(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "dry-run", "none", `Must be "none", "server", or "client". With client nothing is sent; with server each write is sent and not persisted`)
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "client"
	flags.Complete(cmd, "dry-run", "none", "client", "server")
}

func checkDryRun(value *string) error {
	switch *value {
	case "none":
		*value = ""
	case "", command.DryRunClient, command.DryRunServer:
	default:
		return usage.Errorf(`--dry-run must be "none", "server", or "client", not %q`, *value)
	}
	return nil
}

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
	cmd.Flags().BoolVar(&f.assume, flagAssumeCrashed, false, "Allow --crashed-after below 1m: a run that is only slow also counts as crashed, and loses what it has taken")
}

func (f *crashedFlags) check() error {
	if f.after < leastCrashedAfter && !f.assume {
		return usage.Errorf("--crashed-after must be at least %s, not %s: a run may work and write nothing for that long, and would lose what it has taken. If no run is under way, add --assume-crashed", "1m", f.after)
	}
	return nil
}
