package commands

import (
	"strings"
	"testing"
)

// gone deletes all that stands for a host of a lease, as Akash's provider does, but not its namespace.
func gone(t *testing.T, namespace, host string) {
	t.Helper()
	remove(t, ingresses, namespace, host)
	remove(t, hosts, "lease", host)
}

// What was never applied is a reservation, and no problem: before the lease is applied, for its next order, and
// after a transfer whose routes are not known. A claim of a version that noted nothing is none either.
func TestReservationsAreNoProblem(t *testing.T) {
	id, config := leaseOf(newOwner(), 1), configure(t, "ingress: {}")
	none := func(host, what string) {
		t.Helper()
		if kinds := problemsOf(t, config, host); len(kinds) > 0 {
			t.Errorf("%s: the problems are %q", what, kinds)
		}
	}
	applied := func(host string) bool { return claim(t, host).Parts[0].Applied }

	host := "reserved." + newDomain()
	definition := define(t, id, web("web", 8080, host))
	mustRun(t, 0, "reserve", "--config", config, "-f", definition)
	none(host, "reserved")
	mustRun(t, 0, "apply", "--config", config, "-f", definition)
	if !applied(host) {
		t.Error("the claim does not say that the lease was applied")
	}
	mustRun(t, 0, "reserve", "--config", config, "-f", definition)
	if !applied(host) {
		t.Error("a reservation of what is served takes the note away")
	}

	// The next order is reserved, and its namespace is yet to come.
	next := id
	next.OSeq++
	gone(t, id.Namespace(), host)
	mustRun(t, 0, "reserve", "--config", config, "-f", define(t, next, web("web", 8080, host)))
	none(host, "the next order is reserved")
	mustRun(t, 0, "apply", "--config", config, "-f", definition)

	// What nothing serves is reserved again by saying so.
	gone(t, id.Namespace(), host)
	if kinds := problemsOf(t, config, host); strings.Join(kinds, " ") != "NothingLeft" {
		t.Errorf("the problems are %q", kinds)
	}
	mustRun(t, 0, "reserve", "--config", config, "-f", definition)
	none(host, "reserved again")

	// Another deployment has it by a transfer: nothing of its own was ever there.
	mustRun(t, 0, "apply", "--config", config, "-f", definition)
	green := leaseOf(id.Owner, 2)
	mustRun(t, 0, "transfer", host, "--to", green.String(), "--config", config)
	if applied(host) {
		t.Error("the claim says that a lease was applied that never was")
	}
	gone(t, id.Namespace(), host)
	none(host, "transferred")
	mustRun(t, 0, "release", "--config", config, green.Group().String())

	// A version that did not note it.
	mustRun(t, 0, "apply", "--config", config, "-f", definition)
	change(t, claims, ledger, host, func(o *object) {
		annotations := o.GetAnnotations()
		for key, value := range annotations {
			annotations[key] = strings.ReplaceAll(value, `,"applied":true`, "")
		}
		o.SetAnnotations(annotations)
	})
	mustRun(t, 0, "apply", "--config", config, "-f", definition).Prints(t, "unchanged")
	gone(t, id.Namespace(), host)
	none(host, "applied by a version that did not note it")
	mustRun(t, 0, "release", "--config", config, id.Group().String())

	// A host of a port that is not routed is claimed, and nothing is made for it.
	other := "unrouted." + newDomain()
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, "{name: web, expose: [{port: 8080, as: 8080, global: true, hosts: ["+other+"]}]}"))
	none(other, "not routed")
	mustRun(t, 0, "release", "--config", config, id.Group().String())
}
