package commands

import (
	"strconv"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The leases that a file defines are released by it. Who mistypes a lease is told which one may be meant, and names are completed as they
// were begun.
func TestReleaseOfAFile(t *testing.T) {
	t.Parallel()
	owner := newOwner()
	first, second := leaseOf(owner, uint64(1_000_000+harness.Number())), leaseOf(owner, uint64(1_000_000+harness.Number()))
	hosts := []string{newDomain(), newDomain()}
	one, two := harness.Define(t, first, []string{web("web", 80, hosts[0])}, nil), harness.Define(t, second, []string{web("web", 80, hosts[1])}, nil)
	mustRun(t, 0, "apply", "-f", one, "-f", two)

	mistyped := first.Group()
	mistyped.GSeq = 7
	mustRun(t, 1, "release", mistyped.String()).Says(t, "lease/"+mistyped.String()+" holds nothing", "the nearest that holds something is "+first.Group().String())
	dseq := strconv.FormatUint(first.DSeq, 10)
	if out := mustRun(t, 0, "__complete", "release", dseq[:len(dseq)-1]); !strings.Contains("\n"+out.Stdout, "\n"+dseq+"\n") {
		t.Errorf("%s is not completed:\n%s", dseq, out.Stdout)
	}
	short := owner[:9] + "…"
	mustRun(t, 0, "__complete", "explain", short).Prints(t, short+owner[len(owner)-6:]+"/"+dseq+"/1")

	mustRun(t, 3, "release", "-f", one, "-f", file(t, "apiVersion: net.akash.network/v1alpha1\nkind: LeaseDefinition\nspec: {leese: {}}\n"))
	held(t, hosts[0], dseq+" /")
	mustRun(t, 2, "release", first.String(), "-f", one).Says(t, "name the leases to release", "-f, -l and --all")
	mustRun(t, 2, "release", "-f", one, "-n", first.Namespace()).Says(t, "the definitions name their leases")
	mustRun(t, 0, "release", "-f", one, "-f", two, "--dry-run").Prints(t, "host/"+hosts[0]+" released", "host/"+hosts[1]+" released").Says(t, "2 leases: 2 released, ")
	mustRun(t, 0, "release", "-f", one).Prints(t, "host/"+hosts[0]+" released")
	mustRun(t, 1, "release", "-f", one, "-f", two).Prints(t, "host/"+hosts[1]+" released").Says(t, "lease/"+first.Group().String()+" holds nothing")
	mustRun(t, 0, "release", "-f", one, "-f", two, "--ignore-not-found")
}

// An apply says of what the lease has only reserved that it will be pruned, before it is; of what was applied it only says that it is.
func TestApplySaysWhatIsOnlyReserved(t *testing.T) {
	t.Parallel()
	id, kept, applied, reserved := leaseOf(newOwner(), 1), newDomain(), newDomain(), newDomain()
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

// The configuration's provider completes the order of a lease that the cluster does not know; without it the lease is not known.
func TestProviderOfTheConfiguration(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(), 1), newDomain()
	mustRun(t, 2, "reserve", "--lease", id.Order().String(), host).Says(t, "the cluster does not know lease "+id.Order().String())
	mustRun(t, 0, "reserve", "--config", configure(t, "provider: "+id.Provider), "--lease", id.Order().String(), host).Prints(t, "host/"+host+" claimed", id.Group().String())
	mustRun(t, 0, "release", id.String())
}
