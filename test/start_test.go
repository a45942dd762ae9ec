package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// What each start of the plugin costs before main is counted, with a little to spare: what a rare command needs is not to be paid for by all.
// A bare cobra program with kubectl's connection flags initialises 266 packages in 2.1 MB.
const (
	mostPackages = 335
	mostBytes    = 2_850_000
)

func TestStart(t *testing.T) {
	built := os.Getenv("AKASH_NET_BIN")
	if built == "" {
		t.Skip("counts what the program that make test has built does")
	}
	start := exec.CommandContext(t.Context(), filepath.Join(built, "kubectl-akash_net"), "version")
	start.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := start.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	packages, bytes := 0, 0
	for line := range strings.Lines(string(out)) { // init PACKAGE @TIME ms, TIME ms clock, BYTES bytes, COUNT allocs
		if words := strings.Fields(line); len(words) > 8 && words[0] == "init" {
			n, err := strconv.Atoi(words[7])
			if err != nil {
				t.Fatal(line)
			}
			packages, bytes = packages+1, bytes+n
		}
	}
	if packages == 0 || packages > mostPackages || bytes > mostBytes {
		t.Errorf("a start initialises %d packages in %d bytes, at most %d in %d are expected", packages, bytes, mostPackages, mostBytes)
	}
}
