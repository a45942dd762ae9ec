package commands

import "testing"

// A lease may be typed back as the program prints it, by its deployment group, where the cluster says which one is meant.
func TestLeasesByTheirGroup(t *testing.T) {
	t.Parallel()
	b := newBlueGreen(t, "ingress")
	mustRun(t, 0, "transfer", b.host, "--to", b.green.Group().String(), "--config", b.config, "--assume-serving")
	b.isGreen(t)
	own := "own." + newDomain()
	mustRun(t, 0, "reserve", own, "--lease", "lease/"+b.green.Order().String(), "--config", b.config)
	held(t, own, "2 /")
	unknown := leaseOf(newOwner(), 9).Group().String()
	for _, args := range [][]string{{"transfer", b.host, "--to", unknown}, {"reserve", own, "--lease", unknown}} {
		mustRun(t, 2, args...).Says(t, "the cluster does not know lease "+unknown, "name it in full")
	}
}
