package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// elsewhere returns other leases of a lease's deployment group: its next order, and its order at another provider.
func elsewhere(id lease.ID) map[string]lease.ID {
	next, moved := id, id
	next.OSeq++
	moved.Provider = newOwner()
	return map[string]lease.ID{"the next order": next, "another provider": moved}
}

// touched returns those of the changed objects that a lease has: in its namespace, on its host, or on its address.
func touched(before, after map[string]string, of ...string) []string {
	return slices.DeleteFunc(changed(before, after), func(what string) bool {
		return !slices.ContainsFunc(of, func(text string) bool { return strings.Contains(what, text) })
	})
}

// A reservation for the next order of a deployment group, or at another provider, leaves what the lease serves as it is,
// whatever the reservation names and however it is made. It is no problem, and repair touches nothing.
func TestReserveBesideWhatServes(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(t *testing.T, to lease.ID, host, address string) []string{
		"by name": func(_ *testing.T, to lease.ID, host, address string) []string {
			return []string{"--lease", to.String(), host, "new." + host, "--address", address, "--endpoint", "public"}
		},
		"for a time": func(_ *testing.T, to lease.ID, host, _ string) []string {
			return []string{"--lease", to.String(), host, "--expires", "1h"}
		},
		"by a definition": func(t *testing.T, to lease.ID, host, _ string) []string {
			return []string{"-f", define(t, to, web("other", 9090, host, "new."+host), leased("games", "public", 7001))}
		},
	} {
		for order := range elsewhere(leaseOf(newOwner(), 1)) {
			t.Run(name+", "+order, func(t *testing.T) {
				t.Parallel()
				id, host, subnet := leaseOf(newOwner(), 1), "live."+newDomain(), newNet()
				to, address := elsewhere(id)[order], subnet+"1"
				config := configure(t, "ip: {ranges: ["+address+"/32]}")
				definition := define(t, id, web("web", 8080, host), leased("game", "public", 7001))
				mustRun(t, 0, "apply", "--wait=false", "--config", config, "-f", definition)
				addressName := "ip--" + strings.ReplaceAll(address, ".", "-")
				was := map[string]*state.Claim{host: claim(t, host), addressName: claim(t, addressName)}

				mustRun(t, 0, append([]string{"reserve", "--config", config}, with(t, to, host, address)...)...).Prints(t,
					"host/"+host+" left (lease "+id.String()+" of the same deployment serves it")
				for name, claimed := range was {
					for _, p := range claimed.Parts {
						if now := claim(t, name).Part(p.Key); now == nil || !now.Applied || now.Lease != id || now.Service != p.Service || now.Port != p.Port || now.Expires != "" {
							t.Errorf("the reservation has made %+v of %+v", now, p)
						}
					}
				}
				for _, thing := range []string{host, address} {
					if kinds := problemsOf(t, config, thing); len(kinds) > 0 {
						t.Errorf("the problems of %s are %q", thing, kinds)
					}
				}
				before := fingerprint(t)
				for _, namespace := range []string{id.Namespace(), to.Namespace()} {
					run(t.Context(), "repair", "--config", config, "--crashed-after", "1m", "-n", namespace)
				}
				if now := touched(before, fingerprint(t), host, id.Namespace(), addressName); len(now) > 0 {
					t.Errorf("repair has changed %q", now)
				}
				mustRun(t, 0, "release", "--config", config, id.Group().String())
			})
		}
	}
}
