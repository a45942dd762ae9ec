//go:build linux

package incluster_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/akash-net/kubectl-akash-net/test/harness"
	"github.com/akash-net/kubectl-akash-net/test/release"
)

// version is none that was released.
const version = "v0.0.1"

// step is an instruction of the Dockerfile.
type step struct {
	name string
	args []string
}

// steps returns the instructions of the Dockerfile, as BuildKit reads them, after the FROM scratch.
func steps(t *testing.T) []step {
	t.Helper()
	f, err := os.Open(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	read, err := parser.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	for _, node := range read.AST.Children {
		s := step{name: strings.ToLower(node.Value)}
		for arg := node.Next; arg != nil; arg = arg.Next {
			s.args = append(s.args, arg.Value)
		}
		steps = append(steps, s)
	}
	if first := steps[0]; first.name != "from" || first.args[0] != "scratch" {
		t.Fatalf("the image does not start from scratch: %v", first)
	}
	return steps[1:]
}

// compile builds the programs of a release from a folder, and returns the folder in which they are.
func compile(t *testing.T, from string) string {
	t.Helper()
	into := t.TempDir()
	release.Read(t).Compile(t, from, into, version, release.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH})
	return into
}

// digests returns the digests of the files in a folder.
func digests(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return out
}

// The programs of a release, and so those in the image, depend on the sources and the version, and not on the folder.
func TestProgramsAreReproducible(t *testing.T) {
	harness.NeedsLong(t)
	t.Parallel()
	first := digests(t, compile(t, root))
	if len(first) != 2 {
		t.Fatalf("the programs are %v", first)
	}
	elsewhere := t.TempDir()
	tracked := exec.CommandContext(t.Context(), "sh", "-c", "git ls-files -co --exclude-standard -z | xargs -0 cp --parents -t "+elsewhere)
	tracked.Dir = root
	if err := harness.Succeed(tracked); err != nil {
		t.Fatal(err)
	}
	if second := digests(t, compile(t, elsewhere)); fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("two builds differ: %v and %v", first, second)
	}
}
