package lease_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
)

func TestCheckHost(t *testing.T) {
	for host, want := range map[string]string{
		"a.example.com": "", "localhost": "", "1.2.3.example": "", "a.b.1c": "", "0x1g.0x1g": "", "xn--bcher-kva.example": "", "wc--any2.example.com": "",
		strings.Repeat("a", 63) + ".com": "", strings.Repeat("a.", 126) + "a": "",
		"":                               "is empty",
		"Example.COM":                    `not lower case; write "example.com"`,
		"*.example.com":                  "is a wildcard",
		"example.com.":                   `write "example.com"`,
		"a..b":                           "is not a host name",
		"-a.b":                           "is not a host name",
		"a_b.example.com":                "is not a host name",
		"example.com:8080":               "is not a host name",
		"https://example.com":            "is a URL",
		"10.0.0.1":                       "is an IP address",
		"1.2.3":                          "ends in a number",
		"10.0.0.256":                     "ends in a number",
		"1.2.3.4.5":                      "ends in a number",
		"shop.example.8":                 "ends in a number",
		"80":                             "ends in a number",
		"shop.0x7f":                      "ends in a number",
		"shop.0x":                        "ends in a number",
		strings.Repeat("a", 64) + ".com": "label of 64 characters",
		strings.Repeat("a.", 126) + "aa": "has 254 characters",
		"wc--any.example.com":            "is reserved",
		"ip--203-0-113-7":                "is reserved",
		"rs--0.example.com":              "is reserved",
	} {
		err := lease.CheckHost(host)
		if got := errText(err); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestCheckHostIsKubernetesRule compares with the rule that Akash's parser and the API server use.
func TestCheckHostIsKubernetesRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.StringMatching(`[a-zA-Z0-9._*-]{0,12}`).Draw(t, "host")
		valid := len(validation.IsDNS1123Subdomain(host)) == 0
		err := lease.CheckHost(host)
		if !valid && err == nil {
			t.Fatalf("%q is accepted", host)
		}
		if _, ip := netip.ParseAddr(host); valid && err != nil && ip != nil && !strings.Contains(err.Error(), "reserved") && !strings.Contains(err.Error(), "ends in a number") {
			t.Fatalf("%q is refused: %v", host, err)
		}
	})
}

func good() *lease.Definition {
	return &lease.Definition{
		Lease: lease.ID{Owner: "akash1xqnd68gm", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1yqd7y67h"},
		Services: []lease.Service{
			{Name: "web", Expose: []lease.Expose{
				{Port: 443, Protocol: lease.TCP, Global: true, IP: "pub"},
				{Port: 80, As: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: "b.example.com"}, {Name: "a.example.com"}},
					HTTP: lease.HTTPOptions{}.WithDefaults()},
			}},
			{Name: "api", Expose: []lease.Expose{
				{Port: 53, Protocol: lease.UDP}, {Port: 53, Protocol: lease.TCP}, {Port: 53, Protocol: lease.TCP, Global: true},
			}},
		},
		IPEndpoints: []lease.IPEndpoint{{Name: "pub", Addresses: []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")}}},
	}
}

func TestCheckMakesCanonical(t *testing.T) {
	d := good()
	if problems := lease.Check(d); len(problems) > 0 {
		t.Fatal(problems)
	}
	if d.Services[0].Name != "api" || !d.Services[0].Expose[0].Global || d.Services[0].Expose[2].Protocol != lease.UDP {
		t.Errorf("not in Akash's order: %+v", d.Services)
	}
	if e := d.Services[1].Expose[0]; e.Port != 80 || e.As != 0 || e.HTTP.ReadTimeout != 0 || e.HTTP.NextCases != nil {
		t.Errorf("defaults are not left out: %+v", e)
	}
}

func TestCheck(t *testing.T) {
	web := func(d *lease.Definition) *lease.Expose { return &d.Services[0].Expose[1] }
	ip := func(d *lease.Definition) *lease.Expose { return &d.Services[0].Expose[0] }
	for name, c := range map[string]struct {
		change func(d *lease.Definition)
		want   string
	}{
		"port":              {func(d *lease.Definition) { web(d).Port = 0 }, "0 is not a port"},
		"protocol":          {func(d *lease.Definition) { web(d).Protocol = "SCTP" }, "is not a protocol"},
		"two services":      {func(d *lease.Definition) { d.Services[1].Name = "web" }, "two services named"},
		"service name":      {func(d *lease.Definition) { d.Services[1].Name = "1a" }, "is not a service name"},
		"long service name": {func(d *lease.Definition) { d.Services[1].Name = strings.Repeat("a", 64) }, "has 64 characters"},
		"Service's name":    {func(d *lease.Definition) { d.Services[0].Name = strings.Repeat("a", 53) }, "would be named"},
		"host twice":        {func(d *lease.Definition) { web(d).Hosts[0].Name = "a.example.com" }, "named twice"},
		"no endpoint":       {func(d *lease.Definition) { ip(d).IP = "pup" }, `no endpoint named "pup"; did you mean "pub"?`},
		"unused":            {func(d *lease.Definition) { ip(d).IP = "" }, "declared but never used"},
		"not global":        {func(d *lease.Definition) { ip(d).Global = false }, "must be global"},
		"one port twice":    {func(d *lease.Definition) { web(d).IP, web(d).As = "pub", 443 }, "port 443/TCP of IP endpoint \"pub\" is claimed twice"},
		"two endpoints":     {func(d *lease.Definition) { d.IPEndpoints = append(d.IPEndpoints, d.IPEndpoints[0]) }, "two endpoints named"},
		"address twice": {func(d *lease.Definition) {
			web(d).IP = "two"
			d.IPEndpoints = append(d.IPEndpoints, lease.IPEndpoint{Name: "two", Addresses: d.IPEndpoints[0].Addresses[:1]})
		}, `address 203.0.113.7 is given twice (also to endpoint "pub")`},
		"family twice": {func(d *lease.Definition) { d.IPEndpoints[0].Addresses[1] = netip.MustParseAddr("203.0.113.8") }, "more than one address"},
		"mapped":       {func(d *lease.Definition) { d.IPEndpoints[0].Addresses[1] = netip.MustParseAddr("::ffff:203.0.113.8") }, "write 203.0.113.8"},
		"unspecified":  {func(d *lease.Definition) { d.IPEndpoints[0].Addresses[1] = netip.MustParseAddr("::") }, "cannot"},
		"timeout":      {func(d *lease.Definition) { web(d).HTTP.ReadTimeout = 61 * time.Second }, "longer than 1m0s"},
		"body":         {func(d *lease.Definition) { web(d).HTTP.MaxBodySize = lease.MaxBodySizeLimit + 1 }, "greater than"},
		"off":          {func(d *lease.Definition) { web(d).HTTP.NextCases = []string{"off", "500"} }, "no other case"},
		"next cases":   {func(d *lease.Definition) { web(d).HTTP.NextCases = slices.Repeat([]string{"error"}, 33) }, "there are 33 next cases; at most 32 are allowed"},
		"labels": {func(d *lease.Definition) {
			web(d).Routing = &lease.Routing{Labels: map[string]string{}}
			for i := range 65 {
				web(d).Routing.Labels[fmt.Sprint("l", i)] = "v"
			}
		}, "there are 65 labels; at most 64 are allowed"},
		"cookie": {func(d *lease.Definition) {
			web(d).Routing = &lease.Routing{Sticky: &lease.Sticky{Cookie: strings.Repeat("c", 129)}}
		}, "has 129 characters; at most 128 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			d := good()
			c.change(d)
			want := strings.Replace(c.want, "cannot", "is not an address that can be leased", 1)
			if got := lease.Check(d).Error(); !strings.Contains(got, want) {
				t.Errorf("problems %q, want %q", got, want)
			}
		})
	}
}

func TestSum(t *testing.T) {
	sum := func(change func(d *lease.Definition)) string {
		d := good()
		change(d)
		_ = lease.Check(d)
		return lease.Sum(d)
	}
	base := sum(func(*lease.Definition) {})
	for name, change := range map[string]func(d *lease.Definition){
		"name":  func(d *lease.Definition) { d.Name = "other" },
		"place": func(d *lease.Definition) { d.Services[0].At.Line = 7 },
		"order": func(d *lease.Definition) { h := d.Services[0].Expose[1].Hosts; h[0], h[1] = h[1], h[0] },
		"hash":  func(d *lease.Definition) { d.Hash = "x" },
	} {
		if sum(change) != base {
			t.Errorf("%s changes the sum", name)
		}
	}
	for name, change := range map[string]func(d *lease.Definition){
		"lease":   func(d *lease.Definition) { d.Lease.OSeq = 2 },
		"port":    func(d *lease.Definition) { d.Services[0].Expose[1].Port = 81 },
		"host":    func(d *lease.Definition) { d.Services[0].Expose[1].Hosts[0].Name = "c.example.com" },
		"http":    func(d *lease.Definition) { d.Services[0].Expose[1].HTTP.NextTries = 9 },
		"address": func(d *lease.Definition) { d.IPEndpoints[0].Addresses = nil },
		"global":  func(d *lease.Definition) { d.Services[1].Expose[0].Global = true },
	} {
		if sum(change) == base {
			t.Errorf("%s does not change the sum", name)
		}
	}
}
