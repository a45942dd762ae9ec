package input

import (
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

// The keys of an expose's route settings.
var (
	tlsKeys     = []string{"termination", "insecure", "secretName", "destinationCASecretName", "issuer"}
	issuerKeys  = []string{"name", "kind", "group"}
	backendKeys = []string{"service", "port", "weight"}
	stickyKeys  = []string{"cookie", "sameSite", "disabled"}
	headersKeys = []string{"request", "response"}
	headerKeys  = []string{"name", "action", "value"}
)

// readRouting reads the route settings of an expose; nil if there are none.
func readRouting(m document.Mapping) *lease.Routing {
	tls, weight, backends, sticky := m.Get("tls"), m.Get("weight"), m.Get("alternateBackends"), m.Get("sticky")
	headers, annotations, labels := m.Get("headers"), m.Get("annotations"), m.Get("labels")
	set := func(c document.Cursor) bool { return !c.IsNull() }
	if !slices.ContainsFunc([]document.Cursor{tls, weight, backends, sticky, headers, annotations, labels}, set) {
		return nil
	}
	r := &lease.Routing{TLS: readTLS(tls), Sticky: readSticky(sticky), Labels: readLabels(labels)}
	if n, ok := weight.Uint(0, maxWeight, "a weight"); ok {
		r.Weight = new(uint16)
		*r.Weight = uint16(n)
	}
	for item := range backends.List() {
		r.Backends = append(r.Backends, readBackend(item))
	}
	h := headers.Mapping(headersKeys)
	r.RequestHeaders, r.ResponseHeaders = readHeaders(h.Get("request")), readHeaders(h.Get("response"))
	for key, value := range annotations.AnyMapping().Entries() {
		r.Annotations = append(r.Annotations, lease.RouteAnnotation{Key: key.Key(), Value: value.Text(), At: value.At()})
	}
	r.At = lease.RoutingPlaces{
		TLS: tls.At(), Weight: weight.At(), Backends: backends.At(), Sticky: sticky.At(),
		Headers: headers.At(), Annotations: annotations.At(), Labels: labels.At(),
	}
	return r
}

const maxWeight = 256

func readTLS(c document.Cursor) *lease.TLS {
	m := c.Mapping(tlsKeys)
	if !m.Present() {
		return nil
	}
	t := &lease.TLS{
		Termination: lease.Termination(word(m.Get("termination"), "termination",
			string(lease.Edge), string(lease.Passthrough), string(lease.Reencrypt))),
		Insecure: lease.InsecurePolicy(word(m.Get("insecure"), "insecure",
			string(lease.InsecureNone), string(lease.InsecureAllow), string(lease.InsecureRedirect))),
		SecretName:              m.Get("secretName").Text(),
		DestinationCASecretName: m.Get("destinationCASecretName").Text(),
	}
	if issuer := m.Get("issuer").Mapping(issuerKeys); issuer.Present() {
		t.Issuer = &lease.Issuer{
			Name: issuer.Require("name").Text(), Kind: issuer.Get("kind").Text(), Group: issuer.Get("group").Text(),
		}
	}
	return t
}

func readBackend(c document.Cursor) lease.Backend {
	m := c.Mapping(backendKeys)
	b := lease.Backend{Service: m.Require("service").Text(), Weight: lease.DefaultWeight, At: c.At()}
	if port, ok := m.Get("port").Uint(1, 65535, "a port"); ok {
		b.Port = uint16(port)
	}
	if weight, ok := m.Get("weight").Uint(0, maxWeight, "a weight"); ok {
		b.Weight = uint16(weight)
	}
	return b
}

func readSticky(c document.Cursor) *lease.Sticky {
	m := c.Mapping(stickyKeys)
	if !m.Present() {
		return nil
	}
	return &lease.Sticky{
		Disabled: m.Get("disabled").Bool(), Cookie: m.Get("cookie").Text(),
		SameSite: word(m.Get("sameSite"), "sameSite", "Lax", "Strict", "None"),
	}
}

func readHeaders(c document.Cursor) []lease.HeaderRule {
	var rules []lease.HeaderRule
	for item := range c.List() {
		m := item.Mapping(headerKeys)
		rule := lease.HeaderRule{Name: m.Require("name").Text(), Value: m.Get("value").Text(), At: item.At()}
		action := m.Require("action")
		rule.Delete = word(action, "action", "Set", "Delete") == "Delete"
		if !action.IsNull() && action.Raw() == "" {
			action.Errorf("the action is empty; Set and Delete are known")
		}
		rules = append(rules, rule)
	}
	return rules
}

func readLabels(c document.Cursor) map[string]string {
	var labels map[string]string
	for key, value := range c.AnyMapping().Entries() {
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key.Key()] = value.Text()
	}
	return labels
}

// word reads one of the known words. Any other word is an error, and is returned as "".
func word(c document.Cursor, what string, words ...string) string {
	text := c.Text()
	if text == "" || slices.Contains(words, text) {
		return text
	}
	last := len(words) - 1
	c.Errorf("unknown %s %q; %s and %s are known%s", what, text, strings.Join(words[:last], ", "), words[last],
		suggest.For(text, words))
	return ""
}
