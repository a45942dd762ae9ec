package plugin

import (
	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// kubectlWords maps commands of kubectl that this program does not have to what does it here. Commands that do exactly the same have
// them as aliases.
var kubectlWords = map[string]string{
	"delete": "kubectl akash-net release LEASE",
	"create": "kubectl akash-net apply -f FILE",
	"edit":   "kubectl akash-net state lease LEASE -o yaml > FILE, then kubectl akash-net apply -f FILE",
	"wait":   "kubectl akash-net apply -f FILE --wait=DURATION",
	"hosts":  "kubectl akash-net state hosts",
	"ips":    "kubectl akash-net state ips",
	"pools":  "kubectl akash-net state pools",
	"patch":  "kubectl akash-net apply -f FILE",
	"run":    "kubectl akash-net apply -f FILE --workloads",
	"top":    "kubectl akash-net state resources",
}

// knownCommands is the cobra.PositionalArgs of the program itself: what is left there is no command.
func knownCommands(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var likely []string
	if here, ok := kubectlWords[args[0]]; ok {
		likely = append(likely, here)
	} else {
		for _, name := range root.SuggestionsFor(args[0]) {
			likely = append(likely, root.DisplayName()+" "+name)
		}
	}
	return usage.Unknown(root.DisplayName(), args[0], likely)
}
