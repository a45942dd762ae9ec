//go:build unix

package events

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// A named pipe has lines as long as writers come; each writer begins a line of its own. Nothing that a writer leaves is lost, also when the
// pipe is replaced or was away.
func TestPipe(t *testing.T) {
	name := t.TempDir() + "/pipe"
	create := func() {
		t.Helper()
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	create()
	complaints := make(chan string, 9)
	b, err := New(Options{
		Name: name, Again: true, Read: input.Options{DocumentSize: 1 << 16}, Warn: func(lease.Problems) {},
		Complain: func(err error) { complaints <- err.Error() },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	f := b.feed(ctx)
	write := func(text string) {
		t.Helper()
		w, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString(text); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	want := func(want string) {
		t.Helper()
		if l := <-f.lines; fmt.Sprintf("%d %s", l.number, l.text) != want {
			t.Errorf("line %d is %q, want %s", l.number, l.text, want)
		}
	}
	write("a\nb\nhalf")
	want("1 a")
	want("2 b")
	want("3 half")
	for i := range 200 { // writers who are gone before they are noticed
		write(fmt.Sprintf("%d\n", i))
		want(fmt.Sprintf("%d %d", i+4, i))
	}
	both, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	write("beside\n")
	want("204 beside")
	if err := both.Close(); err != nil {
		t.Error(err)
	}

	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, more := <-f.lines; more || f.err != nil {
		t.Errorf("it goes on, or has ended with %v", f.err)
	}
	b.look = time.Millisecond
	f = b.feed(t.Context())
	if text := <-complaints; text != "open "+name+": no such file or directory" {
		t.Errorf("it says %s", text)
	}
	create()
	write("anew\n")
	want("1 anew")

	// It is made anew while it is waited for, and while a writer has it open whose last line has no end.
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	create()
	write("another\n")
	want("2 another")
	stays, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stays.WriteString("begun\nhalf"); err != nil {
		t.Fatal(err)
	}
	want("3 begun")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	create()
	want("4 half")
	write("third\n")
	want("5 third")
	if err := stays.Close(); err != nil {
		t.Error(err)
	}
}

// A folder has no events.
func TestNoInput(t *testing.T) {
	for _, name := range []string{t.TempDir(), t.TempDir() + "/none"} {
		if _, err := New(Options{Name: name}); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
