// Package test holds the tests of what users install.
package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/hack/release"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// version is none that was released, so that its appearance shows that the built binary ran.
const version = "v0.0.1-krew"

var here = release.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}

// A user installs with krew and runs the plugin through kubectl.
func TestKrewInstall(t *testing.T) {
	archive := buildArchive(t, here)
	manifest := writeManifest(t, archive)
	validate := program(t, "validate-krew-manifest")
	if out, err := exec.CommandContext(t.Context(), validate, "-manifest", manifest, "-skip-install").CombinedOutput(); err != nil {
		t.Fatalf("validate-krew-manifest: %v\n%s", err, out)
	}

	home := t.TempDir()
	install := exec.CommandContext(t.Context(), program(t, "krew"), "install", "--manifest", manifest, "--archive", archive.Path)
	install.Env = append(os.Environ(), "HOME="+home, "KREW_ROOT="+filepath.Join(home, ".krew"), "KREW_NO_UPGRADE_CHECK=1")
	out, err := install.CombinedOutput()
	if err != nil {
		t.Fatalf("krew install: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "kubectl_complete-akash_net") {
		t.Errorf("krew does not show the caveat about completion:\n%s", out)
	}

	bin := filepath.Join(home, ".krew", "bin")
	out, err = kubectl(t, bin, "akash-net", "version")
	if err != nil || !strings.Contains(string(out), version) {
		t.Errorf("kubectl akash-net version: %v\n%s\ndoes not say %s", err, out, version)
	}
	// The program that watches lies beside the plugin, where that finds it.
	out, err = kubectl(t, bin, "akash-net", "reconcile", "--heal", "--watch", "--kubeconfig", filepath.Join(home, "none"))
	if err == nil || strings.Contains(string(out), "kubectl-akash_net-reconcile") || !strings.Contains(string(out), "kubeconfig") {
		t.Errorf("kubectl akash-net reconcile --watch: %v\n%s", err, out)
	}
	// The link that the caveat asks for.
	if err := os.Symlink(filepath.Join(bin, release.Program), filepath.Join(bin, "kubectl_complete-akash_net")); err != nil {
		t.Fatal(err)
	}
	out, err = kubectl(t, bin, "__complete", "akash-net", "vers")
	if err != nil || !slices.ContainsFunc(strings.Split(string(out), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "version")
	}) {
		t.Errorf("kubectl __complete akash-net vers: %v\n%s\ndoes not offer version", err, out)
	}
}

// The digest in krew.yaml can only be checked by others when the archive can be built again.
func TestArchivesAreReproducible(t *testing.T) {
	first, second := buildArchive(t, here), buildArchive(t, here)
	if first.SHA256 != second.SHA256 {
		t.Errorf("two builds of %s differ: %s and %s", here.Name(), first.SHA256, second.SHA256)
	}
}

// Windows has neither the signals nor the modes of the others.
func TestWindowsArchive(t *testing.T) {
	archive := buildArchive(t, release.Platform{OS: "windows", Arch: "amd64"})
	manifest := writeManifest(t, archive)
	install := exec.CommandContext(t.Context(), program(t, "krew"), "install", "--manifest", manifest, "--archive", archive.Path)
	root := t.TempDir()
	install.Env = append(os.Environ(), "HOME="+root, "KREW_ROOT="+root, "KREW_OS=windows", "KREW_ARCH=amd64", "KREW_NO_UPGRADE_CHECK=1")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("krew install: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(root, "store", "akash-net", version, "kubectl-akash_net.exe")); err != nil {
		t.Error(err)
	}
}

func TestKrewManifestNamesThePlatforms(t *testing.T) {
	var manifest struct {
		Spec struct {
			Version   string
			Platforms []struct {
				Selector struct{ MatchLabels struct{ OS, Arch string } }
				URI, Bin string
			}
		}
	}
	if err := yaml.Unmarshal(readManifest(t), &manifest); err != nil {
		t.Fatal(err)
	}
	type entry struct {
		Platform release.Platform
		URI, Bin string
	}
	var got, want []entry
	for _, p := range manifest.Spec.Platforms {
		got = append(got, entry{release.Platform(p.Selector.MatchLabels), p.URI, p.Bin})
	}
	for _, p := range release.Platforms {
		want = append(want, entry{p, release.URI(manifest.Spec.Version, p), p.Bin(release.Program)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("platforms of krew.yaml (-want +got):\n%s", diff)
	}
}

func buildArchive(t *testing.T, platform release.Platform) release.Archive {
	t.Helper()
	archives, err := release.Build(t.Context(), root(t), t.TempDir(), version, platform)
	if err != nil {
		t.Fatal(err)
	}
	return archives[0]
}

// writeManifest writes krew.yaml for the archive, under the name that krew's validator wants.
func writeManifest(t *testing.T, archive release.Archive) string {
	t.Helper()
	manifest, err := release.Manifest(readManifest(t), version, []release.Archive{archive})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "akash-net.yaml")
	if err := os.WriteFile(path, manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readManifest(t *testing.T) []byte {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join(root(t), "krew.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

// kubectl runs the real kubectl with the folder first on its PATH.
func kubectl(t *testing.T, bin string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, "kubectl"), args...)
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+os.DevNull)
	return cmd.CombinedOutput()
}

func program(t *testing.T, name string) string {
	t.Helper()
	path, err := programs.Path(name)
	if err != nil {
		t.Fatal(err)
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
