// Package cli_test runs the command line without a cluster, as scripts in testdata/script: what
// is printed where, and with which exit code. With -update the goldens inside the scripts are
// written anew.
package cli_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin"
)

var update = flag.Bool("update", false, "write the goldens of the scripts anew")

const (
	program    = "kubectl-akash_net"
	completion = "kubectl_complete-akash_net"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){program: run, completion: run})
}

func run() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	os.Exit(plugin.Main(context.Background(), os.Args, streams))
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               setUp,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exitcode": exitCode, "order": order, "leases": leases, "counted": counted, "hardlink": hardLink},
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// hardLink gives a program a second name. A copy could not always be run: while it is written, a
// process that another script starts may hold it open, and Linux refuses to run such a file.
func hardLink(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hardlink PROGRAM NAME")
	}
	ts.Check(os.Link(args[0], ts.MkAbs(args[1])))
}

// The leases of the scripts: SHOP and BLOG are leases of two owners, OTHER is SHOP's owner's second.
const (
	owner    = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	stranger = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"
	provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

// setUp gives a script a home and a folder for temporary files, both of which must be empty when
// the script ends: no command of it writes there. Where the program itself stands is PROGRAM.
func setUp(env *testscript.Env) error {
	where, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	home := filepath.Join(env.WorkDir, ".home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("PROGRAM", where)
	env.Setenv("SHOP", owner+"/8438017/1/1/"+provider)
	env.Setenv("OTHER", owner+"/8438018/1/1/"+provider)
	env.Setenv("BLOG", stranger+"/5905802/1/1/"+provider)
	env.Defer(func() {
		for _, folder := range []string{home, env.Getenv("TMPDIR")} {
			if left, err := filesIn(folder); err != nil || len(left) > 0 {
				env.T().Fatal(fmt.Sprintf("%s is not empty: %v %v", filepath.Base(folder), left, err))
			}
		}
	})
	return nil
}

func filesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// exitCode is the script command `exitcode N program [args...]`: the program must end with that
// code. Its output is there for stdout, stderr and cmp. Standard input stays for the next command.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// order is the script command `order FILE text...`: the texts stand in the file (or stdout, or
// stderr) one after the other.
func order(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: order FILE text text...")
	}
	rest := ts.ReadFile(args[0])
	for i, text := range args[1:] {
		_, after, found := strings.Cut(rest, text)
		if !found {
			before := "at all"
			if i > 0 {
				before = fmt.Sprintf("after %q", args[i])
			}
			ts.Fatalf("%q does not stand in %s %s", text, args[0], before)
		}
		rest = after
	}
}

// leases is the script command `leases N FILE`: it writes N lease definitions, lease-1 with the host
// h1.example.com and so on, into one file.
func leases(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: leases N FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `---
apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: lease-%[1]d}
spec:
  lease: {owner: %[2]s, dseq: %[1]d, gseq: 1, oseq: 1, provider: %[3]s}
  services:
  - name: web
    expose: [{port: 80, global: true, hosts: [h%[1]d.example.com]}]
`, i+1, owner, provider)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text.String()), 0o600))
}

// counted is the script command `counted FILE PATTERN N`: the first groups of the pattern's matches
// in the file (or stdout, or stderr) are 1 to N, in that order.
func counted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: counted FILE PATTERN N")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	matches := pattern.FindAllStringSubmatch(ts.ReadFile(args[0]), -1)
	for i, m := range matches {
		if m[1] != strconv.Itoa(i+1) {
			ts.Fatalf("match %d is %q", i+1, m[0])
		}
	}
	if strconv.Itoa(len(matches)) != args[2] {
		ts.Fatalf("%d matches, want %s", len(matches), args[2])
	}
}
