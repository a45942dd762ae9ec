package examine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/test/golden"
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

// check is a change of a healthy cluster.
type check struct {
	name string
	with func(*Seen)
}

// run compares the lines of one check that follow from changes with testdata.
func run(t *testing.T, of string, checks []check) {
	t.Helper()
	got := golden.Cases{}
	for _, c := range checks {
		s := healthy()
		if c.with != nil {
			c.with(s)
		}
		var said strings.Builder
		for _, line := range Lines(s) {
			if line.Check == of {
				fmt.Fprintf(&said, "%s: %s\n", line.Result, line.Text)
				if line.Mend != "" {
					fmt.Fprintf(&said, "  %s\n", line.Mend)
				}
			}
		}
		got[c.name] = said.String()
	}
	got.Check(t, "testdata/"+t.Name()+".golden")
}

// Everything that a cluster needs is there: nothing has to be fixed.
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
		{name: "current", with: version("v1.36.3")},
		{name: "of a distribution", with: version("v1.33.1-gke.100+abc")},
		{name: "without admission policies", with: version("v1.29.9")},
		{name: "without server-side apply", with: version("v1.21.0")},
		{name: "no version", with: version("latest")},
		{name: "not read", with: func(s *Seen) { s.Version = Answer[string]{Unread: &Unread{Message: "no answer"}} }},
	})
}

func TestClock(t *testing.T) {
	clock := func(least, most time.Duration) func(*Seen) {
		return func(s *Seen) { s.Clock = Clock{Seen: true, Least: least, Most: most} }
	}
	run(t, "clock", []check{
		{name: "equal", with: clock(-time.Second, time.Second)},
		{name: "a slow answer says little", with: clock(-time.Minute, time.Minute)},
		{name: "behind", with: clock(90*time.Second, 92*time.Second)},
		{name: "ahead", with: clock(-time.Hour-time.Second, -time.Hour)},
		{name: "no date", with: func(s *Seen) { s.Clock = Clock{} }},
	})
}

func TestConfiguration(t *testing.T) {
	run(t, "configuration", []check{
		{name: "valid"},
		{name: "missing", with: func(s *Seen) { s.Configured.Value.Missing = true }},
		{name: "missing where the ledger is lost", with: func(s *Seen) { s.Configured.Value.Missing, s.Applied = true, "ingress shop/shop.example.com" }},
		{name: "missing before install", with: func(s *Seen) { s.Configured.Value.Missing, s.Before = true, true }},
		{name: "invalid", with: func(s *Seen) {
			s.Configured.Value.Problems = lease.Problems{{At: lease.Place{File: "a.yaml", Line: 3, Column: 1}, Message: "unknown key"}, {Message: "odd", Warning: true}}
		}},
		{name: "refused", with: func(s *Seen) {
			s.Configured.Unread = &Unread{Right: Right{Verb: "get", Resource: "configmaps", Name: "config", Namespace: "akash-net"}}
		}},
	})
}

func TestNamespaces(t *testing.T) {
	run(t, "namespaces", []check{
		{name: "there"},
		{name: "none", with: func(s *Seen) { s.Namespaces = nil }},
		{name: "none before install", with: func(s *Seen) { s.Namespaces, s.Before = nil, true }},
		{name: "the ledger is lost", with: func(s *Seen) {
			s.Namespaces["akash-net"], s.Applied = Answer[Object]{}, "ingress shop/shop.example.com"
		}},
		{name: "being deleted", with: func(s *Seen) {
			s.Namespaces["lease"] = Answer[Object]{Value: object(`{kind: Namespace, metadata: {name: lease, deletionTimestamp: "2026-11-27T10:00:00Z"}}`)}
		}},
		{name: "refused", with: func(s *Seen) { s.Namespaces["lease"] = refused[Object]("get", "namespaces") }},
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
		{name: "served"},
		{name: "one is missing", with: lacks},
		{name: "none before install", with: func(s *Seen) { s.Served, s.Before = nil, true }},
		{name: "an old version, also before install", with: func(s *Seen) {
			crd(`{spec: {versions: [{name: v2beta1, served: true}, {name: v2beta2, served: false}]}, status: {conditions: [{type: Established, status: "True"}]}}`)(s)
			s.Before = true
		}},
		{name: "not established", with: crd(`{spec: {versions: [{name: v2beta2, served: true}]}, status: {conditions: [{type: Established, status: "False", reason: NotAccepted}]}}`)},
	})
}

func TestDNS(t *testing.T) {
	form := func(form string) func(*Seen) { return func(s *Seen) { s.Config.DNS.Form = form } }
	run(t, "dns", []check{
		{name: "none"},
		{name: "annotations are of no kind", with: form(config.DNSAnnotations)},
		{name: "missing", with: form(config.DNSEndpoint)},
		{name: "served", with: func(s *Seen) {
			form(config.DNSEndpoint)(s)
			s.serve(schema.GroupVersion{Group: "externaldns.k8s.io", Version: "v1alpha1"}, "dnsendpoints")
		}},
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
