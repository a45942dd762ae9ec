package cluster

import (
	"errors"
	"net/url"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/kinds"
)

// Each way in which a cluster refuses gets a sentence and a next step.
func TestRefusalsAreExplained(t *testing.T) {
	resource := kinds.Ingress.Resource()
	missing := func(group, plural string) error {
		return apierrors.NewGenericServerResponse(404, "list", schema.GroupResource{Group: group, Resource: plural}, "", "404 page not found", 0, true)
	}
	tests := []struct {
		name     string
		err      error
		resource schema.GroupVersionResource
		want     []string
	}{
		{"not allowed", apierrors.NewForbidden(resource.GroupResource(), "shop", errors.New("no")), resource,
			[]string{"not allowed to patch ingresses.networking.k8s.io", "kubectl create clusterrolebinding", "akash-net-operator"}},
		{"not known", apierrors.NewUnauthorized("who?"), resource, []string{"https://cluster", "does not know these credentials", "--kubeconfig"}},
		{"not there", &url.Error{Op: "Get", URL: "https://cluster", Err: syscall.ECONNREFUSED}, resource,
			[]string{"no answer from the cluster at https://cluster", "connection refused", "--kubeconfig", "--context"}},
		{"Akash's definitions", missing("akash.network", "providerhosts"), kinds.ProviderHost.Resource(),
			[]string{"does not serve providerhosts.akash.network", "kubectl akash-net install"}},
		{"MetalLB's definitions", missing("metallb.io", "ipaddresspools"), kinds.IPAddressPool.Resource(),
			[]string{"does not serve ipaddresspools.metallb.io", "MetalLB has to be installed"}},
		{"the Gateway API's definitions", missing("gateway.networking.k8s.io", "httproutes"), kinds.HTTPRoute.Resource(),
			[]string{"does not serve httproutes.gateway.networking.k8s.io", "--target ingress"}},
		{"anything else", apierrors.NewTooManyRequests("wait", 1), resource, []string{"patch ingresses.networking.k8s.io: "}},
	}
	c := &Cluster{host: "https://cluster"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := c.Explain(tt.err, "patch", tt.resource).Error()
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in: %s", want, got)
				}
			}
		})
	}
	if err := c.Explain(nil, "patch", resource); err != nil {
		t.Errorf("no error is explained as %v", err)
	}
	notFound := apierrors.NewNotFound(resource.GroupResource(), "shop")
	if _, ok := errors.AsType[*MissingKindError](c.Explain(notFound, "get", resource)); ok {
		t.Error("an object that is missing is taken for a kind that is missing")
	}
}
