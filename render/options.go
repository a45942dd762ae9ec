package render

import (
	"strconv"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// OptionsOf returns the annotations in which Akash's programs write the HTTP options of an Ingress or an HTTPRoute.
func OptionsOf(kind kinds.Kind, o lease.HTTPOptions) map[string]string {
	prefix, size := nginxPrefix, "proxy-body-size"
	if kind == kinds.HTTPRoute {
		prefix, size = gatewayPrefix, "client-max-body-size"
	}
	a := map[string]string{
		prefix + size:                        strconv.FormatUint(uint64(o.MaxBodySize), 10),
		prefix + "proxy-read-timeout":        seconds(o.ReadTimeout),
		prefix + "proxy-send-timeout":        seconds(o.SendTimeout),
		prefix + "proxy-next-upstream-tries": strconv.FormatUint(uint64(o.NextTries), 10),
		prefix + "proxy-next-upstream":       nextCases(o.NextCases),
	}
	switch {
	case kind != kinds.HTTPRoute:
		a[prefix+"proxy-next-upstream-timeout"] = seconds(o.NextTimeout)
	case o.NextTimeout > 0:
		a[prefix+"proxy-next-upstream-timeout"] = seconds(o.NextTimeout) + "s"
	}
	return a
}
