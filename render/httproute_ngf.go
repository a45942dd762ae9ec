package render

import (
	"regexp"
	"strconv"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// The specs of NGINX Gateway Fabric's kinds (gateway.nginx.org/v1alpha1), with the fields that are rendered.
type (
	policyTarget struct {
		Group string `json:"group"`
		Kind  string `json:"kind"`
		Name  string `json:"name"`
	}
	clientSettingsSpec struct {
		Body      clientBody   `json:"body"`
		TargetRef policyTarget `json:"targetRef"`
	}
	clientBody struct {
		MaxSize string `json:"maxSize"`
	}
	proxySettingsSpec struct {
		Buffering  proxyBuffering `json:"buffering"`
		TargetRefs []policyTarget `json:"targetRefs"`
	}
	proxyBuffering struct {
		BufferSize string       `json:"bufferSize"`
		Buffers    proxyBuffers `json:"buffers"`
	}
	proxyBuffers struct {
		Number int    `json:"number"`
		Size   string `json:"size"`
	}
	snippetsFilterSpec struct {
		Snippets []snippet `json:"snippets"`
	}
	snippet struct {
		Context string `json:"context"`
		Value   string `json:"value"`
	}
)

// nginxSize matches sizes that the policies accept.
var nginxSize = regexp.MustCompile(`^\d{1,4}(k|m|g)?$`)

// nginxFabric renders the HTTP options as policies and a filter of the route. The filter goes before the route, which
// is invalid without it; the returned policies go after it. Akash's defaults, except for the number of tries, equal
// nginx's. Defaults are not written, so the administrator's settings for the whole Gateway remain effective.
func (l *leased) nginxFabric(objects []Object, r route, rule *gwac.HTTPRouteRuleApplyConfiguration) (before, after []Object) {
	m := Meta{Annotations: l.annotations(), Labels: l.ownLabels(), Name: r.name(), Namespace: l.namespace}
	if directives := nginxDirectives(r.expose.HTTP); len(directives) > 0 {
		objects = append(objects, NewCustom(kinds.SnippetsFilter, m, snippetsFilterSpec{Snippets: []snippet{
			{Context: "http.server.location", Value: strings.Join(directives, "\n")},
		}}))
		rule.WithFilters(gwac.HTTPRouteFilter().
			WithType(gwv1.HTTPRouteFilterExtensionRef).
			WithExtensionRef(gwac.LocalObjectReference().
				WithGroup(gwv1.Group(kinds.SnippetsFilter.Group)).
				WithKind(gwv1.Kind(kinds.SnippetsFilter.Kind)).
				WithName(gwv1.ObjectName(m.Name))))
	}
	target := policyTarget{Group: kinds.HTTPRoute.Group, Kind: kinds.HTTPRoute.Kind, Name: m.Name}
	if size := r.expose.HTTP.MaxBodySize; size != 0 {
		after = append(after, NewCustom(kinds.ClientSettingsPolicy, m, clientSettingsSpec{
			Body: clientBody{MaxSize: roundedSize(size)}, TargetRef: target,
		}))
	}
	if size := strings.ToLower(l.cfg.Gateway.ProxyBufferSize); size != "" {
		if !nginxSize.MatchString(size) {
			l.refuse(r, lease.Place{}, "NGINX Gateway Fabric does not take gateway.proxyBufferSize %q of the provider's configuration: "+
				"write up to four digits and k, m or g", size)
		}
		// The size of all buffers together must leave room for two of these (nginx:
		// proxy_busy_buffers_size), which nginx's default number of smaller ones does not.
		after = append(after, NewCustom(kinds.ProxySettingsPolicy, m, proxySettingsSpec{
			Buffering:  proxyBuffering{BufferSize: size, Buffers: proxyBuffers{Number: 8, Size: size}},
			TargetRefs: []policyTarget{target},
		}))
	}
	return objects, after
}

// nginxDirectives returns the options for which there is no policy, as directives of nginx.
func nginxDirectives(o lease.HTTPOptions) []string {
	var all []string
	add := func(directive, value string) { all = append(all, directive+" "+value+";") }
	if o.ReadTimeout != 0 {
		add("proxy_read_timeout", duration(o.ReadTimeout))
	}
	if o.SendTimeout != 0 {
		add("proxy_send_timeout", duration(o.SendTimeout))
	}
	if len(o.NextCases) > 0 {
		add("proxy_next_upstream", nextCases(o.NextCases))
	}
	if o.NextTries != 0 {
		add("proxy_next_upstream_tries", strconv.FormatUint(uint64(o.NextTries), 10))
	}
	if o.NextTimeout != 0 {
		add("proxy_next_upstream_timeout", duration(o.NextTimeout))
	}
	return all
}

// roundedSize formats a number of bytes with at most four digits, as a policy requires, and rounds up if necessary.
func roundedSize(bytes uint32) string {
	size, unit := uint64(bytes), 0
	for size > 9999 {
		size = (size + 1023) / 1024
		unit++
	}
	return strconv.FormatUint(size, 10) + []string{"", "k", "m"}[unit]
}
