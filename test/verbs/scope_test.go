package verbs

import (
	"strings"
	"testing"
)

// --namespace limits what a command works on to the leases of the namespace.
func TestNamespaceLimits(t *testing.T) {
	t.Parallel()
	mine, other := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
	hosts := []string{"a." + newDomain(), "b." + newDomain()}
	net(t, 0, "reserve", hosts[0], "--lease", mine.String())
	net(t, 0, "reserve", hosts[1], "--lease", other.String())

	net(t, 2, "release", mine.Group().String(), "-n", other.Namespace()).says(t, "--namespace: it goes with --all and --selector")
	net(t, 2, "explain", hosts[0], "-n", mine.Namespace()).says(t, "--namespace does not limit explain")
	held(t, hosts[0], "1 /")

	r := net(t, 0, "release", "--all", "-y", "-n", mine.Namespace())
	if strings.Contains(r.stdout, hosts[1]) {
		t.Errorf("a lease of another namespace is released: %s", r)
	}
	held(t, hosts[0])
	held(t, hosts[1], "1 /")
	net(t, 0, "release", "--all", "-y", "-n", mine.Namespace()).says(t, "No lease holds anything")

	// A blocked host is a problem of its lease's namespace, and of no other.
	cfg := configure(t, "hosts: {blocked: ["+hosts[1]+"]}")
	net(t, 0, "state", "--problems", "-n", mine.Namespace(), "--config", cfg).says(t, "No problems")
	net(t, 1, "state", "--problems", "-n", other.Namespace(), "--config", cfg, "-o", "name").prints(t, "BlockedHost/"+hosts[1])
	net(t, 0, "repair", "-n", mine.Namespace(), "--config", cfg)
	net(t, 1, "repair", "-n", other.Namespace(), "--config", cfg).prints(t, hosts[1])
}
