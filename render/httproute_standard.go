package render

import (
	"strconv"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"
)

// standardRule writes the HTTP options that the Gateway API's standard channel supports, and refuses the others.
func (l *leased) standardRule(r route, rule *gwac.HTTPRouteRuleApplyConfiguration) {
	for _, option := range r.given() {
		switch option.name {
		case "readTimeout":
			l.warn(r, option.at,
				"the Gateway API limits the whole answer of a backend, not one read of it: longer downloads end after %s", r.http.ReadTimeout)
			rule.WithTimeouts(gwac.HTTPRouteTimeouts().WithBackendRequest(gwv1.Duration(duration(r.http.ReadTimeout))))
		case "nextTries", "nextTimeout", "nextCases":
			l.refuse(r, option.at, "retries are not in the Gateway API's standard channel: no %s", option.name)
		default:
			l.refuse(r, option.at, "the Gateway API has no field for %s", option.name)
		}
	}
}

// duration formats a duration in a unit that nginx and the Gateway API share: whole seconds or milliseconds.
func duration(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}
