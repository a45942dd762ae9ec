package console

import (
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// On a terminal of 80 and of 40 columns the message about a conflict does not wrap within a word, and what it says to type is one line.
func TestConflictOnTerminal(t *testing.T) {
	const provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	holder := lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: provider}
	wants := lease.ID{Owner: "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn", DSeq: 5905803, GSeq: 1, OSeq: 1, Provider: provider}
	held := &report.HeldError{Lease: wants, Held: []report.HeldThing{{Kind: "host", Thing: "shop.example.com", By: state.Holder{
		Lease: holder, Namespace: holder.Namespace(), Since: time.Date(2026, 11, 21, 4, 47, 23, 0, time.UTC), Service: "web", Port: 80,
	}}}}
	for width, want := range map[int]string{
		80: `Error: shop.example.com is held by another lease

  HOST        shop.example.com
  HELD BY     akash1h24…9w3c9h/8438017/1/1
  NAMESPACE   5reb3l87s85t50v77sosktvdeeg6pfbnlboigoprqv3d4
  SINCE       2026-11-21T04:47:23Z
  ROUTED TO   web:80

Nothing was changed for lease akash1n44…ahc6nn/5905803/1/1/akash1nxq…vqw6y0.
The holder can release it: kubectl akash-net release akash1h24…9w3c9h/8438017/1
`,
		40: `Error: shop.example.com is held by
another lease

  HOST        shop.example.com
  HELD BY
    akash1h24…9w3c9h/8438017/1/1
  NAMESPACE
    5reb3l87s85t50v77sosktvdeeg6pfbnlboigoprqv3d4
  SINCE       2026-11-21T04:47:23Z
  ROUTED TO   web:80

Nothing was changed for lease
akash1n44…ahc6nn/5905803/1/1/akash1nxq…vqw6y0.
The holder can release it:
kubectl akash-net release akash1h24…9w3c9h/8438017/1
`,
	} {
		c, out := testConsole()
		c.width = func() int { return width }
		c.printHeld(held)
		if got := out.String(); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
}

// The names in a usage error stay whole: it lists the leases that a short name may mean.
func TestUsageErrorNamesLeasesInWhole(t *testing.T) {
	const name = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1"
	for err, want := range map[error]string{
		usage.Errorf("type one of\n  %s", name):        "  " + name + "\n",
		terminalError("lease " + name + " is closing"): "Error: lease akash1h24…9w3c9h/8438017/1 is closing\n",
	} {
		c, out := testConsole()
		c.width = func() int { return 80 }
		if c.print(err); !strings.Contains(out.String(), want) {
			t.Errorf("%q has no %q", out.String(), want)
		}
	}
	if terminal.Cells(name) > 80 {
		t.Fatal("the name is folded")
	}
}

type terminalError string

func (e terminalError) Error() string { return string(e) }

// On a terminal the errors in an input and the lines of events are folded between words, each below its beginning; names, with which
// scripts go on, are not.
func TestLinesOnTerminal(t *testing.T) {
	problems := lease.Problems{
		{At: lease.Place{File: "deploy.yaml", Line: 14, Column: 13}, Message: "99999 is not a port (1 to 65535)"},
		{At: lease.Place{File: "deploy.yaml", Line: 15, Column: 13}, Message: "this key is not known", Warning: true},
	}
	event := report.Event{Action: report.Withheld, Kind: "host", Name: "shop.example.com", Message: "held by deployment 8438017"}
	for output, want := range map[string]string{
		"": `deploy.yaml:14:13: 99999 is not a port
  (1 to 65535)
Error: deploy.yaml has 1 error
Warning: deploy.yaml:15:13: this key
  is not known
host/shop.example.com withheld (held
  by deployment 8438017)
`,
		OutputName: `deploy.yaml:14:13: 99999 is not a port
  (1 to 65535)
Error: deploy.yaml has 1 error
Warning: deploy.yaml:15:13: this key
  is not known
host/shop.example.com
`,
	} {
		c, out := testConsole()
		c.width, c.outWidth, c.Text = func() int { return 40 }, func() int { return 40 }, out
		c.printProblems(problems)
		c.Warn(problems)
		NewEvents(c, output, "").Report(event)
		if got := out.String(); got != want {
			t.Errorf("-o %q:\n%s\nwant\n%s", output, got, want)
		}
	}
}
