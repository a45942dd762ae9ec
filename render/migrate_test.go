package render_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/grammar"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/test/routegen"
)

// routesAre says that all routes of a definition are of a kind.
func routesAre(def *lease.Definition, kind kinds.Kind) map[string]kinds.Kind {
	are := map[string]kinds.Kind{}
	for _, s := range def.Services {
		for _, e := range s.Expose {
			for _, h := range e.Hosts {
				are[lease.RouteName(h.Name, e.RoutePath())] = kind
			}
		}
	}
	return are
}

// formsOf are the objects of new forms, by kind and name, and what is told of them.
func formsOf(all map[string]*render.Migrated) (objects map[string]render.Object, told []string) {
	objects = map[string]render.Object{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, o := range all[name].Objects {
			objects[o.String()] = o
		}
		for _, lost := range all[name].Lost {
			told = append(told, "lost "+lost)
		}
		for _, why := range all[name].Refused {
			told = append(told, "refused: "+why)
		}
	}
	return objects, told
}

// A route that goes to another kind, one after the other, is what apply writes of that kind, if the definition says what becomes of
// requests without TLS.
func TestMigratedIsApplied(t *testing.T) {
	same := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		def := routegen.Definition(t)
		for i := range def.Services {
			def.Services[i].Target = ""
			if r := def.Services[i].Expose[0].Routing; r != nil && r.TLS != nil && r.TLS.Insecure == "" && r.TLS.Termination != lease.Passthrough {
				r.TLS.Insecure = lease.InsecureRedirect
			}
		}
		if lease.Check(def).Failed() {
			return
		}
		for _, to := range routegen.Targets() {
			applied, err := render.Lease(def, to.Config, nil)
			if err != nil {
				continue
			}
			want := map[string]render.Object{}
			for _, o := range applied {
				if o.Kind != kinds.ProviderHost {
					want[o.String()] = o
				}
			}
			from := kinds.Ingress
			if to.Config.Target == config.TargetIngress {
				from = kinds.HTTPRoute
			}
			got, told := formsOf(render.Migrate(def, nil, to.Config, routesAre(def, from)))
			if diff := gocmp.Diff(want, got); diff != "" || len(told) > 0 {
				t.Fatalf("to %s: %v (-applied +migrated):\n%s", to.Name, told, diff)
			}
			same[to.Name] += len(got)
		}
	})
	for _, to := range routegen.Targets() {
		if same[to.Name] == 0 {
			t.Errorf("nothing went to %s", to.Name)
		}
	}
}

// What the new kind cannot say is lost if it only tunes the route, and else the route is refused. Requests without TLS find what they
// found, where the definition leaves that to the router.
func TestMigrate(t *testing.T) {
	const gone = "on a Gateway the certificate belongs to the listener, which the provider's administrator configures: leave it out "
	for name, tt := range map[string]struct {
		service        lease.Service
		from           kinds.Kind
		to             string
		implementation string
		told, plain    string
	}{
		"edge, from an Ingress": {tls(lease.TLS{Termination: lease.Edge, SecretName: "s"}), kinds.Ingress, config.TargetHTTPRoute, "",
			`lost tls.secretName: ` + gone + `(secretName "s")`, "http; https-wildcard https-custom"},
		"edge, which a Gateway serves": {tls(*edge(lease.InsecureAllow)), kinds.Ingress, config.TargetHTTPRoute, "", "", ""},
		"edge, from a Gateway":         {tls(*edge("")), kinds.HTTPRoute, config.TargetIngress, "", "", "false"},
		"edge, to a Route":             {tls(*edge("")), kinds.Ingress, config.TargetRoute, "", "", "Redirect"},
		"edge, from a Route":           {tls(*edge("")), kinds.Route, config.TargetHTTPRoute, "", "", "https-wildcard https-custom"},
		"edge, from a Route back":      {tls(*edge("")), kinds.Route, config.TargetIngress, "", "", ""},
		"no answer without TLS": {tls(*edge(lease.InsecureNone)), kinds.Route, config.TargetIngress, "",
			"refused: ingress-nginx answers requests without TLS for every host: write Redirect or Allow as the insecure policy, or use the target httproute or route", ""},
		"passthrough": {tls(lease.TLS{Termination: lease.Passthrough}), kinds.Ingress, config.TargetHTTPRoute, "",
			"refused: the provider's configuration names no listener that hands TLS on to the backend (gateway.listeners.passthrough)", ""},
		"a CA in a Route": {tls(*reencrypt("ca")), kinds.Ingress, config.TargetRoute, "",
			"refused: an OpenShift Route holds the backend's CA itself, and certificates never stand in a lease definition: leave destinationCASecretName out, and the cluster's service CA is trusted", ""},
		"an issuer": {tls(lease.TLS{Termination: lease.Edge, Insecure: lease.InsecureAllow, Issuer: &lease.Issuer{Name: "le"}}), kinds.Ingress, config.TargetHTTPRoute, "",
			`lost tls.issuer: ` + gone + `(issuer "le")`, ""},
		"sessions": {routed(lease.Routing{Sticky: &lease.Sticky{}}, "a.example.com"), kinds.Ingress, config.TargetHTTPRoute, config.GatewayNGF,
			"lost sticky: NGINX Gateway Fabric has sticky sessions by cookie only with NGINX Plus: use the target ingress or route", ""},
		"options": {options(lease.HTTPOptions{SendTimeout: 5 * time.Second, NextTries: 7}), kinds.Ingress, config.TargetHTTPRoute, config.GatewayStandard,
			"lost sendTimeout: the Gateway API has no field for sendTimeout\nlost nextTries: retries are not in the Gateway API's standard channel: no nextTries", ""},
		"a list of addresses": {routed(lease.Routing{Annotations: []lease.RouteAnnotation{{Key: grammar.Allowlist, Value: "10.0.0.1"}}}, "a.example.com"), kinds.Route, config.TargetIngress, "",
			"refused: haproxy.router.openshift.io/ip_allowlist is a setting of OpenShift's router: only the target route has it", ""},
		"headers": {routed(lease.Routing{Headers: lease.Headers{Request: []lease.HeaderRule{{Name: "X-User", Delete: true}}}}, "a.example.com"), kinds.HTTPRoute, config.TargetIngress, "",
			"refused: an Ingress has no header rules: use the target httproute or route", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Target, cfg.Gateway.Implementation = tt.to, cmp.Or(tt.implementation, cfg.Gateway.Implementation)
			def := definition(tt.service)
			objects, told := formsOf(render.Migrate(def, nil, cfg, routesAre(def, tt.from)))
			if got := strings.Join(told, "\n"); got != tt.told {
				t.Errorf("told %q, want %q", got, tt.told)
			}
			var plain []string
			for _, name := range slices.Sorted(maps.Keys(objects)) {
				o := render.Rendered(objects[name])
				var sections []string
				parents, _, _ := unstructured.NestedSlice(o.Object, "spec", "parentRefs")
				for _, p := range parents {
					if section, has := p.(map[string]any)["sectionName"].(string); has {
						sections = append(sections, section)
					}
				}
				policy, _, _ := unstructured.NestedString(o.Object, "spec", "tls", "insecureEdgeTerminationPolicy")
				if said := strings.TrimSpace(strings.Join(sections, " ") + policy + o.GetAnnotations()["nginx.ingress.kubernetes.io/ssl-redirect"]); said != "" {
					plain = append(plain, said)
				}
			}
			if got := strings.Join(plain, "; "); got != tt.plain {
				t.Errorf("without TLS %q, want %q", got, tt.plain)
			}
		})
	}
}

// A route of Akash's hostname operator is read, of either kind, and becomes the other one with its options. One that somebody has
// changed is not.
func TestReadAkashRoute(t *testing.T) {
	id := lease.ID{Owner: "akash1x", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1y"}
	const ingress = `{kind: Ingress, metadata: {name: a.example.com, annotations: {nginx.ingress.kubernetes.io/proxy-read-timeout: "30",
		nginx.ingress.kubernetes.io/proxy-next-upstream-timeout: "0", nginx.ingress.kubernetes.io/proxy-next-upstream: error http_500}},
		spec: {ingressClassName: akash-ingress-class, rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}}`
	const gateway = `{kind: HTTPRoute, metadata: {name: a.example.com, annotations: {nginx.org/proxy-read-timeout: "30", nginx.org/proxy-buffer-size: 16k, nginx.org/proxy-next-upstream: error http_500}},
		spec: {parentRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: akash-gateway, namespace: akash-gateway}], hostnames: [a.example.com],
		rules: [{matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{group: "", kind: Service, name: web, port: 80, weight: 1}]}]}}`
	for name, tt := range map[string]struct{ route, was, is, why string }{
		"an Ingress":                 {ingress, "", "", ""},
		"an HTTPRoute":               {gateway, "", "", ""},
		"what no router reads":       {ingress, "annotations: {", "annotations: {note: x, meta.helm.sh/release-name: x, acme.cert-manager.io/x: z, ", ""},
		"another class":              {ingress, "akash-ingress-class", "internal", "its spec.ingressClassName is not what"},
		"TLS":                        {ingress, "spec: {", "spec: {tls: [{hosts: [a.example.com]}], ", "its spec.tls is not what"},
		"another Gateway":            {gateway, "name: akash-gateway", "name: internal", "its spec.parentRefs is not what"},
		"a filter":                   {gateway, "rules: [{", "rules: [{filters: [{type: URLRewrite}], ", "its spec.rules is not what"},
		"an annotation of a router":  {ingress, "annotations: {", "annotations: {nginx.ingress.kubernetes.io/auth-url: https://x, ", "nginx.ingress.kubernetes.io/auth-url: https://x may decide"},
		"one of another router":      {gateway, "annotations: {", "annotations: {konghq.com/plugins: key-auth, ", "konghq.com/plugins: key-auth may decide"},
		"an option not as they have": {ingress, `timeout: "30"`, `timeout: 1h`, "nginx.ingress.kubernetes.io/proxy-read-timeout: 1h may decide"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			text, err := yaml.YAMLToJSON([]byte(strings.Replace(tt.route, tt.was, tt.is, 1)))
			if err == nil {
				err = utiljson.Unmarshal(text, &o.Object)
			}
			if err != nil {
				t.Fatal(err)
			}
			o.SetNamespace(id.Namespace())
			o.SetLabels(id.Labels())
			cfg := config.Default()
			read, err := render.ReadAkashRoute(o, lease.Backend{Service: "web", Port: 80}, 8080, cfg)
			if fmt.Sprint(err) != "<nil>" && tt.why == "" || !strings.Contains(fmt.Sprint(err), tt.why) {
				t.Fatalf("%v, want %q", err, tt.why)
			}
			if err != nil {
				return
			}
			from, body := kinds.Of(o.GetKind()), map[string]any{}
			if cfg.Target = config.TargetHTTPRoute; from == kinds.HTTPRoute {
				cfg.Target = config.TargetIngress
			}
			forms := render.Migrate(&lease.Definition{Lease: id}, []render.AkashRoute{read}, cfg, map[string]kinds.Kind{"a.example.com": from})
			objects, told := formsOf(forms)
			for _, o := range objects {
				body = render.Rendered(o).Object
			}
			annotations := (&unstructured.Unstructured{Object: body}).GetAnnotations()
			prefix := map[bool]string{true: "nginx.org/", false: "nginx.ingress.kubernetes.io/"}[from == kinds.Ingress]
			if len(told) > 0 || len(objects) != 1 || annotations[prefix+"proxy-read-timeout"] != "30" || annotations[prefix+"proxy-next-upstream"] != "error http_500" {
				t.Errorf("%v %v", told, body)
			}
			if cfg.Target = config.TargetRoute; forms["a.example.com"].LeadsTo != "a.example.com to web:80" {
				t.Errorf("it leads %s", forms["a.example.com"].LeadsTo)
			}
			unknown, _ := render.ReadAkashRoute(o, lease.Backend{Service: "web", Port: 80}, 0, cfg)
			_, told = formsOf(render.Migrate(&lease.Definition{Lease: id}, []render.AkashRoute{unknown}, cfg, map[string]kinds.Kind{"a.example.com": from}))
			if len(told) == 0 || !strings.Contains(told[len(told)-1], "which port of the containers is behind port 80 of Service web cannot be seen") {
				t.Errorf("without the Service it is told %q", told)
			}
		})
	}
}
