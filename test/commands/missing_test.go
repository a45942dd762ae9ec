package commands

import (
	"strconv"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A lease that holds nothing is not found, whatever it is called by, unless a script says that this may be.
func TestReleaseOfNothing(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(), 1), newDomain()
	group, none := id.Group().String(), leaseOf(id.Owner, 2).Group().String()
	mustRun(t, 0, "reserve", "--lease", id.String(), host)

	mustRun(t, 1, "release", none).Prints(t, "lease/"+none+" left (holds nothing)").Says(t, "Error: lease/"+none+" holds nothing")
	mustRun(t, 0, "release", none, "--ignore-not-found").Prints(t, "lease/"+none+" left (holds nothing)")
	mustRun(t, 1, "release", "-l", lease.LabelOwner+"="+newOwner()).
		Says(t, "Error: no lease that holds anything has the labels "+lease.LabelOwner+"=", "looked at ")
	mustRun(t, 1, "release", "-l", "owner="+id.Owner).Says(t, "Akash's labels of a lease are "+lease.LabelOwner)
	mustRun(t, 0, "release", "-l", "owner="+id.Owner, "--ignore-not-found")
	held(t, host, "1 /")

	// The others are released.
	mustRun(t, 1, "release", none, group).Prints(t, "host/"+host+" released").Says(t, "lease/"+none+" holds nothing")
	held(t, host)
	mustRun(t, 1, "migrate", "--to", "httproute", group).Says(t, "lease/"+group+" has no route")
	mustRun(t, 0, "migrate", "--to", "httproute", group, "--ignore-not-found")
	mustRun(t, 1, "migrate", "--to", "httproute", "--all", "-y", "-n", id.Namespace()).Says(t, "no lease that has a route is in namespace "+id.Namespace())
}

// A release that was killed before it could delete its announcement is finished by the same command.
func TestReleaseOfAnAnnouncementAlone(t *testing.T) {
	t.Parallel()
	group := leaseOf(newOwner(), 1).Group()
	announce(t, group, "killedrelease"+strconv.Itoa(int(harness.Number())), time.Hour)
	mustRun(t, 0, "release", group.String()).Prints(t, "lease/"+group.String()+" left (holds nothing; a command that had crashed is over)")
	mustRun(t, 1, "release", group.String()).Prints(t, "lease/"+group.String()+" left (holds nothing)")
}
