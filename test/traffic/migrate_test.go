//go:build linux

package traffic

import "testing"

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
