// Command release builds the archives of a release into dist/, and puts their digests into
// krew.yaml and the version into what names the image. The files to publish are those in dist/, byte for byte.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/akash-net/kubectl-akash-net/hack/release"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// versionForm is what krew accepts: a semantic version with its v.
var versionForm = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func run(ctx context.Context, args []string) error {
	if len(args) != 1 || !versionForm.MatchString(args[0]) {
		return fmt.Errorf("give one version of the form v1.2.3, not %q", args)
	}
	version := args[0]
	root, err := programs.Root()
	if err != nil {
		return err
	}
	dist := filepath.Join(root, "dist")
	archives, err := release.Build(ctx, root, dist, version, release.Platforms...)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, archive := range archives {
		fmt.Fprintf(&sums, "%s  %s\n", archive.SHA256, archive.Name())
	}
	fmt.Print(sums.String())
	if err := os.WriteFile(filepath.Join(dist, "checksums.txt"), []byte(sums.String()), 0o644); err != nil { //nolint:gosec // to be published
		return err
	}
	for _, name := range kustomizations {
		err := edit(filepath.Join(root, name), func(old []byte) ([]byte, error) { return release.Kustomization(old, version) })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return edit(filepath.Join(root, "krew.yaml"), func(old []byte) ([]byte, error) { return release.Manifest(old, version, archives) })
}

// kustomizations name the image of the release.
var kustomizations = []string{"manifests/reconciler/kustomization.yaml", "manifests/examples/reconciler/cronjob/kustomization.yaml"}

// edit writes a file anew.
func edit(path string, with func([]byte) ([]byte, error)) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	edited, err := with(old)
	if err != nil {
		return err
	}
	return os.WriteFile(path, edited, 0o644) //nolint:gosec // a public file
}
