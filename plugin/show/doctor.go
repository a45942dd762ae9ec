package show

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/examination"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/examine"
)

// NewDoctor returns the command that checks whether a cluster has what this program needs.
func NewDoctor(c *session.Session) *cobra.Command {
	var before bool
	var output string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether the cluster has what this program needs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return doctor(cmd.Context(), c, before, output)
		},
	}
	flags.AddColor(cmd, &c.Color)
	cmd.Flags().BoolVar(&before, "pre", false, "Check only what has to hold before install")
	flags.AddOutput(cmd, &output, "", "", "yaml", "json")
	return c.SetScope(cmd, session.Scope{})
}

func doctor(ctx context.Context, c *session.Session, before bool, output string) error {
	var configured *examination.Configuration
	if c.ConfigFile != "" {
		if err := c.ReadConfigFile(ctx); err != nil {
			return err
		}
		configured = &examination.Configuration{Text: c.ConfigText, Place: c.ConfigFile, File: true}
	}
	to, err := c.Connect(session.Requests)
	if err != nil {
		return err
	}
	seen, err := examination.Read(ctx, to, configured, before)
	if err != nil {
		return err
	}
	lines := examine.Lines(seen)
	if err := printChecks(&c.Console, lines, output); err != nil {
		return err
	}
	if n := examine.Count(lines, examine.Problem); n > 0 {
		return &console.ReportedError{Message: lease.Count(n, "problem")}
	}
	return nil
}

// checksDocument is the document of --output.
type checksDocument struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Checks     []examine.Line `json:"checks"`
}

// marks stand for the results, with their colours on a terminal: green, yellow, red.
var marks = map[examine.Result]struct{ mark, colour string }{
	examine.OK: {"✔", "\x1b[32m"}, examine.Warning: {"!", "\x1b[33m"}, examine.Problem: {"✗", "\x1b[31m"}, examine.Unknown: {"?", "\x1b[33m"},
}

func printChecks(c *console.Console, lines []examine.Line, output string) error {
	document := checksDocument{APIVersion: lease.Domain + "/v1alpha1", Kind: "Checks", Checks: lines}
	if done, err := flags.Document(c.Out, output, document); done {
		return err
	}
	var out strings.Builder
	coloured := c.Color.On(c.Out)
	for _, line := range lines {
		m := marks[line.Result]
		mark := m.mark
		if coloured {
			mark = m.colour + mark + "\x1b[0m"
		}
		text := terminal.Hang(line.Check+": "+terminal.Cell(line.Text), max(c.Columns()-terminal.Cells("✔ "), 0))
		fmt.Fprintf(&out, "%s %s\n", mark, strings.ReplaceAll(text, "\n", "\n  "))
		if line.Mend != "" {
			fmt.Fprintln(&out, terminal.Hang("    "+terminal.Cell(line.Mend), c.Columns()))
		}
	}
	if _, err := c.Out.Write([]byte(out.String())); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	noteResults(c, lines)
	return nil
}

// noteResults says how many checks have found something.
func noteResults(c *console.Console, lines []examine.Line) {
	var found []string
	for _, of := range []struct {
		result examine.Result
		noun   string
	}{{examine.Problem, "problem"}, {examine.Warning, "warning"}} {
		if n := examine.Count(lines, of.result); n > 0 {
			found = append(found, lease.Count(n, of.noun))
		}
	}
	if n := examine.Count(lines, examine.Unknown); n > 0 {
		found = append(found, fmt.Sprintf("%d unknown", n))
	}
	if len(found) == 0 {
		c.NoProblems()
		return
	}
	fmt.Fprintln(c.ErrOut, strings.Join(found, ", ")+".")
}
