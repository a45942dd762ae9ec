//go:build unix

// Command testbed builds the programs that tests and the demo need, and starts and ends a cluster
// of them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/cluster"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

const usage = `usage: testbed [-dir FOLDER] COMMAND

  build [MODULE...]   build what is missing of the programs (all: %s)
  prepare             fetch or build the programs of a cluster
  up                  start a cluster, if none runs in the folder, and print the shell commands that select it
  down                end it and remove its data
  env                 print the shell commands that select it once more
  share PROGRAM [ARG...]  run a program whose test packages share a control plane, one after another
  path PROGRAM        print where a program is

The folder is .cache/demo of the repository unless -dir or the variable TESTBED_DIR names another.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := 0
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
		code = 1
	}
	stop()
	os.Exit(code)
}

// run writes results to stdout and what it is doing to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("testbed", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprintf(stderr, usage, strings.Join(programs.Names(), ", ")) }
	dir := flags.String("dir", os.Getenv("TESTBED_DIR"), "the cluster's folder")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := at(*dir)
	if err != nil {
		return err
	}
	switch command := flags.Arg(0); command {
	case "build":
		return programs.Build(ctx, stderr, flags.Args()[1:]...)
	case "prepare":
		return programs.Prepare(ctx, stderr)
	case "up":
		if err := programs.UseFetched(); err != nil {
			return err
		}
		if err := programs.Build(ctx, stderr, "etcd", "kubernetes", "metallb"); err != nil {
			return err
		}
		if err := c.Up(ctx, stderr); err != nil {
			return err
		}
		return env(stdout, c)
	case "serve": // what up starts
		return c.Serve(ctx)
	case "down":
		return c.Down(stderr)
	case "env":
		if err := programs.UseFetched(); err != nil {
			return err
		}
		return env(stdout, c)
	case "share":
		if flags.NArg() < 2 {
			flags.Usage()
			return errors.New("share needs a program")
		}
		shared := exec.CommandContext(ctx, flags.Arg(1), flags.Args()[2:]...) //nolint:gosec // what the caller asks for
		shared.Stdin, shared.Stdout, shared.Stderr = os.Stdin, stdout, stderr
		shared.Cancel = func() error { return shared.Process.Signal(os.Interrupt) }
		return testbed.Share(ctx, shared)
	case "path":
		path, err := programs.Path(flags.Arg(1))
		fmt.Fprintln(stdout, path)
		return err
	default:
		flags.Usage()
		return fmt.Errorf("no command %q", command)
	}
}

func at(dir string) (cluster.Cluster, error) {
	if dir == "" {
		cache, err := programs.Cache()
		return cluster.Cluster{Dir: filepath.Join(cache, "demo")}, err
	}
	abs, err := filepath.Abs(dir)
	return cluster.Cluster{Dir: abs}, err
}

// env prints what selects the cluster, its kubectl and the plugin in a shell.
func env(w io.Writer, c cluster.Cluster) error {
	root, err := programs.Root()
	if err != nil {
		return err
	}
	kubectl, err := programs.Path("kubectl")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "export KUBECONFIG=%q\n", c.Kubeconfig())
	fmt.Fprintf(w, "export PATH=%q:%q:\"$PATH\"\n", filepath.Join(root, "bin"), filepath.Dir(kubectl))
	return nil
}
