package workload_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/workgen"
)

// The tests of Akash's builders (provider: cluster/kube/builder), by their numbers in the issues: the namespace of a lease,
// and which of a service's exposes become ports of which Service.
func TestUpstreamBuilders(t *testing.T) {
	global, local := lease.Expose{Port: 1000, As: 1001, Protocol: lease.TCP, Global: true}, lease.Expose{Port: 2000, As: 2001, Protocol: lease.TCP}
	for number, tt := range map[string]struct {
		exposes []lease.Expose
		service string
		want    string
	}{
		"BU-2": {nil, "myservice-np", "none"},
		"BU-3": {nil, "myservice", "none"},
		"BU-4": {[]lease.Expose{local}, "myservice-np", "none"},
		"BU-5": {[]lease.Expose{global, local}, "myservice-np", "NodePort 0-1001 1001→1000"},
		"BU-6": {[]lease.Expose{global}, "myservice", "none"},
		"BU-7": {[]lease.Expose{global, local}, "myservice", "ClusterIP 1-2001 2001→2000"},
	} {
		t.Run(number, func(t *testing.T) {
			s := one()
			s.def.Services[0].Name, s.def.Workloads.Services[0].Name = "myservice", "myservice"
			s.expose(tt.exposes...)
			if got := sayService(s.objects(t), tt.service); got != tt.want {
				t.Errorf("service %s is %s, want %s", tt.service, got, tt.want)
			}
		})
	}
	t.Run("BU-1", func(t *testing.T) {
		ns, again, other := workgen.Lease.Namespace(), workgen.Lease.Namespace(), workgen.Lease
		other.DSeq++
		if len(ns) != 45 || ns != again || ns == other.Namespace() || ns != strings.ToLower(ns) {
			t.Errorf("namespaces %q, %q, of another lease %q", ns, again, other.Namespace())
		}
	})
}

func sayService(objects map[string]*unstructured.Unstructured, name string) string {
	for _, o := range objects {
		if o.GetKind() != "Service" || o.GetName() != name {
			continue
		}
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "type")
		if kind == "" {
			kind = "ClusterIP"
		}
		ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
		for _, p := range ports {
			p := p.(map[string]any)
			kind += fmt.Sprintf(" %v %v→%v", p["name"], p["port"], p["targetPort"])
		}
		return kind
	}
	return "none"
}
