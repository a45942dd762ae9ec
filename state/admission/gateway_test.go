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
	} {
		parent := strings.ReplaceAll("{namespace: edge, name: edge, "+tt.parent+"}", "name: edge, name:", "name:")
		r := parsed(t, `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: team}, spec: {parentRefs: [`+parent+`]}}`)
		hosts := gateways.Hosts(ParentsOf(r), tt.host)
		got := strings.Join(hosts, " ")
		if len(hosts) == 0 {
			got = "nothing"
		}
		if got != tt.want {
			t.Errorf("%s of %q: %q, want %q", tt.parent, tt.host, got, tt.want)
		}
	}
}

// A route without a host holds those of its listeners, and one that no listener serves holds none.
func TestAttachedRoutesAreAdmitted(t *testing.T) {
	gateways := Gateways{"edge/edge": {{Name: "http", Host: "shop.example.com", Port: 80}}}
	var routes []Route
	for i, r := range []struct{ namespace, hosts, section string }{
		{"unserved", "[blog.example.com]", "http"}, {"old", "[]", "http"}, {"young", "[shop.example.com]", "http"}, {"served", "[blog.example.com]", "http2"},
		{"twice", `["*.example.com", shop.example.com]`, "http"}, {"free", "[blog.example.com]", ""},
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
	for _, a := range Decide(NewRules(cfg), NewClaims(), gateways.Attach(routes), nil) {
		got = append(got, fmt.Sprintf("%s %s %v %s", a.Namespace, a.Host, a.Admitted, a.Reason))
	}
	slices.Sort(got)
	want := []string{
		"free blog.example.com true ", "old shop.example.com true ", "served blog.example.com false NoMatchingListenerHostname",
		"twice shop.example.com false HostAlreadyClaimed", "unserved blog.example.com false NoMatchingListenerHostname", "young shop.example.com false HostAlreadyClaimed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
