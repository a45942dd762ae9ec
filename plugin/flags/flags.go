// Package flags has the flags and arguments that several commands take.
package flags

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// AddTarget adds the flag that names a kind of route.
func AddTarget(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "target", "", "The kind of route: ingress, httproute or route (OpenShift). By default the kind in the provider's configuration")
	Complete(cmd, "target", config.TargetIngress, config.TargetHTTPRoute, config.TargetRoute)
}

// CheckTarget refuses a kind of route that is not known.
func CheckTarget(value string) error {
	switch value {
	case "", config.TargetIngress, config.TargetHTTPRoute, config.TargetRoute:
		return nil
	}
	return usage.Errorf("--target must be 'ingress', 'httproute' or 'route', not %q", value)
}

// Complete gives a flag its possible values.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}

// FlagCrashedAfter names the flag of state and repair.
const FlagCrashedAfter = "crashed-after"

// AddCrashedAfter adds the flag that says which runs have crashed.
func AddCrashedAfter(cmd *cobra.Command, value *time.Duration) {
	cmd.Flags().DurationVar(value, FlagCrashedAfter, 2*time.Minute, "How long a run may write nothing before it counts as crashed")
}

// LedgerCluster is the value of --ledger that stands for the cluster.
const LedgerCluster = "cluster"
