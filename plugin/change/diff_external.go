package change

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// externalParameter matches the parameters that kubectl accepts in KUBECTL_EXTERNAL_DIFF.
var externalParameter = regexp.MustCompile(`^[a-zA-Z0-9-=]+$`)

// externalDiff returns the program in KUBECTL_EXTERNAL_DIFF and its parameters, or nil if the variable is empty. Like kubectl,
// it drops words that are not parameters.
func externalDiff() ([]string, error) {
	words := strings.Fields(os.Getenv("KUBECTL_EXTERNAL_DIFF"))
	if len(words) == 0 {
		return nil, nil
	}
	program := words[:1:1]
	for _, word := range words[1:] {
		if externalParameter.MatchString(word) {
			program = append(program, word)
		}
	}
	path, err := exec.LookPath(program[0])
	if err != nil {
		return nil, &console.DiffError{Err: errors.New("KUBECTL_EXTERNAL_DIFF: " + err.Error())}
	}
	program[0] = path
	return program, nil
}

// runExternalDiff runs a program that compares the current objects with the changed ones. The exit code 1 of the program means
// that they differ, and a higher one that it failed, as with diff(1).
func runExternalDiff(ctx context.Context, c *console.Console, program []string, p plan.Plan) (err error) {
	folders := make([]string, 2)
	for i, name := range []string{"LIVE-", "MERGED-"} {
		folder, err := os.MkdirTemp("", name)
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder) //nolint:errcheck // the system cleans up its temporary folders
		folders[i] = folder
	}
	for _, l := range p.Leases {
		for _, change := range l.Changes {
			for i, object := range []map[string]any{change.Before, change.After} {
				if object == nil {
					continue
				}
				text, err := document.Marshal(object)
				if err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(folders[i], fileName(change)), text, 0o600); err != nil {
					return err
				}
			}
		}
	}
	cmd := exec.CommandContext(ctx, program[0], append(program[1:], folders...)...) //nolint:gosec // the user names the program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, terminal.Unwrap(c.Out), c.ErrOut
	err = cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if ok && exit.ExitCode() == 1 || err == nil && p.Differs() {
		return &console.ReportedError{Message: "there are differences"}
	}
	return err
}

// fileName returns the name of an object's file, without the asterisk of a wildcard.
func fileName(c plan.Change) string {
	name := c.Kind + "." + c.Name
	if c.Namespace != "" {
		name = c.Kind + "." + c.Namespace + "." + c.Name
	}
	return strings.NewReplacer("/", "_", string(filepath.Separator), "_", "*", "_").Replace(name)
}
