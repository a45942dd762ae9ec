// Package flags has the flags and arguments that several commands take.
package flags

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// targets are the values of flags that name a kind of route.
var targets = []string{config.TargetIngress, config.TargetHTTPRoute, config.TargetRoute}

// AddTarget adds --target, the kind of route.
func AddTarget(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "target", "",
		"The kind of route: ingress, httproute or route (OpenShift). By default the kind in the provider's configuration")
	Complete(cmd, "target", targets...)
}

// CheckTarget returns a usage error unless value is "" or a kind of route.
func CheckTarget(value string) error {
	return CheckOneOf("target", value, append([]string{""}, targets...)...)
}

// AddOutput adds --output, and completes its formats.
func AddOutput(cmd *cobra.Command, value *string, initial, description string, formats ...string) {
	cmd.Flags().StringVarP(value, "output", "o", initial, description)
	Complete(cmd, "output", formats...)
}

// Complete sets the values that the shell completes for a flag.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}

// CheckOneOf returns a usage error unless the flag's value is one of at least two values. An optional flag also has the value
// "", which the error does not list.
func CheckOneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	var quoted []string
	for _, v := range values {
		if v != "" {
			quoted = append(quoted, "'"+v+"'")
		}
	}
	last := len(quoted) - 1
	return usage.Errorf("--%s must be %s or %s, not %q", flag, strings.Join(quoted[:last], ", "), quoted[last], value)
}

// AddColor adds --color. As for git, --color alone is --color=always.
func AddColor(cmd *cobra.Command, to *terminal.Color) {
	*to = terminal.ColorAuto
	cmd.Flags().Var(to, "color", "Print colours: 'always', 'never', or 'auto' on a terminal, unless NO_COLOR is set")
	cmd.Flags().Lookup("color").NoOptDefVal = string(terminal.ColorAlways)
	Complete(cmd, "color", "auto", "always", "never")
}

// FlagCrashedAfter is the name of a flag of state and repair.
const FlagCrashedAfter = "crashed-after"

// AddCrashedAfter adds --crashed-after.
func AddCrashedAfter(cmd *cobra.Command, value *time.Duration) {
	cmd.Flags().DurationVar(value, FlagCrashedAfter, 2*time.Minute, "How long a run may write nothing before it counts as crashed")
}
