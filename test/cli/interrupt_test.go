package cli_test

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A signal ends a command that waits for its input, at once and with the exit code of the signal.
func TestInterruptedReading(t *testing.T) {
	const shop = owner + "/8438017/1/1/" + provider
	for _, args := range [][]string{
		{"render", "-f", "-", "--lease", shop}, {"convert", "-f", "-", "--lease", shop}, {"state", "-f", "-"}, {"render"},
		{"apply", "--plan", "-"}, // nothing but the reader ends here
	} {
		for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
			t.Run(strings.Join(args[:1], " ")+" "+signal.String(), func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(t.Context(), program, args...)
				var out, errOut bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &errOut
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				// More than a pipe holds: once it is written, the program is reading.
				if _, err := io.WriteString(in, "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"+strings.Repeat("# a comment\n", 1<<15)); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				exit := (*exec.ExitError)(nil)
				if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != want {
					t.Errorf("%v, want exit code %d\n%s%s", err, want, out.String(), errOut.String())
				}
				if out.Len() > 0 {
					t.Errorf("it prints %q", out.String())
				}
			})
		}
	}
}
