package examine

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// holding lets the caller have only the rights of roles.
func holding(s *Seen, names ...string) {
	s.Rights = map[Right]Answer[bool]{Everything: {}}
	all, err := roles(s.Config)
	if err != nil {
		panic(err)
	}
	for _, role := range all {
		for _, right := range role.rights {
			if slices.Contains(names, role.name) || slices.Contains(names, role.name+" in "+role.namespace) {
				s.Rights[right] = Answer[bool]{Value: true}
			}
		}
	}
}

const (
	withoutGrants   = "warning: your rights do not cover akash-net-grants in all namespaces (repair of GrantDiffers): you may not patch services/status\n  kubectl create clusterrolebinding NAME --clusterrole=akash-net-grants --user=YOU\n"
	withoutCapacity = "warning: your rights do not cover akash-net-capacity in all namespaces (state resources, fit of documents, reserve --order): you may not list persistentvolumes; list storageclasses.storage.k8s.io; list csistoragecapacities.storage.k8s.io\n  kubectl create clusterrolebinding NAME --clusterrole=akash-net-capacity --user=YOU\n"
)

func TestRights(t *testing.T) {
	beside := []string{"akash-net-grants", "akash-net-capacity", "akash-net-status", "akash-net-logs"}
	run(t, "rights", []check{
		{name: "an administrator", want: "ok: you may do everything in the cluster"},
		{name: "an operator of everything", with: func(s *Seen) { holding(s, append(beside, operator)...) },
			want: "ok: your rights cover akash-net-operator, akash-net-grants, akash-net-capacity, akash-net-status, akash-net-logs and akash-net-viewer"},
		{name: "a viewer", with: func(s *Seen) {
			holding(s, append(beside, viewer)...)
			s.Rights[Right{Verb: "patch", Group: "networking.k8s.io", Resource: "ingresses"}] = Answer[bool]{}
		}, want: `ok: your rights cover akash-net-grants, akash-net-capacity, akash-net-status, akash-net-logs and akash-net-viewer
warning: your rights do not cover akash-net-operator in all namespaces: you may not create, patch and delete providerhosts.akash.network; create, patch and delete providerleasedips.akash.network; create, patch and delete ingresses.networking.k8s.io; 20 more resources
  kubectl create clusterrolebinding NAME --clusterrole=akash-net-operator --user=YOU
warning: your rights do not cover akash-net-operator: you may not create, patch, update and delete leases.coordination.k8s.io in namespace akash-net
  kubectl -n akash-net create rolebinding NAME --role=akash-net-operator --user=YOU`},
		{name: "an operator without the Role of the ledger", with: func(s *Seen) { holding(s, append(beside, "akash-net-operator in ", "akash-net-viewer in ")...) },
			want: `ok: your rights cover akash-net-grants, akash-net-capacity, akash-net-status and akash-net-logs
problem: your rights do not cover akash-net-operator: you may not get, list, watch, create, patch, update and delete leases.coordination.k8s.io in namespace akash-net; get, list and watch configmaps in namespace akash-net
  kubectl -n akash-net create rolebinding NAME --role=akash-net-operator --user=YOU
problem: your rights do not cover akash-net-viewer: you may not get, list and watch leases.coordination.k8s.io in namespace akash-net; get, list and watch configmaps in namespace akash-net
  kubectl -n akash-net create rolebinding NAME --role=akash-net-viewer --user=YOU`},
		{name: "where Akash's provider runs", with: func(s *Seen) {
			s.Namespaces[manifests.OperatorsNamespace] = Answer[Object]{Value: object("{kind: Namespace}")}
			holding(s, append(beside, operator)...)
		}, want: `ok: your rights cover akash-net-operator, akash-net-grants, akash-net-capacity, akash-net-status, akash-net-logs and akash-net-viewer
problem: your rights do not cover akash-net-sees-operators: you may not list and watch deployments.apps in namespace akash-services
  kubectl -n akash-services create rolebinding NAME --role=akash-net-sees-operators --user=YOU`},
		{name: "an operator without more", with: func(s *Seen) { holding(s, operator, "akash-net-status", "akash-net-logs") },
			want: "ok: your rights cover akash-net-operator, akash-net-status, akash-net-logs and akash-net-viewer\n" + withoutGrants +
				withoutCapacity},
		{name: "before install, without the right", with: func(s *Seen) {
			s.Before, s.Rights = true, nil
		}, want: "problem: your rights do not suffice to install: you may not get, create and patch customresourcedefinitions.apiextensions.k8s.io; get, create and patch namespaces; get, create and patch clusterroles.rbac.authorization.k8s.io; 2 more resources\n  let a cluster administrator install"},
	})
}

const pool = `{kind: IPAddressPool, metadata: {name: NAME, namespace: metallb-system, labels: {net.akash.network/managed: "OURS", zone: a}}, spec: {addresses: [203.0.113.0/28], autoAssign: false}}`

func ours(name string) string {
	return strings.NewReplacer("NAME", name, "OURS", "true").Replace(pool)
}

func theirs(name string) string {
	return strings.NewReplacer("NAME", name, "OURS", "false").Replace(pool)
}

func advertisement(kind, spec string) string {
	return "{kind: " + kind + ", metadata: {name: ads, namespace: metallb-system}, spec: " + spec + "}"
}

func leasing(s *Seen) {
	r, _ := config.ParseRange("203.0.113.0/28")
	s.Config.IP.Ranges.Include = []config.Range{r}
}

func TestMetalLB(t *testing.T) {
	version := schema.GroupVersion{Group: "metallb.io", Version: "v1beta1"}
	missing := func(s *Seen) { s.Served[version] = Answer[[]string]{} }
	run(t, "metallb", []check{
		{name: "available", want: "ok: its controller is available (deployment metallb-system/controller)"},
		{name: "missing, and not needed", with: missing, want: "ok: ipaddresspools.metallb.io is not installed; the configuration leases no addresses"},
		{name: "missing", with: func(s *Seen) { leasing(s); missing(s) }, want: "problem: ipaddresspools.metallb.io is not installed\n  install MetalLB (https://metallb.io)"},
		{name: "not available", with: func(s *Seen) {
			s.MetalLB = found(`{kind: Deployment, metadata: {name: m, labels: {app.kubernetes.io/name: metallb, app.kubernetes.io/component: controller}},
				status: {conditions: [{type: Available, status: "False", reason: MinimumReplicasUnavailable}]}}`)
		}, want: "problem: its controller, deployment metallb-system/m, is not available (MinimumReplicasUnavailable): no address is granted\n  kubectl -n metallb-system describe deployment m"},
		{name: "pools are counted", with: func(s *Seen) {
			s.MetalLB = Answer[[]Object]{}
			counted := object(ours("a"))
			counted.Object["status"] = map[string]any{"assignedIPv4": int64(0), "availableIPv4": int64(16), "assignedIPv6": int64(0), "availableIPv6": int64(0)}
			s.Pools.Value = []Object{counted}
		}, want: "ok: its controller counts the addresses of pools in namespace metallb-system"},
		{name: "a deprecated prefix", with: func(s *Seen) { leasing(s); s.serve(version, "servicebgpstatuses") },
			want: "ok: its controller is available (deployment metallb-system/controller)\n" +
				"warning: ip.annotationPrefix is metallb.universe.tf, which this MetalLB deprecates; it wants metallb.io\n  kubectl akash-net config edit"},
		{name: "a prefix that v0.14.9 reads", with: func(s *Seen) { leasing(s); s.Config.IP.AnnotationPrefix = "metallb.io" },
			want: "ok: its controller is available (deployment metallb-system/controller)"},
		{name: "refused", with: func(s *Seen) { s.MetalLB = refused[[]Object]("list", "deployments") },
			want: "unknown: you may not list deployments\n  no role of this program allows it; let a cluster administrator run doctor"},
	})
}

func TestPools(t *testing.T) {
	const name = "akash-net-203-0-113-0-28"
	with := func(edits ...func(*Seen)) func(*Seen) {
		return func(s *Seen) {
			leasing(s)
			for _, edit := range edits {
				edit(s)
			}
		}
	}
	pooled := func(text string) func(*Seen) { return func(s *Seen) { s.Pools = found(text) } }
	l2 := func(spec string) func(*Seen) {
		return func(s *Seen) { s.L2Advertisements = found(advertisement("L2Advertisement", spec)) }
	}
	mode := func(mode, pool string) func(*Seen) {
		return func(s *Seen) { s.Config.IP.Mode, s.Config.IP.Pool = mode, pool }
	}
	const announced = "ok: 203.0.113.0/28: IPAddressPool " + name + " is announced by L2Advertisement ads"
	const silent = "problem: 203.0.113.0/28: nothing announces IPAddressPool " + name + ": its addresses are granted, and not reached\n" +
		"  kubectl akash-net render pools --ledger cluster | kubectl apply --server-side --field-manager=akash-net -f -"
	byBGP := func(s *Seen) { s.Config.IP.Advertisement.Type = config.AdvertiseBGP }
	own := func(kind string) string {
		return "{kind: " + kind + ", metadata: {name: " + name + ", namespace: metallb-system, labels: {net.akash.network/managed: 'true'}}, spec: {ipAddressPools: [" + name + "]}}"
	}
	both := func(s *Seen) {
		s.L2Advertisements, s.BGPAdvertisements = found(own("L2Advertisement")), found(own("BGPAdvertisement"))
	}
	announcedAs := func(kind string) string {
		return "ok: 203.0.113.0/28: IPAddressPool " + name + " is announced by " + kind + " " + name
	}
	run(t, "pools", []check{
		{name: "no ranges", want: "ok: ip.ranges is empty: no addresses are leased"},
		{name: "not yet", with: with(), want: "ok: 203.0.113.0/28: apply creates IPAddressPool " + name + " with its L2Advertisement when a lease needs it"},
		{name: "announced by name", with: with(pooled(ours(name)), l2("{ipAddressPools: ["+name+"]}")), want: announced},
		{name: "announced by label", with: with(pooled(ours(name)), l2("{ipAddressPoolSelectors: [{matchLabels: {zone: a}}]}")), want: announced},
		{name: "announced with all", with: with(pooled(ours(name)), l2("{}")), want: announced},
		{name: "announced by BGP", with: with(pooled(ours(name)), func(s *Seen) { s.BGPAdvertisements = found(advertisement("BGPAdvertisement", "{}")) }),
			want: strings.ReplaceAll(announced, "L2", "BGP")},
		{name: "not yet, by BGP", with: with(byBGP), want: "ok: 203.0.113.0/28: apply creates IPAddressPool " + name + " with its BGPAdvertisement when a lease needs it"},
		{name: "of a former type only", with: with(byBGP, pooled(ours(name)), func(s *Seen) { s.L2Advertisements = found(own("L2Advertisement")) }),
			want: announcedAs("L2Advertisement") + "\nwarning: IPAddressPool " + name + " is announced by the L2Advertisement of this program alone; ip.advertisement.type is bgp\n" +
				"  kubectl akash-net render pools --ledger cluster | kubectl apply --server-side --field-manager=akash-net -f -"},
		{name: "of a former type only, dedicated", with: with(byBGP, mode(config.ModeDedicated, ""), pooled(ours(name)), func(s *Seen) { s.L2Advertisements = found(own("L2Advertisement")) }),
			want: "ok: 203.0.113.0/28: each leased address has a pool of its own\nwarning: IPAddressPool " + name + " is announced by the L2Advertisement of this program alone; ip.advertisement.type is bgp\n" +
				"  kubectl akash-net render pools --ledger cluster -R -f LEASES | kubectl apply --server-side --field-manager=akash-net -f -"},
		{name: "of both types, after a change to BGP", with: with(byBGP, pooled(ours(name)), both),
			want: announcedAs("L2Advertisement") + "\nwarning: IPAddressPool " + name + " is announced by the L2Advertisement of this program, too; ip.advertisement.type is bgp\n" +
				"  kubectl -n metallb-system delete l2advertisements -l net.akash.network/managed=true"},
		{name: "of both types, after a change to L2", with: with(pooled(ours(name)), both),
			want: announcedAs("L2Advertisement") + "\nwarning: IPAddressPool " + name + " is announced by the BGPAdvertisement of this program, too; ip.advertisement.type is l2\n" +
				"  kubectl -n metallb-system delete bgpadvertisements -l net.akash.network/managed=true"},
		{name: "the other type is an administrator's", with: with(byBGP, pooled(ours(name)), l2("{}"), func(s *Seen) { s.BGPAdvertisements = found(own("BGPAdvertisement")) }),
			want: announced},
		{name: "not announced", with: with(pooled(ours(name))), want: silent},
		{name: "others are announced", with: with(pooled(ours(name)), l2("{ipAddressPools: [x], ipAddressPoolSelectors: [{matchLabels: {zone: b}}]}")), want: silent},
		{name: "perhaps by BGP", with: with(pooled(ours(name)), func(s *Seen) { s.BGPAdvertisements = refused[[]Object]("list", "bgpadvertisements") }),
			want: "unknown: 203.0.113.0/28: whether IPAddressPool " + name + " is announced is not known: you may not list bgpadvertisements\n  no role of this program allows it; let a cluster administrator run doctor"},
		{name: "somebody else has the addresses", with: with(pooled(theirs("default"))),
			want: "problem: 203.0.113.0/28: IPAddressPool metallb-system/default, which this program did not create, has addresses of it; MetalLB rejects pools that overlap, so apply refuses the range\n" +
				"  kubectl -n metallb-system edit ipaddresspool default, or exclude the addresses in ip.ranges"},
		{name: "excluded from the range", with: with(pooled(theirs("default")), func(s *Seen) {
			s.Config.IP.Ranges.Exclude = []config.Range{{First: netip.MustParseAddr("203.0.113.0"), Last: netip.MustParseAddr("203.0.113.15")}}
		}), want: "ok: 203.0.113.0/28: apply creates IPAddressPool " + name + " with its L2Advertisement when a lease needs it"},
		{name: "dedicated", with: with(mode(config.ModeDedicated, "")), want: "ok: 203.0.113.0/28: each leased address has a pool of its own"},
		{name: "the administrator's", with: with(mode(config.ModePool, "public"), pooled(theirs("public")), l2("{}")),
			want: "ok: the pool of ip.pool: IPAddressPool public is announced by L2Advertisement ads"},
		{name: "the administrator's is missing", with: with(mode(config.ModePool, "public"), pooled(theirs("other"))),
			want: "problem: there is no IPAddressPool metallb-system/public (ip.pool); there are other\n  set ip.pool of the configuration, or create the pool"},
		{name: "none assigns by itself", with: with(mode(config.ModePool, "default"), pooled(theirs("other"))),
			want: "problem: there is no IPAddressPool in namespace metallb-system that assigns addresses by itself\n  set ip.pool of the configuration, or create the pool"},
	})
}

func TestGuard(t *testing.T) {
	edit := func(kind, name string, change func(Object)) func(*Seen) {
		return func(s *Seen) {
			for _, o := range s.Policies.Value {
				if o.GetKind() == kind && o.GetName() == name {
					change(o)
				}
			}
		}
	}
	set := func(value any, path ...string) func(Object) {
		return func(o Object) { _ = unstructured.SetNestedField(o.Object, value, path...) }
	}
	const binding, policy = "ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"
	const complete = "ok: on: all of its policies are in effect, as this version installs them"
	const other = " is not the one of this version: another one has installed it, or somebody has edited it "
	const mend = "\n  kubectl akash-net install --guard"
	run(t, "guard", []check{
		{name: "on", want: complete},
		{name: "defaults of the API server", with: edit(policy, "akash-net-claims", func(o Object) {
			set("Equivalent", "spec", "matchConstraints", "matchPolicy")(o)
			set(map[string]any{}, "spec", "matchConstraints", "objectSelector")(o)
		}), want: complete},
		{name: "strict", with: func(s *Seen) { s.Policies.Value, _ = manifests.Guard(s.Config, true) }, want: strings.Replace(complete, "on:", "strict:", 1)},
		{name: "none", with: func(s *Seen) { s.Policies = found("{kind: ValidatingAdmissionPolicy, metadata: {name: mine}}") },
			want: "warning: it is not installed: a client that forces its writes, or does not use server-side apply, can take claims from their holders" + mend},
		{name: "one is missing", with: func(s *Seen) {
			s.Policies.Value = slices.DeleteFunc(s.Policies.Value, func(o Object) bool { return o.GetKind() == binding && o.GetName() == "akash-net-hosts" })
		}, want: "problem: ValidatingAdmissionPolicyBinding akash-net-hosts is missing" + mend},
		{name: "it only warns", with: edit(binding, "akash-net-hosts", set([]any{"Warn", "Audit"}, "spec", "validationActions")),
			want: "problem: ValidatingAdmissionPolicyBinding akash-net-hosts does not refuse anything (validationActions: Warn, Audit)" + mend},
		{name: "edited", with: edit(policy, "akash-net-hosts", set("Ignore", "spec", "failurePolicy")),
			want: "problem: ValidatingAdmissionPolicy akash-net-hosts" + other + "(spec.failurePolicy)" + mend},
		{name: "narrowed", with: edit(binding, "akash-net-hosts", set(map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}, "spec", "matchResources")),
			want: "problem: ValidatingAdmissionPolicyBinding akash-net-hosts" + other + "(spec.matchResources)" + mend},
		{name: "refused", with: func(s *Seen) { s.Policies = refused[[]Object]("list", "validatingadmissionpolicies") },
			want: "unknown: you may not list validatingadmissionpolicies\n  no role of this program allows it; let a cluster administrator run doctor"},
	})
}

func TestWebhooks(t *testing.T) {
	hook := func(kind, policy, group, resource, client string) func(*Seen) {
		return func(s *Seen) {
			s.Webhooks = found(`{kind: ` + kind + `, metadata: {name: conf}, webhooks: [{name: a.b.c, failurePolicy: ` + policy + `, clientConfig: ` + client + `,
				rules: [{apiGroups: [` + group + `], apiVersions: ["*"], operations: [CREATE], resources: [` + resource + `]}]}]}`)
		}
	}
	ingress := hook("ValidatingWebhookConfiguration", "Fail", "networking.k8s.io", "ingresses", "{service: {namespace: x, name: hook}}")
	behind := func(hook func(*Seen), b Answer[Backend]) func(*Seen) {
		return func(s *Seen) {
			hook(s)
			s.Backends["x/hook"] = b
		}
	}
	const where = "ValidatingWebhookConfiguration conf: webhook a.b.c, which judges ingresses,"
	const mend = "\n  start what serves it; if that is gone for good: kubectl delete validatingwebhookconfiguration conf"
	run(t, "webhooks", []check{
		{name: "none", want: "ok: none has to answer before this program writes"},
		{name: "it may fail", with: hook("MutatingWebhookConfiguration", "Ignore", `"*"`, `"*"`, "{url: u}"), want: "ok: none has to answer before this program writes"},
		{name: "of other resources", with: hook("MutatingWebhookConfiguration", "Fail", "apps", "deployments", "{url: u}"), want: "ok: none has to answer before this program writes"},
		{name: "it answers", with: behind(ingress, Answer[Backend]{Value: Backend{Exists: true, Ready: 2}}),
			want: "ok: the Services of those that judge what this program writes have ready endpoints (a.b.c)"},
		{name: "no Service", with: ingress, want: "problem: " + where + " cannot answer, and their writes are refused: there is no Service x/hook" + mend},
		{name: "no endpoint", with: behind(ingress, Answer[Backend]{Value: Backend{Exists: true}}),
			want: "problem: " + where + " cannot answer, and their writes are refused: Service x/hook has no ready endpoint" + mend},
		{name: "refused", with: behind(ingress, refused[Backend]("get", "services")),
			want: "unknown: " + where + " may not answer: you may not get services\n  kubectl create clusterrolebinding NAME --clusterrole=akash-net-viewer --user=YOU"},
		{name: "outside", with: hook("MutatingWebhookConfiguration", "Fail", "coordination.k8s.io", "leases", "{url: u}"),
			want: "unknown: MutatingWebhookConfiguration conf: webhook a.b.c, which judges leases, is outside of the cluster; whether it answers was not asked"},
	})
}

func TestOperators(t *testing.T) {
	runs := func(deployments ...string) func(*Seen) {
		return func(s *Seen) {
			s.Namespaces[manifests.OperatorsNamespace] = Answer[Object]{Value: object("{kind: Namespace}")}
			s.Operators = found(deployments...)
		}
	}
	deployment := func(name, replicas string) string {
		return `{kind: Deployment, metadata: {name: ` + name + `, namespace: akash-services}, spec: {replicas: ` + replicas + `}, status: {readyReplicas: ` + replicas + `}}`
	}
	none := "ok: none of Akash's operators runs in namespace akash-services: this program writes routes and Services"
	run(t, "operators", []check{
		{name: "no namespace", want: "ok: there is no namespace akash-services: none of Akash's operators runs, and this program writes routes and Services"},
		{name: "none", with: runs(), want: none},
		{name: "scaled to 0", with: runs(deployment("operator-hostname", "0")), want: none},
		{name: "provider and hostname operator", with: runs(deployment("akash-provider", "1"), deployment("operator-hostname", "1")),
			want: "ok: Akash's hostname operator runs (operator-hostname): apply leaves the routes that it supports to it (docs/akash-operators.md)\n" +
				"ok: Akash's provider runs (deployment akash-provider): it declares hosts and ports of leases too, and its objects are not changed (docs/akash-operators.md)"},
		{name: "IP operator with ip.mode range", with: runs(deployment("operator-ip", "1")),
			want: "problem: Akash's IP operator runs (operator-ip), and lets MetalLB choose the addresses: apply of leased ports is refused with ip.mode range\n" +
				"  configure ip.mode pool, or stop the operator: kubectl -n akash-services scale deployment operator-ip --replicas=0"},
		{name: "IP operator with ip.mode pool", with: func(s *Seen) { runs(deployment("operator-ip", "1"))(s); s.Config.IP.Mode = config.ModePool },
			want: "ok: Akash's IP operator runs (operator-ip): apply leaves the Services of leased ports to it (docs/akash-operators.md)"},
		{name: "hostname operator without pods, with annotations", with: func(s *Seen) {
			runs(`{kind: Deployment, metadata: {name: operator-hostname, namespace: akash-services}}`)(s)
			s.Config.DNS.Form = config.DNSAnnotations
		}, want: "warning: deployment operator-hostname has no ready pod\n  kubectl -n akash-services describe deployment operator-hostname\n" +
			"problem: Akash's hostname operator runs (operator-hostname), and knows no annotations for external-dns (dns.form): apply is refused\n" +
			"  configure dns.form endpoint, or stop the operator: kubectl -n akash-services scale deployment operator-hostname --replicas=0"},
		{name: "refused", with: func(s *Seen) {
			runs()(s)
			s.Operators.Unread = &Unread{Right: Right{Verb: "list", Group: "apps", Resource: "deployments", Namespace: "akash-services"}}
		}, want: "unknown: whether Akash's operators run is not known: you may not list deployments.apps in namespace akash-services\n" +
			"  kubectl -n akash-services create rolebinding NAME --role=akash-net-sees-operators --user=YOU"},
	})
}

func TestReconciler(t *testing.T) {
	elected := func(renewed string, seconds int) Answer[[]Object] {
		return Answer[[]Object]{Value: []Object{object(fmt.Sprintf(`{kind: Lease, metadata: {name: el--x, namespace: akash-net, labels: {app.kubernetes.io/instance: prod}}, `+
			`spec: {holderIdentity: pod-1_x, leaseDurationSeconds: %d, acquireTime: "2026-11-27T09:00:00.123456Z", renewTime: "%s"}}`, seconds, renewed))}}
	}
	const (
		silent = "problem: it is installed, and none is elected: nothing is put back\n  kubectl -n akash-net logs deployment/akash-net-reconciler"
		works  = "ok: pod-1_x is elected since 2026-11-27T09:00:00Z, for prod"
		mended = "no reconciler writes that, and none is elected until then\n  kubectl -n akash-net delete lease.coordination.k8s.io el--x"
	)
	deployed := Answer[Object]{Value: object("{kind: Deployment, metadata: {name: akash-net-reconciler, namespace: akash-net}, spec: {replicas: 2}}")}
	run(t, "reconciler", []check{
		{name: "none", want: "ok: none is installed; nothing needs one"},
		{name: "elected", with: func(s *Seen) { s.Reconciler, s.Elections = deployed, elected("2026-11-27T11:59:50.000000Z", 15) }, want: works},
		{name: "elected, the Deployment was not read", with: func(s *Seen) {
			s.Reconciler, s.Elections = refused[Object]("get", "deployments"), elected("2026-11-27T11:59:50.000000Z", 15)
		}, want: works},
		{name: "not renewed", with: func(s *Seen) { s.Reconciler, s.Elections = deployed, elected("2026-11-27T11:59:40.000000Z", 15) }, want: silent},
		{name: "never elected", with: func(s *Seen) { s.Reconciler = deployed }, want: silent},
		{name: "one that ran elsewhere has ended", with: func(s *Seen) { s.Elections = elected("2026-11-26T12:00:00.000000Z", 15) }, want: "ok: none is installed; nothing needs one"},
		{name: "elected for 68 years", with: func(s *Seen) { s.Elections = elected("2026-11-27T09:00:00.000000Z", 1<<31-1) },
			want: "problem: lease el--x says that pod-1_x is elected for 2147483647 seconds from 2026-11-27T09:00:00Z: " + mended},
		{name: "elected in the future", with: func(s *Seen) { s.Elections = elected("2026-11-28T09:00:00.000000Z", 15) },
			want: "problem: lease el--x says that pod-1_x is elected for 15 seconds from 2026-11-28T09:00:00Z: " + mended},
	})
}
