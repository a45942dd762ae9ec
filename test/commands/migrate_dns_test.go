package commands

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// crossroads are two ways to reach hosts: a class of Ingresses, whose controller is at 192.0.2.7, and a
// Gateway at 192.0.2.9.
type crossroads struct {
	class, gateway string
}

func newCrossroads(t *testing.T) crossroads {
	t.Helper()
	c := crossroads{newHost("class"), strings.ReplaceAll(newHost("gw"), ".", "-")}
	createAs(t, "administrator", gateways, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway,
		metadata: {name: %s, namespace: default}, spec: {gatewayClassName: none, listeners: [{name: http, port: 80, protocol: HTTP}]}}`, c.gateway))
	c.reach(t, "IPAddress", "192.0.2.9")
	return c
}

// reach says where the Gateway is.
func (c crossroads) reach(t *testing.T, kind, value string) {
	t.Helper()
	setStatus(t, gateways, "default", c.gateway, fmt.Sprintf(`{addresses: [{type: %s, value: %q}]}`, kind, value))
}

// by is a user whose configuration has records of a form.
func (c crossroads) by(t *testing.T, dns string) user {
	t.Helper()
	return admin().with(configure(t, "ingress: {className: "+c.class+"}", "gateway: {name: "+c.gateway+", namespace: default}", "dns: "+dns))
}

const (
	gardener5m = "{form: gardener, ttl: 300, gardener: {type: aws-route53, secretRef: {name: dns, namespace: garden}}}"
	endpoint5m = "{form: endpoint, ttl: 300}"
)

// serve applies a definition with Ingresses, lets the controller say where it is, and writes the records.
func serve(t *testing.T, u user, id lease.ID, definition string, ingressNames ...string) {
	t.Helper()
	u.do(t, "apply", "-f", definition, "--wait=false")
	for _, name := range ingressNames {
		publish(t, id.Namespace(), name, map[string]any{"ip": "192.0.2.7"})
	}
	u.do(t, "apply", "-f", definition)
}

// answer is what the DNS records of a host in a lease's namespace say of it.
func answer(t *testing.T, id lease.ID, host string) string {
	t.Helper()
	var out []string
	for _, suffix := range []string{"-a", "-aaaa", "-cname"} {
		if o := find(t, dnsRecords, id.Namespace(), host+suffix); o != nil {
			out = append(out, specOf(o, "recordType")+" "+specOf(o, "values"))
		}
	}
	if o := find(t, dnsEndpoints, id.Namespace(), host); o != nil {
		for _, e := range o.Object["spec"].(map[string]any)["endpoints"].([]any) {
			out = append(out, fmt.Sprint(e.(map[string]any)["recordType"], " ", e.(map[string]any)["targets"]))
		}
	}
	return strings.Join(out, ", ")
}

// at is the time of day in what a run says.
var at = regexp.MustCompile(`until \d\d:\d\d:\d\d UTC`)

// The records lead to the new route before the old one goes, and that stays as long as resolvers may have
// the old answer. Who asks again waits no longer for it.
func TestMigrateLeadsDNS(t *testing.T) {
	t.Parallel()
	for form, dns := range map[string]string{"gardener": gardener5m, "endpoint": endpoint5m} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			roads, r := newCrossroads(t), record(t)
			id, host := leaseOf(newTenant(t), 1), newHost("lead")
			u := roads.by(t, dns)
			r.config = u.config
			extend(t, id, "")
			serve(t, u, id, defineParts(t, id, webPart(host)), host)
			if got := answer(t, id, host); got != "A [192.0.2.7]" {
				t.Fatalf("before, the host leads to %s", got)
			}
			first := r.run(t, migrate("httproute", id)...).Exits(t, 5).
				Prints(t, "httproute/"+host+" created", "ingress/"+host+" configured (it stays for 5m0s once DNS leads elsewhere)", "configured", "served (A 192.0.2.9)",
					"ingress/"+host+" kept (until ").
				Says(t, "resolvers may lead people to 1 of its old routes until", "with --timeout=")
			if got := need(t, ingresses, id.Namespace(), host).GetAnnotations()[lease.AnnotationDNSTTL]; got != "300" {
				t.Errorf("the old route has noted %q", got)
			}
			if got := answer(t, id, host); got != "A [192.0.2.9]" {
				t.Errorf("the host leads to %s", got)
			}
			record := "dnsendpoints/" + host
			if form == "gardener" {
				record = "dnsrecords/" + host + "-a"
			}
			// A turn is around each step, and not while the command waits. The claim is not written.
			begins, ends := "PATCH announcement", "DELETE announcement"
			if diff := cmp.Diff([]string{begins, "PATCH httproutes/" + host, ends, begins, "PATCH ingresses/" + host, "PATCH " + record, ends}, writesOf(r.sent())); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			again := r.run(t, migrate("httproute", id)...).Exits(t, 5)
			if was, is := at.FindString(first.Stderr), at.FindString(again.Stderr); was == "" || was != is {
				t.Errorf("the old route stays %s, and run again %s", was, is)
			}
			r.do(t, migrate("httproute", id, "--wait=false")...).Prints(t, "ingress/"+host+" kept (until ", "is prepared")
			if writes := writesOf(r.sent()); len(writes) > 0 {
				t.Errorf("run again, it writes %v", writes)
			}
			r.do(t, migrate("httproute", id, "--dns-settle=0")...).Prints(t, "ingress/"+host+" deleted", "is migrated")
			absent(t, ingresses, id.Namespace(), host)
			u.with(configure(t, "target: httproute", "gateway: {name: "+roads.gateway+", namespace: default}", "dns: "+dns)).
				do(t, "apply", "-f", defineParts(t, id, webPart(host))).Prints(t, "unchanged")
		})
	}
}

// The time for which the old route stays is waited for where --timeout lets it, and goes by the records that led to it, not by those
// that come.
func TestMigrateWaitsForResolvers(t *testing.T) {
	t.Parallel()
	roads := newCrossroads(t)
	id, host := leaseOf(newTenant(t), 1), newHost("wait")
	extend(t, id, "")
	serve(t, roads.by(t, "{form: endpoint, ttl: 1}"), id, defineParts(t, id, webPart(host)), host)
	roads.by(t, "{form: endpoint, ttl: 7200}").do(t, migrate("httproute", id)...).
		Prints(t, "ingress/"+host+" configured (it stays for 1s once DNS leads elsewhere)", "ingress/"+host+" deleted", "is migrated")
}

// Where the new route leads to a name, the address record is replaced; --dry-run names each step. As long as it is not known where the
// new route is reached, the old one stays.
func TestMigrateReplacesRecords(t *testing.T) {
	t.Parallel()
	roads := newCrossroads(t)
	id, host := leaseOf(newTenant(t), 1), newHost("replace")
	u := roads.by(t, strings.Replace(gardener5m, "ttl: 300", "ttl: 300, ownership: true", 1))
	e := extend(t, id, "")
	serve(t, u, id, defineParts(t, id, webPart(host)), host)
	setStatus(t, gateways, "default", roads.gateway, `{}`)
	u.do(t, migrate("httproute", id, "--wait=false")...).Prints(t, "dns/"+host+" unconfirmed (its record is written once Gateway")
	if a := need(t, ingresses, id.Namespace(), host).GetAnnotations(); a[lease.AnnotationDNSTTL] != "" {
		t.Errorf("the route that stays is noted to go: %v", a)
	}
	roads.reach(t, "Hostname", "gw.example.net")
	u.do(t, migrate("ingress", id, "--dns-settle=0")...)

	for _, mode := range []string{"client", "server"} {
		u.do(t, migrate("httproute", id, "--dry-run="+mode)...).Prints(t, "httproute/"+host+" created", "ingress/"+host+" configured (it stays for 5m0s",
			"dnsrecord/"+host+"-a replaced (by dnsrecord/"+host+"-cname)", "dnsrecord/"+host+"-cname created", "ingress/"+host+" deleted (5m0s after its DNS records lead to the new route)")
	}
	if got := answer(t, id, host); got != "A [192.0.2.7]" {
		t.Errorf("after a dry run the host leads to %s", got)
	}
	e.did()
	u.do(t, migrate("httproute", id, "--dns-settle=0")...).Prints(t, "dnsrecord/"+host+"-a replaced", "dnsrecord/"+host+"-cname created", "is migrated")
	if got := answer(t, id, host); got != "CNAME [gw.example.net]" {
		t.Errorf("the host leads to %s", got)
	}
	if diff := cmp.Diff([]string{"delete " + host + "-a", "reconcile " + host + "-cname"}, e.did()); diff != "" {
		t.Errorf("the extension (-want +got):\n%s", diff)
	}
}

// While both routes stand, repair leaves the records where the migration has led them, whatever kind the configuration names. A
// migration that repair ends leads DNS as well, and leaves the old route for as long.
func TestRepairEndsMigration(t *testing.T) {
	t.Parallel()
	roads := newCrossroads(t)
	id, host := leaseOf(newTenant(t), 1), newHost("ended")
	u := roads.by(t, endpoint5m)
	extend(t, id, "")
	serve(t, u, id, defineParts(t, id, webPart(host)), host)
	u.do(t, migrate("httproute", id, "--keep-old")...)
	to := u.with(configure(t, "target: httproute", "ingress: {className: "+roads.class+"}", "gateway: {name: "+roads.gateway+", namespace: default}", "dns: "+endpoint5m))
	to.run(t, "repair", "MigrationUnderWay/"+host, "--assume-serving").Exits(t, 1).Prints(t, "MigrationUnderWay/"+host+" refused", "resolvers may lead people to 1 of its old routes until")
	to.run(t, "repair", "MigrationUnderWay/"+host, "--assume-serving", "--wait=false").Exits(t, 1).Prints(t, "for now ingress/"+host+" stays, until DNS leads to the new route")
	need(t, ingresses, id.Namespace(), host)
	if got := answer(t, id, host); got != "A [192.0.2.9]" {
		t.Errorf("the host leads to %s", got)
	}
	if out := u.run(t, "state", "--problems", "-n", id.Namespace()); strings.Contains(out.Stdout, "RecordDiffers") {
		t.Errorf("repair would lead the host back: %s", out)
	}
}

// external-dns keeps a name where it leads as long as it reads the old route: it is told to read that no
// more, also of a route that Akash's provider wrote, and may read it again when it comes back.
func TestMigrateUnread(t *testing.T) {
	t.Parallel()
	const controller = "external-dns.alpha.kubernetes.io/controller"
	roads := newCrossroads(t)
	id, host := leaseOf(newTenant(t), 1), newHost("read")
	u := roads.by(t, "{form: annotations, ttl: 60}")
	definition := defineParts(t, id, webPart(host))
	serve(t, u, id, definition, host)
	setStatus(t, gateways, "default", roads.gateway, `{}`)
	is := func(read, ttl string) {
		t.Helper()
		if a := need(t, ingresses, id.Namespace(), host).GetAnnotations(); a[controller] != read || a[lease.AnnotationDNSTTL] != ttl {
			t.Errorf("the old route has %v, want %q and %q", a, read, ttl)
		}
	}
	u.run(t, migrate("httproute", id, "--timeout=1s")...).Exits(t, 5).Says(t, "Gateway default/"+roads.gateway+" has an address")
	is("", "")
	roads.reach(t, "IPAddress", "192.0.2.9")
	u.do(t, migrate("httproute", id, "--dry-run=server")...).Prints(t, "ingress/"+host+" configured (it stays for 2m0s", "ingress/"+host+" deleted (2m0s after")
	u.run(t, migrate("httproute", id)...).Exits(t, 5).Prints(t, "ingress/"+host+" configured (it stays for 2m0s once DNS leads elsewhere)", "ingress/"+host+" kept (until")
	is("akash-net", "120")
	u.do(t, "apply", "-f", definition, "--wait=false").Prints(t, "ingress/"+host+" configured")
	is("", "") // whoever changes his mind has it back as it was
	u.do(t, migrate("httproute", id, "--dns-settle=0")...).Prints(t, "ingress/"+host+" deleted")
	u.do(t, "release", id.Group().String())

	id, host = leaseOf(newTenant(t), 1), newHost("read")
	_, was := deployHost(t, id, host)
	if err := unstructured.SetNestedField(was.Object, roads.class, "spec", "ingressClassName"); err != nil {
		t.Fatal(err)
	}
	update(t, "administrator", ingresses, was)
	u.do(t, "reserve", host, "--adopt", "--lease", id.String())
	publish(t, id.Namespace(), host, map[string]any{"ip": "192.0.2.7"})
	u.run(t, migrate("httproute", id)...).Exits(t, 5)
	is("akash-net", "360")
	u.do(t, migrate("ingress", id, "--dns-settle=0")...).Prints(t, "ingress/"+host+" configured (it stays)", "httproute/"+host+" deleted")
	same(t, was, need(t, ingresses, id.Namespace(), host))
}

// What a run leaves that is killed before any of its writes can be finished by running it again, or be taken back: the host has a route
// where DNS leads at each moment, and the old route stays for as long as if nothing had happened.
func TestMigrateDNSKilled(t *testing.T) {
	t.Parallel()
	roads := newCrossroads(t)
	roads.reach(t, "Hostname", "gw.example.net")
	was := roads.by(t, gardener5m)
	now := roads.by(t, strings.Replace(gardener5m, "ttl: 300", "ttl: 1", 1)) // what led to the old route was to be kept for longer
	for _, back := range []bool{false, true} {
		t.Run(fmt.Sprint("back ", back), func(t *testing.T) {
			t.Parallel()
			dies(t, 6, func(nth int32) bool {
				id, host := leaseOf(newTenant(t), 1), newHost("killed")
				extend(t, id, "")
				serve(t, was, id, defineParts(t, id, webPart(host)), host)
				former := need(t, ingresses, id.Namespace(), host)
				r := record(t)
				r.config = now.config
				if back {
					r.config = was.config
				}
				if !killAt(t, r, nth, migrate("httproute", id, "--concurrency=1")) {
					return false
				}
				need(t, ingresses, id.Namespace(), host)
				leads, route := "CNAME [gw.example.net]", "httproute/"+host
				if back {
					r.do(t, migrate("ingress", id, "--dns-settle=0", "--assume-crashed")...)
					same(t, former, need(t, ingresses, id.Namespace(), host))
					leads, route = "A [192.0.2.7]", "ingress/"+host
				} else {
					r.run(t, migrate("httproute", id, "--assume-crashed")...).Exits(t, 5).Prints(t, "ingress/"+host+" kept (until")
					if got := need(t, ingresses, id.Namespace(), host).GetAnnotations()[lease.AnnotationDNSTTL]; got != "300" {
						t.Errorf("killed at write %d, the old route stays for %q seconds", nth, got)
					}
					r.do(t, migrate("httproute", id, "--dns-settle=0")...).Prints(t, "ingress/"+host+" deleted")
				}
				if got, now := answer(t, id, host), routesOf(t, id); got != leads || !slices.Equal(now, []string{route}) {
					t.Errorf("killed at write %d, and run again, the routes are %v, and the host leads to %s", nth, now, got)
				}
				return true
			})
		})
	}
}
