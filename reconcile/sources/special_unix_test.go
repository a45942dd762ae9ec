//go:build unix

package sources

import (
	"strings"
	"syscall"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// What can be read only once is refused, and not opened if it comes later.
func TestNoFile(t *testing.T) {
	in := newFolder(t)
	in.must(syscall.Mkfifo(in.at("fifo"), 0o600))
	for _, name := range []string{"-", in.at("fifo"), "/dev/null"} {
		if _, err := NewFiles(files.Names{Files: []string{name}}, input.Options{}, 0); err == nil || !strings.HasPrefix(err.Error(), name+" cannot be watched") {
			t.Errorf("%s: %v", name, err)
		}
	}
	in.write("a.yaml", def(1, "a.example.com"))
	source := run(t, in.source(false, "a.yaml"))
	source.await("a.example.com")
	in.rename("fifo", "a.yaml")
	if err := source.await("incomplete").Err; !strings.Contains(err.Error(), `a.yaml" is neither a file nor a folder`) {
		t.Error(err)
	}
}
