//go:build linux

package traffic

import (
	"slices"
	"testing"
)

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
