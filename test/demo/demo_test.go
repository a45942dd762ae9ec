//go:build unix

// Package demo shows what the demo's script does before it touches a cluster.
package demo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// demo runs the script with a kubectl and a plugin that only note how they are called, and says what they
// were called with.
func demo(t *testing.T, answer, kubectl string, settings ...string) (calls, output string, err error) {
	t.Helper()
	if os.Getenv("LONG") == "" {
		t.Skip("it takes long: LONG=1 runs it, as make test-long does")
	}
	bin := t.TempDir()
	script := "#!/bin/sh\necho \"$(basename $0) $*\" >>" + filepath.Join(bin, "calls") + "\ncase \"$*\" in\n" + kubectl + "\n*thief*) exit 4 ;;\nesac\n"
	for _, name := range []string{"kubectl", "kubectl-akash_net"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "../../hack/demo/demo.sh")
	cmd.Stdin = strings.NewReader(answer)
	cmd.Env = append(append(os.Environ(), "DEMO_BIN="+bin), settings...)
	out, err := cmd.CombinedOutput()
	noted, readErr := os.ReadFile(filepath.Join(bin, "calls"))
	if readErr != nil && !os.IsNotExist(readErr) {
		t.Fatal(readErr)
	}
	return string(noted), string(out), err
}

const (
	context      = "'config current-context') echo production ;;"
	unconfigured = context + "\n*configmap*) exit 1 ;;"
)

// The current cluster is used after a question that names its context, or when it is said; never one that is
// a provider's already, or has no MetalLB.
func TestCurrentCluster(t *testing.T) {
	for name, tt := range map[string]struct {
		answer, kubectl string
		settings        []string
		want            string
		installs        bool
	}{
		"no":              {"n\n", unconfigured, nil, `context "production"`, false},
		"no answer":       {"", unconfigured, nil, "[y/N]", false},
		"yes":             {"y\n", unconfigured, nil, `context "production"`, true},
		"said before":     {"", unconfigured, []string{"YES=1"}, "kubectl akash-net uninstall", true},
		"a provider's":    {"y\n", context, nil, "would be replaced", false},
		"without MetalLB": {"y\n", unconfigured + "\n*ipaddresspools*) exit 1 ;;", nil, "has no MetalLB", false},
		"another word":    {"y\n", unconfigured, []string{"CLUSTER=kind"}, "CLUSTER=current", false},
	} {
		t.Run(name, func(t *testing.T) {
			calls, output, err := demo(t, tt.answer, tt.kubectl, append([]string{"CLUSTER=current"}, tt.settings...)...)
			installed := strings.Contains(calls, "kubectl akash-net install")
			if installed != tt.installs || (err == nil) != tt.installs || !strings.Contains(output, tt.want) {
				t.Errorf("installed: %v, error %v\n%s\ncalls:\n%s", installed, err, output, calls)
			}
		})
	}
}

// What needs no cluster is shown before the question.
func TestOfflineComesFirst(t *testing.T) {
	calls, _, _ := demo(t, "n\n", unconfigured, "CLUSTER=current")
	offline, _, asked := strings.Cut(calls, "kubectl config current-context")
	for _, want := range []string{"kubectl-akash_net render -f", "kubectl-akash_net render pools", "kubectl-akash_net state routes -f"} {
		if !asked || !strings.Contains(offline, want) {
			t.Errorf("%q is not shown before the cluster is asked for:\n%s", want, calls)
		}
	}
}
