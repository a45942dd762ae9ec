package commands

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// --namespace limits what a command works on to the leases of the namespace.
func TestNamespaceLimits(t *testing.T) {
	t.Parallel()
	mine, other := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
	hosts := []string{"a." + newDomain(), "b." + newDomain()}
	mustRun(t, 0, "reserve", hosts[0], "--lease", mine.String())
	mustRun(t, 0, "reserve", hosts[1], "--lease", other.String())

	mustRun(t, 2, "release", mine.Group().String(), "-n", other.Namespace()).Says(t, "--namespace: can be used only with --all or --selector")
	mustRun(t, 2, "explain", hosts[0], "-n", mine.Namespace()).Says(t, "--namespace does not limit explain")
	held(t, hosts[0], "1 /")

	r := mustRun(t, 0, "release", "--all", "-y", "-n", mine.Namespace())
	if strings.Contains(r.Stdout, hosts[1]) {
		t.Errorf("a lease of another namespace is released: %s", r)
	}
	held(t, hosts[0])
	held(t, hosts[1], "1 /")
	mustRun(t, 1, "release", "--all", "-y", "-n", mine.Namespace()).Says(t, "no lease that holds anything is in namespace "+mine.Namespace()+"; looked at ")
	mustRun(t, 0, "release", "--all", "-y", "-n", mine.Namespace(), "--ignore-not-found").Says(t, "no lease that holds anything")

	// A blocked host is a problem of its lease's namespace, and of no other.
	cfg := configure(t, "hosts: {blocked: ["+hosts[1]+"]}")
	mustRun(t, 0, "state", "--problems", "-n", mine.Namespace(), "--config", cfg).Says(t, "No problems")
	mustRun(t, 1, "state", "--problems", "-n", other.Namespace(), "--config", cfg, "-o", "name").Prints(t, "BlockedHost/"+hosts[1])
	mustRun(t, 0, "repair", "-n", mine.Namespace(), "--config", cfg).Says(t, "Nothing to repair")
	mustRun(t, 1, "repair", "-n", other.Namespace(), "--config", cfg).Prints(t, hosts[1])
}

// A lease whose claim is gone is found by what it still serves: else repair would claim the host for it again.
func TestReleaseFindsLeasesWithoutClaims(t *testing.T) {
	t.Parallel()
	for name, choose := range map[string]func(lease.ID) []string{
		"namespace": func(id lease.ID) []string { return []string{"--all", "-y", "-n", id.Namespace()} },
		"selector":  func(id lease.ID) []string { return []string{"-l", lease.LabelOwner + "=" + id.Owner} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, host := leaseOf(newOwner(), 1), newDomain()
			mustRun(t, 0, "apply", "-f", define(t, id, web("web", 80, host)))
			remove(t, claims, ledger, host)
			command := append([]string{"release"}, choose(id)...)

			mustRun(t, 0, append(command, "--dry-run")...).Prints(t, "ingress/"+host+" deleted")
			need(t, ingresses, id.Namespace(), host)
			mustRun(t, 1, "release", "--all", "-y", "-n", leaseOf(newOwner(), 1).Namespace()).Says(t, "no lease that holds anything")
			need(t, ingresses, id.Namespace(), host)
			mustRun(t, 0, command...).Prints(t, "ingress/"+host+" deleted")
			if left := ownedBy(t, id); len(left) > 0 {
				t.Errorf("after the release there are %q", left)
			}
			held(t, host)
			mustRun(t, 1, command...).Says(t, "no lease that holds anything")
		})
	}
}
