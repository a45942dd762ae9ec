package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

const liveLabels = `{akash.network: "true", akash.network/lease.id.owner: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h, akash.network/lease.id.dseq: "8438017",
	akash.network/lease.id.gseq: "1", akash.network/lease.id.oseq: "1", akash.network/lease.id.provider: akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0%s}`

// liveRoute is a route of the cluster: its kind, further labels, its annotations and its spec.
func liveRoute(t *testing.T, kind, labels, annotations, spec string) *unstructured.Unstructured {
	t.Helper()
	version := map[string]string{"Ingress": "networking.k8s.io/v1", "HTTPRoute": "gateway.networking.k8s.io/v1", "TLSRoute": "gateway.networking.k8s.io/v1", "Route": "route.openshift.io/v1"}[kind]
	o := &unstructured.Unstructured{}
	text := "{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: a.example.com, namespace: 5reb3l87s85t50v77sosktvdeeg6pfbnlboigoprqv3d4, labels: " +
		strings.ReplaceAll(liveLabels, "%s", labels) + ", annotations: {" + annotations + "}}, spec: {" + spec + "}}"
	body, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "\t", " ")))
	if err != nil {
		t.Fatal(err, text)
	}
	if err := o.UnmarshalJSON(body); err != nil {
		t.Fatal(err)
	}
	return o
}

const (
	ingressRule = `rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]`
	gatewayRef  = `parentRefs: [{name: akash-gateway, namespace: akash-gateway%s}], hostnames: [a.example.com], `
	gatewayRule = `matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{group: "", kind: Service, name: web, port: 80, weight: 1}]`
	routeTo     = `host: a.example.com, port: {targetPort: 8080}, wildcardPolicy: None, to: {kind: Service, name: web, weight: 100}`
	nginx       = "nginx.ingress.kubernetes.io/"
)

func httpRule(section, more string) string {
	return strings.ReplaceAll(gatewayRef, "%s", section) + "rules: [{" + gatewayRule + more + "}]"
}

// What a route's new form does not have is named, or the route stays and says why.
func TestMigrateTells(t *testing.T) {
	const (
		toGateway  = "httproute akash"
		toFabric   = "httproute nginx-gateway-fabric"
		toStandard = "httproute standard"
	)
	for name, tc := range map[string]struct {
		route *unstructured.Unstructured
		to    string
		want  []string // the beginnings of what is told; none where all is carried over
	}{
		"plain":                  {liveRoute(t, "Ingress", "", "", ingressRule), toGateway, nil},
		"working annotations":    {liveRoute(t, "Ingress", "", `kubectl.kubernetes.io/last-applied-configuration: "{}", akash.network/lease.updated_at: now, acme.cert-manager.io/http01-edit-in-place: "true"`, ingressRule), toGateway, nil},
		"tuning annotations":     {liveRoute(t, "Ingress", "", nginx+`limit-rps: "5", note: ours`, ingressRule), toGateway, []string{"lost: " + nginx + "limit-rps", "lost: note"}},
		"more tuning":            {liveRoute(t, "Ingress", "", nginx+`disable-proxy-intercept-errors: "true", `+nginx+`use-port-in-redirects: "false", `+nginx+"connection-proxy-header: keep-alive", ingressRule), toGateway, []string{"lost: " + nginx + "connection-proxy-header", "lost: " + nginx + "disable-proxy-intercept-errors", "lost: " + nginx + "use-port-in-redirects"}},
		"unknown annotations":    {liveRoute(t, "Ingress", "", `example.com/note: ours`, ingressRule), toGateway, []string{"stays: example.com/note: ours may decide"}},
		"a label":                {liveRoute(t, "Ingress", ", shard: eu", "", ingressRule), toGateway, nil},
		"a reserved label":       {liveRoute(t, "Ingress", ", app.kubernetes.io/name: x", "", ingressRule), toGateway, []string{"lost: label app.kubernetes.io/name"}},
		"no size limit":          {liveRoute(t, "Ingress", "", nginx+`proxy-body-size: "0"`, ingressRule), toFabric, []string{"lost: " + nginx + "proxy-body-size"}},
		"no size limit, akash":   {liveRoute(t, "Ingress", "", nginx+`proxy-body-size: "0", `+nginx+"proxy-next-upstream: error non_idempotent", ingressRule), toGateway, nil},
		"foreign outcomes":       {liveRoute(t, "Ingress", "", nginx+`proxy-next-upstream: "error; return 200"`, ingressRule), toFabric, []string{"lost: " + nginx + "proxy-next-upstream"}},
		"bad number":             {liveRoute(t, "Ingress", "", nginx+`proxy-read-timeout: soon`, ingressRule), toGateway, []string{"lost: " + nginx + "proxy-read-timeout"}},
		"send timeout":           {liveRoute(t, "Ingress", "", nginx+`proxy-send-timeout: "5", `+nginx+`proxy-next-upstream-tries: "7"`, ingressRule), toStandard, []string{"lost: sendTimeout: the Gateway API has no field", "lost: nextTries: retries are not in"}},
		"sticky":                 {liveRoute(t, "Ingress", "", nginx+"affinity: cookie", ingressRule), toFabric, []string{"lost: sticky: NGINX Gateway Fabric has"}},
		"sticky by address":      {liveRoute(t, "Ingress", "", nginx+"affinity: ip", ingressRule), toFabric, []string{"lost: " + nginx + `affinity: only "cookie" is supported`}},
		"certificate":            {liveRoute(t, "Ingress", "", "cert-manager.io/cluster-issuer: le", ingressRule+", tls: [{hosts: [a.example.com], secretName: shop}]"), toGateway, []string{"lost: tls.secretName: on a Gateway", "lost: tls.issuer: on a Gateway"}},
		"certificate to a Route": {liveRoute(t, "Ingress", "", "", ingressRule+", tls: [{hosts: [a.example.com], secretName: shop}]"), "route", nil},
		"allowed sources":        {liveRoute(t, "Ingress", "", nginx+"whitelist-source-range: 10.0.0.0/8", ingressRule), toGateway, []string{"stays: " + nginx + "whitelist-source-range"}},
		"authentication":         {liveRoute(t, "Ingress", "", nginx+"auth-url: https://x", ingressRule), toGateway, []string{"stays: " + nginx + "auth-url"}},
		"gRPC":                   {liveRoute(t, "Ingress", "", nginx+"backend-protocol: GRPC", ingressRule), toGateway, []string{"stays: its backend speaks GRPC"}},
		"TLS before the nginx":   {liveRoute(t, "Ingress", "", nginx+`force-ssl-redirect: "true"`, ingressRule), toGateway, []string{"stays: it redirects to TLS"}},
		"foreign CA":             {liveRoute(t, "Ingress", "", nginx+`backend-protocol: HTTPS, `+nginx+`proxy-ssl-secret: other/ca, `+nginx+`proxy-ssl-verify: "on"`, ingressRule), toGateway, []string{"stays: " + nginx + "proxy-ssl-secret other/ca"}},
		"passthrough":            {liveRoute(t, "Ingress", "", nginx+`ssl-passthrough: "true"`, ingressRule), "httproute without passthrough", []string{"refused: the provider's configuration names no listener"}},
		"exact path":             {liveRoute(t, "Ingress", "", "", strings.ReplaceAll(ingressRule, "Prefix", "Exact")), toGateway, []string{"stays: its path is of type Exact"}},
		"two paths":              {liveRoute(t, "Ingress", "", "", strings.ReplaceAll(ingressRule, "paths: [", "paths: [{path: /a, pathType: Prefix, backend: {service: {name: b, port: {number: 80}}}}, ")), toGateway, []string{"stays: it does not have exactly one rule"}},
		"every host":             {liveRoute(t, "Ingress", "", "", strings.ReplaceAll(ingressRule, "host: a.example.com, ", "")), toGateway, []string{"stays: it is for every host"}},
		"another name":           {liveRoute(t, "Ingress", "", "", strings.ReplaceAll(ingressRule, "a.example.com", "b.example.com")), toGateway, []string{"stays: it is not named b.example.com"}},
		"a port by name":         {liveRoute(t, "Ingress", "", "", strings.ReplaceAll(ingressRule, "number: 80", "name: http")), toGateway, nil},
		"a port that is not":     {liveRoute(t, "Ingress", "", "", strings.ReplaceAll(ingressRule, "number: 80", "name: web")), toGateway, []string{`stays: it leads to port "web"`}},
		"no container port":      {liveRoute(t, "Ingress", "", "", strings.ReplaceAll(ingressRule, "name: web", "name: gone")), "route", []string{"refused: which port of the containers"}},
		"a method":               {liveRoute(t, "HTTPRoute", "", "", strings.ReplaceAll(httpRule("", ""), "value: /}", "value: /}, method: GET")), "ingress", []string{"stays: it asks for more than the path"}},
		"two hosts":              {liveRoute(t, "HTTPRoute", "", "", strings.ReplaceAll(httpRule("", ""), "hostnames: [", "hostnames: [b.example.com, ")), "ingress", []string{"stays: it does not have exactly one host"}},
		"a rewrite":              {liveRoute(t, "HTTPRoute", "", "", httpRule("", ", filters: [{type: URLRewrite, urlRewrite: {hostname: x.example.com}}]")), "ingress", []string{"stays: it has a filter of type URLRewrite"}},
		"added headers":          {liveRoute(t, "HTTPRoute", "", "", httpRule("", ", filters: [{type: RequestHeaderModifier, requestHeaderModifier: {add: [{name: A, value: b}]}}]")), "route", []string{"stays: it adds headers"}},
		"headers to an Ingress":  {liveRoute(t, "HTTPRoute", "", "", httpRule("", ", filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [X-User]}}]")), "ingress", []string{"refused: an Ingress has no header rules"}},
		"whole timeout":          {liveRoute(t, "HTTPRoute", "", "", httpRule("", ", timeouts: {request: 10s, backendRequest: 5s}, retry: {attempts: 2}")), "ingress", []string{"lost: timeouts.request", "lost: retry"}},
		"unknown listener":       {liveRoute(t, "HTTPRoute", "", "", httpRule(", sectionName: internal", "")), "ingress", []string{`stays: it attaches to the listener "internal"`}},
		"TLS only":               {liveRoute(t, "HTTPRoute", "", "", httpRule(", sectionName: https-custom", "")), "ingress", []string{"refused: ingress-nginx answers requests without TLS"}},
		"TLS only, to a Route":   {liveRoute(t, "HTTPRoute", "", "", httpRule(", sectionName: https-custom", "")), "route", nil},
		"nginx.org":              {liveRoute(t, "HTTPRoute", "", `nginx.org/proxy-read-timeout: "30", nginx.org/proxy-buffer-size: 16k, nginx.org/client-max-body-size: 10m, nginx.org/keepalive: "5"`, httpRule("", "")), "ingress", []string{"lost: nginx.org/keepalive"}},
		"weights to an Ingress":  {liveRoute(t, "Route", "", "", routeTo+", alternateBackends: [{kind: Service, name: api, weight: 10}]"), "ingress", []string{"refused: an Ingress leads to one service"}},
		"too great a weight":     {liveRoute(t, "HTTPRoute", "", "", strings.ReplaceAll(httpRule("", ""), "weight: 1", "weight: 1000")), "route", []string{`stays: service "web" has the weight 1000`}},
		"router's settings":      {liveRoute(t, "Route", "", "haproxy.router.openshift.io/balance: leastconn, haproxy.router.openshift.io/timeout: 5s", routeTo), "ingress", []string{"lost: settings of OpenShift's router: haproxy.router.openshift.io/balance is a setting"}},
		"allowed addresses":      {liveRoute(t, "Route", "", "haproxy.router.openshift.io/ip_allowlist: 10.0.0.1", routeTo), "ingress", []string{"refused: haproxy.router.openshift.io/ip_allowlist"}},
		"rewritten paths":        {liveRoute(t, "Route", "", "haproxy.router.openshift.io/rewrite-target: /v2", routeTo), "ingress", []string{"refused: haproxy.router.openshift.io/rewrite-target"}},
		"certificate in a Route": {liveRoute(t, "Route", "", "", routeTo+", tls: {termination: edge, certificate: C, key: K}"), "ingress", []string{"lost: tls.certificate: a certificate never stands"}},
		"certificate of issuer":  {liveRoute(t, "Route", "", "cert-manager.io/issuer-name: le, cert-manager.io/certificate-revision: '1'", routeTo+", tls: {termination: edge, certificate: C, key: K}"), "ingress", nil},
		"CA in a Route":          {liveRoute(t, "Route", "", "", routeTo+", tls: {termination: reencrypt, destinationCACertificate: C}"), "ingress", []string{"stays: it holds the CA of its backend"}},
		"a Route's unknown port": {liveRoute(t, "Route", "", "", strings.ReplaceAll(routeTo, "8080", "1234")), "ingress", []string{"stays: which port of Service web has"}},
		"a Route's port by name": {liveRoute(t, "Route", "", "", strings.ReplaceAll(routeTo, "8080", "http")), "ingress", nil},
		"a Route without port":   {liveRoute(t, "Route", "", "", strings.ReplaceAll(routeTo, "port: {targetPort: 8080}, ", "")), "ingress", []string{"stays: it names no port"}},
		"CA of an Ingress":       {liveRoute(t, "Ingress", "", nginx+`backend-protocol: HTTPS, `+nginx+`proxy-ssl-secret: 5reb3l87s85t50v77sosktvdeeg6pfbnlboigoprqv3d4/ca, `+nginx+`proxy-ssl-verify: "on", `+nginx+`proxy-ssl-name: web.5reb3l87s85t50v77sosktvdeeg6pfbnlboigoprqv3d4.svc`, ingressRule), "route", []string{"refused: an OpenShift Route holds the backend's CA itself"}},
		"passed through TLS":     {liveRoute(t, "TLSRoute", "", "", strings.ReplaceAll(gatewayRef, "%s", ", sectionName: tls")+"rules: [{backendRefs: [{name: web, port: 80}, {name: api, port: 80}]}]"), "route", nil},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Gateway.Listeners.Passthrough = []string{"tls"}
			target, implementation, _ := strings.Cut(tc.to, " ")
			cfg.Target = target
			switch implementation {
			case "without passthrough":
				cfg.Gateway.Listeners.Passthrough = nil
			case "":
			default:
				cfg.Gateway.Implementation = implementation
			}
			around := render.Surroundings{Ports: map[string][]render.ServicePort{
				"web": {{Name: "http", Port: 80, Container: 8080}}, "api": {{Port: 80, Container: 8080}},
			}}
			told := []string{}
			live, err := render.ReadRoute(tc.route, cfg, around)
			if err != nil {
				told = append(told, "stays: "+err.Error())
			} else {
				_, told = objectsOf(render.Migrate([]*render.Live{live}, nil, cfg, around))
			}
			if len(told) != len(tc.want) || !slices.EqualFunc(told, tc.want, strings.HasPrefix) {
				t.Errorf("(-want +told):\n%s", cmp.Diff(tc.want, told))
			}
		})
	}
}

// Where a definition leaves requests without TLS to the router, the new form does with them what the old one did:
// routers differ in it.
func TestMigrateKeepsPlainRequests(t *testing.T) {
	ingress := func(annotations string) *unstructured.Unstructured {
		return liveRoute(t, "Ingress", "", annotations, ingressRule+", tls: [{hosts: [a.example.com], secretName: shop}]")
	}
	route := liveRoute(t, "Route", "", "", routeTo+", tls: {termination: edge}")
	for name, tc := range map[string]struct {
		route *unstructured.Unstructured
		to    string
		want  string // the listeners of the HTTPRoute and of its redirect, the policy of the Route, the annotation of the Ingress
	}{
		"redirects":           {ingress(""), "httproute", "https-wildcard https-custom redirect http"},
		"redirects, no bool":  {ingress(nginx + "ssl-redirect: maybe"), "httproute", "https-wildcard https-custom redirect http"},
		"serves":              {ingress(nginx + `ssl-redirect: "False"`), "httproute", ""},
		"forced":              {ingress(nginx + `ssl-redirect: "false", ` + nginx + `force-ssl-redirect: "1"`), "httproute", "https-wildcard https-custom redirect http"},
		"redirects, to Route": {ingress(""), "route", "Redirect"},
		"serves, to Route":    {ingress(nginx + `ssl-redirect: "0"`), "route", "Allow"},
		"backend with TLS":    {liveRoute(t, "Ingress", "", nginx+"backend-protocol: HTTPS", ingressRule), "route", "Allow"},
		"does not answer":     {route, "httproute", "https-wildcard https-custom"},
		"Route to Ingress":    {route, "ingress", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Target = tc.to
			around := render.Surroundings{Ports: map[string][]render.ServicePort{"web": {{Name: "http", Port: 80, Container: 8080}}}}
			live, err := render.ReadRoute(tc.route, cfg, around)
			if err != nil {
				t.Fatal(err)
			}
			objects, _ := objectsOf(render.Migrate([]*render.Live{live}, nil, cfg, around))
			var got []string
			for name, o := range clusterOf(objects) {
				switch o.GetKind() {
				case "HTTPRoute":
					var sections []string
					parents, _, _ := unstructured.NestedSlice(o.Object, "spec", "parentRefs")
					for _, p := range parents {
						if section, _, _ := unstructured.NestedString(p.(map[string]any), "sectionName"); section != "" {
							sections = append(sections, section)
						}
					}
					if strings.HasPrefix(name, "HTTPRoute/rd--") {
						sections = slices.Insert(sections, 0, "redirect")
					}
					got = append(got, strings.Join(sections, " "))
				case "Route":
					policy, _, _ := unstructured.NestedString(o.Object, "spec", "tls", "insecureEdgeTerminationPolicy")
					got = append(got, policy)
				case "Ingress":
					got = append(got, o.GetAnnotations()[nginx+"ssl-redirect"])
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != tc.want || len(objects) == 0 {
				t.Errorf("it is %q, want %q", got, tc.want)
			}
		})
	}
}
