package akash_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What an operator reads is in the spec. One object with a wrong address ends the list, and so the work for all tenants;
// one that comes while it watches is passed over.
func TestFactsOfWrongAddresses(t *testing.T) {
	t.Parallel()
	owner := newTenant(t)
	id, wrong := leaseOf(owner, 1), leaseOf(owner, 2)
	wrong.Provider = wrong.Provider[:len(wrong.Provider)-1] + "q"
	bad, host := newHost("bad"), newHost("good")
	o, akash := start(t, operators.Options{Owner: owner})
	must(t, akash.DeclareHostname(t.Context(), wrong, bad, "web", 80))
	must(t, akash.Deploy(t.Context(), workload(id, []string{host})))
	route := func() *unstructured.Unstructured { return find(t, operators.Ingresses, id.Namespace(), host) }
	eventually(t, "the other host is routed", func() bool { return route() != nil })
	if errs := o.Errors(); len(errs) > 0 {
		t.Errorf("the loop ended with %v", errs)
	}
	o.Restart()
	eventually(t, "the loop ends", func() bool {
		return slices.ContainsFunc(o.Errors(), func(err error) bool { return strings.Contains(err.Error(), "decoding bech32 failed") })
	})

	// Labels and name are not looked at.
	hosts := harness.Objects.Resource(operators.Hosts).Namespace(manifests)
	must(t, hosts.Delete(t.Context(), bad, metav1.DeleteOptions{}))
	unlabelled, named := newHost("unlabelled"), newHost("named")
	_, err := hosts.Create(t.Context(), parse(fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: ProviderHost, metadata: {name: %s, namespace: %s},
		spec: {owner: %s, provider: %s, hostname: %s, dseq: 1, gseq: 1, oseq: 1, service_name: web, external_port: 80}}`, unlabelled, manifests, owner, harness.Provider, named)), metav1.CreateOptions{})
	must(t, err)
	eventually(t, "the host of the spec is routed", func() bool { return find(t, operators.Ingresses, id.Namespace(), named) != nil })
	must(t, hosts.Delete(t.Context(), unlabelled, metav1.DeleteOptions{}))
}

// The HTTP options are those of the Manifest; the operator's own where it has none.
func TestFactsOfHTTPOptions(t *testing.T) {
	t.Parallel()
	const prefix = "nginx.ingress.kubernetes.io/"
	for name, test := range map[string]struct {
		options *operators.HTTPOptions
		want    map[string]string
	}{
		"none in the SDL":   {nil, map[string]string{"proxy-body-size": "1048576", "proxy-read-timeout": "60", "proxy-next-upstream-timeout": "0", "proxy-next-upstream": "error timeout"}},
		"none in the older": {&operators.HTTPOptions{}, map[string]string{"proxy-body-size": "1048576", "proxy-next-upstream-timeout": "60"}},
		"some": {&operators.HTTPOptions{MaxBodySize: 1000, ReadTimeout: 1001, SendTimeout: 500, NextTries: 5, NextTimeout: 1, NextCases: []string{"error", "500"}},
			map[string]string{"proxy-body-size": "1000", "proxy-read-timeout": "2", "proxy-send-timeout": "1", "proxy-next-upstream-tries": "5", "proxy-next-upstream-timeout": "1", "proxy-next-upstream": "error http_500"}},
	} {
		owner, host := newTenant(t), newHost("options")
		d := workload(leaseOf(owner, 1), []string{host})
		d.Services[0].Expose[0].HTTP = test.options
		_, akash := start(t, operators.Options{Owner: owner})
		must(t, akash.Deploy(t.Context(), d))
		eventually(t, "the host is routed", func() bool { return find(t, operators.Ingresses, d.Lease.Namespace(), host) != nil })
		got := find(t, operators.Ingresses, d.Lease.Namespace(), host).GetAnnotations()
		for field, value := range test.want {
			if got[prefix+field] != value {
				t.Errorf("%s: %s is %q, want %q", name, field, got[prefix+field], value)
			}
		}
	}
}

// The provider makes a Service of each workload, with labels of its own, purges what an update drops, and refuses other
// services than before.
func TestFactsOfTheProvider(t *testing.T) {
	t.Parallel()
	owner, stays, goes := newTenant(t), newHost("stays"), newHost("goes")
	id := leaseOf(owner, 1)
	_, akash := start(t, operators.Options{Owner: owner})
	d := workload(id, []string{stays, goes}, "public:TCP:443:web")
	must(t, akash.Deploy(t.Context(), d))
	for name, kind := range map[string]string{"web": "ClusterIP", "web-np": "NodePort"} {
		s := find(t, operators.Services, id.Namespace(), name)
		if s == nil {
			t.Fatalf("there is no Service %s", name)
		}
		if got, _, _ := unstructured.NestedString(s.Object, "spec", "type"); got != kind || s.GetLabels()[lease.LabelOwner] != "" || s.GetLabels()[lease.LabelService] != "web" {
			t.Errorf("service %s is a %s with the labels %v", name, got, s.GetLabels())
		}
	}
	accepts(d, stays)
	must(t, akash.Deploy(t.Context(), d))
	if find(t, operators.Hosts, manifests, goes) != nil || find(t, operators.Hosts, manifests, stays) == nil {
		t.Error("the hosts are not those of the update")
	}
	d.Services = d.Services[:2]
	if err := akash.Deploy(t.Context(), d); !errors.Is(err, operators.ErrRename) {
		t.Errorf("services are removed: %v", err)
	}
}
