package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	body, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// A route serves what it shares with the listeners to which it is attached.
func TestGatewaysLimitTheHostsOfRoutes(t *testing.T) {
	gateways := Gateways{}
	gateways.Add(parsed(t, `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: edge, namespace: edge}, spec: {listeners: [
		{name: shop, port: 80, hostname: Shop.example.com}, {name: apps, port: 80, hostname: "*.apps.example.com"}, {name: tls, port: 443, hostname: "*.example.com"}, {name: all, port: 8080}]}}`))
	gateways.Add(parsed(t, `{apiVersion: example.com/v1, kind: Gateway, metadata: {name: other, namespace: edge}, spec: {listeners: [{hostname: x.y}]}}`))
	for _, tt := range []struct{ parent, host, want string }{
		{"sectionName: shop", "", "shop.example.com"},
		{"sectionName: apps", "", "*.apps.example.com"},
		{"sectionName: all", "", ""},
		{"sectionName: none", "", "nothing"},
		{"port: 80", "", "shop.example.com *.apps.example.com"},
		{"port: 81", "a.example.com", "nothing"},
		{"sectionName: shop, port: 443", "shop.example.com", "nothing"},
		{"sectionName: shop", "SHOP.example.com", "shop.example.com"},
		{"sectionName: shop", "blog.example.com", "nothing"},
		{"sectionName: shop", "*.example.com", "shop.example.com"},
		{"sectionName: apps", "a.b.apps.example.com", "a.b.apps.example.com"},
		{"sectionName: apps", "apps.example.com", "nothing"},
		{"sectionName: apps", "*.apps.example.com", "*.apps.example.com"},
		{"sectionName: apps", "*.x.apps.example.com", "*.x.apps.example.com"},
		{"sectionName: apps", "*.example.com", "*.apps.example.com"},
		{"sectionName: all", "a.b", "a.b"},
		{"port: 443", "shop.example.com", "shop.example.com"},
		{"name: other", "a.b", "a.b"},
		{"name: gone", "a.b", "a.b"},
		{"kind: Service", "a.b", "a.b"},
		{"kind: ListenerSet", "a.b", "a.b"},
		{"name: edge, namespace: edge, sectionName: shop}, {kind: ListenerSet", "a.b", "a.b"}, // its listeners are not known
	} {
		parent := strings.ReplaceAll("{namespace: edge, name: edge, "+tt.parent+"}", "name: edge, name:", "name:")
		r := parsed(t, `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: team}, spec: {parentRefs: [`+parent+`]}}`)
		hosts, _ := gateways.Hosts(AttachedOf(r), tt.host, nil)
		got := strings.Join(hosts, " ")
		if len(hosts) == 0 {
			got = "nothing"
		}
		if got != tt.want {
			t.Errorf("%s of %q: %q, want %q", tt.parent, tt.host, got, tt.want)
		}
	}
}

// A listener serves the routes of the kinds and the namespaces that it allows, and who is refused by all is told by which rule of which.
func TestListenersAllowRoutes(t *testing.T) {
	const same, own = "{namespaces: {from: Same}}", "listener http of Gateway edge/g allows only routes of its own namespace"
	selector := func(by string) string { return "{namespaces: {from: Selector, selector: " + by + "}}" }
	byLabel := func(by string) string {
		return "listener http of Gateway edge/g allows only routes of namespaces with " + by
	}
	for _, tt := range []struct{ route, protocol, allowed, labels, want string }{
		{"HTTPRoute team", "HTTP", same, "{}", own},
		{"HTTPRoute edge", "HTTP", same, "{}", ""},
		{"HTTPRoute team", "HTTP", "{namespaces: {from: All}}", "{}", ""},
		{"HTTPRoute edge", "HTTP", "{namespaces: {from: None}}", "{}", "listener http of Gateway edge/g allows no routes"},
		{"HTTPRoute team", "HTTP", "{namespaces: {from: Later}}", "{}", ""}, // not known
		{"HTTPRoute team", "HTTP", "{namespaces: {}}", "{}", own},           // the default
		{"HTTPRoute team", "HTTP", "{kinds: [{kind: HTTPRoute}]}", "{}", own},
		{"HTTPRoute team", "HTTP", "null", "{}", ""}, // the API server has not seen it
		{"HTTPRoute team", "HTTP", selector("{matchLabels: {expose: yes}}"), "{expose: yes}", ""},
		{"HTTPRoute team", "HTTP", selector("{matchLabels: {expose: yes}}"), "{expose: no}", byLabel("expose=yes")},
		{"HTTPRoute edge", "HTTP", selector("{matchLabels: {expose: yes}}"), "{expose: no}", byLabel("expose=yes")},
		{"HTTPRoute team", "HTTP", selector("{matchExpressions: [{key: tier, operator: In, values: [a, b]}, {key: test, operator: DoesNotExist}]}"), "{tier: b}", ""},
		{"HTTPRoute team", "HTTP", selector("{matchExpressions: [{key: tier, operator: In, values: [a, b]}]}"), "{tier: c}", byLabel("tier in (a,b)")},
		{"HTTPRoute team", "HTTP", selector("{matchLabels: {kubernetes.io/metadata.name: team}}"), "{a: b}", ""},
		{"HTTPRoute team", "HTTP", selector("{matchLabels: {expose: yes}}"), "{}", ""}, // its labels are not known
		{"HTTPRoute team", "HTTP", selector("{}"), "{a: b}", ""},
		{"HTTPRoute team", "HTTP", "{namespaces: {from: Selector}}", "{a: b}", byLabel("")},
		{"HTTPRoute team", "HTTP", selector("{matchExpressions: [{key: a, operator: Like}]}"), "{a: b}", byLabel("")},
		{"GRPCRoute edge", "HTTP", same, "{}", ""},
		{"TLSRoute edge", "HTTPS", same, "{}", "listener http of Gateway edge/g allows only routes of kind HTTPRoute, GRPCRoute"},
		{"TLSRoute edge", "TLS", same, "{}", ""},
		{"TLSRoute edge", "example.com/own", same, "{}", ""},
		{"HTTPRoute edge", "HTTP", "{kinds: [{kind: GRPCRoute}, {group: example.com, kind: HTTPRoute}]}", "{}", "listener http of Gateway edge/g allows only routes of kind GRPCRoute, HTTPRoute.example.com"},
		{"HTTPRoute edge", "HTTP", "{kinds: [{group: gateway.networking.k8s.io, kind: HTTPRoute}]}", "{}", ""},
	} {
		var of map[string]string
		if err := yaml.Unmarshal([]byte(strings.NewReplacer("yes", `"yes"`, "no}", `"no"}`).Replace(tt.labels)), &of); err != nil {
			t.Fatal(err)
		}
		gateways := Gateways{}
		gateways.Add(parsed(t, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: edge},
			spec: {listeners: [{name: http, hostname: "*.b", protocol: %s, allowedRoutes: %s}, {name: other, hostname: x.y}]}}`, tt.protocol, strings.ReplaceAll(tt.allowed, "yes", `"yes"`))))
		kind, namespace, _ := strings.Cut(tt.route, " ")
		at := AttachedOf(parsed(t, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: %s, metadata: {name: r, namespace: %s}, spec: {parentRefs: [{name: g, namespace: edge}]}}`, kind, namespace)))
		hosts, refused := gateways.Hosts(at, "a.b", of)
		if refused.Message != tt.want || (len(hosts) == 1) != (tt.want == "") || tt.want != "" && refused.Reason != "NotAllowedByListeners" {
			t.Errorf("%s at %s %s with %s: %q %+v, want %q", tt.route, tt.protocol, tt.allowed, tt.labels, hosts, refused, tt.want)
		}
	}
}

// A route without a host holds those of its listeners, and one that no listener serves holds none.
func TestAttachedRoutesAreAdmitted(t *testing.T) {
	gateways := Gateways{"edge/edge": {{Name: "http", Host: "shop.example.com", Port: 80, kinds: []string{"HTTPRoute"}}, {Name: "own", from: "Same"}}}
	var routes []Route
	for i, r := range []struct{ namespace, hosts, section string }{
		{"unserved", "[blog.example.com]", "http"}, {"old", "[]", "http"}, {"young", "[shop.example.com]", "http"}, {"served", "[blog.example.com]", "http2"},
		{"twice", `["*.example.com", shop.example.com]`, "http"}, {"free", "[blog.example.com]", ""}, {"refused", "[new.example.com]", "own"}, {"edge", "[new.example.com]", "own"},
	} {
		name := "edge"
		if r.namespace == "free" {
			name = "unknown"
		}
		routes = append(routes, RoutesOf(parsed(t, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: %s, creationTimestamp: "2026-01-0%dT00:00:00Z"},
			spec: {hostnames: %s, parentRefs: [{namespace: edge, name: %s, sectionName: %q}]}}`, r.namespace, i+1, r.hosts, name, r.section)))...)
	}
	var got []string
	cfg := config.Default()
	for _, a := range Decide(NewRules(cfg), NewClaims(), gateways.Attach(routes, nil), nil) {
		got = append(got, fmt.Sprintf("%s %s %v %s", a.Namespace, a.Host, a.Admitted, a.Reason))
	}
	slices.Sort(got)
	want := []string{
		"edge new.example.com true ", "free blog.example.com true ", "old shop.example.com true ", "refused new.example.com false NotAllowedByListeners", "served blog.example.com false NoMatchingListenerHostname",
		"twice shop.example.com false HostAlreadyClaimed", "unserved blog.example.com false NoMatchingListenerHostname", "young shop.example.com false HostAlreadyClaimed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
