// Package release reads how goreleaser is told to make a release, so that tests build the programs as it does, without it.
package release

import (
	"archive/tar"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Config is what tests need of .goreleaser.yaml.
type Config struct {
	Release struct {
		GitHub struct{ Owner, Name string } `yaml:"github"`
	}
	Builds   []Build
	Archives []struct {
		NameTemplate    string `yaml:"name_template"`
		Formats         []string
		FormatOverrides []struct {
			OS      string `yaml:"goos"`
			Formats []string
		} `yaml:"format_overrides"`
	}
	Krews []struct {
		Name, Homepage, Description, Caveats string
		ShortDescription                     string `yaml:"short_description"`
	}
}

// Build makes one program for each platform.
type Build struct {
	Main, Binary string
	Env, Flags   []string
	LDFlags      string   `yaml:"ldflags"`
	OS           []string `yaml:"goos"`
	Arch         []string `yaml:"goarch"`
}

// Platform is one that a release is made for.
type Platform struct{ OS, Arch string }

// Read reads .goreleaser.yaml.
func Read(t *testing.T) Config {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config Config
	if err := yaml.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	return config
}

// Platforms lists the platforms of a release.
func (c Config) Platforms() []Platform {
	var all []Platform
	for _, system := range c.Builds[0].OS {
		for _, arch := range c.Builds[0].Arch {
			all = append(all, Platform{system, arch})
		}
	}
	return all
}

// Compile builds the programs of a version from the sources in a folder into another one.
func (c Config) Compile(t *testing.T, from, into, version string, platform Platform) {
	t.Helper()
	for _, b := range c.Builds {
		ldflags := strings.ReplaceAll(b.LDFlags, "v{{ .Version }}", version)
		args := append([]string{"build", "-ldflags", ldflags, "-o", into + string(filepath.Separator)}, b.Flags...)
		build := exec.CommandContext(t.Context(), "go", append(args, b.Main)...) //nolint:gosec // as the release does
		build.Dir = from
		build.Env = append(append(os.Environ(), b.Env...), "GOOS="+platform.OS, "GOARCH="+platform.Arch)
		if err := harness.Succeed(build); err != nil {
			t.Fatal(err)
		}
	}
}

// Archive packs the programs of a version, and what the archive of a release has beside them.
func (c Config) Archive(t *testing.T, version string, platform Platform) string {
	t.Helper()
	folder := t.TempDir()
	c.Compile(t, root(t), folder, version, platform)
	for _, name := range []string{"LICENSE", "THIRD_PARTY_LICENSES", "hack/completion/kubectl_complete-akash_net"} {
		copied := exec.CommandContext(t.Context(), "cp", "-p", filepath.Join(root(t), name), folder) //nolint:gosec // our own files
		if err := harness.Succeed(copied); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "archive.tar.gz")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(out)
	packed := tar.NewWriter(zipped)
	for _, end := range []func() error{func() error { return packed.AddFS(os.DirFS(folder)) }, packed.Close, zipped.Close, out.Close} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func root(t *testing.T) string {
	t.Helper()
	root, err := programs.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}
