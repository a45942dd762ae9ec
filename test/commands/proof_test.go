package commands

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/nameserver"
)

// challenge is the record that proves a host.
func challenge(host, owner string) string {
	return fmt.Sprintf("_akash-challenge.%s. TXT %q", strings.TrimPrefix(host, "*."), owner)
}

// A check tells of each host whether it is proved and how, and that it is held; it writes nothing.
func TestCheckProves(t *testing.T) {
	t.Parallel()
	domain, id := newDomain(), leaseOf(newOwner(t), 1)
	byText, byAlias, given := "text."+domain, "alias."+domain, id.StaticHost("web", "ingress.provider.com")
	names := nameserver.Start(t, challenge(byText, id.Owner), byAlias+". CNAME www."+domain+".", "www."+domain+". CNAME a1.ingress.provider.com.")
	config := configure(t, "ingress: {domain: ingress.provider.com, staticHosts: true}")
	definition := define(t, id, web("web", 80, byText, byAlias))
	check := []string{"check", "-f", definition, "--config", config, "--dns", "--resolver", names.Addr}
	mustRun(t, 0, check...).Prints(t,
		"host/"+byText+" proved (TXT _akash-challenge."+byText+")\n",
		"host/"+byAlias+" proved (CNAME "+byAlias+" → www."+domain+" → a1.ingress.provider.com)\n",
		"host/"+given+" proved (the provider gives it)\n",
		"host/"+byText+" free\n", "host/"+byAlias+" free\n", "host/"+given+" free\n")
	if got := strings.Fields(mustRun(t, 0, append(check, "-o", "name")...).Stdout); len(got) != 3 {
		t.Errorf("-o name names %q, want three hosts, once each", got)
	}
	names.Serve(t)
	mustRun(t, 0, "reserve", "--lease", leaseOf(newOwner(t), 1).String(), byAlias)
	mustRun(t, 4, check...).Prints(t, "host/"+byText+" unproved\n", "host/"+byText+" free").
		Says(t, byAlias+", "+byText+" are not proved to belong to "+id.Owner, byAlias+" is held by another lease")
	if got := claimsOf(t, id.Owner); len(got) > 0 {
		t.Errorf("the check has claimed %q", got)
	}
	mustRun(t, 4, "check", "-f", definition, "--config", config) // without --dns nobody is asked
}

// Without proof nothing is claimed for the lease; the other lease of the run goes on. The answer
// says what was asked of whom, what came back, and which record to make: with it the host is had.
func TestApplyRequiresProof(t *testing.T) {
	t.Parallel()
	shop, blog, spare := "shop."+newDomain(), "blog."+newDomain(), "*."+newDomain()
	tenant, stranger := leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 1)
	names := nameserver.Start(t, challenge(blog, stranger.Owner), challenge(shop, stranger.Owner))
	flags := []string{"--require-dns-proof", "--resolver", names.Addr, "--config", configure(t, "hosts: {wildcards: true}")}
	definition := define(t, tenant, web("web", 80, shop))
	r := mustRun(t, 3, append([]string{"apply", "-f", definition, "-f", define(t, stranger, web("web", 80, blog))}, flags...)...)
	r.Says(t, "Error: "+shop+" is not proved to belong to "+tenant.Owner, names.Addr, `found "`+stranger.Owner+`"`,
		"the TXT record names another owner", "\n  "+challenge(shop, tenant.Owner)+"\n", "Nothing was changed for lease "+tenant.String())
	held(t, shop)
	held(t, blog, "1 /")
	absent(t, namespaces, "", tenant.Namespace())

	// A plan carries it, and takes it.
	planned := mustRun(t, 1, "diff", "-f", definition, "-o", "json").Stdout
	carried := mustRun(t, 1, "diff", "-f", definition, "-o", "json", "--require-dns-proof", "--config", flags[4]).Stdout
	for _, args := range [][]string{append([]string{"apply", "--plan", file(t, planned)}, flags...), append([]string{"apply", "--plan", file(t, carried)}, flags[1:]...)} {
		mustRun(t, 3, args...).Says(t, shop+" is not proved", "Nothing was changed")
	}
	mustRun(t, 2, "apply", "--plan", file(t, planned), "--resolver", names.Addr).Says(t, "--resolver requires --require-dns-proof")
	held(t, shop)

	names.Serve(t, strings.TrimSpace(lines(r.Stderr, "  _akash-challenge.")[0]))
	mustRun(t, 0, append([]string{"apply", "-f", definition}, flags...)...).Prints(t, "host/"+shop+" proved (TXT _akash-challenge."+shop+")", "host/"+shop+" claimed")

	// What a lease has it keeps when the proof is gone; only this run ends.
	names.Serve(t)
	events := mustRun(t, 3, append([]string{"apply", "-f", definition, "-o", "events"}, flags...)...).Says(t, "no such name (NXDOMAIN)")
	var got []string
	for text := range strings.Lines(events.Stdout) {
		var line struct{ Action, Kind, Name, Message, Error string }
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		got = append(got, line.Action+" "+line.Kind+" "+line.Name+": "+line.Message+line.Error)
	}
	missing := "TXT _akash-challenge." + shop + " at " + names.Addr + ": no such name (NXDOMAIN)"
	if want := []string{"unproved host " + shop + ": " + missing, "failed lease " + tenant.String() + ": host " + shop + " is not proved: " + missing}; !slices.Equal(got, want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	held(t, shop, "1 /")
	need(t, ingresses, tenant.Namespace(), shop)
	mustRun(t, 0, "apply", "-f", definition)

	// A reservation is proved too, and a wildcard where its domain is.
	reserve := append([]string{"reserve", "--prune=false", "--lease", tenant.String(), spare}, flags...)
	mustRun(t, 3, reserve...).Says(t, spare+" is not proved", challenge(spare, tenant.Owner))
	names.Serve(t, challenge(spare, tenant.Owner))
	mustRun(t, 0, reserve...)
}
