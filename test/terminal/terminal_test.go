// Package terminal shows what commands print on a real terminal, which tmux is, at several widths.
package terminal

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, harness.Setup{Pools: true, Binary: true, Install: true}))
}

const provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"

var (
	shop  = lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: provider}
	thief = lease.ID{Owner: "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn", DSeq: 5905803, GSeq: 1, OSeq: 1, Provider: provider}
)

func define(t *testing.T, id lease.ID, hosts string) string {
	return harness.Define(t, id, []string{"{name: web, expose: [{port: 80, global: true, hosts: [" + hosts + "]}]}"}, nil)
}

// run runs the program with a variable of the environment on a terminal of so many columns, and returns what the terminal shows.
func run(t *testing.T, columns int, env string, args ...string) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "tmux") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	socket := filepath.Join(folder, "s")
	ctx, cancel := context.WithTimeout(t.Context(), harness.Deadline)
	defer cancel()
	tmux := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-f", os.DevNull, "-S", socket}, args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "KUBECONFIG="+harness.Plane.Kubeconfig)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	script := fmt.Sprintf("%s '%s' %s; tmux -S %s wait-for -S done; cat", env, filepath.Join(harness.Binaries(), harness.Program), strings.Join(args, " "), socket)
	tmux("new-session", "-d", "-x", fmt.Sprint(columns), "-y", "80", script)
	defer tmux("kill-server")
	tmux("wait-for", "done")
	return strings.TrimRight(tmux("capture-pane", "-e", "-p"), "\n") + "\n"
}

var (
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	ages    = regexp.MustCompile(`(?m)\b\d+s(  +|$)`)
)

// steady returns a screen without what differs from run to run, in the same columns.
func steady(screen string) string {
	screen = moments.ReplaceAllString(screen, "2026-01-01T00:00:00Z")
	return ages.ReplaceAllStringFunc(screen, func(age string) string {
		if strings.HasSuffix(age, " ") {
			return "0s" + strings.Repeat(" ", len(age)-2)
		}
		return "0s"
	})
}

// At 120, 80 and 40 columns the terminal shows what the golden files have.
func TestWidths(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	harness.Run(t.Context(), "apply", "-f", define(t, shop, "shop.example.com, api.example.com, a-longer-name.staging.example.com")).Exits(t, 0)
	ingresses := schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}
	harness.Remove(t, ingresses, shop.Namespace(), "api.example.com")
	claims := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	harness.Remove(t, claims, "akash-net", "a-longer-name.staging.example.com")
	wanted := define(t, thief, "shop.example.com")
	for name, args := range map[string][]string{
		"state":    {"state"},
		"problems": {"state", "--problems"},
		"conflict": {"apply", "-f", wanted},
	} {
		for _, columns := range []int{120, 80, 40} {
			golden(t, fmt.Sprintf("%s-%d.golden", name, columns), steady(run(t, columns, "", args...)))
		}
	}
	for _, c := range []struct {
		env, flag string
		coloured  bool
	}{
		{"", "", true}, {"", "--color=never", false},
		{"NO_COLOR=1", "", false}, {"NO_COLOR=1", "--color", true}, {"TERM=dumb", "", false},
	} {
		if screen := run(t, 80, c.env, "diff", shop.Group().String(), c.flag); strings.Contains(screen, "\x1b[") != c.coloured || !strings.Contains(screen, "api.example.com") {
			t.Errorf("%s diff %s shows\n%q", c.env, c.flag, screen)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test ./test/terminal -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
