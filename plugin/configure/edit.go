package configure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/install"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

func newEdit(c *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "edit",
		Short: "Edit the configuration in the cluster",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.ConfigFile != "" {
				return usage.Errorf("--config: edit opens the configuration in the cluster; open a file with an editor, and check it with: " +
					"kubectl akash-net config validate -f FILE")
			}
			return edit(cmd.Context(), c)
		},
	}
	return c.SetScope(cmd, session.Scope{})
}

// rule is the last of the lines above the configuration in the editor.
const rule = "# ---------------- The configuration begins below this line. ----------------\n"

// Messages of an edit that changes nothing, as kubectl has them.
const (
	unchanged = "Edit cancelled, no changes made."
	emptied   = "Edit cancelled, saved file was empty."
	invalid   = "Edit cancelled, no valid changes were saved."
)

// editing is an edit of the ConfigMap live.
type editing struct {
	c    *session.Session
	to   *cluster.Cluster
	live *unstructured.Unstructured
	// place is the place of the configuration, before its text when the edit began.
	place, before string
	// file has the text that was edited last; empty before the first.
	file string
}

func edit(ctx context.Context, c *session.Session) error {
	to, err := c.Connect(session.Requests)
	if err != nil {
		return err
	}
	live, err := to.ConfigMap(ctx, config.Default().LedgerNamespace)
	if err != nil {
		return err
	}
	text, place, broken := cluster.ConfigText(live)
	if live == nil {
		return fmt.Errorf("%s does not exist; create it with: kubectl akash-net install", place)
	}
	e := &editing{c: c, to: to, live: live, place: place, before: text}
	wrong := reasons(broken)
	if broken == nil && text != "" {
		_, wrong = e.check(text)
	}
	if !hasContent(text) {
		if text, err = example(); err != nil {
			return err
		}
	}
	err = e.run(ctx, text, wrong)
	if err != nil && e.file != "" {
		fmt.Fprintf(c.ErrOut, "A copy of your changes has been stored to %q\n", e.file)
	}
	return err
}

// run opens the text in the editor, above it what is wrong with it, until what is saved can be written.
func (e *editing) run(ctx context.Context, text string, wrong lease.Problems) error {
	for first := text; ctx.Err() == nil; {
		saved, err := e.open(header(e.place, wrong) + text)
		switch {
		case err != nil:
			return err
		case saved == first:
			return e.cancel(unchanged)
		case saved == text:
			fmt.Fprintln(e.c.ErrOut, invalid)
			return &console.ReportedError{Message: invalid}
		case !hasContent(saved):
			return e.cancel(emptied)
		}
		text = saved
		var cfg *config.ProviderConfig
		if cfg, wrong = e.check(text); cfg == nil {
			continue
		}
		err = e.write(ctx, cfg, text)
		if wrong = refusals(err); wrong == nil {
			return err
		}
	}
	return ctx.Err()
}

// open opens a text in the editor, and returns the configuration that was saved.
func (e *editing) open(text string) (string, error) {
	saved, file, err := editText(text)
	if err != nil {
		return "", err
	}
	if e.file != "" {
		_ = os.Remove(e.file)
	}
	e.file = file
	if _, below, found := strings.Cut(saved, rule); found {
		return below, nil
	}
	return saved, nil
}

// cancel ends an edit that changes nothing.
func (e *editing) cancel(message string) error {
	fmt.Fprintln(e.c.ErrOut, message)
	return os.Remove(e.file)
}

// check reads a configuration. If it has errors, it returns none, and prints how many.
func (e *editing) check(text string) (*config.ProviderConfig, lease.Problems) {
	cfg, problems, err := config.Read(strings.NewReader(text), "")
	if err != nil {
		return nil, reasons(err)
	}
	if errs := problems.Errors(); len(errs) > 0 {
		fmt.Fprintf(e.c.ErrOut, "error: %s has %s\n", e.place, lease.Count(len(errs), "error"))
		return nil, reasons(errs)
	}
	e.c.Warn(problems)
	return cfg, nil
}

// write replaces the configuration, unless its text has changed since the edit began.
func (e *editing) write(ctx context.Context, cfg *config.ProviderConfig, text string) error {
	for {
		events := console.NewEvents(&e.c.Console, "", "")
		installer := &install.Installer{Cluster: e.to, Config: cfg, Report: events.Report, Warn: e.c.Warn}
		err := installer.EditConfig(ctx, e.live, text)
		if err == nil {
			return os.Remove(e.file)
		}
		if !errors.Is(err, report.ErrChanged) {
			return install.Refused(err)
		}
		now, err := e.to.ConfigMap(ctx, e.live.GetNamespace())
		if err != nil {
			return err
		}
		theirs, _, broken := cluster.ConfigText(now)
		if now == nil || broken != nil || theirs != e.before {
			return fmt.Errorf("%s has changed since it was opened, and nothing was written; add your changes to what is there now with: "+
				"kubectl akash-net config edit", e.place)
		}
		e.live = now // something else of it has changed
	}
}

// reasons returns why a text is opened again: what an error says in lines, each with its place.
func reasons(err error) (all lease.Problems) {
	problems, ok := errors.AsType[lease.Problems](err)
	if !ok && err != nil {
		problems = lease.Problems{{Message: err.Error()}}
	}
	for _, p := range problems {
		place := p.At
		p.At = lease.Place{Field: place.Field}
		for line := range strings.Lines(p.Error()) {
			all = append(all, lease.Problem{At: place, Message: terminal.OneLine(strings.TrimSpace(line), terminal.MaxCell)})
		}
	}
	return all
}

// refusals returns why a valid configuration was not written, if another one can be; otherwise nil.
func refusals(err error) lease.Problems {
	if console.Is[*install.StrandedError](err) || console.Is[*install.LedgerLeftError](err) || console.Is[*reservation.UnservedError](err) {
		return reasons(err)
	}
	return nil
}

// maxReasons is how many reasons are shown above a text.
const maxReasons = 20

// header returns the lines above a text in the editor. Lines of places are counted with them.
func header(place string, wrong lease.Problems) string {
	lines := []string{
		"# Please edit the configuration below. These lines are ignored, and an empty file will abort the edit.",
		"# If an error occurs while saving, this file will be reopened with the relevant failures.",
		"# \"kubectl akash-net config explain KEY\" explains a key.",
		"#",
	}
	if len(wrong) > 0 {
		shown := wrong[:min(len(wrong), maxReasons)]
		lines = append(lines, "# "+place+" was not valid:")
		above := len(lines) + len(shown) + 2
		if more := len(wrong) - len(shown); more > 0 {
			above++
		}
		for _, r := range shown {
			if r.At.Line > 0 {
				r.Message = fmt.Sprintf("line %d, column %d: %s", above+r.At.Line, r.At.Column, r.Message)
			}
			lines = append(lines, "# * "+r.Message)
		}
		if more := len(wrong) - len(shown); more > 0 {
			lines = append(lines, fmt.Sprintf("# … and %d more", more))
		}
		lines = append(lines, "#")
	}
	return strings.Join(lines, "\n") + "\n" + rule
}

// editText opens a text in a file of its own in the editor that KUBE_EDITOR or EDITOR names, or in vi (notepad on Windows), and returns what
// was saved. The value is a command of the shell, as for git; on Windows a program with arguments. The file stays, unless the editor failed.
//
// kubectl's package that does this links every typed client, which each start of the program would pay for.
func editText(text string) (saved, file string, err error) {
	f, err := os.CreateTemp("", "kubectl-akash_net-edit-*.yaml")
	if err != nil {
		return "", "", err
	}
	_, err = f.WriteString(text)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = runEditor(f.Name())
	}
	if err == nil {
		var read []byte
		if read, err = os.ReadFile(f.Name()); err == nil {
			return string(read), f.Name(), nil
		}
	}
	_ = os.Remove(f.Name())
	return "", "", err
}

// runEditor opens a file in the editor and waits until it is closed.
func runEditor(file string) error {
	editor := "vi"
	if runtime.GOOS == "windows" {
		editor = "notepad"
	}
	editor = cmp.Or(os.Getenv("KUBE_EDITOR"), os.Getenv("EDITOR"), editor)
	var cmd *exec.Cmd
	if runtime.GOOS == "windows" {
		words := strings.Fields(editor)
		cmd = exec.Command(words[0], append(words[1:], file)...) //nolint:gosec,noctx // the user's own editor, which an interrupt leaves open
	} else {
		cmd = exec.Command("/bin/sh", "-c", editor+` "$@"`, editor, file) //nolint:gosec,noctx // as above
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("there was a problem with the editor %q: %w", editor, err)
	}
	return nil
}
