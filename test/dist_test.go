package test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/test/harness"
	"github.com/akash-net/kubectl-akash-net/test/release"
)

// What goreleaser has made in the folder that RELEASE names: `make test-release` makes it.
func TestRelease(t *testing.T) {
	dist := os.Getenv("RELEASE")
	if dist == "" {
		t.Skip("RELEASE names no folder with a release; make test-release makes one")
	}
	path := filepath.Join(dist, "krew", "akash-net.yaml")
	m := readManifest(t, path)
	archives, digests := map[release.Platform]string{}, map[release.Platform]string{}
	cask := string(read(t, filepath.Join(dist, "homebrew", "Casks", "kubectl-akash-net.rb")))
	for _, p := range m.Spec.Platforms {
		platform := p.platform()
		archive := filepath.Join(dist, filepath.Base(p.URI))
		archives[platform], digests[platform] = archive, p.SHA256
		if got := sum(t, archive); got != p.SHA256 {
			t.Errorf("%s has the digest %s, the manifest of krew says %s", archive, got, p.SHA256)
		}
		if platform.OS != "windows" && !strings.Contains(cask, p.SHA256) {
			t.Errorf("the cask does not name the digest of %s:\n%s", archive, cask)
		}
		t.Run(platform.OS+" "+platform.Arch, func(t *testing.T) { holds(t, archive, platform) })
	}
	// A snapshot has a version of its own, and the last tag.
	want := goreleaserMakes(t, filepath.Base(filepath.Dir(m.Spec.Platforms[0].URI)), digests)
	want.Spec.Version = m.Spec.Version
	if diff := cmp.Diff(written(t, want), string(read(t, path))); diff != "" {
		t.Errorf("goreleaser makes another manifest for krew than TestKrewManifest has it (-want +made):\n%s", diff)
	}
	t.Run("krew", func(t *testing.T) { krewInstalls(t, path, archives[here], m.Spec.Version) })
	t.Run("krew on Windows", func(t *testing.T) {
		home := t.TempDir()
		windows := release.Platform{OS: "windows", Arch: "amd64"}
		install := exec.CommandContext(t.Context(), program(t, "krew"), "install", "--manifest", path, "--archive", archives[windows])
		install.Env = append(os.Environ(), "HOME="+home, "KREW_ROOT="+home, "KREW_OS=windows", "KREW_ARCH=amd64", "KREW_NO_UPGRADE_CHECK=1")
		if err := harness.Succeed(install); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(home, "store", "akash-net", m.Spec.Version, "kubectl-akash_net.exe")); err != nil {
			t.Error(err)
		}
	})
	t.Run("Debian", func(t *testing.T) {
		installsDebian(t, filepath.Join(dist, "kubectl-akash-net_linux_"+here.Arch+".deb"), m.Spec.Version)
	})
	t.Run("signature", func(t *testing.T) {
		checksums := filepath.Join(dist, "checksums.txt")
		if err := harness.Succeed(exec.CommandContext(t.Context(), "gpg", "--batch", "--verify", checksums+".sig", checksums)); err != nil {
			t.Error(err)
		}
	})
	t.Run("bill of materials", func(t *testing.T) { billOfMaterials(t, dist) })
}

// holds checks the files of an archive: their names, modes, and that one time is theirs all.
func holds(t *testing.T, archive string, platform release.Platform) {
	programs, script := "", ""
	if platform.OS == "windows" {
		programs, script = ".exe", ".cmd"
	}
	want := map[string]fs.FileMode{
		"kubectl-akash_net" + programs: 0o755, "akash-net-reconciler" + programs: 0o755,
		"kubectl_complete-akash_net" + script: 0o755, "LICENSE": 0o644, "THIRD_PARTY_LICENSES": 0o644,
	}
	got, times := map[string]fs.FileMode{}, map[int64]bool{}
	for _, file := range files(t, archive) {
		got[file.Name()] = file.Mode()
		times[file.ModTime().Unix()] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", archive, diff)
	}
	if len(times) != 1 {
		t.Errorf("%s has files of %d times", archive, len(times))
	}
}

func files(t *testing.T, archive string) []fs.FileInfo {
	t.Helper()
	var found []fs.FileInfo
	if content := read(t, archive); strings.HasSuffix(archive, ".zip") {
		packed, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range packed.File {
			found = append(found, file.FileInfo())
		}
		return found
	}
	zipped, err := gzip.NewReader(bytes.NewReader(read(t, archive)))
	if err != nil {
		t.Fatal(err)
	}
	for packed := tar.NewReader(zipped); ; {
		header, err := packed.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, header.FileInfo())
	}
}

// installsDebian unpacks a package into a folder, and completes with what is there.
func installsDebian(t *testing.T, deb, version string) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is missing")
	}
	folder := t.TempDir()
	if err := harness.Succeed(exec.CommandContext(t.Context(), "dpkg-deb", "-x", deb, folder)); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(folder, "usr", "bin")
	if out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "kubectl-akash_net"), "version").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), version) {
		t.Errorf("version: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "kubectl_complete-akash_net"), "vers").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "version\t") {
		t.Errorf("completion: %v\n%s", err, out)
	}
	for _, name := range []string{"copyright", "THIRD_PARTY_LICENSES"} {
		read(t, filepath.Join(folder, "usr", "share", "doc", "kubectl-akash-net", name))
	}
}

// billOfMaterials finds what a program is linked with in its bill of materials.
func billOfMaterials(t *testing.T, dist string) {
	for program, module := range map[string]string{
		"kubectl-akash_net": "k8s.io/kubectl", "akash-net-reconciler": "sigs.k8s.io/controller-runtime",
	} {
		var bill struct{ Components []struct{ Name string } }
		if err := json.Unmarshal(read(t, filepath.Join(dist, program+"_linux_amd64.cdx.json")), &bill); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(bill.Components, func(c struct{ Name string }) bool { return c.Name == module }) {
			t.Errorf("the bill of %s does not name %s", program, module)
		}
	}
}

func sum(t *testing.T, path string) string {
	t.Helper()
	digest := sha256.Sum256(read(t, path))
	return hex.EncodeToString(digest[:])
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
