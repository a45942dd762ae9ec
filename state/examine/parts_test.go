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

func TestRights(t *testing.T) {
	beside := []string{"akash-net-grants", "akash-net-capacity", "akash-net-status", "akash-net-logs"}
	run(t, "rights", []check{
		{name: "an administrator"},
		{name: "an operator of everything", with: func(s *Seen) { holding(s, append(beside, operator)...) }},
		{name: "a viewer", with: func(s *Seen) {
			holding(s, append(beside, viewer)...)
			s.Rights[Right{Verb: "patch", Group: "networking.k8s.io", Resource: "ingresses"}] = Answer[bool]{}
		}},
		{name: "an operator without the Role of the ledger", with: func(s *Seen) { holding(s, append(beside, "akash-net-operator in ", "akash-net-viewer in ")...) }},
		{name: "where Akash's provider runs", with: func(s *Seen) {
			s.Namespaces[manifests.OperatorsNamespace] = Answer[Object]{Value: object("{kind: Namespace}")}
			holding(s, append(beside, operator)...)
		}},
		{name: "an operator without more", with: func(s *Seen) { holding(s, operator, "akash-net-status", "akash-net-logs") }},
		{name: "before install, without the right", with: func(s *Seen) {
			s.Before, s.Rights = true, nil
		}},
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
		{name: "available"},
		{name: "missing, and not needed", with: missing},
		{name: "missing", with: func(s *Seen) { leasing(s); missing(s) }},
		{name: "not available", with: func(s *Seen) {
			s.MetalLB = found(`{kind: Deployment, metadata: {name: m, labels: {app.kubernetes.io/name: metallb, app.kubernetes.io/component: controller}},
				status: {conditions: [{type: Available, status: "False", reason: MinimumReplicasUnavailable}]}}`)
		}},
		{name: "pools are counted", with: func(s *Seen) {
			s.MetalLB = Answer[[]Object]{}
			counted := object(ours("a"))
			counted.Object["status"] = map[string]any{"assignedIPv4": int64(0), "availableIPv4": int64(16), "assignedIPv6": int64(0), "availableIPv6": int64(0)}
			s.Pools.Value = []Object{counted}
		}},
		{name: "a deprecated prefix", with: func(s *Seen) { leasing(s); s.serve(version, "servicebgpstatuses") }},
		{name: "a prefix that v0.14.9 reads", with: func(s *Seen) { leasing(s); s.Config.IP.AnnotationPrefix = "metallb.io" }},
		{name: "refused", with: func(s *Seen) { s.MetalLB = refused[[]Object]("list", "deployments") }},
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
	byBGP := func(s *Seen) { s.Config.IP.Advertisement.Type = config.AdvertiseBGP }
	own := func(kind string) string {
		return "{kind: " + kind + ", metadata: {name: " + name + ", namespace: metallb-system, labels: {net.akash.network/managed: 'true'}}, spec: {ipAddressPools: [" + name + "]}}"
	}
	both := func(s *Seen) {
		s.L2Advertisements, s.BGPAdvertisements = found(own("L2Advertisement")), found(own("BGPAdvertisement"))
	}
	run(t, "pools", []check{
		{name: "no ranges"},
		{name: "not yet", with: with()},
		{name: "announced by name", with: with(pooled(ours(name)), l2("{ipAddressPools: ["+name+"]}"))},
		{name: "announced by label", with: with(pooled(ours(name)), l2("{ipAddressPoolSelectors: [{matchLabels: {zone: a}}]}"))},
		{name: "announced with all", with: with(pooled(ours(name)), l2("{}"))},
		{name: "announced by BGP", with: with(pooled(ours(name)), func(s *Seen) { s.BGPAdvertisements = found(advertisement("BGPAdvertisement", "{}")) })},
		{name: "not yet, by BGP", with: with(byBGP)},
		{name: "of a former type only", with: with(byBGP, pooled(ours(name)), func(s *Seen) { s.L2Advertisements = found(own("L2Advertisement")) })},
		{name: "of a former type only, dedicated", with: with(byBGP, mode(config.ModeDedicated, ""), pooled(ours(name)),
			func(s *Seen) { s.L2Advertisements = found(own("L2Advertisement")) })},
		{name: "of both types, after a change to BGP", with: with(byBGP, pooled(ours(name)), both)},
		{name: "of both types, after a change to L2", with: with(pooled(ours(name)), both)},
		{name: "the other type is an administrator's", with: with(byBGP, pooled(ours(name)), l2("{}"), func(s *Seen) { s.BGPAdvertisements = found(own("BGPAdvertisement")) })},
		{name: "not announced", with: with(pooled(ours(name)))},
		{name: "others are announced", with: with(pooled(ours(name)), l2("{ipAddressPools: [x], ipAddressPoolSelectors: [{matchLabels: {zone: b}}]}"))},
		{name: "perhaps by BGP", with: with(pooled(ours(name)), func(s *Seen) { s.BGPAdvertisements = refused[[]Object]("list", "bgpadvertisements") })},
		{name: "somebody else has the addresses", with: with(pooled(theirs("default")))},
		{name: "excluded from the range", with: with(pooled(theirs("default")), func(s *Seen) {
			s.Config.IP.Ranges.Exclude = []config.Range{{First: netip.MustParseAddr("203.0.113.0"), Last: netip.MustParseAddr("203.0.113.15")}}
		})},
		{name: "dedicated", with: with(mode(config.ModeDedicated, ""))},
		{name: "the administrator's", with: with(mode(config.ModePool, "public"), pooled(theirs("public")), l2("{}"))},
		{name: "the administrator's is missing", with: with(mode(config.ModePool, "public"), pooled(theirs("other")))},
		{name: "none assigns by itself", with: with(mode(config.ModePool, "default"), pooled(theirs("other")))},
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
	run(t, "guard", []check{
		{name: "on"},
		{name: "defaults of the API server", with: edit(policy, "akash-net-claims", func(o Object) {
			set("Equivalent", "spec", "matchConstraints", "matchPolicy")(o)
			set(map[string]any{}, "spec", "matchConstraints", "objectSelector")(o)
		})},
		{name: "strict", with: func(s *Seen) { s.Policies.Value, _ = manifests.Guard(s.Config, true) }},
		{name: "none", with: func(s *Seen) { s.Policies = found("{kind: ValidatingAdmissionPolicy, metadata: {name: mine}}") }},
		{name: "one is missing", with: func(s *Seen) {
			s.Policies.Value = slices.DeleteFunc(s.Policies.Value, func(o Object) bool { return o.GetKind() == binding && o.GetName() == "akash-net-hosts" })
		}},
		{name: "it only warns", with: edit(binding, "akash-net-hosts", set([]any{"Warn", "Audit"}, "spec", "validationActions"))},
		{name: "edited", with: edit(policy, "akash-net-hosts", set("Ignore", "spec", "failurePolicy"))},
		{name: "narrowed", with: edit(binding, "akash-net-hosts",
			set(map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}, "spec", "matchResources"))},
		{name: "refused", with: func(s *Seen) { s.Policies = refused[[]Object]("list", "validatingadmissionpolicies") }},
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
	run(t, "webhooks", []check{
		{name: "none"},
		{name: "it may fail", with: hook("MutatingWebhookConfiguration", "Ignore", `"*"`, `"*"`, "{url: u}")},
		{name: "of other resources", with: hook("MutatingWebhookConfiguration", "Fail", "apps", "deployments", "{url: u}")},
		{name: "it answers", with: behind(ingress, Answer[Backend]{Value: Backend{Exists: true, Ready: 2}})},
		{name: "no Service", with: ingress},
		{name: "no endpoint", with: behind(ingress, Answer[Backend]{Value: Backend{Exists: true}})},
		{name: "refused", with: behind(ingress, refused[Backend]("get", "services"))},
		{name: "outside", with: hook("MutatingWebhookConfiguration", "Fail", "coordination.k8s.io", "leases", "{url: u}")},
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
	run(t, "operators", []check{
		{name: "no namespace"},
		{name: "none", with: runs()},
		{name: "scaled to 0", with: runs(deployment("operator-hostname", "0"))},
		{name: "provider and hostname operator", with: runs(deployment("akash-provider", "1"), deployment("operator-hostname", "1"))},
		{name: "IP operator with ip.mode range", with: runs(deployment("operator-ip", "1"))},
		{name: "IP operator with ip.mode pool", with: func(s *Seen) { runs(deployment("operator-ip", "1"))(s); s.Config.IP.Mode = config.ModePool }},
		{name: "hostname operator without pods, with annotations", with: func(s *Seen) {
			runs(`{kind: Deployment, metadata: {name: operator-hostname, namespace: akash-services}}`)(s)
			s.Config.DNS.Form = config.DNSAnnotations
		}},
		{name: "refused", with: func(s *Seen) {
			runs()(s)
			s.Operators.Unread = &Unread{Right: Right{Verb: "list", Group: "apps", Resource: "deployments", Namespace: "akash-services"}}
		}},
	})
}

func TestReconciler(t *testing.T) {
	elected := func(renewed string, seconds int) Answer[[]Object] {
		return Answer[[]Object]{Value: []Object{object(fmt.Sprintf(`{kind: Lease, metadata: {name: el--x, namespace: akash-net, labels: {app.kubernetes.io/instance: prod}}, `+
			`spec: {holderIdentity: pod-1_x, leaseDurationSeconds: %d, acquireTime: "2026-11-27T09:00:00.123456Z", renewTime: "%s"}}`, seconds, renewed))}}
	}
	deployed := Answer[Object]{Value: object("{kind: Deployment, metadata: {name: akash-net-reconciler, namespace: akash-net}, spec: {replicas: 2}}")}
	run(t, "reconciler", []check{
		{name: "none"},
		{name: "elected", with: func(s *Seen) { s.Reconciler, s.Elections = deployed, elected("2026-11-27T11:59:50.000000Z", 15) }},
		{name: "elected, the Deployment was not read", with: func(s *Seen) {
			s.Reconciler, s.Elections = refused[Object]("get", "deployments"), elected("2026-11-27T11:59:50.000000Z", 15)
		}},
		{name: "not renewed", with: func(s *Seen) { s.Reconciler, s.Elections = deployed, elected("2026-11-27T11:59:40.000000Z", 15) }},
		{name: "never elected", with: func(s *Seen) { s.Reconciler = deployed }},
		{name: "one that ran elsewhere has ended", with: func(s *Seen) { s.Elections = elected("2026-11-26T12:00:00.000000Z", 15) }},
		{name: "elected for 68 years", with: func(s *Seen) { s.Elections = elected("2026-11-27T09:00:00.000000Z", 1<<31-1) }},
		{name: "elected in the future", with: func(s *Seen) { s.Elections = elected("2026-11-28T09:00:00.000000Z", 15) }},
	})
}
