package render

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// The limits of the Gateway API's HTTPHeaderFilter, which are lower than OpenShift's.
const (
	maxHeaderRules = 16
	maxHeaderValue = 4096
)

// nginxHeaders are the headers that NGINX Gateway Fabric sets itself. It does not accept a route that changes one of
// them.
var nginxHeaders = []string{"host", "connection", "upgrade"}

// headerFilter converts header rules to the Gateway API; nil if there are none.
func (l *leased) headerFilter(r route, rules []lease.HeaderRule) *gwac.HTTPHeaderFilterApplyConfiguration {
	if len(rules) == 0 {
		return nil
	}
	filter := gwac.HTTPHeaderFilter()
	for _, rule := range rules {
		unsupported := len(validation.IsHTTPHeaderName(rule.Name)) > 0 || slices.Contains(nginxHeaders, strings.ToLower(rule.Name))
		if l.cfg.Gateway.Implementation != config.GatewayStandard && unsupported {
			l.refuse(r, rule.At, "the header %q cannot be changed by NGINX Gateway Fabric: it takes names of letters, digits and "+
				"\"-\", and not %s", rule.Name, strings.Join(nginxHeaders, ", "))
		}
		if rule.Delete {
			filter.WithRemove(rule.Name)
			continue
		}
		filter.WithSet(gwac.HTTPHeader().WithName(gwv1.HTTPHeaderName(rule.Name)).WithValue(l.headerValue(r, rule)))
	}
	if len(filter.Set) > maxHeaderRules || len(filter.Remove) > maxHeaderRules {
		l.refuse(r, r.routing.At.Headers, "an HTTPRoute sets, and removes, at most %d headers each", maxHeaderRules)
	}
	return filter
}

// headerValue converts a value from HAProxy's log format, in which a percent sign starts an expression and two are a
// literal one.
func (l *leased) headerValue(r route, rule lease.HeaderRule) string {
	value := strings.ReplaceAll(rule.Value, "%%", "")
	if strings.ContainsRune(value, '%') {
		l.refuse(r, rule.At, "the value of header %q is an expression of HAProxy's: only the target route has it", rule.Name)
	}
	value = strings.ReplaceAll(rule.Value, "%%", "%")
	if len(value) > maxHeaderValue {
		l.refuse(r, rule.At, "the value of header %q has %d characters; in an HTTPRoute at most %d are allowed", rule.Name, len(value),
			maxHeaderValue)
	}
	if l.cfg.Gateway.Implementation != config.GatewayStandard && strings.ContainsAny(value, `"$\`) {
		l.refuse(r, rule.At, "the value of header %q has one of \" $ \\, which NGINX Gateway Fabric does not take", rule.Name)
	}
	return value
}
