package book

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// lists are what a server answers to LISTs of resources, by the number of the request, and whether it goes on with a list.
type lists map[string]func(n int, goesOn bool) (code int, next, items string)

// connect connects to a server with these lists; others are empty.
func connect(t *testing.T, all lists) *cluster.Cluster {
	t.Helper()
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resource, code, next, items := path.Base(r.URL.Path), http.StatusOK, "", ""
		if answer := all[resource]; answer != nil {
			asked[resource]++
			code, next, items = answer(asked[resource], r.URL.Query().Has("continue"))
		}
		w.Header().Set("Content-Type", "application/json")
		if w.WriteHeader(code); code != http.StatusOK {
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, map[int]string{403: "Forbidden", 410: "Expired"}[code], code)
			return
		}
		fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"continue":%q},"items":[%s]}`, next, items)
	}))
	t.Cleanup(server.Close)
	c, err := cluster.Connect(&rest.Config{Host: server.URL}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func has(items string) func(int, bool) (int, string, string) {
	return func(int, bool) (int, string, string) { return http.StatusOK, "", items }
}

func refused(int, bool) (int, string, string) { return http.StatusForbidden, "", "" }

// forgets is a list of two pages, of which the server has forgotten the first when it is asked for the second; then it has others.
func forgets(old, first, second string) func(int, bool) (int, string, string) {
	return func(n int, goesOn bool) (int, string, string) {
		switch {
		case n == 1:
			return http.StatusOK, "page-2", old
		case n == 2:
			return http.StatusGone, "", ""
		case !goesOn:
			return http.StatusOK, "page-2-again", first
		}
		return http.StatusOK, "", second
	}
}

// A continue token that has expired means that what was read is of a moment that is over: nothing of it is kept, and reading
// begins again.
func TestListBeginsAgainWhenItsTokenExpires(t *testing.T) {
	claim := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"akash-net","labels":{%q:"host"},"annotations":{%q:"v1"}}}`, name, state.LabelKind, state.AnnotationLedger)
	}
	of := lists{cluster.Leases.Resource: forgets(claim("old"), claim("first"), claim("new"))}
	metas, err := connect(t, of).Metas(t.Context(), cluster.Leases, "akash-net")
	if err != nil || len(metas) != 2 || metas[0].Name != "first" || metas[1].Name != "new" {
		t.Errorf("metadata: %v, %v", metas, err)
	}
	book, err := Read(t.Context(), connect(t, of), config.Default(), view.SubjectHosts)
	if err != nil || len(book.Hosts) != 2 || book.Hosts[0].Host != "first" || book.Hosts[1].Host != "new" {
		t.Errorf("the book: %+v, %v", book, err)
	}
}

// A page is read while the next one is on its way, and pages are read in their order.
func TestPagesAreReadMeanwhile(t *testing.T) {
	ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
	defer end()
	next, pages := make(chan struct{}), []string{}
	c := connect(t, lists{cluster.Leases.Resource: func(n int, _ bool) (int, string, string) {
		if n == 2 {
			close(next)
		}
		return http.StatusOK, []string{"", "2", "3", ""}[n], fmt.Sprintf(`{"metadata":{"name":"page-%d"}}`, n)
	}})
	err := cluster.EachMeta(ctx, c, cluster.Leases, "akash-net", metav1.ListOptions{}, func(m *metav1.ObjectMeta) {
		select {
		case <-next:
		case <-ctx.Done():
			t.Error("the second page is not asked for before the first one is read")
		}
		pages = append(pages, m.Name)
	}, func() {})
	if err != nil || fmt.Sprint(pages) != "[page-1 page-2 page-3]" {
		t.Errorf("%v, %v", pages, err)
	}
}

// All pages of EndpointSlices count. What may not be listed is unknown, and everything else is shown.
func TestReadEndpoints(t *testing.T) {
	const labels = `"labels":{"akash.network/lease.id.owner":"akash1a","kubernetes.io/service-name":"web"}`
	slice := func(name string, ready bool) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"n",%s},"addressType":"IPv4","ports":[{"name":"http"}],
			"endpoints":[{"addresses":[%q],"conditions":{"ready":%t}}]}`, name, labels, name, ready)
	}
	both := []view.Subject{view.SubjectHosts, view.SubjectEndpoints}
	for name, tt := range map[string]struct {
		refused  []string
		subjects []view.Subject
		want     *view.Endpoints
	}{
		"two pages":                 {nil, both, &view.Endpoints{Ready: 1, Total: 2}},
		"not asked for":             {nil, both[:1], nil},
		"no right to list slices":   {[]string{"endpointslices"}, both, nil},
		"no right to list Services": {[]string{"services"}, both, &view.Endpoints{Ready: 1, Total: 2}},
	} {
		all := lists{
			"ingresses": has(`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"shop.example.com","namespace":"n",` + labels + `},
				"spec":{"rules":[{"host":"shop.example.com","http":{"paths":[{"path":"/","backend":{"service":{"name":"web","port":{"number":80}}}}]}}]}}`),
			"services":       has(`{"metadata":{"name":"web","namespace":"n"},"spec":{"ports":[{"name":"http","port":80}]}}`),
			"endpointslices": forgets(slice("gone", true), slice("first", true), slice("second", false)),
		}
		for _, no := range tt.refused {
			all[no] = refused
		}
		book, err := Read(t.Context(), connect(t, all), config.Default(), tt.subjects...)
		if err != nil || len(book.Hosts) != 1 || book.Hosts[0].State != view.StateActive {
			t.Fatalf("%s: %+v, %v", name, book, err)
		}
		if diff := cmp.Diff(tt.want, book.Hosts[0].Endpoints); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
