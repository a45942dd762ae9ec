package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/render"
)

// The annotations of an Ingress become those of an HTTPRoute as Akash's own migration makes them
// (provider: migrations/ingress_to_httproute_test.go).
func TestGatewayAnnotations(t *testing.T) {
	defaults := map[string]string{"client-max-body-size": "1m", "proxy-read-timeout": "60", "proxy-send-timeout": "60", "proxy-next-upstream-tries": "3"}
	for name, tc := range map[string]struct{ from, want map[string]string }{
		"times": {map[string]string{"proxy-read-timeout": "120", "proxy-send-timeout": "60"}, map[string]string{"proxy-read-timeout": "120"}},
		"size":  {map[string]string{"proxy-body-size": "10m"}, map[string]string{"client-max-body-size": "10m"}},
		"tries": {
			map[string]string{"proxy-next-upstream-tries": "5", "proxy-next-upstream-timeout": "30", "proxy-next-upstream": "error timeout http_500"},
			map[string]string{"proxy-next-upstream-tries": "5", "proxy-next-upstream-timeout": "30s", "proxy-next-upstream": "error timeout http_500"},
		},
		"nothing":              {nil, nil},
		"no time for tries":    {map[string]string{"proxy-next-upstream-timeout": "0"}, nil},
		"whole":                {map[string]string{"proxy-read-timeout": "42"}, map[string]string{"proxy-read-timeout": "42"}},
		"rounded up":           {map[string]string{"proxy-read-timeout": "42.7"}, map[string]string{"proxy-read-timeout": "43"}},
		"rounded up, tries":    {map[string]string{"proxy-next-upstream-timeout": "0.5"}, map[string]string{"proxy-next-upstream-timeout": "1s"}},
		"no number":            {map[string]string{"proxy-read-timeout": "invalid", "proxy-next-upstream-tries": "-1", "proxy-send-timeout": "NaN"}, nil},
		"no size limit":        {map[string]string{"proxy-body-size": "0"}, map[string]string{"client-max-body-size": "0"}},
		"outcomes as they are": {map[string]string{"proxy-next-upstream": "error non_idempotent"}, map[string]string{"proxy-next-upstream": "error non_idempotent"}},
		"others are left out":  {map[string]string{"rewrite-target": "/"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			from, want := map[string]string{}, map[string]string{}
			for k, v := range tc.from {
				from["nginx.ingress.kubernetes.io/"+k] = v
			}
			for _, m := range []map[string]string{defaults, tc.want} {
				for k, v := range m {
					want["nginx.org/"+k] = v
				}
			}
			if diff := cmp.Diff(want, render.GatewayAnnotations(from)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
