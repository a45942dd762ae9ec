package show

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
)

// Explanations escape control characters in claims, which anybody who can write Leases may have written.
func TestNothingOfAnExplanationIsObeyed(t *testing.T) {
	const escape = "\x1b[2J\u009b\u202e\x07\r\n"
	var out bytes.Buffer
	c := session.New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	printExplanation(&c.Console, diagnose.Explanation{Summary: "s" + escape, Facts: []string{"f" + escape}, Next: []string{"n" + escape}})
	if got := out.String(); strings.Count(got, "\n") != 3 || strings.ContainsAny(got, "\x1b\u009b\u202e\x07\r") {
		t.Errorf("printed is %q", got)
	}
}
