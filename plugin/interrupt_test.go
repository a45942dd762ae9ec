package plugin

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// The command that is printed after an interrupt must not release more than the interrupted command has changed.
func TestInterruptSaysHowToGoOn(t *testing.T) {
	const again, undo = "Run the same command again to finish", "kubectl akash-net release"
	for _, tt := range []struct {
		args  []string
		again bool
		undo  bool
	}{
		{[]string{"apply", "-f", "-"}, true, false}, // nothing is begun
		{[]string{"apply", "-f", "-", "--dry-run"}, false, false},
		{[]string{"apply", "-f", "-", "--dry-run=server"}, false, false},
		{[]string{"diff", "-f", "-"}, false, false},
		{[]string{"convert", "-f", "-"}, false, false},
		{[]string{"repair", "-f", "-"}, true, false},
		{[]string{"install"}, true, false},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out bytes.Buffer
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
		args := append([]string{"kubectl-akash_net"}, tt.args...)
		if tt.args[0] != "convert" {
			args = append(args, "--server", "https://127.0.0.1:1", "--kubeconfig", os.DevNull)
		}
		code := Main(ctx, args, streams)
		text := out.String()
		if code != codeInterrupted || !strings.Contains(text, "Interrupted.") || strings.Contains(text, again) != tt.again || strings.Contains(text, undo) != tt.undo {
			t.Errorf("%q: exit code %d\n%s", tt.args, code, text)
		}
	}
}
