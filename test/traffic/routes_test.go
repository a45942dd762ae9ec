//go:build linux

package traffic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// saw fails the test unless each client got to see these answers, in this order, and no others.
func saw(t *testing.T, histories []history, want ...string) {
	t.Helper()
	for i, h := range histories {
		if diff := cmp.Diff(want, h.answers()); diff != "" {
			t.Errorf("answers to client %d (-want +got):\n%s%s", i+1, diff, h)
		}
	}
}

// Each host is answered by the workload of the lease that holds it, and what nobody holds by nobody.
func TestHosts(t *testing.T) {
	each(t, routers, func(t *testing.T, r router) {
		first, second := newLease(t), newLease(t)
		shop, blog, other := newHost("shop"), newHost("blog"), newHost("other")
		r.apply(t, first, web(shop, other))
		deploy(t, first, "web", "shop")
		r.serve(t, second, blog, "blog")
		answers(t, "http://"+shop+"/cart?item=1", "shop")
		answers(t, "http://"+other+"/", "shop")
		answers(t, "http://"+blog+"/", "blog")
		answers(t, "http://"+newHost("unknown")+"/", "404")
	})
}

// While another tenant tries to take a host, every request reaches the holder.
func TestTheftIsNotSeen(t *testing.T) {
	each(t, routers, func(t *testing.T, r router) {
		holder, thief := newLease(t), newLease(t)
		host, own := newHost("shop"), newHost("own")
		r.serve(t, holder, host, "holder")
		r.serve(t, thief, own, "thief")
		saw(t, hammer(t, "http://"+host+"/", func() {
			definition := define(t, thief, web(own, host))
			if err := akashNet(t.Context(), "apply", "--config", r.config(), "-f", definition); err == nil || !strings.Contains(err.Error(), "exit status 4") {
				t.Errorf("apply ended with %v, not with exit code 4", err)
			}
			answers(t, "http://"+own+"/", "thief")
		}), "holder")
	})
}

// A host that goes to another workload of its lease is answered all the time.
func TestChange(t *testing.T) {
	alone(t, func(t *testing.T, r router) {
		id, host, own := newLease(t), newHost("shop"), newHost("own")
		r.apply(t, id, web(host), api(own))
		deploy(t, id, "web", "web")
		deploy(t, id, "api", "api")
		answers(t, "http://"+host+"/", "web")
		answers(t, "http://"+own+"/", "api")
		saw(t, hammer(t, "http://"+host+"/", func() {
			r.apply(t, id, api(host, own))
			answers(t, "http://"+host+"/", "api")
		}), "web", "api")
	})
}

// A released host is answered by nobody, and then by whoever takes it next.
func TestRelease(t *testing.T) {
	each(t, routers, func(t *testing.T, r router) {
		first, second := newLease(t), newLease(t)
		host, own := newHost("shop"), newHost("own")
		r.serve(t, first, host, "first")
		r.serve(t, second, own, "second")
		saw(t, hammer(t, "http://"+host+"/", func() {
			r.akashNet(t, "release", first.String())
			answers(t, "http://"+host+"/", "404")
			r.apply(t, second, web(host, own))
			answers(t, "http://"+host+"/", "second")
		}), "first", "404", "second")
	})
}
