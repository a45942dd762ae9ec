package render_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

// header renders one header rule for a host on a Gateway, and gives the filter as JSON or what is said against it.
func header(t *testing.T, implementation string, rule lease.HeaderRule, response bool) string {
	t.Helper()
	cfg := config.Default()
	httpRoute(cfg)
	cfg.Gateway.Implementation = implementation
	rule.At = at(51)
	routing := lease.Routing{Headers: lease.Headers{Request: []lease.HeaderRule{rule}}}
	if response {
		routing = lease.Routing{Headers: lease.Headers{Response: []lease.HeaderRule{rule}}}
	}
	objects, err := render.Lease(definition(routed(routing)), cfg, nil)
	if err != nil {
		if _, ok := errors.AsType[lease.Problems](err); !ok {
			t.Fatal(err)
		}
		return err.Error()
	}
	for _, o := range objects {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, filter, ok := strings.Cut(string(data), `HeaderModifier":`); ok {
			var first json.RawMessage
			if err := json.NewDecoder(strings.NewReader(filter)).Decode(&first); err != nil {
				t.Fatal(err)
			}
			return string(first)
		}
	}
	return "no filter"
}

// What a Gateway is told of a header, and what NGINX Gateway Fabric would refuse the whole route for.
func TestHeadersOnAGateway(t *testing.T) {
	const akash, ngf, standard = config.GatewayAkash, config.GatewayNGF, config.GatewayStandard
	for _, c := range []struct {
		implementations string
		name, value     string // no value: the header is deleted
		want            string
	}{
		{akash + ngf + standard, "X-Frame-Options", "DENY", `{"set":[{"name":"X-Frame-Options","value":"DENY"}]}`},
		{akash + ngf + standard, "x1", "", `{"remove":["x1"]}`},
		{akash + ngf + standard, "X-A", "50%% off", `{"set":[{"name":"X-A","value":"50% off"}]}`},
		{akash + ngf + standard, "X-A", "%%%%", `{"set":[{"name":"X-A","value":"%%"}]}`},
		{akash + ngf + standard, "X-A", "%[req.hdr(Host)]", `shop.yaml:51:5: the value of header "X-A" is an expression of HAProxy's: only the target route has it`},
		{akash + ngf + standard, "X-A", "%%%[ssl_c_der]", "is an expression of HAProxy's"},
		{akash + ngf + standard, "X-A", strings.Repeat("%%", 4096), `{"set":[{"name":"X-A","value":"` + strings.Repeat("%", 4096) + `"}]}`},
		{akash + ngf + standard, "X-A", strings.Repeat("%%", 4097), "has 4097 characters; in an HTTPRoute at most 4096 are allowed"},
		{akash + ngf, "X-A", `a"b`, `the value of header "X-A" has one of " $ \, which NGINX Gateway Fabric does not take`},
		{akash + ngf, "X-A", "$host", "has one of"},
		{akash + ngf, "X-A", `a\`, "has one of"},
		{standard, "X-A", `"$host\`, `{"set":[{"name":"X-A","value":"\"$host\\"}]}`},
		// Names that NGINX Gateway Fabric does not take, also where the header is to go.
		{akash + ngf, "X_A", "1", `shop.yaml:51:5: the header "X_A" cannot be changed by NGINX Gateway Fabric: it takes names of letters, digits and "-", and not host, connection, upgrade`},
		{akash + ngf, "X.A", "1", "cannot be changed by NGINX Gateway Fabric"},
		{akash + ngf, "$host", "1", "cannot be changed by NGINX Gateway Fabric"},
		{akash + ngf, "X~A", "", "cannot be changed by NGINX Gateway Fabric"},
		{akash + ngf, "Host", "a.example.com", "cannot be changed by NGINX Gateway Fabric"},
		{akash + ngf, "HOST", "", "cannot be changed by NGINX Gateway Fabric"},
		{akash + ngf, "Connection", "close", "cannot be changed by NGINX Gateway Fabric"},
		{akash + ngf, "upgrade", "", "cannot be changed by NGINX Gateway Fabric"},
		{akash + ngf, "Upgrade-Insecure-Requests", "1", `{"set":[{"name":"Upgrade-Insecure-Requests","value":"1"}]}`},
		{standard, "Host", "a.example.com", `{"set":[{"name":"Host","value":"a.example.com"}]}`},
		{standard, "X_A", "", `{"remove":["X_A"]}`},
	} {
		for _, implementation := range []string{akash, ngf, standard} {
			for _, response := range []bool{false, true} {
				if !strings.Contains(c.implementations, implementation) {
					continue
				}
				got := header(t, implementation, lease.HeaderRule{Name: c.name, Value: c.value, Delete: c.value == ""}, response)
				if got != c.want && (strings.HasPrefix(c.want, "{") || !strings.Contains(got, c.want)) {
					t.Errorf("%s, %s: %.60s: %.300s, want %.300s", implementation, c.name, c.value, got, c.want)
				}
			}
		}
	}
}
