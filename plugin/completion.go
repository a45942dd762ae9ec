package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/docs"
	"github.com/akash-net/kubectl-akash-net/lease/lazy"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

func newCompletion(c *session.Session) *cobra.Command {
	var install bool
	cmd := &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell | completion --install",
		Short:     "Set up shell completion",
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
		"Create the link through which kubectl finds the completions, in the folder in which it finds this program")
	return c.SetScope(cmd, session.Scope{Offline: session.AlwaysOffline, Unconfigured: true})
}

// installCompletion makes the link where kubectl finds this program: beside the entry of the PATH that leads to it. A package
// manager keeps programs elsewhere (krew in its store) and puts a link to them on the PATH; the link for completion leads to that one,
// so it outlives an upgrade.
func installCompletion(c *session.Session) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	switch found, err := exec.LookPath(filepath.Base(program)); {
	case err != nil:
		fmt.Fprintf(c.ErrOut, "Warning: %s is not on the PATH: kubectl finds neither this program nor the link\n", filepath.Dir(program))
	case !sameFile(found, program):
		fmt.Fprintf(c.ErrOut, "Warning: kubectl runs %s, and not this program\n", found)
	default:
		program = found
	}
	link := filepath.Join(filepath.Dir(program), completionName+"akash_net"+filepath.Ext(program))
	if _, err := exec.LookPath(link); err == nil {
		fmt.Fprintf(c.Out, "%s is there already\n", link)
		return nil
	}
	if _, err := os.Stat(link); errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(link) // a link to a program that is gone
	}
	if err := os.Symlink(filepath.Base(program), link); err != nil {
		return fmt.Errorf("the link for completion could not be made: %w; make it in a folder of your PATH: ln -s %s DIR/%s",
			err, program, filepath.Base(link))
	}
	fmt.Fprintf(c.Out, "%s created\n", link)
	return nil
}

func sameFile(a, b string) bool {
	first, errFirst := os.Stat(a)
	second, errSecond := os.Stat(b)
	return errFirst == nil && errSecond == nil && os.SameFile(first, second)
}

// topics are what "help" explains beside the commands: sections of the pages of docs.
var topics = []struct{ name, short, page, heading string }{
	{"exit-codes", "What the exit codes mean", docs.Commands, "Exit codes"},
	{"names", "How hosts, addresses, leases and orders are named", docs.Commands, "Names"},
	{"states", "What the states of hosts, addresses and leases mean", docs.Commands, "States"},
	{"formats", "The output formats of the commands", docs.Commands, "Output"},
}

// newTopics returns the topics as commands that only have help.
func newTopics(c *session.Session) []*cobra.Command {
	var all []*cobra.Command
	for _, t := range topics {
		cmd := &cobra.Command{Use: t.name, Short: t.short, Hidden: true}
		cmd.SetHelpFunc(func(*cobra.Command, []string) { fmt.Fprint(c.Out, plain(section(t.page, t.heading))) })
		all = append(all, cmd)
	}
	return all
}

// section returns the text below a heading of a page of Markdown, up to the next heading of any kind.
func section(page, heading string) string {
	parts := anyHeading().Split(page, -1)
	for i, line := range anyHeading().FindAllString(page, -1) {
		if strings.TrimLeft(strings.TrimSpace(line), "# ") == heading {
			return strings.TrimLeft(parts[i+1], "\n")
		}
	}
	return ""
}

// helpWidth is the width of a topic in columns.
const helpWidth = 80

var (
	anyHeading = lazy.Pattern(`(?m)^#+ .*$`)

	link = lazy.Pattern(`\[([^\]]*)\]\([^)]*\)`)
	rule = lazy.Pattern(`^\|[ |:-]+\|$`)
)

// plain returns a text for a terminal of what Markdown says: each row of a table is its first cell, and below it the others.
func plain(markdown string) string {
	var out strings.Builder
	var paragraph []string
	code, header := false, true
	end := func() {
		if len(paragraph) > 0 {
			out.WriteString(terminal.Paragraph(words(strings.Join(paragraph, " ")), "", helpWidth))
		}
		paragraph = nil
	}
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\n")
		row, fence := strings.HasPrefix(line, "|"), strings.HasPrefix(line, "```")
		prose := line != "" && !code && !row && !fence
		if !prose || strings.HasPrefix(line, "- ") {
			end()
		}
		switch {
		case fence:
			code = !code
		case code:
			out.WriteString("    " + line + "\n")
		case row && header: // it names the columns
			header = false
		case row && rule().MatchString(line):
		case row:
			cells := strings.Split(strings.Trim(line, "|"), " | ")
			out.WriteString("  " + words(cells[0]) + "\n" + terminal.Paragraph(words(strings.Join(cells[1:], "; ")), "      ", helpWidth))
		case prose:
			paragraph = append(paragraph, line)
		default:
			header = true
			out.WriteString("\n")
		}
	}
	end()
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// words returns a text without the marks of Markdown.
func words(text string) string {
	return strings.TrimSpace(strings.NewReplacer("`", "", "**", "", " *", " ", "* ", " ", "\\|", "|").Replace(link().ReplaceAllString(text, "$1")))
}
