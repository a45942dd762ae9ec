package session

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// completeConnection completes --context, --cluster and --user with the names in the kubeconfig.
func (c *Session) completeConnection(root *cobra.Command) {
	for flag, names := range map[string]func(clientcmdapi.Config) []string{
		"context": func(raw clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(raw.Contexts)) },
		"cluster": func(raw clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(raw.Clusters)) },
		"user":    func(raw clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(raw.AuthInfos)) },
	} {
		complete := func(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			raw, err := c.flags.ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			offered := slices.DeleteFunc(names(raw), func(name string) bool { return !strings.HasPrefix(name, toComplete) })
			return offered, cobra.ShellCompDirectiveNoFileComp
		}
		cobra.CheckErr(root.RegisterFlagCompletionFunc(flag, complete))
	}
}
