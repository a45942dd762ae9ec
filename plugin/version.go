package plugin

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// version is set by the linker; a build without it says what the module system knows.
var version string

// buildInfo is what `version -o json` prints.
type buildInfo struct {
	Version    string `json:"version"`
	Commit     string `json:"gitCommit,omitempty"`
	GoVersion  string `json:"goVersion"`
	Platform   string `json:"platform"`
	Kubernetes string `json:"clientGoVersion,omitempty"`
}

func versionOf() buildInfo {
	info := buildInfo{Version: version, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if info.Version == "" {
		info.Version = build.Main.Version
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			info.Commit = s.Value
		}
	}
	for _, dep := range build.Deps {
		if dep.Path == "k8s.io/client-go" {
			info.Kubernetes = dep.Version
		}
	}
	return info
}

func newVersion(c *cli) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the plugin",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info := versionOf()
			switch output {
			case "":
				_, err := fmt.Fprintf(c.Out, "kubectl akash-net %s\n", info.Version)
				return err
			case "json":
				return emit.WriteJSON(c.Out, info)
			case "yaml":
				return emit.WriteYAML(c.Out, info)
			}
			return usage.Errorf("--output must be 'yaml' or 'json', not %q", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "One of 'yaml' or 'json'")
	completeFlag(cmd, "output", "json", "yaml")
	return c.setScope(cmd, scope{offline: never, unconfigured: true})
}

// completeFlag gives a flag its possible values.
func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}
