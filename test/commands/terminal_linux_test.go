package commands

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
)

// onTerminal runs the program with its output on a terminal of so many columns, and returns what was written to that.
func onTerminal(t *testing.T, u user, columns uint16, args ...string) string {
	t.Helper()
	user, program := openTerminal(t, columns)
	cmd := u.command(t.Context(), args...)
	cmd.Stdout, cmd.Stderr = program, program
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, _ = out.ReadFrom(user) // it ends with an error when the program has closed its side
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}

// openTerminal opens both sides of a terminal: of the person before it, and of the program.
func openTerminal(t *testing.T, columns uint16) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = user.Close() })
	fd := int(user.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return user, program
}

// stays is what stays on a terminal: a line that is written over goes, and one that is folded is one.
func stays(written string) (lines []string) {
	for line := range strings.Lines(written) {
		if i := strings.LastIndex(line, "\x1b[K"); i >= 0 {
			line = line[i+len("\x1b[K"):]
		}
		line = strings.TrimSuffix(line, "\n")
		switch rest, follows := strings.CutPrefix(line, "  "); {
		case line == "":
		case follows:
			lines[len(lines)-1] += " " + rest
		default:
			lines = append(lines, line)
		}
	}
	return lines
}

// On a terminal a lease's objects have a line each, and many leases have a line each, below which stands how far
// the command is.
func TestOnATerminal(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	u := admin().with(configure(t, "ip: {ranges: ["+v4+"0/28]}"))
	id, host := leaseOf(newTenant(), 1), newHost("terminal")
	definition := defineParts(t, id, service("web", served(host), leasedPart("public", "TCP", 443)), endpoint("public"))
	lines := stays(onTerminal(t, u, 80, "apply", "-f", definition))
	for _, want := range []string{"host/" + host + " claimed", "ingress/" + host + " created", "service/web-ip-443-tcp created, granted " + v4 + "0"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in %q", want, lines)
		}
	}
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "lease "+short(id)+" is live: 1 host, 1 address ("+v4+"0), ") {
		t.Errorf("the last line is %q", last)
	}
	if lines := stays(onTerminal(t, u, 80, "apply", "-f", definition)); len(lines) != 1 || !strings.Contains(lines[0], ", unchanged, ") {
		t.Errorf("where nothing changes: %q", lines)
	}

	owner := newTenant()
	apply, release := []string{"apply"}, []string{"release"}
	var want []string
	for dseq := range uint64(7) {
		id := leaseOf(owner, dseq+1)
		apply, release = append(apply, "-f", defineParts(t, id, webPart(newHost("many")))), append(release, id.Group().String())
		want = append(want, "lease "+short(id))
	}
	written := onTerminal(t, admin(), 20, apply...)
	lines = stays(written)
	if last := len(lines) - 1; !strings.HasPrefix(lines[last], "7 leases: 7 live, ") {
		t.Errorf("the last line is %q", lines[last])
	} else {
		lines = lines[:last]
	}
	for i, line := range lines {
		lines[i], _, _ = strings.Cut(line, " is live: 1 host, ")
	}
	slices.Sort(lines) // leases are applied side by side
	if !slices.Equal(lines, want) {
		t.Errorf("lines %q, want %q", lines, want)
	}
	for done := range 8 {
		if text := fmt.Sprintf("\r\x1b[K%d of 7 leases", done); !strings.Contains(written, text) {
			t.Errorf("it is never said %q:\n%q", text, written)
		}
	}
	if strings.Contains(written, "s left") {
		t.Errorf("lines are longer than the terminal is wide:\n%q", written)
	}
	for i, id := range want {
		want[i] = id + ": 2 deleted, 1 released, 1 left"
	}
	lines = stays(onTerminal(t, admin(), 80, release...))
	if last := len(lines) - 1; !slices.Equal(lines[:last], want) || !strings.HasPrefix(lines[last], "7 leases: 7 released, ") {
		t.Errorf("lines %q, want %q and how many are released", lines, want)
	}
}

// short is the name of a lease as a terminal shows it.
func short(id lease.ID) string {
	return fmt.Sprintf("%s/%d/%d", thing.ShortWallet(id.Owner), id.DSeq, id.GSeq)
}
