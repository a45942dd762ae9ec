package console

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// slow is a user who thinks for nine seconds before each answer.
type slow struct{ answer io.Reader }

func (s slow) Read(p []byte) (int, error) {
	time.Sleep(9 * time.Second)
	return s.answer.Read(p)
}

// Only yes is yes, and the command's time is not the user's.
func TestConfirm(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "": false, "yes, no\n": false} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			c := &Console{IOStreams: genericiooptions.IOStreams{In: slow{bytes.NewBufferString(answer)}, ErrOut: &out}, begun: time.Now()}
			if got := c.Confirm("Release it?"); got != want {
				t.Errorf("%q is %t", answer, got)
			}
			if took := time.Since(c.begun); took != 0 {
				t.Errorf("%q: the command has worked for %s", answer, took)
			}
			if want := "Release it? [y/N] "; out.String() != want && out.String() != want+"\n" {
				t.Errorf("%q: %q", answer, &out)
			}
		})
	}
}
