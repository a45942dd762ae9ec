package render

import (
	"maps"

	"github.com/akash-net/kubectl-akash-net/kinds"
)

// akashOptions writes the HTTP options as Akash's gateway provider does. NGINX Gateway Fabric ignores them.
func (l *leased) akashOptions(a map[string]string, r route) {
	const prefix = gatewayPrefix
	if size := l.cfg.Gateway.ProxyBufferSize; size != "" {
		a[prefix+"proxy-buffer-size"] = size
	}
	if r.nginx != nil {
		maps.Copy(a, GatewayAnnotations(r.nginx))
		return
	}
	maps.Copy(a, OptionsOf(kinds.HTTPRoute, r.http))
}
