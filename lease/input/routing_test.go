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
