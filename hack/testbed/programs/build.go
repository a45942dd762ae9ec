package programs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Build builds the programs of the named modules (all, when none is named) that are missing or
// whose wrapper module has changed since, and says on w what it builds and how long that took.
// What KUBEBUILDER_ASSETS holds is not built.
func Build(ctx context.Context, w io.Writer, names ...string) error {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("no module %q to build; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	root, err := Root()
	if err != nil {
		return err
	}
	bin, err := binDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(bin, 0o750); err != nil {
		return err
	}
	for _, m := range modules {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		if err := m.build(ctx, w, filepath.Join(root, "hack", "testbed", m.name), bin); err != nil {
			return fmt.Errorf("building from hack/testbed/%s: %w", m.name, err)
		}
	}
	return nil
}

// build makes one module's programs in a single go build, which shares the work between them.
// They appear under their names only when complete, so a running program is never overwritten
// and two builds at once do no harm.
func (m module) build(ctx context.Context, w io.Writer, dir, bin string) error {
	wanted := m.wanted(bin)
	if len(wanted) == 0 {
		return nil
	}
	stamp, err := m.stamp(dir, wanted)
	if err != nil {
		return err
	}
	stampFile := filepath.Join(bin, "."+m.name+".stamp")
	if old, err := os.ReadFile(stampFile); err == nil && string(old) == stamp && m.built(bin, wanted) {
		return nil
	}
	version, err := goOutput(ctx, dir, "list", "-m", "-f", "{{.Version}}", m.path)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "building %s %s from its Go module; the first time takes about %s\n", strings.Join(wanted, ", "), version, m.takes)
	start := time.Now()
	if err := m.compile(ctx, w, dir, bin, version, wanted); err != nil {
		return err
	}
	fmt.Fprintf(w, "built in %s\n", time.Since(start).Round(time.Second))
	return os.WriteFile(stampFile, []byte(stamp), 0o600)
}

func (m module) compile(ctx context.Context, w io.Writer, dir, bin, version string, wanted []string) error {
	fresh, err := os.MkdirTemp(bin, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh) //nolint:errcheck // a leftover folder is harmless
	ldflags := "-s -w " + strings.ReplaceAll(m.ldflags, "VERSION", version)
	args := []string{"build", "-v", "-trimpath", "-ldflags", strings.TrimSpace(ldflags), "-o", fresh + string(filepath.Separator)}
	for _, name := range wanted {
		args = append(args, m.programs[name])
	}
	build := goCommand(ctx, dir, args...)
	lines := &progress{out: w, each: 10 * time.Second, last: time.Now()}
	build.Stdout, build.Stderr = lines, lines
	if err := build.Run(); err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	for _, name := range wanted {
		if err := os.Rename(filepath.Join(fresh, goName(m.programs[name])), filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return nil
}

// wanted are the names of the programs that this module has to give.
func (m module) wanted(bin string) []string {
	given := assets(bin)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.programs)) {
		standard := name == "etcd" || name == "kube-apiserver" || name == "kubectl"
		if given != "" && standard && exists(filepath.Join(given, name)) {
			continue
		}
		names = append(names, name)
	}
	return names
}

func (m module) built(bin string, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !exists(filepath.Join(bin, name)) })
}

// stamp changes when the wrapper module or the way to build it does.
func (m module) stamp(dir string, names []string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, m.ldflags, names)
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if name == "main.go" && errors.Is(err, os.ErrNotExist) {
			continue // most wrappers have no program of their own
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%d\n%s", len(content), content)
	}
	return fmt.Sprintf("%x\n", hash.Sum(nil)), nil
}

// goName is the name that go build gives a package's program: the last element of its path that
// is no major version.
func goName(pkg string) string {
	if base := path.Base(pkg); len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		return path.Base(path.Dir(pkg))
	}
	return path.Base(pkg)
}

func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // fixed arguments
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOOS=", "GOARCH=") // programs for this machine
	return cmd
}

func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	var stderr strings.Builder
	cmd := goCommand(ctx, dir, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// answersWithin is how long setup-envtest's index may take to answer. Where it cannot be reached the programs are built, so
// nobody is to wait for it.
const answersWithin = 3 * time.Second

// standard are the programs that setup-envtest fetches, and of KUBEBUILDER_ASSETS.
var standard = []string{"etcd", "kube-apiserver", "kubectl"}

// Prepare makes sure that the programs of a control plane are there: what KUBEBUILDER_ASSETS names and what
// was built before is taken as it is, etcd, kube-apiserver and kubectl are fetched by setup-envtest
// where its index can be reached, and the rest is built. It says on w what it does.
func Prepare(ctx context.Context, w io.Writer) error {
	bin, err := binDir()
	if err != nil {
		return err
	}
	if assets(bin) == "" && !allExist(bin, standard) && fetched() == "" {
		if err := fetch(ctx, w); err != nil {
			fmt.Fprintf(w, "etcd and kube-apiserver are built: %v\n", err)
		}
	}
	if err := UseFetched(); err != nil {
		return err
	}
	return Build(ctx, w, "etcd", "kubernetes", "metallb")
}

// UseFetched makes this process use the programs that Prepare has fetched, where none are named or built.
func UseFetched() error {
	bin, err := binDir()
	if dir := fetched(); err == nil && os.Getenv("KUBEBUILDER_ASSETS") == "" && !allExist(bin, standard) && dir != "" {
		return os.Setenv("KUBEBUILDER_ASSETS", dir)
	}
	return err
}

func allExist(dir string, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !exists(filepath.Join(dir, name)) })
}

// fetched returns the folder of fetched programs, or "". They are kept apart from those that are built at pinned versions.
func fetched() string {
	cache, _ := Cache()
	found, _ := filepath.Glob(filepath.Join(cache, "envtest", "k8s", "*-"+runtime.GOOS+"-"+runtime.GOARCH))
	if i := slices.IndexFunc(found, func(dir string) bool { return allExist(dir, standard) }); i >= 0 {
		return found[i]
	}
	return ""
}

// fetch lets setup-envtest bring the newest programs for this machine.
func fetch(ctx context.Context, w io.Writer) error {
	if err := Build(ctx, w, "envtest"); err != nil {
		return err
	}
	tool, err := Path("setup-envtest")
	if err != nil {
		return err
	}
	cache, err := Cache()
	if err != nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	if out, err := exec.CommandContext(asked, tool, "list").CombinedOutput(); err != nil { //nolint:gosec // a program that Build made
		return fmt.Errorf("setup-envtest's index cannot be reached: %w: %s", err, bytes.TrimSpace(out))
	}
	fmt.Fprintln(w, "fetching etcd, kube-apiserver and kubectl")
	use := exec.CommandContext(ctx, tool, "use", "--bin-dir", filepath.Join(cache, "envtest"), "-p", "path") //nolint:gosec // a program that Build made
	use.Stdout, use.Stderr = w, w
	return use.Run()
}

// progress counts the packages that `go build -v` names, a line each, and says from time to time how many
// there were; other lines it passes on.
type progress struct {
	out      io.Writer
	each     time.Duration
	last     time.Time
	rest     []byte
	packages int
}

// Write takes what go build prints.
func (p *progress) Write(text []byte) (int, error) {
	p.rest = append(p.rest, text...)
	for {
		line, rest, whole := bytes.Cut(p.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		p.rest = bytes.Clone(rest)
		if err := p.line(string(line)); err != nil {
			return len(text), err
		}
	}
}

func (p *progress) line(line string) error {
	if strings.ContainsAny(line, " \t#") {
		_, err := fmt.Fprintln(p.out, line)
		return err
	}
	p.packages++
	if time.Since(p.last) < p.each {
		return nil
	}
	p.last = time.Now()
	_, err := fmt.Fprintf(p.out, "  %d packages compiled\n", p.packages)
	return err
}
