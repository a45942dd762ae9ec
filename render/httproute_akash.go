package render

import (
	"maps"
	"strconv"
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
	o := r.http
	a[prefix+"client-max-body-size"] = strconv.FormatUint(uint64(o.MaxBodySize), 10)
	a[prefix+"proxy-read-timeout"] = seconds(o.ReadTimeout)
	a[prefix+"proxy-send-timeout"] = seconds(o.SendTimeout)
	a[prefix+"proxy-next-upstream-tries"] = strconv.FormatUint(uint64(o.NextTries), 10)
	a[prefix+"proxy-next-upstream"] = nextCases(o.NextCases)
	if o.NextTimeout > 0 {
		a[prefix+"proxy-next-upstream-timeout"] = seconds(o.NextTimeout) + "s"
	}
}
