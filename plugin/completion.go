package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

func newCompletion(c *session.Session) *cobra.Command {
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
			const choose = "name a shell (bash, zsh, fish or powershell), or use --install"
			switch {
			case install && len(args) > 0:
				return usage.Errorf("--install takes no shell")
			case !install && len(args) != 1:
				return usage.Errorf(choose)
			case !install && !slices.Contains(cmd.ValidArgs, args[0]):
				return usage.Errorf("there is no completion for %q; %s", args[0], choose)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if install {
				return installCompletion(c)
			}
			root := cmd.Root()
			root.Annotations = nil // the script completes kubectl-akash_net, not kubectl
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
	cmd.Flags().BoolVar(&install, "install", false,
		"Create the link through which kubectl finds the completions, next to this program")
	return c.SetScope(cmd, session.Scope{Offline: session.AlwaysOffline, Unconfigured: true})
}

func installCompletion(c *session.Session) error {
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
		return fmt.Errorf("the link for completion could not be made: %w; make it in a folder of your PATH: ln -s %s DIR/%sakash_net",
			err, program, completionName)
	}
	fmt.Fprintf(c.Out, "%s created\n", link)
	return nil
}
