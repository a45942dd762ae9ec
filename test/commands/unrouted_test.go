package commands

import (
	"fmt"
	"strings"
	"testing"
)

// The usual mistake in an SDL, "as: 8000" where "as: 80" is meant: the host is claimed, and each command
// says that nothing routes it, and what would.
func TestHostAtAnotherPort(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(), 1), "shop."+newDomain()
	sdl := file(t, fmt.Sprintf(`version: "2.0"
services:
  web:
    image: nginx
    expose:
    - port: 8000
      as: 8000
      accept:
      - %s
      to:
      - global: true
profiles:
  compute: {web: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}
  placement: {here: {pricing: {web: {denom: uakt, amount: 1}}}}
deployment: {web: {here: {profile: web, count: 1}}}
`, host))
	warning := sdl + ":9:9: services.web.expose[0].accept[0]: host \"" + host + "\" is claimed, but not routed over HTTP: service web exposes port 8000 as 8000, and only 80 is routed; write \"as: 80\""
	for _, args := range [][]string{{"convert"}, {"render", "--allow-empty"}, {"check"}, {"apply"}} {
		r := mustRun(t, 0, append(args, "-f", sdl, "--lease", id.String())...).Says(t, "Warning: "+warning)
		if args[0] == "apply" {
			r.Prints(t, "0 hosts, 1 not routed over HTTP")
		}
	}
	r := mustRun(t, 0, "explain", host).Prints(t, "only port 80 is routed", "write \"as: 80\" for it in the lease's definition")
	if strings.Contains(r.Stdout, "routes are made with") {
		t.Errorf("explain advises to apply the same again: %s", r)
	}
	mustRun(t, 0, "release", id.Group().String())
}
