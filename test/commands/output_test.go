package commands

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// manyLeases are leases with a host each, in one file.
func manyLeases(t *testing.T, n int) (file string, ids []lease.ID) {
	t.Helper()
	owner := newTenant(t)
	var documents []string
	for i := range n {
		id := leaseOf(owner, uint64(i)+1)
		ids = append(ids, id)
		text, err := os.ReadFile(defineParts(t, id, webPart(newHost("many"))))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, strings.Replace(string(text), "{name: test}", fmt.Sprintf("{name: test-%d}", i), 1))
	}
	return harness.File(t, strings.Join(documents, "---\n")), ids
}

// Whoever has read enough of what apply tells does not end its work: head may be gone after the first line.
func TestApplyOutlivesItsReader(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"--output=", "--output=events"} {
		file, ids := manyLeases(t, 8)
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		cmd := admin().command(ctx, "apply", "-f", file, output, "--concurrency=1")
		var errOut strings.Builder
		cmd.Stderr = &errOut
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReaderSize(out, 16).ReadByte(); err != nil {
			t.Fatal(err)
		}
		_ = out.Close()
		err = cmd.Wait()
		if told := errOut.String(); err != nil || told != "" && (output != "--output=" || !strings.HasPrefix(told, "8 leases: 8 live, ") || strings.Count(told, "\n") > 1) {
			t.Errorf("%s: %v, %s", output, err, errOut.String())
		}
		live := admin().do(t, "state", "leases", "--no-headers", "-l", ofOwner(ids[0].Owner)).Stdout
		if n := strings.Count(live, "Active"); n != len(ids) {
			t.Errorf("%s: %d of %d leases are live:\n%s", output, n, len(ids), live)
		}
		if left := admin().do(t, "state", "-l", ofOwner(ids[0].Owner), "-o", "json").Stdout; strings.Contains(left, "Claiming") {
			t.Errorf("%s: the run has not ended: %s", output, left)
		}
	}
}

// What is told and cannot be written is an error, and the work is done all the same.
func TestFullOutput(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer full.Close() //nolint:errcheck // nothing was written
	for _, output := range []string{"--output=", "--output=events"} {
		file, ids := manyLeases(t, 1)
		fails(t, full, "standard output cannot be written", "apply", "-f", file, output)
		if live := admin().do(t, "state", "leases", "--no-headers", "-l", ofOwner(ids[0].Owner)).Stdout; strings.Count(live, "Active") != len(ids) {
			t.Errorf("%s: not all leases are live:\n%s", output, live)
		}
		fails(t, full, "no space left", "state", "leases", "-l", ofOwner(ids[0].Owner))
		fails(t, full, "standard output cannot be written", "release", ids[0].Group().String(), output)
	}
}

func fails(t *testing.T, out *os.File, want string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	cmd := admin().command(ctx, args...)
	var errOut strings.Builder
	cmd.Stdout, cmd.Stderr = out, &errOut
	err := cmd.Run()
	if exit, failed := err.(*exec.ExitError); !failed || exit.ExitCode() != 1 || strings.Count(errOut.String(), want) != 1 { //nolint:errorlint // of Run itself
		t.Errorf("%s: %v, %s", strings.Join(args, " "), err, errOut.String())
	}
}
