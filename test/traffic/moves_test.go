//go:build linux

package traffic

import (
	"slices"
	"testing"
)

// While routes move from Ingress to the Gateway API and back, no request fails: the two routers of
// Traefik serve the same host, at the same address.
func TestMigrate(t *testing.T) {
	for _, from := range routers[:2] {
		t.Run(from.name, func(t *testing.T) {
			id, host := newLease(t), newHost("moving")
			from.serve(t, id, host, "web")
			for _, to := range []string{"httproute", "ingress"} {
				histories := hammer(t, "http://"+host+"/", func() {
					from.akashNet(t, "migrate", "--assume-serving", "--to", to, id.Group().String())
				})
				saw(t, histories, "web")
			}
		})
	}
}

// After a transfer the other deployment answers. With HTTPRoutes every request is answered by the
// one or the other; with Ingresses, of which no controller says that it serves them, none may have the host for a moment.
func TestTransfer(t *testing.T) {
	alone(t, func(t *testing.T, r router) {
		blue, host, own := newLease(t), newHost("shop"), newHost("own")
		green := blue
		green.DSeq++
		r.serve(t, blue, host, "blue")
		r.apply(t, green, web(host, own))
		deploy(t, green, "web", "green")
		answers(t, "http://"+own+"/", "green")

		histories := hammer(t, "http://"+host+"/", func() {
			r.akashNet(t, "transfer", host, "--to", green.String())
			answers(t, "http://"+host+"/", "green")
		})
		if r.name != "httproute" {
			for i, h := range histories {
				histories[i] = slices.DeleteFunc(h, func(s spell) bool { return s.answer == "404" })
			}
		}
		saw(t, histories, "blue", "green")
	})
}
