package commands

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/akash-net/kubectl-akash-net/test/nameserver"
)

// challenge is the record that proves a host.
func challenge(host, owner string) string {
	return fmt.Sprintf("_akash-challenge.%s. TXT %q", strings.TrimPrefix(host, "*."), owner)
}

// A check tells of each host whether it is proved and how, and writes nothing.
func TestCheckProves(t *testing.T) {
	domain, id := newDomain(), leaseOf(newOwner(), 1)
	byText, byAlias, given := "text."+domain, "alias."+domain, id.StaticHost("web", "ingress.provider.com")
	names := nameserver.Start(t, challenge(byText, id.Owner), byAlias+". CNAME www."+domain+".", "www."+domain+". CNAME a1.ingress.provider.com.")
	config := configure(t, "ingress: {domain: ingress.provider.com, staticHosts: true}")
	definition := define(t, id, web("web", 80, byText, byAlias))
	before := fingerprint(t)
	arguments := []string{"check", "-f", definition, "--config", config, "--dns", "--resolver", names.Addr}
	r := mustRun(t, 0, arguments...)
	for _, line := range []string{
		"host/" + byText + " proved (TXT _akash-challenge." + byText + ")",
		"host/" + byAlias + " proved (CNAME " + byAlias + " → www." + domain + " → a1.ingress.provider.com)",
		"host/" + given + " proved (the provider gives it)",
		"host/" + byText + " free", "host/" + byAlias + " free", "host/" + given + " free",
	} {
		if !slices.Contains(strings.Split(r.Stdout, "\n"), line) {
			t.Errorf("no line %q: %s", line, r)
		}
	}
	if got := strings.Fields(mustRun(t, 0, append(arguments, "-o", "name")...).Stdout); len(got) != 3 {
		t.Errorf("-o name names %q, want three hosts, once each", got)
	}
	names.Serve(t)
	mustRun(t, 3, arguments...).Prints(t, "host/"+byText+" unproved\n", "host/"+byText+" free")
	if different := changed(before, fingerprint(t)); len(different) > 0 {
		t.Errorf("the check has written %q", different)
	}
	mustRun(t, 0, "check", "-f", definition, "--config", config) // without --dns nobody is asked
}

// Without proof nothing is claimed for the lease; the other lease of the run goes on. The answer
// says what was asked of whom, what came back, and which record to make: with it the host is had.
func TestApplyRequiresProof(t *testing.T) {
	t.Parallel()
	shop, blog := "shop."+newDomain(), "blog."+newDomain()
	tenant, stranger := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
	names := nameserver.Start(t, challenge(blog, stranger.Owner), challenge(shop, stranger.Owner))
	flags := []string{"--require-dns-proof", "--resolver", names.Addr, "--config", configure(t, "ingress: {domain: ingress.provider.com}")}
	definition := define(t, tenant, web("web", 80, shop))
	r := mustRun(t, 3, append([]string{"apply", "-f", definition, "-f", define(t, stranger, web("web", 80, blog))}, flags...)...)
	r.Says(t, "Error: "+shop+" is not proved to belong to "+tenant.Owner, names.Addr, `found "`+stranger.Owner+`"`,
		"the TXT record names another owner", "\n  "+challenge(shop, tenant.Owner)+"\n", "Nothing was changed for lease "+tenant.String())
	held(t, shop)
	held(t, blog, "1 /")
	if find(t, namespaces, "", tenant.Namespace()) != nil {
		t.Error("a namespace was made for a lease whose host is not proved")
	}

	var line string
	for l := range strings.Lines(r.Stderr) {
		if strings.HasPrefix(l, "  _akash-challenge.") {
			line = strings.TrimSpace(l)
		}
	}
	names.Serve(t, line)
	mustRun(t, 0, append([]string{"apply", "-f", definition}, flags...)...).Prints(t, "host/"+shop+" proved (TXT _akash-challenge."+shop+")", "host/"+shop+" claimed")
	held(t, shop, "1 /")

	// What a lease has it keeps when the proof is gone; only this run ends.
	names.Serve(t)
	mustRun(t, 3, append([]string{"apply", "-f", definition}, flags...)...).Says(t, "no such name (NXDOMAIN)")
	held(t, shop, "1 /")
	need(t, ingresses, tenant.Namespace(), shop)
	mustRun(t, 0, "apply", "-f", definition)
}

// Each way of proving is also one of reserving; a wildcard is proved where its domain is.
func TestReserveRequiresProof(t *testing.T) {
	t.Parallel()
	domain, id := newDomain(), leaseOf(newOwner(), 1)
	wildcard, host := "*."+domain, "shop."+domain
	names := nameserver.Start(t, challenge(host, id.Owner))
	reserve := []string{"reserve", "--lease", id.String(), "--config", configure(t, "hosts: {wildcards: true}"), "--require-dns-proof", "--resolver", names.Addr}
	r := mustRun(t, 3, append(reserve, wildcard, host, host+"/v2")...)
	r.Says(t, wildcard+" is not proved", challenge(wildcard, id.Owner)).Prints(t, "host/"+wildcard+" unproved\n", "host/"+host+" proved")
	if got := lines(r.Stdout, host+" proved"); len(got) != 1 {
		t.Errorf("a host with two paths is told of %d times", len(got))
	}
	held(t, host)
	names.Serve(t, challenge(host, id.Owner), challenge(wildcard, id.Owner))
	mustRun(t, 0, append(reserve, wildcard, host, host+"/v2")...)
	held(t, host, "1 /", "1 /v2")
	held(t, "wc--any."+domain, "1 /")
	mustRun(t, 0, "reserve", "--lease", leaseOf(newOwner(), 1).String(), "--require-dns-proof", "--resolver", names.Addr) // no host, nothing to prove
}

// A check tells all that is in the way: that a host is held, and that it is not proved.
func TestCheckTellsHeldAndUnproved(t *testing.T) {
	t.Parallel()
	host, holder, id := "shop."+newDomain(), leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
	names := nameserver.Start(t)
	mustRun(t, 0, "reserve", "--lease", holder.String(), host)
	mustRun(t, 4, "check", "--lease", id.String(), host, "--dns", "--resolver", names.Addr).
		Says(t, host+" is not proved to belong to "+id.Owner, host+" is held by another lease")
	mustRun(t, 3, "reserve", "--lease", id.String(), host, "--require-dns-proof", "--resolver", names.Addr)
}

// Every name server is tried, and each is told of: one that is silent, one that is lame.
func TestNameServersAreTriedInTurn(t *testing.T) {
	t.Parallel()
	host, id := "shop."+newDomain(), leaseOf(newOwner(), 1)
	silent, lame, good := nameserver.Start(t), nameserver.Start(t), nameserver.Start(t, challenge(host, id.Owner))
	silent.Fault(func(string, *dns.Msg, *dns.Msg) *dns.Msg { return nil })
	lame.Fault(func(_ string, question, _ *dns.Msg) *dns.Msg {
		return new(dns.Msg).SetRcode(question, dns.RcodeRefused)
	})
	check := []string{"check", "--lease", id.String(), host, "--dns"}
	mustRun(t, 0, append(check, "--resolver", lame.Addr, "--resolver", good.Addr)...)
	mustRun(t, 3, append(check, "--dns-timeout", "1s", "--resolver", silent.Addr+","+lame.Addr)...).
		Says(t, silent.Addr, "no answer in time", lame.Addr, "refused (REFUSED)", "it is not known whose the host is")
}

// Events say of each host whether it is proved, with the reason, and the failure of the lease.
func TestEventsOfProofs(t *testing.T) {
	t.Parallel()
	domain, id := newDomain(), leaseOf(newOwner(), 1)
	names := nameserver.Start(t, challenge("a."+domain, id.Owner))
	r := mustRun(t, 3, "apply", "-f", define(t, id, web("web", 80, "a."+domain, "b."+domain)), "--require-dns-proof", "--resolver", names.Addr, "-o", "events")
	var got []string
	for text := range strings.Lines(r.Stdout) {
		var line struct{ Action, Kind, Name, Message, Error, Lease string }
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if line.Lease != id.String() {
			t.Errorf("an event of lease %s: %s", line.Lease, text)
		}
		got = append(got, line.Action+" "+line.Kind+" "+line.Name+": "+line.Message+line.Error)
	}
	missing := "TXT _akash-challenge.b." + domain + " at " + names.Addr + ": no such name (NXDOMAIN)"
	want := []string{
		"proved host a." + domain + ": TXT _akash-challenge.a." + domain,
		"unproved host b." + domain + ": " + missing,
		"failed lease " + id.String() + ": host b." + domain + " is not proved: " + missing,
	}
	if !slices.Equal(got, want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
