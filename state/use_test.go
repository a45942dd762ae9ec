package state

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
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
		"GRPCRoute":             {`{kind: GRPCRoute, spec: {hostnames: [a.example.com]}}`, []string{"a.example.com"}},
		"TCPRoute":              {`{kind: TCPRoute, spec: {rules: [{backendRefs: [{name: web, port: 80}]}]}}`, nil},
		"nginx's server-alias":  {`{kind: Ingress, metadata: {annotations: {nginx.ingress.kubernetes.io/server-alias: "B.example.com,*.example.net, a.example.com"}}, spec: {rules: [{host: a.example.com}]}}`, []string{"a.example.com", "b.example.com", "*.example.net"}},
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

// A wildcard route above a host uses it, unless it is the owner's or the wildcard is claimed.
func TestUsesOf(t *testing.T) {
	const host, over = "shop.example.com", "*.example.com"
	of := func(name string, owner string) Use {
		return Use{Name: name, HasLease: owner != "", Lease: lease.ID{Owner: owner}}
	}
	uses := map[string][]Use{host: {of("exact", "a")}, over: {of("nobody's", ""), of("a's", "a"), of("b's", "b")}, "*.com": {of("two above", "")}}
	for name, tt := range map[string]struct {
		host, owner string
		claimed     bool
		want        []string
	}{
		"others' wildcards count":      {host, "a", false, []string{"exact", "nobody's", "b's"}},
		"for nobody all do":            {host, "", false, []string{"exact", "nobody's", "a's", "b's"}},
		"a claim decides by itself":    {host, "a", true, []string{"exact"}},
		"a wildcard is itself":         {over, "a", false, []string{"nobody's", "a's", "b's"}},
		"two labels below is not it":   {"x.shop.example.com", "a", false, nil},
		"a host that nobody serves at": {"new.example.com", "b", false, []string{"nobody's", "a's"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, u := range UsesOf(tt.host, uses, tt.owner, func(name string) bool { return tt.claimed && name == HostName(over) }) {
				got = append(got, u.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A Service squats on a claimed address unless it is one of a holder's, in the holder's namespace.
func TestSquatters(t *testing.T) {
	id, other := lease.ID{Owner: "a", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "p"}, lease.ID{Owner: "b", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "p"}
	claim := &Claim{Kind: Address, Owner: "a", Parts: []Part{{Key: WholeAddress, Lease: id}}}
	use := func(namespace, name string, of lease.ID) Use {
		return Use{Kind: "service", Namespace: namespace, Name: name, Lease: of, HasLease: of != lease.ID{}}
	}
	granted := use("default", "two-ways", lease.ID{})
	granted.Granted = true
	got := []string{}
	for _, u := range claim.Squatters([]Use{
		use(id.Namespace(), "own", id), use("default", "borrowed-label", id), use(other.Namespace(), "other", other), use("default", "two-ways", lease.ID{}), granted,
	}) {
		got = append(got, u.Takes("it"))
	}
	want := []string{"service " + other.Namespace() + "/other asks for it", "service default/borrowed-label asks for it", "service default/two-ways was granted it"}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
