package kinds_test

import (
	"slices"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// all are the kinds of the package.
func all() []kinds.Kind {
	lists := [][]kinds.Kind{kinds.OfLease, kinds.Others, kinds.Records, kinds.Pools, kinds.RunningEnds, {kinds.Namespace, kinds.Gateway, kinds.Pod, kinds.Event}}
	var out []kinds.Kind
	for _, k := range slices.Concat(lists...) {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// The plural is that which Kubernetes derives from the kind, and the version is one of the client library.
func TestKindsAreKubernetes(t *testing.T) {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, gwv1.Install, routev1.Install} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	ours := []string{"akash.network", "metallb.io", "extensions.gardener.cloud", "externaldns.k8s.io", "gateway.nginx.org"}
	seen := map[string]kinds.Kind{}
	for _, k := range all() {
		if plural, _ := meta.UnsafeGuessKindToResource(k.GroupVersionKind); k.Resource() != plural && k != kinds.Gateway { // of "y" it makes "ies"
			t.Errorf("%s: the resource %s, want %s", k.Kind, k.Resource(), plural)
		}
		if k.Singular != strings.ToLower(k.Kind) {
			t.Errorf("%s is called %s", k.Kind, k.Singular)
		}
		if other, twice := seen[k.Singular]; twice {
			t.Errorf("%v and %v have one name", k.GroupVersionKind, other.GroupVersionKind)
		}
		seen[k.Singular] = k
		if !slices.Contains(ours, k.Group) && !known.Recognizes(k.GroupVersionKind) { //nolint:misspell // the library's name
			t.Errorf("%v is not known", k.GroupVersionKind)
		}
		if k.ClusterScoped != (k == kinds.Namespace) {
			t.Errorf("%s: cluster-scoped %t", k.Kind, k.ClusterScoped)
		}
	}
}

// Akash's kinds are those of the definitions that install applies.
func TestKindsAreAkashs(t *testing.T) {
	crds, err := manifests.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	defined := 0
	for _, crd := range crds {
		text := func(fields ...string) string {
			s, _, err := unstructured.NestedString(crd.Object, fields...)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		i := slices.IndexFunc(all(), func(k kinds.Kind) bool { return k.Kind == text("spec", "names", "kind") })
		if i < 0 {
			t.Errorf("%s is no kind", crd.GetName())
			continue
		}
		k := all()[i]
		defined++
		if k.Group != text("spec", "group") || k.Plural != text("spec", "names", "plural") || k.Singular != text("spec", "names", "singular") || k.ClusterScoped != (text("spec", "scope") == "Cluster") {
			t.Errorf("%+v differs from its definition", k)
		}
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(versions, func(v any) bool {
			version, _ := v.(map[string]any)
			return version["name"] == k.Version && version["served"] == true && version["storage"] == true
		}) {
			t.Errorf("%s is not served and stored as %s", k.Kind, k.Version)
		}
	}
	if defined != 3 {
		t.Errorf("%d of Akash's kinds are defined", defined)
	}
}

// Kinds that are written first are deleted last, and both orders have the same kinds.
func TestOrders(t *testing.T) {
	for name, c := range map[string]struct {
		written [][]kinds.Kind
		deleted []kinds.Kind
	}{
		"of a lease":         {kinds.Stages, kinds.OfLease},
		"of what is running": {kinds.Running, kinds.RunningEnds},
	} {
		var written []kinds.Kind
		stage := map[kinds.Kind]int{}
		for i, s := range c.written {
			for _, k := range s {
				written = append(written, k)
				stage[k] = i
			}
		}
		if len(written) != len(c.deleted) || len(stage) != len(written) {
			t.Errorf("%s: %d kinds are written, %d deleted", name, len(written), len(c.deleted))
		}
		for i, k := range c.deleted {
			if _, ok := stage[k]; !ok {
				t.Errorf("%s: %s is deleted and never written", name, k.Kind)
			}
			if i > 0 && stage[k] > stage[c.deleted[i-1]] {
				t.Errorf("%s: %s is deleted after %s, and written after it", name, k.Kind, c.deleted[i-1].Kind)
			}
		}
	}
	// Claims are deleted last; a route is deleted after the objects that refer to it and before those that it refers to.
	for _, c := range [][2]kinds.Kind{
		{kinds.Ingress, kinds.ProviderHost}, {kinds.Service, kinds.ProviderLeasedIP}, {kinds.HTTPRoute, kinds.SnippetsFilter},
		{kinds.HTTPRoute, kinds.BackendTLSPolicy}, {kinds.ClientSettingsPolicy, kinds.HTTPRoute}, {kinds.ProxySettingsPolicy, kinds.HTTPRoute},
	} {
		if slices.Index(kinds.OfLease, c[0]) > slices.Index(kinds.OfLease, c[1]) {
			t.Errorf("%s is deleted after %s", c[0].Kind, c[1].Kind)
		}
	}
	for _, c := range [][2]kinds.Kind{{kinds.RoleBinding, kinds.Role}, {kinds.Deployment, kinds.Secret}, {kinds.StatefulSet, kinds.ServiceAccount}, {kinds.Service, kinds.Deployment}, {kinds.Secret, kinds.Manifest}} {
		if slices.Index(kinds.RunningEnds, c[0]) > slices.Index(kinds.RunningEnds, c[1]) {
			t.Errorf("%s is deleted after %s", c[0].Kind, c[1].Kind)
		}
	}
}

func TestOf(t *testing.T) {
	for _, k := range slices.Concat(kinds.OfLease, kinds.Others, kinds.Records, kinds.Pools) {
		for _, name := range []string{k.Kind, k.Singular, strings.ToUpper(k.Kind)} {
			if got := kinds.Of(name); got != k {
				t.Errorf("%s is %v", name, got)
			}
		}
		if got := kinds.Of(k.Plural); got != (kinds.Kind{}) {
			t.Errorf("%s is %v", k.Plural, got)
		}
	}
	for _, name := range []string{"", "Pod", "Event", "Namespace", "Gateway", "Deployment", "Manifest", "Ingress ", "Ingreß", "Serviсe"} {
		if got := kinds.Of(name); got != (kinds.Kind{}) {
			t.Errorf("%q is %v", name, got)
		}
	}
}

func TestKindsOfAConfiguration(t *testing.T) {
	for target, want := range map[string][]kinds.Kind{
		config.TargetIngress: {kinds.Ingress}, config.TargetHTTPRoute: {kinds.HTTPRoute, kinds.TLSRoute}, config.TargetRoute: {kinds.Route},
	} {
		got := kinds.OfTarget(target)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v", target, got)
		}
		for _, k := range got {
			if !slices.Contains(kinds.RouteKinds, k) {
				t.Errorf("%s: %s is no kind of route", target, k.Kind)
			}
		}
	}
	for form, want := range map[string]struct{ read, written []kinds.Kind }{
		config.DNSNone: {}, config.DNSAnnotations: {kinds.Records, nil}, config.DNSGardener: {kinds.Records, []kinds.Kind{kinds.DNSRecord}},
		config.DNSEndpoint: {kinds.Records, []kinds.Kind{kinds.DNSEndpoint}},
	} {
		cfg := config.Default()
		cfg.DNS.Form = form
		if !slices.Equal(kinds.RecordsOf(cfg), want.read) || !slices.Equal(kinds.WrittenRecords(cfg), want.written) {
			t.Errorf("%s: %v are read, %v written", form, kinds.RecordsOf(cfg), kinds.WrittenRecords(cfg))
		}
	}
	needed := []kinds.Kind{kinds.ProviderHost, kinds.ProviderLeasedIP, kinds.Ingress, kinds.Service}
	for _, k := range all() {
		if kinds.Optional(k) == slices.Contains(needed, k) {
			t.Errorf("%s is optional: %t", k.Kind, kinds.Optional(k))
		}
	}
	for _, k := range kinds.Reporting {
		if !slices.Contains(kinds.RouteKinds, k) {
			t.Errorf("%s reports and is no kind of route", k.Kind)
		}
	}
}
