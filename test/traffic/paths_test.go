//go:build linux

package traffic

import "testing"

// A further path of a host leads to its own workload: the path itself and what is below it, by
// whole elements. Paths come and go and the rest of the host does not notice.
func TestPaths(t *testing.T) {
	each(t, routers, func(t *testing.T, r router) {
		id, host, own := newLease(t), newHost("shop"), newHost("own")
		url := "http://" + host
		r.apply(t, id, web(host), api(own))
		deploy(t, id, "web", "web")
		deploy(t, id, "api", "api")
		answers(t, url+"/v2/items", "web")
		answers(t, "http://"+own+"/", "api")

		saw(t, hammer(t, url+"/", func() {
			r.apply(t, id, web(host), service("api", []string{host}, "path: /v2"))
			for path, backend := range map[string]string{
				"/v2": "api", "/v2/": "api", "/v2/items?page=2": "api",
				"/": "web", "/v": "web", "/v22": "web", "/v1/v2": "web",
			} {
				answers(t, url+path, backend)
			}
			r.apply(t, id, web(host), api(own))
			answers(t, url+"/v2", "web")
		}), "web")
	})
}

// Two deployments of a tenant have each its paths of one host. When the one is released, its paths
// go and the others stay.
func TestPathsOfTwoDeployments(t *testing.T) {
	each(t, routers, func(t *testing.T, r router) {
		first, host := newLease(t), newHost("shop")
		second := first
		second.DSeq++
		r.serve(t, first, host, "first")
		r.apply(t, second, service("api", []string{host}, "path: /v2"))
		deploy(t, second, "api", "second")
		answers(t, "http://"+host+"/v2", "second")
		saw(t, hammer(t, "http://"+host+"/", func() {
			r.akashNet(t, "release", second.String())
			answers(t, "http://"+host+"/v2", "first")
		}), "first")
	})
}
