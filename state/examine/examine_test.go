package examine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// object parses an object, in YAML.
func object(text string) Object {
	o := &unstructured.Unstructured{}
	body, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = utiljson.Unmarshal(body, &o.Object) // whole numbers are int64, as clients read them
	}
	if err != nil {
		panic(err)
	}
	return o
}

func found(texts ...string) (a Answer[[]Object]) {
	for _, text := range texts {
		a.Value = append(a.Value, object(text))
	}
	return a
}

func refused[T any](verb, resource string) Answer[T] {
	return Answer[T]{Unread: &Unread{Right: Right{Verb: verb, Resource: resource}}}
}

// healthy is a cluster with everything, in which an administrator asks.
func healthy() *Seen {
	s := &Seen{
		Config: config.Default(), Version: Answer[string]{Value: "v1.36.3"}, Clock: Clock{Seen: true},
		Configured: Answer[Configured]{Value: Configured{Place: "configmap akash-net/config", Edit: "EDIT"}},
		Namespaces: map[string]Answer[Object]{}, Definitions: map[string]Answer[Object]{}, Served: map[schema.GroupVersion]Answer[[]string]{},
		Rights: map[Right]Answer[bool]{Everything: {Value: true}}, Backends: map[string]Answer[Backend]{},
		MetalLB: found(`{kind: Deployment, metadata: {name: controller, labels: {app: metallb, component: controller}},
			status: {conditions: [{type: Available, status: "True"}]}}`),
		IngressClasses: found(`{kind: IngressClass, metadata: {name: akash-ingress-class}, spec: {controller: k8s.io/ingress-nginx}}`),
		Now:            time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC),
	}
	for _, name := range []string{"akash-net", "lease"} {
		s.Namespaces[name] = Answer[Object]{Value: object("{kind: Namespace, metadata: {name: " + name + "}}")}
	}
	for _, target := range []string{config.TargetIngress, config.TargetHTTPRoute, config.TargetRoute} {
		cfg := config.Default()
		cfg.Target = target
		for _, k := range Kinds(cfg) {
			s.serve(k.GroupVersion(), k.Plural)
		}
	}
	policies, err := manifests.Guard(s.Config, false)
	if err != nil {
		panic(err)
	}
	s.Policies.Value = policies
	return s
}

func (s *Seen) serve(version schema.GroupVersion, plural string) {
	s.Served[version] = Answer[[]string]{Value: append(s.Served[version].Value, plural)}
}

// check is a change of a healthy cluster, and the lines of one check that follow.
type check struct {
	name string
	of   string
	with func(*Seen)
	want string
}

func (c check) run(t *testing.T) {
	t.Helper()
	s := healthy()
	if c.with != nil {
		c.with(s)
	}
	var got strings.Builder
	for _, line := range Lines(s) {
		if line.Check == c.of {
			fmt.Fprintf(&got, "%s: %s\n", line.Result, line.Text)
			if line.Mend != "" {
				fmt.Fprintf(&got, "  %s\n", line.Mend)
			}
		}
	}
	if diff := cmp.Diff(strings.TrimSpace(c.want), strings.TrimSpace(got.String())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func run(t *testing.T, of string, checks []check) {
	t.Helper()
	for _, c := range checks {
		c.of = of
		t.Run(c.name, c.run)
	}
}

// Everything that a cluster needs is there: nothing has to be mended.
func TestHealthy(t *testing.T) {
	for _, line := range Lines(healthy()) {
		if line.Result != OK || line.Mend != "" {
			t.Errorf("%+v", line)
		}
	}
}

func TestKubernetes(t *testing.T) {
	version := func(v string) func(*Seen) { return func(s *Seen) { s.Version.Value = v } }
	run(t, "kubernetes", []check{
		{name: "current", with: version("v1.36.3"), want: "ok: version v1.36.3"},
		{name: "of a distribution", with: version("v1.33.1-gke.100+abc"), want: "ok: version v1.33.1-gke.100+abc"},
		{name: "without admission policies", with: version("v1.29.9"), want: "warning: version v1.29.9; the guard (install --guard) needs 1.30\n  upgrade the cluster"},
		{name: "without server-side apply", with: version("v1.21.0"), want: "problem: version v1.21.0; this program needs 1.22, for server-side apply\n  upgrade the cluster"},
		{name: "no version", with: version("latest"), want: "unknown: the server says that its version is latest"},
		{name: "not read", with: func(s *Seen) { s.Version = Answer[string]{Unread: &Unread{Message: "no answer"}} }, want: "unknown: no answer"},
	})
}

func TestClock(t *testing.T) {
	clock := func(least, most time.Duration) func(*Seen) {
		return func(s *Seen) { s.Clock = Clock{Seen: true, Least: least, Most: most} }
	}
	run(t, "clock", []check{
		{name: "equal", with: clock(-time.Second, time.Second), want: "ok: this machine's clock and the server's agree"},
		{name: "a slow answer says little", with: clock(-time.Minute, time.Minute), want: "ok: this machine's clock and the server's agree"},
		{name: "behind", with: clock(90*time.Second, 92*time.Second), want: "warning: this machine's clock is 1m30s behind the server's; holds expire by the server's\n  set this machine's clock, or the server's"},
		{name: "ahead", with: clock(-time.Hour-time.Second, -time.Hour), want: "warning: this machine's clock is 1h0m0s ahead of the server's; holds expire by the server's\n  set this machine's clock, or the server's"},
		{name: "no date", with: func(s *Seen) { s.Clock = Clock{} }, want: "unknown: the server has not told its time"},
	})
}

func TestConfiguration(t *testing.T) {
	run(t, "configuration", []check{
		{name: "valid", want: "ok: configmap akash-net/config is valid"},
		{name: "missing", with: func(s *Seen) { s.Configured.Value.Missing = true }, want: "warning: there is no configmap akash-net/config; the default configuration is in effect\n  kubectl akash-net install"},
		{name: "missing before install", with: func(s *Seen) { s.Configured.Value.Missing, s.Before = true, true }, want: "ok: there is none yet; the default one is checked, or that of --config"},
		{name: "invalid", with: func(s *Seen) {
			s.Configured.Value.Problems = lease.Problems{{At: lease.Place{File: "a.yaml", Line: 3, Column: 1}, Message: "unknown key"}, {Message: "odd", Warning: true}}
		}, want: "problem: a.yaml:3:1: unknown key\n  EDIT\nwarning: odd\n  EDIT\nwarning: the default configuration is checked instead\n  EDIT"},
		{name: "refused", with: func(s *Seen) {
			s.Configured.Unread = &Unread{Right: Right{Verb: "get", Resource: "configmaps", Name: "config", Namespace: "akash-net"}}
		}, want: "unknown: you may not get configmaps config in namespace akash-net; the default configuration is checked instead\n  kubectl -n akash-net create rolebinding NAME --role=akash-net-viewer --user=YOU"},
	})
}

func TestNamespaces(t *testing.T) {
	run(t, "namespaces", []check{
		{name: "there", want: "ok: akash-net and lease"},
		{name: "none", with: func(s *Seen) { s.Namespaces = nil }, want: "problem: there is no namespace akash-net\n  kubectl akash-net install\nproblem: there is no namespace lease\n  kubectl akash-net install"},
		{name: "none before install", with: func(s *Seen) { s.Namespaces, s.Before = nil, true }, want: "ok: akash-net and lease do not exist yet; install brings them"},
		{name: "being deleted", with: func(s *Seen) {
			s.Namespaces["lease"] = Answer[Object]{Value: object(`{kind: Namespace, metadata: {name: lease, deletionTimestamp: "2026-11-27T10:00:00Z"}}`)}
		}, want: "problem: namespace lease is being deleted; install waits until it is gone\n  kubectl describe namespace lease"},
		{name: "refused", with: func(s *Seen) { s.Namespaces["lease"] = refused[Object]("get", "namespaces") },
			want: "unknown: you may not get namespaces\n  kubectl create clusterrolebinding NAME --clusterrole=akash-net-viewer --user=YOU"},
	})
}

func TestDefinitions(t *testing.T) {
	version := schema.GroupVersion{Group: "akash.network", Version: "v2beta2"}
	lacks := func(s *Seen) { s.Served[version] = Answer[[]string]{Value: []string{"manifests", "providerleasedips"}} }
	crd := func(text string) func(*Seen) {
		return func(s *Seen) {
			lacks(s)
			s.Definitions["providerhosts.akash.network"] = Answer[Object]{Value: object(text)}
		}
	}
	run(t, "definitions", []check{
		{name: "served", want: "ok: akash.network/v2beta2 serves manifests, providerhosts and providerleasedips"},
		{name: "one is missing", with: lacks, want: "problem: providerhosts.akash.network is not installed\n  kubectl akash-net install"},
		{name: "none before install", with: func(s *Seen) { s.Served, s.Before = nil, true }, want: "ok: akash.network/v2beta2 is not served yet; install brings it"},
		{name: "an old version, also before install", with: func(s *Seen) {
			crd(`{spec: {versions: [{name: v2beta1, served: true}, {name: v2beta2, served: false}]}, status: {conditions: [{type: Established, status: "True"}]}}`)(s)
			s.Before = true
		}, want: "problem: providerhosts.akash.network does not serve v2beta2, which this program needs; it serves v2beta1\n  upgrade Akash's provider"},
		{name: "not established", with: crd(`{spec: {versions: [{name: v2beta2, served: true}]}, status: {conditions: [{type: Established, status: "False", reason: NotAccepted}]}}`),
			want: "problem: the definition of providerhosts.akash.network is not established (NotAccepted)\n  kubectl describe crd providerhosts.akash.network"},
	})
}

func TestDNS(t *testing.T) {
	form := func(form string) func(*Seen) { return func(s *Seen) { s.Config.DNS.Form = form } }
	run(t, "dns", []check{
		{name: "none", want: ""},
		{name: "annotations are of no kind", with: form(config.DNSAnnotations), want: ""},
		{name: "missing", with: form(config.DNSEndpoint), want: "problem: dnsendpoints.externaldns.k8s.io is not installed\n  install it, or configure another dns.form"},
		{name: "served", with: func(s *Seen) {
			form(config.DNSEndpoint)(s)
			s.serve(schema.GroupVersion{Group: "externaldns.k8s.io", Version: "v1alpha1"}, "dnsendpoints")
		}, want: "ok: externaldns.k8s.io/v1alpha1 serves dnsendpoints (dns.form: endpoint)"},
	})
}

// Before install nothing is said of what install brings.
func TestBefore(t *testing.T) {
	s := healthy()
	s.Before = true
	var got []string
	for _, line := range Lines(s) {
		got = append(got, line.Check)
	}
	for _, check := range []string{"guard", "reconciler"} {
		if slices.Contains(got, check) {
			t.Errorf("%s is checked before install", check)
		}
	}
}
