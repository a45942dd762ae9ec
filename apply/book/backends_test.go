package book

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// routed answers with an Ingress of shop.example.com to Service web of namespace n, with that Service, and with its EndpointSlices in
// two pages, the second of which it has forgotten when it is first asked for. It refuses the resources of refused.
func routed(refused ...string) http.Handler {
	const labels = `"labels":{"akash.network/lease.id.owner":"akash1a","kubernetes.io/service-name":"web"}`
	slices := 0
	slice := func(name string, ready bool) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"n",%s},"addressType":"IPv4","ports":[{"name":"http"}],
			"endpoints":[{"addresses":[%q],"conditions":{"ready":%t}}]}`, name, labels, name, ready)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		for _, no := range refused {
			if resource == no {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
				return
			}
		}
		next, items := "", ""
		switch resource {
		case "ingresses":
			items = `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"shop.example.com","namespace":"n",` + labels + `},
				"spec":{"rules":[{"host":"shop.example.com","http":{"paths":[{"path":"/","backend":{"service":{"name":"web","port":{"number":80}}}}]}}]}}`
		case "services":
			items = `{"metadata":{"name":"web","namespace":"n"},"spec":{"ports":[{"name":"http","port":80}]}}`
		case "endpointslices":
			switch slices++; slices {
			case 1:
				next, items = "page-2", slice("gone", true)
			case 2:
				w.WriteHeader(http.StatusGone)
				fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
				return
			case 3:
				next, items = "page-2-again", slice("first", true)
			default:
				items = slice("second", false)
			}
		}
		fmt.Fprintf(w, `{"kind":"List","apiVersion":"v1","metadata":{"continue":%q},"items":[%s]}`, next, items)
	})
}

// All pages count, and none of before a token expired. What may not be listed is unknown, and everything else is shown.
func TestReadEndpoints(t *testing.T) {
	for name, tt := range map[string]struct {
		refused  []string
		subjects []view.Subject
		want     *view.Endpoints
	}{
		"two pages":                 {nil, []view.Subject{view.SubjectHosts, view.SubjectEndpoints}, &view.Endpoints{Ready: 1, Total: 2}},
		"not asked for":             {nil, []view.Subject{view.SubjectHosts}, nil},
		"no right to list slices":   {[]string{"endpointslices"}, []view.Subject{view.SubjectHosts, view.SubjectEndpoints}, nil},
		"no right to list Services": {[]string{"services"}, []view.Subject{view.SubjectHosts, view.SubjectEndpoints}, &view.Endpoints{Ready: 1, Total: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(routed(tt.refused...))
			defer server.Close()
			c, err := cluster.Connect(&rest.Config{Host: server.URL}, 1)
			if err != nil {
				t.Fatal(err)
			}
			book, err := Read(t.Context(), c, config.Default(), tt.subjects...)
			if err != nil {
				t.Fatal(err)
			}
			if len(book.Hosts) != 1 || book.Hosts[0].State != view.StateActive {
				t.Fatalf("the hosts are %+v", book.Hosts)
			}
			if diff := cmp.Diff(tt.want, book.Hosts[0].Endpoints); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
