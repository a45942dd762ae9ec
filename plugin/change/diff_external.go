package change

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// externalParameter is what kubectl lets the words of KUBECTL_EXTERNAL_DIFF after the first be.
var externalParameter = regexp.MustCompile(`^[a-zA-Z0-9-=]+$`)

// externalDiff is the program that KUBECTL_EXTERNAL_DIFF names, with its parameters; empty where there is
// none. As with kubectl, words that could be anything but parameters are left out.
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

// runExternalDiff lets a program compare the objects as they are with those that would be. As diff(1) does, it
// ends with 1 where they differ, and with more where it failed.
func runExternalDiff(ctx context.Context, c *console.Console, program []string, p plan.Plan) (err error) {
	folders := make([]string, 2)
	for i, name := range []string{"LIVE-", "MERGED-"} {
		folder, err := os.MkdirTemp("", name)
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder) //nolint:errcheck // what is left is the system's to clean
		folders[i] = folder
	}
	for _, l := range p.Leases {
		for _, change := range l.Changes {
			for i, object := range []map[string]any{change.Before, change.After} {
				if object == nil {
					continue
				}
				text, err := yaml.Marshal(object)
				if err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(folders[i], fileOf(change)), text, 0o600); err != nil {
					return err
				}
			}
		}
	}
	cmd := exec.CommandContext(ctx, program[0], append(program[1:], folders...)...) //nolint:gosec // the user names the program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, terminal.Unwrap(c.Out), c.ErrOut
	err = cmd.Run()
	ended, ok := errors.AsType[*exec.ExitError](err)
	if ok && ended.ExitCode() == 1 || err == nil && p.Differs() {
		return &console.ReportedError{What: "there are differences"}
	}
	return err
}

// fileOf is the name of the file of an object. The name of a wildcard has an asterisk.
func fileOf(c plan.Change) string {
	name := c.Kind + "." + c.Name
	if c.Namespace != "" {
		name = c.Kind + "." + c.Namespace + "." + c.Name
	}
	return strings.NewReplacer("/", "_", string(filepath.Separator), "_", "*", "_").Replace(name)
}
