package input_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

func TestReadRouting(t *testing.T) {
	defs, problems := read(t, file(t, "testdata/routes.yaml"), input.Options{})
	if problems != "" || len(defs) != 1 {
		t.Fatalf("%d definitions, problems: %s", len(defs), problems)
	}
	mail, web := defs[0].Services[1], defs[0].Services[2]
	if mail.Target != "route" || web.Target != "httproute" || defs[0].Services[0].Target != "" {
		t.Errorf("targets %q and %q", mail.Target, web.Target)
	}
	if e := mail.Expose[0]; !e.IsIngress() || e.Hosts[0].Name != "*.mail.example.com" || e.Path != "" {
		t.Errorf("%+v", e)
	}
	ninety := uint16(90)
	want := []*lease.Routing{
		{TLS: &lease.TLS{Termination: lease.Reencrypt, SecretName: "shop-tls", DestinationCASecretName: "backend-ca",
			Issuer: &lease.Issuer{Name: "own", Kind: "Own", Group: "pki.example.com"}}, Sticky: &lease.Sticky{Disabled: true}},
		{
			TLS: &lease.TLS{Termination: lease.Edge, Insecure: lease.InsecureRedirect, SecretName: "shop-tls",
				Issuer: &lease.Issuer{Name: "letsencrypt", Kind: "ClusterIssuer"}},
			Weight: &ninety, Backends: []lease.Backend{{Service: "canary", Port: 80, Weight: 10}},
			Sticky: &lease.Sticky{Cookie: "session", SameSite: "Lax"},
			RequestHeaders: []lease.HeaderRule{
				{Name: "X-Forwarded-Client", Value: "%{+Q}[ssl_c_der,base64]"}, {Name: "X-Debug", Delete: true},
			},
			ResponseHeaders: []lease.HeaderRule{{Name: "X-Frame-Options", Value: "DENY"}},
			Annotations: []lease.RouteAnnotation{
				{Key: "haproxy.router.openshift.io/hsts_header", Value: "max-age=31536000;includeSubDomains"},
				{Key: "haproxy.router.openshift.io/ip_allowlist", Value: "192.0.2.0/24 2001:db8::/32"},
				{Key: "haproxy.router.openshift.io/timeout", Value: "30s"},
			},
			Labels: map[string]string{"shard": "public", "example.com/tier": "front"},
		},
	}
	for i, w := range want {
		if diff := cmp.Diff(w, web.Expose[i].Routing, withoutPlaces); diff != "" {
			t.Errorf("expose %d:\n%s", i, diff)
		}
	}
	if web.Expose[1].Path != "/v2" || web.Expose[1].PathAt.String() != "in.yaml:32:13: spec.services[2].expose[0].path" {
		t.Errorf("path %q at %s", web.Expose[1].Path, web.Expose[1].PathAt)
	}
}

// TestRoutingProblems has what an expose says beside port: 80 and global: true, and what is wrong.
func TestRoutingProblems(t *testing.T) {
	for text, want := range map[string]string{
		"path: v2":                                     `expose[0].path: the path "v2" does not begin with /`,
		"tls: {termination: Edge}":                     `unknown termination "Edge"; edge, passthrough and reencrypt are known; did you mean "edge"?`,
		"tls: {insecure: allow}":                       `unknown insecure "allow"; None, Allow and Redirect are known; did you mean "Allow"?`,
		"tls: {certificate: x}":                        `expose[0].tls.certificate: unknown key "certificate"`,
		"tls: {issuer: {kind: Issuer}, secretName: a}": `expose[0].tls.issuer: "name" is missing`,
		"tls: [edge]":                                  "expected a mapping, found a list",
		"weight: 257":                                  "257 is not a weight (0 to 256)",
		"weight: -1":                                   "-1 is not a weight (0 to 256)",
		"alternateBackends: [{service: a, weight: 300}]":               "300 is not a weight (0 to 256)",
		"alternateBackends: [{weight: 3}]":                             `expose[0].alternateBackends[0]: "service" is missing`,
		"alternateBackends: [{service: a, port: 0}]":                   "0 is not a port (1 to 65535)",
		"alternateBackends: [{service: a}, {service: bapi, port: 81}]": `expose[0].alternateBackends[1]: no service named "bapi"; did you mean "api"?`,
		"sticky: {sameSite: lax}":                                      `unknown sameSite "lax"; Lax, Strict and None are known; did you mean "Lax"?`,
		"sticky: {cookie: a b}":                                        `"a b" is not the name of a cookie`,
		"sticky: {disabled: 1}":                                        "expected true or false, found the number 1",
		"headers: {requests: []}":                                      `unknown key "requests"; did you mean "request"?`,
		"headers: {request: [{name: X-A, action: set, value: a}]}":     `unknown action "set"; Set and Delete are known; did you mean "Set"?`,
		"headers: {request: [{name: X-A, value: a}]}":                  `"action" is missing`,
		"headers: {request: [{name: X-A, action: '', value: a}]}":      "the action is empty",
		"headers: {request: [{action: Delete}]}":                       `"name" is missing`,
		"headers: {request: [{name: X-A, action: Set, value: 1}]}":     `expected a text, found the number 1; write "1"`,
		"headers: {response: [{name: X-A, action: Set, value: '%'}]}":  "expose[0].headers.response[0]: the header's value has a %",
		"annotations: {haproxy.router.openshift.io/timeout: 30}":       `found the number 30; write "30"`,
		"annotations: {haproxy.router.openshift.io/timeout: 1d12h}":    `expose[0].annotations["haproxy.router.openshift.io/timeout"]: "1d12h" is not a time`,
		"annotations: {haproxy.router.openshift.io/time-out: 30s}":     "did you mean haproxy.router.openshift.io/timeout?",
		"annotations: {timeout: 30s}":                                  "did you mean haproxy.router.openshift.io/timeout?",
		"annotations: [a]":                                             "expected a mapping, found a list",
		"labels: {shard: true}":                                        `found true; write "true"`,
		"labels: {akash.network: 'false'}":                             "not yours to set",
	} {
		services := "  - {name: a, expose: [{port: 80}]}\n  - {name: api, expose: [{port: 81}]}\n  - {name: web, expose: [{port: 80, global: true, hosts: [a.example.com], " + text + "}]}\n"
		defs, problems := read(t, head+services, input.Options{})
		if len(defs) != 0 || !strings.Contains(problems, want) || !strings.HasPrefix(problems, "in.yaml:9:") {
			t.Errorf("%s: %d definitions, problems %q, want %q", text, len(defs), problems, want)
		}
	}
	_, problems := read(t, head+"  - {name: web, target: ingres}\n", input.Options{})
	if want := `in.yaml:7:25: spec.services[0].target: unknown target "ingres"; ingress, httproute and route are known; did you mean "ingress"?`; problems != want {
		t.Errorf("%s", problems)
	}
}

// TestRoutingSaysNothing: what says nothing does not change what a definition is.
func TestRoutingSaysNothing(t *testing.T) {
	plain, _ := read(t, head+"  - {name: web, expose: [{port: 80, global: true, hosts: [a.example.com]}]}\n", input.Options{})
	for _, text := range []string{
		"path: /", "path: ''", "path: null", "tls: null", "labels: {}", "annotations: {}", "headers: {}", "headers: {request: []}", "alternateBackends: []", "weight: null", "sticky: null",
	} {
		defs, problems := read(t, head+"  - {name: web, expose: [{port: 80, global: true, hosts: [a.example.com], "+text+"}]}\n", input.Options{})
		if len(defs) != 1 || defs[0].Hash != plain[0].Hash || defs[0].Services[0].Expose[0].Routing != nil {
			t.Errorf("%s: %v %s", text, defs, problems)
		}
	}
}

// FuzzTLS reads combinations of what is said of TLS, and compares with the matrix of OpenShift's
// terminations.
func FuzzTLS(f *testing.F) {
	for _, termination := range []string{"", "edge", "passthrough", "reencrypt", "Edge"} {
		for _, insecure := range []string{"", "None", "Allow", "Redirect", "allow"} {
			f.Add(termination, insecure, "", "", "", "", "/", false)
			f.Add(termination, insecure, "tls", "", "", "", "/", false)
			f.Add(termination, insecure, "", "ca", "", "", "/", true)
			f.Add(termination, insecure, "tls", "ca", "letsencrypt", "ClusterIssuer", "/v2", true)
		}
	}
	f.Add("edge", "", "A_b", "", "x", "Kind", "/a/", false)
	f.Fuzz(func(t *testing.T, termination, insecure, secret, ca, issuer, kind, path string, header bool) {
		tls := map[string]any{"termination": termination, "insecure": insecure, "secretName": secret, "destinationCASecretName": ca}
		if issuer != "" {
			tls["issuer"] = map[string]any{"name": issuer, "kind": kind}
		}
		expose := map[string]any{"port": 443, "global": true, "hosts": []string{"a.example.com"}, "path": path, "tls": tls}
		if header {
			expose["headers"] = map[string]any{"request": []any{map[string]any{"name": "X-A", "action": "Delete"}}}
		}
		text, err := json.Marshal(map[string]any{
			"apiVersion": input.APIVersion, "kind": input.Kind, "metadata": map[string]any{"name": "x"},
			"spec": map[string]any{"lease": input.Lease(testLease), "services": []any{map[string]any{"name": "web", "expose": []any{expose}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		accepted := false
		problems, err := input.Read(t.Context(), strings.NewReader(string(text)), "f", input.Options{}, func(*lease.Definition) error { accepted = true; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if want := tlsAllowed(termination, insecure, secret, ca, issuer, kind, path, header); want != "?" && accepted != (want == "") {
			t.Errorf("%s\naccepted: %v, want %q\n%v", text, accepted, want, problems)
		}
		holds(t, text, input.Options{})
	})
}

// tlsAllowed is the matrix: empty where the combination is right, ? where a text's own grammar counts.
func tlsAllowed(termination, insecure, secret, ca, issuer, kind, path string, header bool) string {
	for _, name := range []string{secret, ca, issuer} {
		if lease.CheckHost(name) != nil && name != "" {
			return "?"
		}
	}
	root := path == "" || path == "/"
	if !root && lease.CheckPath(path) != nil {
		return "?"
	}
	if termination == "" {
		termination = "edge"
		if ca != "" {
			termination = "reencrypt"
		}
	}
	issuerKind := issuer == "" || kind == "" || kind == "Issuer" || kind == "ClusterIssuer"
	switch {
	case !oneOf(insecure, "", "None", "Allow", "Redirect"):
		return "insecure"
	case termination == "passthrough" && (secret != "" || ca != "" || issuer != "" || !root || header || insecure == "Allow"):
		return "passthrough"
	case termination == "edge" && ca != "":
		return "edge"
	case !oneOf(termination, "edge", "reencrypt", "passthrough"):
		return "termination"
	case !issuerKind:
		return "issuer"
	}
	return ""
}

func oneOf(s string, words ...string) bool {
	for _, w := range words {
		if s == w {
			return true
		}
	}
	return false
}

func ExampleEncode_routing() {
	def := &lease.Definition{Name: "x", Lease: testLease, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{
		Port: 80, Protocol: lease.TCP, Global: true, Path: "/v2", Hosts: []lease.Host{{Name: "a.example.com"}},
		Routing: &lease.Routing{TLS: &lease.TLS{Termination: lease.Edge}, ResponseHeaders: []lease.HeaderRule{{Name: "X-A", Delete: true}}},
	}}}}}
	text, _ := json.Marshal(input.Encode(def).Spec.Services[0].Expose[0])
	fmt.Println(string(text))
	// Output: {"port":80,"global":true,"hosts":["a.example.com"],"path":"/v2","tls":{"termination":"edge"},"headers":{"response":[{"name":"X-A","action":"Delete"}]}}
}
