package commands

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// hostnameRules are the rules of Akash's hostname service, by the case in its test or its code: what is blocked; the commands; the
// deployments that hold the hosts in the end. Leases: L1 and L2 are deployments of one owner, X (deployment 9) of another; L1' is L1 with
// another order and provider, L1" another group of L1's deployment. Every case has a domain of its own: "meow" stands for meow.DOMAIN. A
// command is VERB LEASE HOSTS, "-> " and an exit code with what it says, and "~" before a host that it withholds.
const hostnameRules = `
HS-1 a blocked host                              | foobar DOMAIN.test | check L1 foobar other -> 3 blocked by this provider |
HS-2 a host in a blocked domain                  | .DOMAIN | check L1 accounts -> 3 blocked by this provider |
HS-3 a blocked domain itself                     | .bobs   | check L1 bobs -> 3 blocked by this provider |
HS-4 a host below a host that is blocked alone   | bobs    | check L1 accounts.bobs |
HS-5 a host that ends like a blocked domain      | .bobs   | check L1 xbobs |
HS-6 a blocked host in upper case                | foobar  | check L1 FOOBAR -> 3 blocked by this provider |
HS-7 an entry in upper case (Akash: allowed)     | FOOBAR  | check L1 foobar -> 3 blocked by this provider |
HS-8 a lease keeps what it has                   | | reserve L1 meow kittens; reserve L1 kittens meow cats | meow=1 kittens=1 cats=1
HS-9 a host of another deployment is withheld    | | reserve L1 meow kittens cats; reserve L2 dogs ~meow ferrets | meow=1 dogs=2 ferrets=2
HS-10 a host of another owner                    | | reserve L1 meow kittens; reserve X KITTENS -> 4 kittens | kittens=1
HS-11 after a release                            | | reserve L1 meow kittens; release L1; reserve X KITTENS | meow= kittens=9
HS-12 after it is no longer asked for            | | reserve L1 meow kittens; reserve X kittens -> 4 kittens; reserve L1 meow; reserve X KITTENS | meow=1 kittens=9
HS-13 all or nothing                             | | reserve L1 a b; reserve X c; reserve L1 a c d -> 4 c | a=1 b=1 c=9 d=
HS-14 another order and provider, one deployment | | reserve L1 a; reserve L1' a | a=1
HS-15 another group is another deployment        | | reserve L1 a; reserve L1" ~a | a=1
HS-16 transfer to another deployment             | | reserve L1 meow kittens; transfer L2 kittens | meow=1 kittens=2
HS-17 transfer to the holder                     | | reserve L1 meow kittens; transfer L1 kittens | kittens=1
HS-18 transfer to another owner                  | | reserve L1 meow kittens; transfer X kittens -> 4 kittens | kittens=1
HS-19 transfer of what nobody holds (Akash: left out) | | reserve L1 meow kittens; transfer L2 pets -> 1 has no claim that can be transferred | pets= meow=1
HS-20 transfer all or nothing                    | | reserve L1 a; reserve X c; transfer L2 a c -> 4 c | a=1 c=9
HS-21 what was there before this process         | | reserve L1 a; check X a -> 4 a; check L2 ~a; check L1 a | a=1
HS-22 nothing is asked for any more              | | reserve L1 a b; reserve L1 | a= b=
`

func TestHostnameRules(t *testing.T) {
	t.Parallel()
	for rule := range strings.Lines(strings.TrimSpace(hostnameRules)) {
		columns := strings.Split(strings.TrimSpace(rule)+" ", "|")
		t.Run(strings.TrimSpace(columns[0]), func(t *testing.T) {
			t.Parallel()
			domain, owner := newDomain(), newOwner(t)
			id := leaseOf(owner, 1)
			again, group := id, id
			again.OSeq, again.Provider, group.GSeq = 7, newOwner(t), 2
			leases := map[string]lease.ID{"L1": id, "L2": leaseOf(owner, 2), "X": leaseOf(newOwner(t), 9), "L1'": again, `L1"`: group}
			config := configure(t, "hosts: {blocked: ["+strings.Join(named(columns[1], domain), ", ")+"]}")
			for command := range strings.SplitSeq(columns[2], ";") {
				command, outcome, _ := strings.Cut(strings.TrimSpace(command), " -> ")
				code, says := 0, ""
				if outcome != "" {
					code, says = int(outcome[0]-'0'), outcome[2:]
				}
				words := strings.Fields(command)
				things := named(strings.ReplaceAll(strings.Join(words[2:], " "), "~", ""), domain)
				args := append([]string{words[0], "--config", config}, things...)
				switch id := leases[words[1]].String(); words[0] {
				case "transfer":
					args = append(args, "--to", id)
				case "release":
					args = append(args, id)
				default:
					args = append(args, "--lease", id)
				}
				r := mustRun(t, code, args...).Says(t, says)
				for i, host := range things {
					told := strings.Contains(r.Stdout+r.Stderr, "host/"+strings.ToLower(host)+" withheld")
					if want := words[2+i][0] == '~'; told != want {
						t.Errorf("%s withheld: %t, want %t: %s", host, told, want, r)
					}
				}
			}
			for _, is := range strings.Fields(columns[3]) {
				host, holder, _ := strings.Cut(is, "=")
				want := []string{}
				if holder != "" {
					want = append(want, holder+" /")
				}
				held(t, host+"."+domain, want...)
			}
		})
	}
}

// named puts words under a domain; DOMAIN is the domain itself.
func named(words, domain string) []string {
	out := []string{}
	for _, word := range strings.Fields(words) {
		if strings.Contains(word, "DOMAIN") {
			out = append(out, strings.ReplaceAll(word, "DOMAIN", domain))
			continue
		}
		out = append(out, word+"."+domain)
	}
	return out
}

// Two tenants ask for one host: the second is refused, is told who has it, and gets nothing, by force neither; when the first has released
// it, the second gets it. From another deployment of the first it is withheld.
func TestSecondTenantIsRefused(t *testing.T) {
	t.Parallel()
	host, spare := newHost("shop"), newHost("a-spare")
	first, second := leaseOf(newTenant(t), 1), leaseOf(newTenant(t), 7)
	mustRun(t, 0, "apply", "-f", defineParts(t, first, webPart(host))).Prints(t, "host/"+host+" claimed", "providerhost/"+host+" created", "ingress/"+host+" created", "is live: 1 host")
	steal, since := defineParts(t, second, webPart(spare, host)), need(t, claims, ledger, host)
	mustRun(t, 4, "apply", "-f", steal).Says(t, host+" is held by another lease", first.Group().String(), first.Namespace(),
		since.GetCreationTimestamp().UTC().Format("2006-01-02T15:04:05Z"), "web:80", "Nothing was changed")
	mustRun(t, 4, "apply", "--force-conflicts", "-f", steal)
	if got := append(objectsOf(t, second), claimsOf(t, second.Owner)...); len(got) > 0 || need(t, claims, ledger, host).GetResourceVersion() != since.GetResourceVersion() {
		t.Errorf("the refused lease has %v", got)
	}
	sibling, own := leaseOf(first.Owner, 2), newHost("own")
	mustRun(t, 0, "apply", "-f", defineParts(t, sibling, webPart(host, own))).Prints(t, "host/"+host+" withheld (held by deployment "+first.Group().String()+")", "1 withheld")
	if got := objectsOf(t, sibling); !slices.Equal(got, []string{"ingresses/" + own, "providerhosts/" + own}) {
		t.Errorf("the other deployment has %v", got)
	}
	mustRun(t, 0, "release", first.Group().String()).Prints(t, "ingress/"+host+" deleted", "host/"+host+" released")
	absent(t, claims, ledger, host)
	mustRun(t, 0, "apply", "-f", steal)
	if got := claimsOf(t, second.Owner); !slices.Equal(got, []string{spare, host}) {
		t.Errorf("claims of the second tenant: %v", got)
	}
	unmarked(t, second.Owner)
}

// Two owners want one thing in one input: the second is refused by every command alike, and a dry run says what the real run does.
func TestTwoOwnersInOneInput(t *testing.T) {
	t.Parallel()
	domain, first, second := newDomain(), leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 1)
	cfg := configure(t, "hosts: {wildcards: true}")
	mine, theirs := define(t, first, web("web", 80, `"*.`+domain+`"`)), define(t, second, web("web", 80, "a."+domain))
	for _, args := range [][]string{{"check"}, {"apply", "--dry-run=client"}, {"reserve", "--dry-run=client"}, {"apply", "--wait=false"}} {
		r := mustRun(t, 4, append(args, "-f", mine, "-f", theirs, "--config", cfg)...)
		r.Says(t, "is wanted by two owners of this input: first by lease "+first.String(), "then by lease "+second.String(), "Nothing was changed for lease "+second.String())
		if strings.Contains(r.Stderr, "Nothing was changed for lease "+first.String()) {
			t.Errorf("the first is refused as well: %s", r)
		}
	}
	mustRun(t, 4, "render", "-f", mine, "-f", theirs, "--config", cfg).Says(t, "wanted by two owners of this input")
	// What the ledger has counts for more than the order of the input.
	mustRun(t, 4, "apply", "--wait=false", "-f", theirs, "-f", mine, "--config", cfg).Says(t, "Nothing was changed for lease "+second.String())
}

// A host is held, and the object named, however a route of somebody else serves it; the solver with which cert-manager answers a challenge
// serves nothing. An Ingress in the lease's own namespace is taken over with --adopt, and no other one is.
func TestRoutesThatUseAHost(t *testing.T) {
	t.Parallel()
	const solver = "acme.cert-manager.io/http01-solver"
	ingress := func(t *testing.T, namespace, name, host, path, metadata string) {
		t.Helper()
		create(t, ingresses, fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: %s, namespace: %s%s},
			spec: {rules: [{host: %q, http: {paths: [{path: %s, pathType: Prefix, backend: {service: {name: site, port: {number: 80}}}}]}}]}}`, name, namespace, metadata, host, path))
		removeLater(t, ingresses, namespace, name)
	}
	for name, serve := range map[string]func(t *testing.T, id lease.ID, host, domain string) (object string){
		"an Ingress": func(t *testing.T, _ lease.ID, host, domain string) string {
			ingress(t, "default", "site-"+domain, host, "/", "")
			return "ingress default/site-" + domain
		},
		"a server-alias": func(t *testing.T, _ lease.ID, host, domain string) string {
			ingress(t, "default", "alias-"+domain, "main."+domain, "/", `, annotations: {nginx.ingress.kubernetes.io/server-alias: "else.`+domain+`, `+host+`"}`)
			return "ingress default/alias-" + domain
		},
		"a wildcard above": func(t *testing.T, _ lease.ID, _, domain string) string {
			ingress(t, "default", "all-"+domain, "*."+domain, "/", "")
			return "ingress default/all-" + domain
		},
		"a solver's label": func(t *testing.T, _ lease.ID, host, domain string) string {
			ingress(t, "default", "label-"+domain, host, "/", `, labels: {`+solver+`: "true"}`)
			return "ingress default/label-" + domain
		},
		"a GRPCRoute": func(t *testing.T, _ lease.ID, host, domain string) string {
			create(t, kinds.GRPCRoute.Resource(), `{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: rpc-`+domain+`, namespace: default},
				spec: {hostnames: [`+host+`], rules: [{backendRefs: [{name: site, port: 80}]}]}}`)
			removeLater(t, kinds.GRPCRoute.Resource(), "default", "rpc-"+domain)
			return "grpcroute default/rpc-" + domain
		},
		"a Route": func(t *testing.T, _ lease.ID, host, domain string) string {
			create(t, routes, `{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: site-`+domain+`, namespace: default}, spec: {host: `+host+`, to: {kind: Service, name: site}}}`)
			removeLater(t, routes, "default", "site-"+domain)
			return "route default/site-" + domain
		},
		"an Ingress of another owner": func(t *testing.T, _ lease.ID, host, domain string) string {
			other := leaseOf(newOwner(t), 9)
			makeNamespace(t, other)
			ingress(t, other.Namespace(), "site-"+domain, host, "/", "")
			return "ingress " + other.Namespace() + "/site-" + domain
		},
		"an Ingress of its own": func(t *testing.T, id lease.ID, host, domain string) string {
			makeNamespace(t, id)
			ingress(t, id.Namespace(), "site-"+domain, host, "/", "")
			return "ingress " + id.Namespace() + "/site-" + domain
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			domain, id := newDomain(), leaseOf(newOwner(t), 1)
			host := "shop." + domain
			object, definition := serve(t, id, host, domain), define(t, id, web("web", 8080, host))
			for _, verb := range []string{"apply", "check"} {
				mustRun(t, 4, verb, "-f", definition).Says(t, host, object)
			}
			mustRun(t, 0, "explain", host).Prints(t, host+" has no claim, but objects use it", object)
			if name == "an Ingress of its own" {
				mustRun(t, 0, "explain", host).Prints(t, "reserve "+host+" --adopt")
				mustRun(t, 4, "reserve", "--adopt", "--lease", leaseOf(newOwner(t), 9).String(), host)
				mustRun(t, 0, "reserve", "--adopt", "--lease", id.String(), host).Prints(t, "host/"+host+" claimed")
				held(t, host, "1 /")
				return
			}
			mustRun(t, 4, "reserve", "--adopt", "--lease", id.String(), host).Says(t, object)
			held(t, host)
		})
	}
	t.Run("a solver", func(t *testing.T) {
		t.Parallel()
		host, id := newHost("solver"), leaseOf(newTenant(t), 1)
		ingress(t, "default", "challenge-"+host, host, "/.well-known/acme-challenge/token", `, labels: {`+solver+`: "true"}`+
			`, ownerReferences: [{apiVersion: acme.cert-manager.io/v1, kind: Challenge, name: site, uid: 7b3ff6fc-1b3b-4b8e-8a2c-0d2f6e1a9c11}]`)
		mustRun(t, 0, "reserve", "--lease", id.String(), host).Prints(t, "host/"+host+" claimed")
	})
}

// A static host follows from what everybody can read. Another tenant's definition that names it is
// refused where it stands, by each command; the lease whose it is gets it, and no other deployment of its owner does.
func TestAStaticHostIsItsLeasesOwn(t *testing.T) {
	t.Parallel()
	domain := newDomain()
	config := configure(t, "ingress: {domain: "+domain+", staticHosts: true}", "hosts: {wildcards: true}")
	blocking := configure(t, "ingress: {domain: "+domain+", staticHosts: true}", "hosts: {blocked: [."+domain+"]}")
	victim, thief := leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 1)
	static := victim.StaticHost("web", domain)
	refusal, theft := static+" is below the provider's own domain "+domain+" (ingress.domain)", define(t, thief, web("web", 80, static))
	for _, verb := range []string{"apply", "check", "reserve", "render"} {
		mustRun(t, 3, verb, "-f", theft, "--config", config).Says(t, theft+":", refusal)
	}
	for _, host := range []string{static, domain, "admin." + domain, "*." + domain} {
		mustRun(t, 3, "reserve", host, "--lease", thief.String(), "--config", config).Says(t, host, "the provider's own domain "+domain)
	}
	if got := claimsOf(t, thief.Owner); len(got) > 0 {
		t.Errorf("what was refused has claimed %q", got)
	}
	// Akash's documentation has the domain blocked; the provider's own host is not.
	mustRun(t, 0, "apply", "-f", define(t, victim, web("web", 80)), "--config", blocking).Prints(t, "host/"+static+" claimed")
	mustRun(t, 0, "state", "--problems", "--config", blocking, "-n", victim.Namespace())
	mustRun(t, 3, "transfer", static, "--to", leaseOf(victim.Owner, 2).String(), "--config", config).Says(t, refusal)
	held(t, static, "1 /")

	// What somebody took before is a problem that is named, and that repair mends when it is told to.
	taken := "admin." + domain
	mustRun(t, 0, "reserve", taken, "--lease", thief.String(), "--config", configure(t))
	if got := problemsOf(t, config, taken); !slices.Equal(got, []string{state.BlockedHost}) {
		t.Errorf("problems of %s: %v", taken, got)
	}
	mustRun(t, 0, "repair", "--config", config, state.BlockedHost+"/"+taken)
	held(t, taken)
}
