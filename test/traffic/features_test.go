//go:build linux

package traffic

import (
	"net/http"
	"net/http/cookiejar"
	"testing"
)

// A wildcard leads all names of one label below the domain to the lease. On a Gateway a name that
// has a route of its own goes there; among Ingresses Traefik prefers the longer rule, which is the
// wildcard's, where Kubernetes wants the exact one.
func TestWildcard(t *testing.T) {
	each(t, routers, func(t *testing.T, r router) {
		id, parent := newLease(t), newHost("shop")
		r.apply(t, id, web("*."+parent), api("api."+parent))
		deploy(t, id, "web", "web")
		deploy(t, id, "api", "api")
		answers(t, "http://one."+parent+"/", "web")
		answers(t, "http://two."+parent+"/", "web")
		if r.name == "httproute" {
			answers(t, "http://api."+parent+"/", "api")
		}
		answers(t, "http://"+parent+"/", "404")
	})
}

// Requests go to the services by their weights.
func TestWeights(t *testing.T) {
	each(t, routers[2:], func(t *testing.T, r router) { // with Ingresses it is refused
		id, host, own := newLease(t), newHost("shop"), newHost("own")
		weights := func(web, other string) string {
			return service("web", []string{host}, "weight: "+web, "alternateBackends: [{service: api, port: 80, weight: "+other+"}]")
		}
		r.apply(t, id, weights("1", "0"), api(own))
		deploy(t, id, "web", "web")
		deploy(t, id, "api", "api")
		answers(t, "http://"+own+"/", "api")
		answers(t, "http://"+host+"/", "web")
		saw(t, hammer(t, "http://"+host+"/", func() {
			r.apply(t, id, weights("0", "1"), api(own))
			answers(t, "http://"+host+"/", "api")
		}), "web", "api")
	})
}

// Headers are set on the way in and on the way out.
func TestHeaders(t *testing.T) {
	each(t, routers[2:], func(t *testing.T, r router) { // with Ingresses it is refused
		id, host := newLease(t), newHost("shop")
		r.apply(t, id, service("web", []string{host}, `headers: {
			request: [{name: X-Echo-Request, action: Set, value: "1"}],
			response: [{name: X-Response, action: Set, value: "2"}]}`))
		deploy(t, id, "web", "web")
		answers(t, "http://"+host+"/", "web")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := edge.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		for header, want := range map[string]string{"X-Echo-Request": "1", "X-Response": "2"} {
			if got := response.Header.Get(header); got != want {
				t.Errorf("%s is %q, not %q", header, got, want)
			}
		}
	})
}

// A client that keeps its cookies stays with the backend that it had first.
func TestSticky(t *testing.T) {
	each(t, routers[1:2], func(t *testing.T, r router) { // on a Gateway it is refused
		id, host := newLease(t), newHost("shop")
		r.apply(t, id, service("web", []string{host}, "sticky: {cookie: at}"))
		deployAt(t, id, "web", listen(t, "one"), listen(t, "two"))
		url := "http://" + host + "/"
		answers(t, url, "one") // each of them in turn
		answers(t, url, "two")
		for range 4 {
			jar, err := cookiejar.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			keeping := *edge.client
			keeping.Jar = jar
			first := front{client: &keeping}.ask(t.Context(), url)
			for range 10 {
				if again := (front{client: &keeping}).ask(t.Context(), url); again != first {
					t.Fatalf("%s answers after %s", again, first)
				}
			}
		}
	})
}
