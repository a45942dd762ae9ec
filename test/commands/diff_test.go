package commands

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// planOf is the plan that a diff prints as data.
func planOf(t *testing.T, code int, args ...string) plan.Plan {
	t.Helper()
	out := mustRun(t, code, append([]string{"diff", "-o", "json"}, args...)...)
	var p plan.Plan
	if err := json.Unmarshal([]byte(out.Stdout), &p); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return p
}

// larger is web with a larger body, which changes an annotation of its Ingresses.
func larger(hosts ...string) string {
	return strings.Replace(web("web", 8080, hosts...), "hosts:", "http: {maxBodySize: 7777777}, hosts:", 1)
}

// A diff writes nothing, an apply makes what the diff showed, and after it there is nothing to show.
func TestDiffIsWhatApplyDoes(t *testing.T) {
	t.Parallel()
	id, subnet, one, two := leaseOf(newOwner(t), 1), newNet(), newDomain(), newDomain()
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	words := map[plan.Action]string{plan.Claim: "claimed", plan.GiveUp: "pruned", plan.Create: "created", plan.Update: "configured", plan.Delete: "pruned"}
	for _, definition := range []string{
		define(t, id, web("web", 8080, one), leased("game", "public", 7001)),
		define(t, id, web("web", 8081, one), leased("game", "public", 7002)),
		define(t, id, web("web", 8081, two)),
	} {
		p := startProxy(t, nil)
		planned := planOf(t, 1, "--kubeconfig", p.kubeconfig, "--config", config, "-f", definition)
		if writes := p.written(); len(writes) > 0 {
			t.Errorf("the diff wrote %q", writes)
		}
		var want, got []string
		for _, c := range planned.Leases[0].Changes {
			if c.Action != plan.Claim || takes(c) { // of a part that stays nothing is told
				want = append(want, c.Kind+"/"+c.Name+" "+words[c.Action])
			}
		}
		for line := range strings.Lines(mustRun(t, 0, "apply", "--wait=false", "--config", config, "-f", definition).Stdout) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " (")
			if _, action, _ := strings.Cut(line, " "); slices.Contains([]string{"claimed", "created", "configured", "pruned"}, action) {
				got = append(got, line)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) || len(got) == 0 {
			t.Errorf("planned:\n%s\ndone:\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
		if out := mustRun(t, 0, "diff", "--config", config, "-f", definition); out.Stdout != "" {
			t.Errorf("after the apply there is still a difference: %s", out)
		}
	}
	// Exit code 6 tells a diff that failed from one that found differences.
	definition := define(t, id, web("web", 8080, one))
	mustRun(t, 6, "diff", "--server", "http://127.0.0.1:1", "-f", definition)
	mustRun(t, 2, "diff", "-o", "wide", "-f", definition)
	mustRun(t, 3, "diff", "-f", file(t, "version: 7"))
}

// takes is true for a change of a claim that takes a part of it.
func takes(c plan.Change) bool {
	for part := range c.After {
		if _, was := c.Before[part]; !was {
			return true
		}
	}
	return false
}

// A diff, a client's dry run and a server's tell the same, each in its way, and change nothing. The client's shows what changes of each
// object, below kubectl's line, and as data it is the diff; the hash of the definition is not shown beside other fields.
func TestDryRuns(t *testing.T) {
	t.Parallel()
	owner, domain, subnet := newOwner(t), newDomain(), newNet()
	config := configure(t, "ip: {ranges: ["+subnet+"0/28]}", "hosts: {wildcards: true}")
	id, stays, gone, added, taken := leaseOf(owner, 1), "a."+domain, "b."+domain, "c."+domain, "d."+domain
	holder, group := "deployment "+leaseOf(owner, 2).Group().String(), id.Group().String()
	do := func(code int, args ...string) result {
		t.Helper()
		return mustRun(t, code, append(args, "--config", config)...)
	}
	do(0, "apply", "-f", define(t, id, web("web", 8080, stays, gone)))
	do(0, "apply", "-f", define(t, leaseOf(owner, 2), web("web", 8080, taken)))
	definition := define(t, id, larger(stays, added, taken), leased("game", "public", 443))
	fresh, newcomer := define(t, leaseOf(newOwner(t), 1), web("web", 8080, "fresh."+domain, `"*.w.`+domain+`"`)), leaseOf(newOwner(t), 1)
	untouched := fingerprint(t)

	const counts = "\n2 claim, 6 create, 2 update, 2 delete, 1 release, 1 withheld\n"
	diff := do(1, "diff", "-f", definition).Prints(t, counts,
		"providerhost/"+stays+" in namespace lease: only the definition's hash changes\nproviderhost/"+added+" ",
		"ingress/"+stays+" in namespace "+id.Namespace()+"\n  metadata.annotations\n-     nginx.ingress.kubernetes.io/proxy-body-size",
		"host/"+taken+"\n", "withheld: held by "+holder)
	if n := strings.Count(diff.Stdout, lease.AnnotationDefinition); n != 4 {
		t.Errorf("the hash of the definition is shown of more than what is created, %d times: %s", n, diff)
	}
	do(1, "diff", "-f", define(t, newcomer, web("web", 8080, stays))).Prints(t, "refused: host "+stays+" is held by lease "+owner)
	client := do(0, "apply", "--dry-run=client", "-f", definition).Prints(t, counts,
		"host/"+added+" claimed (dry run)\n+   / -> web:80\n", "host/"+taken+" withheld (held by "+holder+") (dry run)\n", "address/"+subnet+"0 claimed",
		"ingress/"+added+" created (dry run)\n+   apiVersion: networking.k8s.io/v1\n", "ingress/"+gone+" pruned", "host/"+gone+" pruned",
		"providerhost/"+stays+" configured (only the definition's hash changes) (dry run)\nproviderhost/"+added+" created",
		"ingress/"+stays+" configured (dry run)\n  metadata.annotations\n-     nginx.ingress.kubernetes.io/proxy-body-size: \"1048576\"   (akash-net)\n+     nginx.ingress.kubernetes.io/proxy-body-size: \"7777777\"\n")
	if strings.Count(client.Stdout, "withheld (held") != 1 {
		t.Errorf("what is withheld is told twice: %s", client)
	}
	if server := do(0, "apply", "--dry-run=server", "-f", definition).Prints(t, counts, "ingress/"+stays+" configured (server dry run)\n"); strings.Contains(server.Stdout, "proxy-body-size") {
		t.Errorf("the server's dry run shows fields: %s", server)
	}
	if dry, diff := do(0, "apply", "--dry-run=client", "-o", "json", "-f", definition), do(1, "diff", "-o", "json", "-f", definition); dry.Stdout != diff.Stdout {
		t.Errorf("diff:\n%s\napply:\n%s", diff.Stdout, dry.Stdout)
	}
	names := do(1, "diff", "-o", "name", "-f", definition).Stdout
	if r := do(0, "apply", "--dry-run=client", "-o", "name", "-f", definition); strings.Contains(r.Stdout, "proxy-body-size") || !strings.Contains(names, "ingress/"+stays+"\n") || !strings.Contains(r.Stdout, "ingress/"+stays+"\n") {
		t.Errorf("the names are %s%s", names, r)
	}
	for _, mode := range []string{"client", "server"} {
		do(0, "apply", "-f", fresh, "--dry-run="+mode).Prints(t, "created", "host/*.w."+domain+" claimed", "ingress/wc--any.w."+domain+" created", "dry run)")
		do(4, "apply", "-f", define(t, newcomer, web("web", 8080, stays)), "--dry-run="+mode).Says(t, stays+" is held by another lease", "HELD BY")
		do(0, "release", group, "--dry-run="+mode).Prints(t, "ingress/"+stays+" deleted", "host/"+stays+" released", "\n4 delete, 2 release, 1 kept\n")
		do(0, "reserve", "--lease", newcomer.String(), "*.v."+domain, "--dry-run="+mode).Prints(t, "host/*.v."+domain+" claimed")
	}
	if now := touched(untouched, fingerprint(t), domain, id.Namespace(), subnet, strings.ReplaceAll(subnet, ".", "-")); len(now) > 0 {
		t.Errorf("the dry runs have written %q", now)
	}
}

// A dry run that would wait for what is not there says so, and not that the lease is live or migrated. Once it is there, nothing is said.
func TestDryRunForeseesWhatIsMissing(t *testing.T) {
	t.Parallel()
	id, other, host, moved := leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 2), newDomain(), newDomain()
	other.Owner = id.Owner
	gateway, of := "gw-"+id.Namespace()[:8], "lease "+id.Group().String()
	config := configure(t, "gateway: {implementation: standard, namespace: default, name: "+gateway+"}", "ip: {mode: pool, pool: none-such}")
	do := func(args ...string) result { t.Helper(); return mustRun(t, 0, append(args, "--config", config)...) }
	do("apply", "-f", define(t, id, web("web", 8080, host)))
	do("apply", "-f", define(t, other, web("web", 8080, moved)))
	migrate, lacks := []string{"migrate", "--to", "httproute", id.Group().String(), "--dry-run=client"}, "there is no Gateway default/"
	do(append(migrate, "-o", "events")...).Prints(t, `"lacks":["`+lacks)
	for _, dry := range []string{"--dry-run=client", "--dry-run=server"} {
		do("migrate", "--to", "httproute", id.Group().String(), dry).Prints(t, of+" would not be migrated: "+lacks+gateway+"; create it, or configure", "1 create, 1 delete\n")
		do("apply", "-f", define(t, id, web("web", 8080, host, "b."+host)), dry).Prints(t, of+" is applied: ")
		do("apply", "--target", "httproute", "-f", define(t, id, web("web", 8080, host)), dry).Prints(t, of+" would not be live: "+lacks)
		do("apply", "-f", define(t, id, web("web", 8080, host), leased("game", "public", 7001)), dry).
			Prints(t, of+" would not be live: there is no IPAddressPool metallb-system/none-such (ip.pool)")
		do("transfer", "--target", "httproute", moved, "--to", id.String(), "-f", define(t, id, web("web", 8080, host, moved)), dry).Prints(t, of+" would not be live: "+lacks)
	}
	create(t, gateways, "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: "+gateway+", namespace: default}, spec: {gatewayClassName: none, "+
		"listeners: [{name: http, port: 80, protocol: HTTP}, {name: https-wildcard, port: 443, protocol: HTTP}, {name: https-custom, port: 444, protocol: HTTP}]}}")
	removeLater(t, kinds.Gateway.Resource(), "default", gateway)
	do(migrate...).Prints(t, of+" would not be migrated: Gateway default/"+gateway+" is not Accepted")
	const is = `status: "True", message: "", lastTransitionTime: "2026-11-21T10:00:00Z"}`
	setStatus(t, gateways, "default", gateway, `{conditions: [{type: Accepted, reason: Accepted, `+is+`, {type: Programmed, reason: Programmed, `+is+`]}`)
	do(migrate...).Prints(t, of+" is migrated: 1 host")
}

// A lease that is named is compared with what it was applied with: as with the file, until the lease is changed otherwise. What is lost of
// it comes back by that plan, and nothing else does.
func TestDiffOfALease(t *testing.T) {
	t.Parallel()
	id, subnet, domain := leaseOf(newOwner(t), 1), newNet(), newDomain()
	config, name := configure(t, "ip: {ranges: ["+subnet+"0/29]}"), id.Group().String()
	stays, released, handed := "a."+domain, "b."+domain, "c."+domain
	definition := define(t, id, web("web", 8080, stays, released, handed), leased("game", "public", 7001))
	do := func(code int, args ...string) result {
		t.Helper()
		return mustRun(t, code, append(args, "--config", config)...)
	}
	do(6, "diff", name).Says(t, "no definition of lease/"+name+" is kept in namespace "+ledger, "apply -f FILE", "diff -f FILE")
	do(0, "apply", "--wait=false", "-f", definition)
	if out := do(0, "diff", "lease/"+id.String()); out.Stdout != "" {
		t.Errorf("after the apply there is a difference: %s", out)
	}
	setClass(t, id.Namespace(), stays, "kubectl-edit", "traefik")
	remove(t, services, id.Namespace(), "game-ip-7001-tcp")
	byLease, byFile := do(1, "diff", name), do(1, "diff", "-f", definition)
	since := regexp.MustCompile(` since \w+`)
	if since.ReplaceAllString(byLease.Stdout, "") != since.ReplaceAllString(byFile.Stdout, "") {
		t.Errorf("by the lease:\n%s\nby the file:\n%s", byLease.Stdout, byFile.Stdout)
	}
	byLease.Prints(t, "!     ingressClassName: traefik   owned by kubectl-edit", "+     ingressClassName: akash-ingress-class", "service/game-ip-7001-tcp")

	sibling := leaseOf(id.Owner, 2)
	do(0, "release", name, released, "endpoint/public")
	do(0, "transfer", handed, "--to", sibling.String(), "--assume-serving")
	remove(t, ingresses, id.Namespace(), stays)
	out := do(1, "diff", name).Prints(t, "host/"+released+"\n!   not held: the lease has given it up", "endpoint/public 7001/tcp\n!   not held: ",
		"host/"+handed+"\n!   withheld: held by deployment "+sibling.Group().String())
	if strings.Contains(out.Stdout, "+   / -> web:80") || strings.Contains(out.Stdout, "service/") {
		t.Errorf("what was given up is claimed anew: %s", out)
	}
	saved := file(t, do(1, "diff", name, "-o", "json").Stdout)
	do(0, "apply", "--plan", saved).Prints(t, "ingress/"+stays+" created", "host/"+released+" skipped")
	hasClass(t, id.Namespace(), stays, "akash-ingress-class")
	held(t, released)
	do(1, "apply", "--plan", saved).Says(t, "the plan is out of date", "diff LEASE -o json")
}
