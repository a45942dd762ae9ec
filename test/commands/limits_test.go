package commands

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/state"
)

// paths are HOST/p0 to HOST/pN, from one number to before another.
func paths(host string, from, to int) []string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("%s/p%d", host, i))
	}
	return all
}

// A claim has at most 500 parts: what asks for more is invalid, and what would make it more is refused with
// the holder's name, before anything is written.
func TestPartsOfAClaimAreBounded(t *testing.T) {
	host, owner := "shop."+newDomain(), newOwner()
	reserve := func(code int, dseq uint64, things ...string) result {
		t.Helper()
		return mustRun(t, code, append([]string{"reserve", "--prune=false", "--lease", leaseOf(owner, dseq).String()}, things...)...)
	}
	reserve(3, 1, paths(host, 0, 501)...).Says(t, "501 paths", "at most 500")
	held(t, host)
	reserve(0, 1, paths(host, 0, 400)...)
	then := claim(t, host).ResourceVersion
	reserve(4, 2, paths(host, 400, 501)...).Says(t, leaseOf(owner, 1).Group().String(), "500 parts")
	mustRun(t, 4, append([]string{"check", "--lease", leaseOf(owner, 2).String()}, paths(host, 400, 501)...)...).Says(t, "500 parts")
	if after := claim(t, host).ResourceVersion; after != then {
		t.Error("the claim was written")
	}
	reserve(0, 2, paths(host, 400, 500)...)
	if n := len(claim(t, host).Parts); n != 500 {
		t.Errorf("the claim has %d parts", n)
	}
	reserve(4, 2, host+"/one-more").Says(t, "500 parts")
}

// An interrupt while the answer to a claim's write is lost: the claim is looked at, and given back.
func TestInterruptedWithALostAnswer(t *testing.T) {
	host, owner := "shop."+newDomain(), newOwner()
	p := startProxy(t, nil)
	ctx, interrupt := context.WithCancel(t.Context())
	p.lose = func(write string) bool {
		lost := write == "PATCH leases/"+host
		if lost {
			interrupt()
		}
		return lost
	}
	r := runAs(ctx, p.kubeconfig, "reserve", host, "--lease", leaseOf(owner, 1).String())
	if sent := p.sent("leases"); r.Code == 0 || len(sent) == 0 {
		t.Fatalf("nothing was interrupted: %s, %v", r, sent)
	}
	held(t, host)
	if c := claim(t, host); c != nil {
		t.Errorf("the claim stays: %+v", c)
	}
}

// The server judges a run with wildcards that keeps nothing, and nothing is kept.
func TestDryRunOfWildcards(t *testing.T) {
	domain, owner, other := newDomain(), newOwner(), newOwner()
	config := configure(t, "hosts: {wildcards: true}")
	lease := leaseOf(owner, 1)
	makeNamespace(t, lease)
	passed := before(t, time.Hour)
	plant(t, state.HostWant{Host: "ended." + domain}.Hold(leaseOf(other, 9)), func(p *state.Part) { p.Expires = passed })
	then := fingerprint(t)
	mustRun(t, 0, "reserve", "--dry-run=server", "--config", config, "--lease", lease.String(), "*."+domain).Prints(t, "host/*."+domain+" claimed")
	mustRun(t, 0, "apply", "--dry-run=server", "--config", config, "-f", define(t, lease, web("web", 8080, `"*.`+domain+`"`, "a."+domain))).
		Prints(t, "host/*."+domain+" claimed", "ingress/wc--any."+domain+" created")
	if d := changed(then, fingerprint(t)); len(d) > 0 {
		t.Errorf("changed: %v", d)
	}
	mustRun(t, 0, "reserve", "--config", config, "--lease", leaseOf(other, 9).String(), "b."+domain)
	mustRun(t, 4, "reserve", "--dry-run=server", "--config", config, "--lease", lease.String(), "*."+domain).Says(t, "b."+domain)
	mustRun(t, 0, "reserve", "--config", config, "--lease", lease.String(), "*.sub."+domain)
	mustRun(t, 0, "reserve", "--dry-run=server", "--config", config, "--lease", lease.String(), "*.sub."+domain)
}
