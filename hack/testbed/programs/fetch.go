package programs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

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
