package commands

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/state"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What is held for a bid can be renewed, becomes the lease's without being let go, and is whoever's comes next when it has ended. What is
// held for good does not come to an end because somebody asks for a hold.
func TestHolds(t *testing.T) {
	t.Parallel()
	domain, id, next := newDomain(), leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 9)
	host, late := "bid."+domain, "late."+domain
	hold := func(expires string) *state.Claim {
		t.Helper()
		mustRun(t, 0, "reserve", "--lease", id.String(), host, "--expires", expires)
		return claim(t, host)
	}
	first, second := hold("5m"), hold("1h")
	if first.UID != second.UID || first.Parts[0].Expires == "" || first.Parts[0].Expires >= second.Parts[0].Expires || second.Marked() {
		t.Errorf("the hold is %+v, it was %+v", second, first)
	}
	mustRun(t, 4, "reserve", "--lease", next.String(), host)
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 80, host)))
	if c := claim(t, host); c.UID != first.UID || c.Parts[0].Expires != "" || c.Marked() {
		t.Errorf("the hold did not become the claim: %+v", c)
	}
	mustRun(t, 1, "reserve", "--lease", id.String(), host, "new."+host, "--prune=false", "--expires", "5m").
		Says(t, "holds host/"+host+" for good", "Nothing was changed; leave out --expires")
	held(t, "new."+host)

	passed := before(t, time.Minute)
	plant(t, state.HostWant{Host: late}.Hold(id), func(p *state.Part) { p.Expires = passed })
	mustRun(t, 0, "explain", late).Prints(t, "ended at "+passed, "whoever comes next may take it")
	mustRun(t, 0, "reserve", "--lease", next.String(), late)
	held(t, late, "9 /")
}

// A command that was killed, and left but its announcement, is over with the next command of its lease.
func TestReleaseOfAnAnnouncementAlone(t *testing.T) {
	t.Parallel()
	group := leaseOf(newOwner(t), 1).Group()
	crashed(t, group)
	mustRun(t, 0, "release", group.String()).Prints(t, "lease/"+group.String()+" skipped (holds nothing; a command that had crashed is over)")
	mustRun(t, 1, "release", group.String()).Prints(t, "lease/"+group.String()+" skipped (holds nothing)")
}

// An apply says of what the lease has only reserved that it will be pruned, before it is; of what was applied it only says that it is.
func TestApplySaysWhatIsOnlyReserved(t *testing.T) {
	t.Parallel()
	id, kept, applied, reserved := leaseOf(newOwner(t), 1), newDomain(), newDomain(), newDomain()
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 80, kept, applied)))
	mustRun(t, 0, "reserve", "--lease", id.String(), "--prune=false", reserved)
	next := define(t, id, web("web", 80, kept))
	for _, args := range [][]string{{"apply", "-f", next, "--dry-run"}, {"apply", "-f", next}} {
		r := mustRun(t, 0, args...).Prints(t, "host/"+applied+" pruned", "host/"+reserved+" pruning (the lease has only reserved it", "host/"+reserved+" pruned")
		if strings.Contains(r.Stdout, "host/"+applied+" pruning") ||
			len(args) == 3 && strings.Index(r.Stdout, "host/"+reserved+" pruning") > strings.Index(r.Stdout, " pruned") {
			t.Errorf("%q prints\n%s", args, r.Stdout)
		}
	}
}
