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
		"Ingress":               {`{kind: Ingress, spec: {rules: [{host: a.example.com}, {http: {}}, {host: B.example.com}]}}`, []string{"a.example.com", "b.example.com"}},
		"HTTPRoute":             {`{kind: HTTPRoute, spec: {hostnames: [a.example.com, "*.example.com"]}}`, []string{"a.example.com", "*.example.com"}},
		"Route":                 {`{kind: Route, spec: {host: a.example.com, to: {kind: Service, name: web}}}`, []string{"a.example.com"}},
		"Route of a subdomain":  {`{kind: Route, spec: {host: www.example.com, wildcardPolicy: Subdomain}}`, []string{"*.example.com"}},
		"Route without a host":  {`{kind: Route, spec: {subdomain: www}}`, nil},
		"cert-manager's solver": {solver(`apiVersion: acme.cert-manager.io/v1, kind: Challenge`, "", "/.well-known/acme-challenge/xyz"), nil},
		"cert-manager's solver of the Gateway API": {`{kind: HTTPRoute, metadata: {labels: {acme.cert-manager.io/http01-solver: "true"}, ownerReferences: [{apiVersion: acme.cert-manager.io/v1, kind: Challenge}]},
			spec: {hostnames: [a.example.com], rules: [{matches: [{path: {type: Exact, value: /.well-known/acme-challenge/xyz}}]}]}}`, nil},
		"solver's label of nobody's Challenge":   {solver(`apiVersion: apps/v1, kind: Deployment`, "", "/.well-known/acme-challenge/xyz"), []string{"a.example.com"}},
		"solver's label and another path":        {solver(`apiVersion: acme.cert-manager.io/v1, kind: Challenge`, "", "/"), []string{"a.example.com"}},
		"solver's label on a route of a lease":   {solver(`apiVersion: acme.cert-manager.io/v1, kind: Challenge`, `akash.network/lease.id.owner: akash1a, `, "/.well-known/acme-challenge/xyz"), []string{"a.example.com"}},
		"solver's label on a ProviderHost":       {`{kind: ProviderHost, metadata: {name: a.example.com, labels: {acme.cert-manager.io/http01-solver: "true"}}}`, []string{"a.example.com"}},
		"solver's label on an object of our own": {`{kind: Ingress, metadata: {labels: {acme.cert-manager.io/http01-solver: "true"}, managedFields: [{manager: akash-net, operation: Apply}]}, spec: {rules: [{host: a.example.com}]}}`, []string{"a.example.com"}},
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

// solver is an Ingress with the label of cert-manager's solvers.
func solver(owner, labels, path string) string {
	return `{kind: Ingress, metadata: {labels: {` + labels + `acme.cert-manager.io/http01-solver: "true"}, ownerReferences: [{` + owner + `}]},
		spec: {rules: [{host: a.example.com, http: {paths: [{path: ` + path + `}]}}]}}`
}
