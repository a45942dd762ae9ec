package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Whatever the kind of an object, the hosts that it serves count as used.
func TestHostUses(t *testing.T) {
	for name, tc := range map[string]struct {
		object string
		want   []string
	}{
		"Ingress":              {`{kind: Ingress, spec: {rules: [{host: a.example.com}, {http: {}}, {host: B.example.com}]}}`, []string{"a.example.com", "b.example.com"}},
		"HTTPRoute":            {`{kind: HTTPRoute, spec: {hostnames: [a.example.com, "*.example.com"]}}`, []string{"a.example.com", "*.example.com"}},
		"Route":                {`{kind: Route, spec: {host: a.example.com, to: {kind: Service, name: web}}}`, []string{"a.example.com"}},
		"Route of a subdomain": {`{kind: Route, spec: {host: www.example.com, wildcardPolicy: Subdomain}}`, []string{"*.example.com"}},
		"Route without a host": {`{kind: Route, spec: {subdomain: www}}`, nil},
		"solver":               {`{kind: Ingress, metadata: {labels: {acme.cert-manager.io/http01-solver: "true"}}, spec: {rules: [{host: a.example.com}]}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tc.object), &o.Object); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, u := range HostUses(o) {
				got = append(got, u.Host)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
