package status_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/akash-net/kubectl-akash-net/state/status"
)

// The tests of the status in Akash's client (provider: cluster/kube/client_test.go), by their numbers in the issues. CL-1 is
// about the configuration (lease/config).
func TestUpstreamStatus(t *testing.T) {
	web := manifestOf(t, expose("myingress", plain80)+","+expose("noingress", inside))
	runs := []appsv1.Deployment{deployment("myingress", 1, 1, 1), deployment("noingress", 1, 1, 1)}
	t.Run("CL-2", func(t *testing.T) {
		o := status.Objects{Manifest: web}
		if _, err := o.Of(""); !errors.Is(err, status.ErrNoWorkloads) {
			t.Errorf("a lease without Deployments: %v", err)
		}
	})
	t.Run("CL-3", func(t *testing.T) {
		o := status.Objects{Manifest: web, Deployments: runs, Hosts: []status.Host{host("mytesthost.dev", "myingress")}}
		got, err := o.Of("")
		if err != nil || !cmp.Equal(got.Services["myingress"].URIs, []string{"mytesthost.dev"}) || len(got.Services["noingress"].URIs) != 0 {
			t.Errorf("%s, %v", text(t, got), err)
		}
	})
	t.Run("CL-4", func(t *testing.T) {
		o := status.Objects{
			Manifest: manifestOf(t, expose("myservice", `"global":true,"external_port":2000`)), Deployments: []appsv1.Deployment{deployment("myservice", 1, 1, 1)},
			Services: []corev1.Service{nodePorts("myservice", port(2000, 1000, 31234, "TCP"))},
		}
		got, err := o.Of("")
		if err != nil || len(got.Services["myservice"].URIs) != 0 {
			t.Fatalf("%s, %v", text(t, got), err)
		}
		if p := got.ForwardedPorts["myservice"]; len(p) != 1 || p[0].ExternalPort != 31234 || p[0].Port != 1000 {
			t.Errorf("forwarded ports: %+v", got.ForwardedPorts)
		}
	})
	t.Run("CL-5", func(t *testing.T) {
		var none status.Objects
		if _, err := none.Service("aservice"); !errors.Is(err, status.ErrNothing) {
			t.Errorf("of a lease that is not there: %v", err)
		}
	})
	t.Run("CL-6", func(t *testing.T) {
		o := status.Objects{Manifest: web, Deployments: runs}
		if _, err := o.Service("aservice"); err == nil || !strings.Contains(err.Error(), `no service "aservice": it has myingress, noingress`) {
			t.Errorf("of a service that is not there: %v", err)
		}
	})
	t.Run("CL-7", func(t *testing.T) {
		o := status.Objects{Manifest: web, Deployments: runs, Hosts: []status.Host{host("abcd.com", "myingress")}}
		if got, err := o.Service("myingress"); err != nil || !cmp.Equal(got.URIs, []string{"abcd.com"}) {
			t.Errorf("%s, %v", text(t, got), err)
		}
	})
	t.Run("CL-8", func(t *testing.T) {
		o := status.Objects{Manifest: web, Deployments: runs}
		if got, err := o.Service("myingress"); err != nil || got.URIs == nil || len(got.URIs) != 0 {
			t.Errorf("%s, %v", text(t, got), err)
		}
	})
}
