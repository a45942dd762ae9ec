package operators

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
)

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
		def := &lease.Definition{Lease: ot.Shop, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{
			{Port: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: shop}}, HTTP: tt.wanted},
		}}}}
		live := ot.Ingress(ot.Shop, shop, "/")
		if !tt.without {
			live.SetAnnotations(render.OptionsOf(kinds.Ingress, tt.live.WithDefaults()))
		}
		o := cluster.Applicable(kinds.Ingress, ot.Ingress(ot.Shop, shop, "/"))
		if got := UnlikeOf(seen, def, ot.Shop, o); (got == "") != (tt.unlike == "") || !strings.Contains(got, tt.unlike) {
			t.Errorf("%s: unlike %q", name, got)
		}
		if got := Agrees(seen, def, ot.Shop, o, live); got != tt.stands {
			t.Errorf("%s: agrees %t", name, got)
		}
	}
}
