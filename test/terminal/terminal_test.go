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
	"slices"
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

// emulator is a terminal in which the program runs.
type emulator struct {
	t      *testing.T
	socket string
}

// open runs the program with a variable of the environment on a terminal, and then the commands of rest.
func open(t *testing.T, columns, rows int, env, rest string, args ...string) emulator {
	t.Helper()
	folder, err := os.MkdirTemp("", "tmux") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	e := emulator{t, filepath.Join(folder, "s")}
	script := fmt.Sprintf("%s '%s' %s; %s", env, filepath.Join(harness.Binaries(), harness.Program), strings.Join(args, " "), rest)
	e.tmux("new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), script)
	t.Cleanup(func() { _ = e.command(context.Background(), "kill-server").Run() })
	return e
}

func (e emulator) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-f", os.DevNull, "-S", e.socket}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "KUBECONFIG="+harness.Plane.Kubeconfig)
	return cmd
}

// tmux sends a command to the terminal.
func (e emulator) tmux(args ...string) string {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), harness.Deadline)
	defer cancel()
	out, err := e.command(ctx, args...).CombinedOutput()
	if err != nil {
		e.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// shown returns what the terminal shows.
func (e emulator) shown() string {
	e.t.Helper()
	return strings.TrimRight(e.tmux("capture-pane", "-e", "-p"), "\n") + "\n"
}

// shows waits until the terminal shows each of the texts, and returns all that it shows.
func (e emulator) shows(texts ...string) (screen string) {
	e.t.Helper()
	harness.Eventually(e.t, fmt.Sprintf("the terminal shows %q", texts), func(context.Context) (bool, error) {
		screen = e.shown()
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) }), nil
	})
	return screen
}

// run runs the program with a variable of the environment on a terminal of so many columns, and returns what the terminal shows.
func run(t *testing.T, columns int, env string, args ...string) string {
	t.Helper()
	e := open(t, columns, 80, env, "echo ended; cat", args...)
	screen, _, _ := strings.Cut(e.shows("\nended\n"), "\nended\n")
	return screen + "\n"
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
		"graph":    {"graph"},
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

// A watch has the whole terminal, as wide and as high as it is, shows what changes in place of what was there, and gives it back.
func TestWatchScreen(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	one, two := harness.LeaseOf(harness.NewOwner(t), 1), harness.LeaseOf(harness.NewOwner(t), 1)
	hosts := []string{harness.NewHost("one"), harness.NewHost("two")}
	harness.Run(t.Context(), "apply", "-f", define(t, one, hosts[0])).Exits(t, 0)
	e := open(t, 80, 24, "echo before;", "echo after; cat", "state", "hosts", "-w", "--owner", one.Owner)
	if screen := e.shows(hosts[0], "Active", "Ctrl-C ends"); strings.Contains(screen, "before") {
		t.Errorf("the screen is not its own:\n%s", screen)
	}
	harness.Run(t.Context(), "release", one.String()).Exits(t, 0)
	if screen := e.shows("No hosts held."); strings.Contains(screen, hosts[0]) {
		t.Errorf("what is gone is still there:\n%s", screen)
	}
	e.tmux("send-keys", "C-c")
	if screen := e.shows("before", "after"); strings.Contains(screen, "HOST") || strings.Contains(screen, "No hosts") {
		t.Errorf("the terminal is not given back:\n%s", screen)
	}

	harness.Run(t.Context(), "apply", "-f", define(t, two, strings.Join([]string{hosts[1], "a." + hosts[1], "b." + hosts[1], "c." + hosts[1]}, ", "))).Exits(t, 0)
	e = open(t, 80, 4, "", "cat", "state", "-w", "--owner", two.Owner)
	e.shows("HOST", hosts[1], " more lines; ")
	e.tmux("resize-window", "-x", "60", "-y", "60")
	if screen := e.shows("c."+hosts[1], "Ctrl-C ends"); strings.Contains(screen, " more lines; ") {
		t.Errorf("the screen is not as high as the terminal:\n%s", screen)
	}
	harness.Run(t.Context(), "release", two.String()).Exits(t, 0)
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
