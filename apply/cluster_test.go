package apply

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A continue token that has expired means that what was read is of a moment that is over: nothing
// of it is kept, and reading begins again.
func TestListBeginsAgainWhenItsTokenExpires(t *testing.T) {
	for name, read := range map[string]func(*Cluster) ([]string, error){
		"metadata": func(c *Cluster) (names []string, err error) {
			metas, err := c.metas(t.Context(), leases, "akash-net")
			for _, m := range metas {
				names = append(names, m.Name)
			}
			return names, err
		},
		"the book": func(c *Cluster) (names []string, err error) {
			book, err := c.Book(t.Context(), config.Default(), state.SubjectHosts)
			if err == nil {
				for _, h := range book.Hosts {
					names = append(names, h.Host)
				}
			}
			return names, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(forgetful())
			defer server.Close()
			cluster, err := Connect(&rest.Config{Host: server.URL}, 1)
			if err != nil {
				t.Fatal(err)
			}
			names, err := read(cluster)
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{"first", "new"}; !slices.Equal(names, want) {
				t.Errorf("the list is %q, want %q", names, want)
			}
		})
	}
}

// forgetful is a server with claims in two pages, which has forgotten the first when it is asked for
// the second, and nothing else.
func forgetful() http.Handler {
	pages := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		item := func(name string) string {
			return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"akash-net","labels":{%q:"host"},"annotations":{%q:"v1"}}}`, name, state.LabelKind, state.AnnotationLedger)
		}
		w.Header().Set("Content-Type", "application/json")
		next, items := "", ""
		if strings.HasSuffix(r.URL.Path, "/"+leases.Resource) {
			items = item("new")
			switch pages++; {
			case pages == 1:
				next, items = "page-2", item("old")
			case pages == 2:
				w.WriteHeader(http.StatusGone)
				fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
				return
			case r.URL.Query().Get("continue") == "":
				next, items = "page-2-again", item("first")
			}
		}
		fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"continue":%q},"items":[%s]}`, next, items)
	})
}

// Each way in which a cluster refuses gets a sentence and a next step.
func TestRefusalsAreExplained(t *testing.T) {
	resource := render.Ingress.Resource()
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
		{"Akash's definitions", missing("akash.network", "providerhosts"), render.ProviderHost.Resource(),
			[]string{"does not serve providerhosts.akash.network", "kubectl akash-net install"}},
		{"MetalLB's definitions", missing("metallb.io", "ipaddresspools"), render.IPAddressPool.Resource(),
			[]string{"does not serve ipaddresspools.metallb.io", "MetalLB has to be installed"}},
		{"the Gateway API's definitions", missing("gateway.networking.k8s.io", "httproutes"), render.HTTPRoute.Resource(),
			[]string{"does not serve httproutes.gateway.networking.k8s.io", "--target ingress"}},
		{"anything else", apierrors.NewTooManyRequests("wait", 1), resource, []string{"patch ingresses.networking.k8s.io: "}},
	}
	cluster := &Cluster{host: "https://cluster"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := cluster.explain(tt.err, "patch", tt.resource).Error()
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in: %s", want, got)
				}
			}
		})
	}
	if err := cluster.explain(nil, "patch", resource); err != nil {
		t.Errorf("no error is explained as %v", err)
	}
	notFound := apierrors.NewNotFound(resource.GroupResource(), "shop")
	if lacking := (*MissingKindError)(nil); errors.As(cluster.explain(notFound, "get", resource), &lacking) {
		t.Error("an object that is missing is taken for a kind that is missing")
	}
}
