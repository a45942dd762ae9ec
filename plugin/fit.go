package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/state/inventory/cases"
)

func newFit(c *cli) *cobra.Command {
	var files fileFlags
	var output string
	cmd := &cobra.Command{
		Use:   "fit -f FILE",
		Short: "Tell whether a group of resources fits a cluster",
		Long: `
			Tell whether groups of resources fit a cluster, on which nodes, what is left, and what is missing
			where one does not fit.

			A file has a case a line, as JSON: a cluster, what is reserved of it, and the groups that are asked
			for, one after the other. Each is answered with a line of JSON. The answers are those of Akash's
			provider, node for node; docs/cluster-service.md has the rules.

			Exit code 4 tells that something does not fit.`,
		Example: `
			# Cases of a file
			kubectl akash-net fit -f cases.jsonl

			# Why something does not fit
			kubectl akash-net fit -f cases.jsonl -o text`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(files.files) == 0 {
				return usage("must specify -f")
			}
			if output != "json" && output != "text" {
				return usage("--output must be 'json' or 'text', not %q", output)
			}
			return c.fit(cmd.Context(), &files, output)
		},
	}
	files.add(cmd, "Files, or folders with files, of cases, a JSON object a line; - is standard input")
	cmd.Flags().StringVarP(&output, "output", "o", "json", "One of 'json', a line for each case, or 'text', a line for each request")
	completeFlag(cmd, "output", "json", "text")
	return c.setScope(cmd, scope{offline: never, unconfigured: true})
}

// unfit says that requests do not fit.
type unfit struct{ requests, refused int }

func (u *unfit) Error() string {
	return fmt.Sprintf("of %s %d cannot be placed; the answers say why", count(u.requests, "request"), u.refused)
}

// fit answers the cases of files, each as soon as it is read.
func (c *cli) fit(ctx context.Context, files *fileFlags, output string) error {
	answers := json.NewEncoder(c.Out)
	answers.SetEscapeHTML(false)
	var all unfit
	read := 0
	err := files.eachFile(ctx, c, 0, func(r io.Reader, name string) error {
		for question, err := range cases.Read(r, name, document.DefaultSize) {
			if err != nil {
				return err
			}
			answer, err := abandonable(ctx, func() (cases.Answer, error) { return question.Answer(), nil })
			if err != nil {
				return err
			}
			if output == "text" {
				err = writeLines(c.people, answer.Lines(question))
			} else {
				err = answers.Encode(answer)
			}
			if err != nil {
				return err
			}
			read++
			all.requests += len(answer.Results)
			all.refused += answer.Refused()
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case read == 0:
		return lease.Problems{{Message: "the input has no cases"}}
	case all.refused > 0:
		return &all
	}
	return nil
}

// writeLines writes lines for people.
func writeLines(w io.Writer, lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, oneLine(line, maxCell)); err != nil {
			return err
		}
	}
	return nil
}
