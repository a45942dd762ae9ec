package commands

import (
	"strconv"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A lease is named as tables print it, wherever that is the name of one lease; of several, nothing is done, and their names are listed.
func TestShortNames(t *testing.T) {
	t.Parallel()
	owner, host, other := newOwner(), newDomain(), newDomain()
	id, second := leaseOf(owner, uint64(1_000_000+harness.Number())), leaseOf(owner, uint64(1_000_000+harness.Number()))
	short := owner[:9] + "…" + owner[len(owner)-6:]
	group, dseq := id.Group().String(), strconv.FormatUint(id.DSeq, 10)
	mustRun(t, 0, "reserve", "--lease", id.String(), host)
	mustRun(t, 0, "reserve", "--lease", second.String(), other)

	rows := mustRun(t, 0, "leases", "--owner", short, "--dseq", dseq).Stdout
	if !strings.Contains(rows, short) || strings.Count(rows, "\n") != 2 {
		t.Errorf("the leases of owner %s and dseq %s are\n%s", short, dseq, rows)
	}
	for _, name := range []string{dseq, "lease/" + dseq, short + "/" + dseq, owner + "/" + dseq + "/1", id.Namespace(), strings.Replace(short, "…", "...", 1) + "/" + dseq + "/1"} {
		mustRun(t, 0, "explain", name).Prints(t, host)
		mustRun(t, 0, "state", "leases", name, "-o", "name").Prints(t, group)
	}
	if names := mustRun(t, 0, "leases", short, "-o", "name").Stdout; strings.Count(names, "\n") != 2 {
		t.Errorf("the owner's leases are\n%s", names)
	}
	mustRun(t, 2, "release", short).Says(t, "is the name of 2 leases; type one of\n  "+group+"\n  "+second.Group().String())
	mustRun(t, 1, "release", "999999999999").Says(t, `no lease that holds anything is named "999999999999"; "kubectl akash-net leases" lists`)
	mustRun(t, 0, "release", "999999999999", "--ignore-not-found")
	mustRun(t, 1, "state", "hosts", "--owner", "akash1zzz…zzzzzz").Says(t, `no lease that holds anything is named "akash1zzz…zzzzzz"`)
	mustRun(t, 2, "state", "hosts", "--owner", owner[:len(owner)-1]+"x").Says(t, "--owner: ")
	held(t, host, dseq+" /")
	mustRun(t, 1, "release", dseq, host).Says(t, "Release host/"+host+" held by "+group+"? [y/N]", "nothing was released; -y answers the question")
	held(t, host, dseq+" /")
	mustRun(t, 0, "release", dseq, host, "-y").Prints(t, "host/"+host+" released")
	held(t, other, strconv.FormatUint(second.DSeq, 10)+" /")
	mustRun(t, 0, "release", short, "--dry-run=client").Prints(t, other)
	mustRun(t, 1, "release", short).Says(t, "Release everything held by "+second.Group().String()+"? [y/N]")
	mustRun(t, 0, "release", short, "-y").Prints(t, "host/"+other+" released")
	mustRun(t, 1, "release", lease.ID{Owner: owner, DSeq: id.DSeq, GSeq: 1, OSeq: 1, Provider: id.Provider}.Namespace())
}
