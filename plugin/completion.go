package plugin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

func newCompletion(c *cli) *cobra.Command {
	var install bool
	cmd := &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell | completion --install",
		Short: "Set up shell completion",
		Long: `
			kubectl completes "kubectl akash-net …" by running a program named kubectl_complete-akash_net on the
			PATH. This program acts as that one if it is called by that name, so a link is enough: --install
			creates it next to the program.

			With the name of a shell, the script that completes the program itself (kubectl-akash_net …) is
			printed.`,
		Example: `
			kubectl akash-net completion --install

			source <(kubectl-akash_net completion bash)`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args: func(cmd *cobra.Command, args []string) error {
			if install {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if install {
				return c.installCompletion()
			}
			root := cmd.Root()
			root.Annotations = nil // the script completes the program, not kubectl
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(c.Out, true)
			case "zsh":
				return root.GenZshCompletion(c.Out)
			case "fish":
				return root.GenFishCompletion(c.Out, true)
			}
			return root.GenPowerShellCompletionWithDesc(c.Out)
		},
	}
	cmd.Flags().BoolVar(&install, "install", false, "Create the link through which kubectl finds the completions, next to this program")
	return c.setScope(cmd, scope{offline: never, unconfigured: true})
}

func (c *cli) installCompletion() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	link := filepath.Join(filepath.Dir(program), completionName+"akash_net")
	if target, err := os.Readlink(link); err == nil && target == filepath.Base(program) {
		fmt.Fprintf(c.Out, "%s is there already\n", link)
		return nil
	}
	if err := os.Symlink(filepath.Base(program), link); err != nil {
		return fmt.Errorf("the link for completion could not be made: %w; make it in a folder of your PATH: ln -s %s DIR/%sakash_net", err, program, completionName)
	}
	fmt.Fprintf(c.Out, "%s created\n", link)
	return nil
}

// complete offers what the cluster tells within a second; nothing where it does not.
func (c *connection) complete(offer func(ctx context.Context, cluster *cluster.Cluster, cfg *config.ProviderConfig, toComplete string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		cluster, cfg, err := c.open(ctx, stateRequests)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		out, err := offer(ctx, cluster, cfg, toComplete)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
