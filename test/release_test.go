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

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/test/harness"
	"github.com/akash-net/kubectl-akash-net/test/release"
)

// version is none that was released, so that its appearance shows that the built binary ran.
const version = "v0.0.1-krew"

var here = release.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}

// A user installs with krew, runs the plugin through kubectl, and completes as krew's caveats say.
func TestKrewInstall(t *testing.T) {
	harness.NeedsLong(t)
	archive := release.Read(t).Archive(t, version, here)
	m := goreleaserMakes(t, version, map[release.Platform]string{here: sum(t, archive)})
	m.Spec.Platforms = slices.DeleteFunc(m.Spec.Platforms, func(p krewPlatform) bool { return p.platform() != here })
	path := filepath.Join(t.TempDir(), m.Metadata.Name+".yaml")
	if err := os.WriteFile(path, []byte(written(t, m)), 0o600); err != nil {
		t.Fatal(err)
	}
	krewInstalls(t, path, archive, version)
}

// krewInstalls lets krew install an archive, and a user work with the plugin.
func krewInstalls(t *testing.T, manifest, archive, version string) {
	t.Helper()
	validates(t, manifest)
	home := t.TempDir()
	bin := filepath.Join(home, ".krew", "bin")
	path := "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")
	install := exec.CommandContext(t.Context(), program(t, "krew"), "install", "--manifest", manifest, "--archive", archive)
	install.Env = append(os.Environ(), path, "HOME="+home, "KREW_ROOT="+filepath.Join(home, ".krew"), "KREW_NO_UPGRADE_CHECK=1")
	out, err := install.CombinedOutput()
	if err != nil {
		t.Fatalf("krew install: %v\n%s", err, out)
	}
	const complete = "kubectl akash-net completion --install"
	if !strings.Contains(string(out), complete) {
		t.Errorf("krew does not say how to complete:\n%s", out)
	}
	kubectl := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program(t, "kubectl"), args...)
		cmd.Env = append(os.Environ(), path, "KUBECONFIG="+os.DevNull)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	if out, err := kubectl("akash-net", "version"); err != nil || !strings.Contains(out, version) {
		t.Errorf("kubectl akash-net version: %v\n%s\ndoes not say %s", err, out, version)
	}
	// The program that watches lies beside the plugin, where that finds it.
	out2, err := kubectl("akash-net", "reconcile", "--heal", "--watch", "--kubeconfig", filepath.Join(home, "none"))
	if err == nil || strings.Contains(out2, "akash-net-reconciler") || !strings.Contains(out2, "kubeconfig") {
		t.Errorf("kubectl akash-net reconcile --watch: %v\n%s", err, out2)
	}

	link := filepath.Join(bin, "kubectl_complete-akash_net")
	for _, want := range []string{link + " created\n", link + " is there already\n"} {
		if out, err := kubectl(strings.Fields(complete)[1:]...); err != nil || out != want {
			t.Errorf("%s: %v\n%s, want %s", complete, err, out, want)
		}
	}
	out2, err = kubectl("__complete", "akash-net", "vers")
	if err != nil || !slices.ContainsFunc(strings.Split(out2, "\n"), func(line string) bool { return strings.HasPrefix(line, "version\t") }) {
		t.Errorf("kubectl __complete akash-net vers: %v\n%s\ndoes not offer version", err, out2)
	}
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
