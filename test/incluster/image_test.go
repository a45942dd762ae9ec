//go:build linux

package incluster_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/akash-net/kubectl-akash-net/hack/release"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// version is none that was released.
const version = "v0.0.1"

// step is an instruction of the Dockerfile.
type step struct {
	name  string
	args  []string
	flags []string
}

// steps returns the instructions of the Dockerfile, as BuildKit reads them: those of the stage that builds, and those of the image.
func steps(t *testing.T) (build, image []step) {
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
	var stages [][]step
	for _, node := range read.AST.Children {
		s := step{name: strings.ToLower(node.Value), flags: node.Flags}
		for arg := node.Next; arg != nil; arg = arg.Next {
			s.args = append(s.args, arg.Value)
		}
		if s.name == "from" {
			stages = append(stages, nil)
		}
		stages[len(stages)-1] = append(stages[len(stages)-1], s)
	}
	if len(stages) != 2 || stages[1][0].args[0] != "scratch" {
		t.Fatalf("the image is not built in one stage from scratch: %v", stages)
	}
	return stages[0], stages[1]
}

// compile runs what the Dockerfile runs to build the programs from a folder, and returns the folder in which they are.
func compile(t *testing.T, from string) string {
	t.Helper()
	out := t.TempDir()
	env := append(os.Environ(), "VERSION="+version, "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH)
	build, _ := steps(t)
	for _, s := range build {
		switch s.name {
		case "env":
			for i := 0; i+1 < len(s.args); i += 3 { // a name, a value, and what is between them
				env = append(env, s.args[i]+"="+s.args[i+1])
			}
		case "run":
			command := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(s.args[0], "/out/", out+"/"))
			command.Dir, command.Env = from, env
			if err := harness.Succeed(command); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
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

// The programs in the image depend on the sources and the version, and not on the folder; and they are those of the release's archive.
func TestImageIsReproducible(t *testing.T) {
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
	archives, err := release.Build(t.Context(), root, t.TempDir(), version, release.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	if archived := programsIn(t, archives[0].Path); fmt.Sprint(first) != fmt.Sprint(archived) {
		t.Errorf("the image has %v, the archive %v", first, archived)
	}
}

// programsIn returns the digests of the programs in an archive of a release.
func programsIn(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, archive); err != nil {
			t.Fatal(err)
		}
		if header.Name != "LICENSE" {
			out[header.Name] = fmt.Sprintf("%x", sum.Sum(nil))
		}
	}
}
