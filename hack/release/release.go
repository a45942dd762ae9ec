// Package release builds the archives of a release and the krew manifest that names them. An
// archive is a function of the sources, the version and the Go toolchain, and of nothing else, so
// that anybody can build it again and compare.
package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program is the plugin's binary: kubectl looks for an underscore where a plugin has a dash. Reconciler lies beside it in an archive, for
// "reconcile --watch".
const (
	Program    = "kubectl-akash_net"
	Reconciler = Program + "-reconcile"
)

// Platform is one that krew installs for.
type Platform struct{ OS, Arch string }

// Platforms are those of a release.
var Platforms = []Platform{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
}

// Archive is a file of a release.
type Archive struct {
	Platform
	Path   string
	SHA256 string // of the file, in lower-case hexadecimal, as krew wants it
}

// Bin is the name of the platform's binary of a program.
func (p Platform) Bin(program string) string {
	if p.OS == "windows" {
		return program + ".exe"
	}
	return program
}

// Name is the file name of the platform's archive.
func (p Platform) Name() string {
	extension := ".tar.gz"
	if p.OS == "windows" {
		extension = ".zip"
	}
	return Program + "_" + p.OS + "_" + p.Arch + extension
}

// Build builds the archives of the platforms from the repository at root into the folder out.
func Build(ctx context.Context, root, out, version string, platforms ...Platform) ([]Archive, error) {
	license, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return nil, err
	}
	var archives []Archive
	for _, platform := range platforms {
		files := []file{{"LICENSE", 0o644, license}}
		for _, program := range []string{Program, Reconciler} {
			binary, err := compile(ctx, root, version, program, platform)
			if err != nil {
				return nil, err
			}
			files = append(files, file{platform.Bin(program), 0o755, binary})
		}
		content, err := pack(platform, files)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(out, platform.Name())
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // to be published
			return nil, err
		}
		archives = append(archives, Archive{Platform: platform, Path: path, SHA256: fmt.Sprintf("%x", sha256.Sum256(content))})
	}
	return archives, nil
}

// compile builds a program. -trimpath and -buildvcs=false keep the builder's folders and the
// state of the work tree out of the binary.
func compile(ctx context.Context, root, version, program string, platform Platform) ([]byte, error) {
	dir, err := os.MkdirTemp("", "akash-net-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover folder is harmless
	path := filepath.Join(dir, platform.Bin(program))
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", //nolint:gosec // our own program
		"-ldflags", "-s -w -X github.com/akash-net/kubectl-akash-net/plugin/version.Version="+version,
		"-o", path, "./cmd/"+program)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS="+platform.OS, "GOARCH="+platform.Arch)
	var output bytes.Buffer
	build.Stdout, build.Stderr = &output, &output
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("building for %s/%s: %w\n%s", platform.OS, platform.Arch, err, strings.TrimSpace(output.String()))
	}
	return os.ReadFile(path)
}
