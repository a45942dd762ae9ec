package observed_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// What Akash's operators would ignore for good, or write over, is refused before anything is claimed, and the error says what does not fit and
// what to do; and what an operator has made agrees where it serves the same host or port from the same backend: testdata/fits.txt.
//
//	fits    the operators that run (hostname, ip), "off" where they are said not to, the configuration (static, annotations, mode=MODE), "endpoint"
//	        where one is asked for, "| SERVICE COUNT PORT EXTERNAL" of the Manifest, and "| port=N as=N host=HOST path=PATH" of what is exposed,
//	        which may be "local" or have "settings"
//	agrees  what is wanted, and what is there, in the words of observedtest
func TestFits(t *testing.T) {
	golden.Rules{
		"fits": func(line string) string {
			parts := append(strings.Split(line, "|"), "", "")
			has := func(i int, word string) bool { return strings.Contains(" "+parts[i]+" ", " "+word+" ") }
			value := func(i int, name string) (value string) {
				for _, word := range strings.Fields(parts[i]) {
					if v, ok := strings.CutPrefix(word, name+"="); ok {
						value = v
					}
				}
				return value
			}
			cfg := config.Default()
			cfg.Ingress.StaticHosts, cfg.Ingress.Domain, cfg.IP.Mode = has(0, "static"), "ingress.example.net", value(0, "mode")
			if has(0, "annotations") {
				cfg.DNS.Form = config.DNSAnnotations
			}
			e := lease.Expose{Protocol: lease.TCP, Global: !has(2, "local"), Path: value(2, "path"), At: lease.Place{File: "deploy.yaml", Line: 3, Column: 5}}
			_, _ = fmt.Sscan(value(2, "port"), &e.Port)
			_, _ = fmt.Sscan(value(2, "as"), &e.As)
			if host := value(2, "host"); host != "" {
				e.Hosts = []lease.Host{{Name: host}}
			}
			if has(2, "settings") {
				e.Routing = &lease.Routing{}
			}
			request := state.Request{Lease: ot.Shop}
			if has(0, "endpoint") {
				request.Endpoints = []state.EndpointWant{{Name: "public", At: lease.Place{File: "deploy.yaml", Line: 9, Column: 1}}}
			}
			seen := ot.Snapshot(nil)
			seen.Operators.Hostname, seen.Operators.IP, seen.Operators.Off = has(0, "hostname"), has(0, "ip"), has(0, "off")
			var service string
			var count, port, external int64
			if n, _ := fmt.Sscan(parts[1], &service, &count, &port, &external); n == 4 {
				seen.Manifests = observed.Manifests{ot.Shop.Namespace(): manifest(service, count, port, external, true)}
			}
			def := &lease.Definition{Lease: ot.Shop, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{e}}}}
			err := seen.Fits(cfg, def, request)
			if _, ok := errors.AsType[*report.OperatorError](err); !ok && err != nil {
				t.Errorf("%s: error %v", line, err)
			}
			return strings.ReplaceAll(fmt.Sprint(err), ot.Shop.String(), "LEASE")
		},
		"agrees": func(line string) string {
			want, live, _ := strings.Cut(line, "|")
			o := ot.WordObjects(t, want)[0]
			return fmt.Sprint(ot.Snapshot(nil).Agrees(nil, ot.Shop, rendered(o), append(ot.WordObjects(t, live), nil)[0]))
		},
	}.Check(t, "testdata/fits.txt")
}

// The operator's options are those of the Manifest. A route of it agrees with a definition that has the same ones when it
// has them; with another one, whatever it has.
func TestHTTPOptions(t *testing.T) {
	given := map[string]any{
		"max_body_size": int64(1048576), "read_timeout": int64(1500), "send_timeout": int64(60000), "next_tries": int64(3),
		"next_cases": []any{"error", "timeout"},
	}
	same := lease.HTTPOptions{ReadTimeout: 1500 * time.Millisecond}
	for name, tt := range map[string]struct {
		given   map[string]any
		wanted  lease.HTTPOptions
		live    lease.HTTPOptions
		unlike  string
		stands  bool
		without bool // the live route has no annotations
	}{
		"the same":                               {given: given, wanted: same, live: same, stands: true},
		"the same in whole seconds":              {given: given, wanted: lease.HTTPOptions{ReadTimeout: 2 * time.Second}, live: same, stands: true},
		"the same, and the route is older":       {given: given, wanted: same, live: lease.HTTPOptions{}},
		"the same, written elsewhere":            {given: given, wanted: same, without: true, stands: true},
		"others":                                 {given: given, wanted: lease.HTTPOptions{}, live: same, unlike: `proxy-read-timeout is "2", the definition says "60"`, stands: true},
		"other cases":                            {given: given, wanted: lease.HTTPOptions{ReadTimeout: same.ReadTimeout, NextCases: []string{"500"}}, unlike: `proxy-next-upstream is "error timeout", the definition says "http_500"`, stands: true},
		"a Manifest of an old version, defaults": {wanted: lease.HTTPOptions{}, unlike: `proxy-next-upstream-timeout is "60", the definition says "0"`, stands: true},
	} {
		m := manifest("web", 1, 80, 80, true)
		services, _, _ := unstructured.NestedSlice(m.Object, "spec", "group", "services")
		services[0].(map[string]any)["expose"].([]any)[0].(map[string]any)["http_options"] = tt.given //nolint:forcetypeassert // a panic fails the test
		if err := unstructured.SetNestedSlice(m.Object, services, "spec", "group", "services"); err != nil {
			t.Fatal(err)
		}
		seen := ot.Snapshot(nil)
		seen.Manifests = observed.Manifests{ot.Shop.Namespace(): m}
		def := &lease.Definition{Lease: ot.Shop, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{Port: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: shop}}, HTTP: tt.wanted}}}}}
		live := ot.Ingress(ot.Shop, shop, "/")
		if !tt.without {
			live.SetAnnotations(render.OptionsOf(kinds.Ingress, tt.live.WithDefaults()))
		}
		o := rendered(ot.Ingress(ot.Shop, shop, "/"))
		if got := seen.UnlikeOf(def, ot.Shop, o); (got == "") != (tt.unlike == "") || !strings.Contains(got, tt.unlike) {
			t.Errorf("%s: unlike %q", name, got)
		}
		if got := seen.Agrees(def, ot.Shop, o, live); got != tt.stands {
			t.Errorf("%s: agrees %t", name, got)
		}
	}
}
