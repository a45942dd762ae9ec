package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/nameserver"
)

// A static host follows from what everybody can read. Another tenant's definition that names it is
// refused where it stands, with proofs by DNS or without; the lease whose it is gets it.
func TestAStaticHostIsItsLeasesOwn(t *testing.T) {
	domain := newDomain()
	config := configure(t, "ingress: {domain: "+domain+", staticHosts: true}", "hosts: {wildcards: true}")
	blocking := configure(t, "ingress: {domain: "+domain+", staticHosts: true}", "hosts: {blocked: [."+domain+"]}")
	victim, thief := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
	static := victim.StaticHost("web", domain)
	names := nameserver.Start(t, challenge(static, thief.Owner))
	refusal := static + " is below the provider's own domain " + domain + " (ingress.domain)"
	theft := define(t, thief, web("web", 80, static))
	before := fingerprint(t)
	for _, args := range [][]string{
		{"apply", "-f", theft},
		{"apply", "-f", theft, "--require-dns-proof", "--resolver", names.Addr},
		{"check", "-f", theft},
		{"reserve", "-f", theft},
		{"render", "-f", theft},
	} {
		mustRun(t, 3, append(args, "--config", config)...).Says(t, theft+":", refusal)
	}
	for _, host := range []string{static, domain, "admin." + domain, "*." + domain} {
		for _, verb := range []string{"check", "reserve"} {
			mustRun(t, 3, verb, host, "--lease", thief.String(), "--config", config).Says(t, host, "the provider's own domain "+domain)
		}
	}
	if different := changed(before, fingerprint(t)); len(different) > 0 {
		t.Errorf("what was refused has written %q", different)
	}

	// Akash's documentation has the domain blocked; the provider's own host is not.
	definition := define(t, victim, web("web", 80))
	mustRun(t, 0, "apply", "-f", definition, "--config", blocking, "--require-dns-proof", "--resolver", names.Addr).Prints(t, "host/"+static+" claimed")
	held(t, static, "1 /")
	if r := run(t.Context(), "state", "--problems", "--config", blocking); strings.Contains(r.Stdout, static) {
		t.Errorf("the host that the provider gives is a problem: %s", r)
	}
	if r := mustRun(t, 0, "explain", static, "--config", blocking); strings.Contains(r.Stdout, "no lease can take it") {
		t.Errorf("the host that the provider gives is explained as refused: %s", r)
	}

	// Not even another deployment of the owner gets it.
	green := leaseOf(victim.Owner, 2)
	mustRun(t, 3, "transfer", static, "--to", green.String(), "--config", config).Says(t, refusal)
	held(t, static, "1 /")
}

// What somebody took before is a problem that is named, and that repair mends when it is told to; what
// is served below the provider's domain and is not the lease's own is not claimed for it.
func TestHostsTakenOfTheProvider(t *testing.T) {
	t.Parallel()
	domain := newDomain()
	config := configure(t, "ingress: {domain: "+domain+", staticHosts: true}")
	victim, thief := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
	static, taken := victim.StaticHost("web", domain), "admin."+domain
	plain := configure(t)
	mustRun(t, 0, "apply", "-f", define(t, thief, web("web", 80, static, taken)), "--config", plain)
	remove(t, claims, ledger, taken)
	for _, host := range []string{static, taken} {
		if got := problemsOf(t, config, host); !slices.Equal(got, []string{state.BlockedHost}) {
			t.Errorf("problems of %s: %v", host, got)
		}
	}
	mustRun(t, 0, "repair", "--config", config, state.BlockedHost+"/"+static, state.BlockedHost+"/"+taken)
	held(t, taken)
	mustRun(t, 0, "apply", "-f", define(t, victim, web("web", 80)), "--config", config)
	held(t, static, "1 /")
}
