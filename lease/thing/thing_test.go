package thing

import (
	"strings"
	"testing"
)

const (
	owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	id    = owner + "/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"shop.example.com":                  "host/shop.example.com",
		"Shop.Example.com":                  "host/shop.example.com",
		"shop.example.com.":                 "host/shop.example.com",
		"host/shop.example.com":             "host/shop.example.com",
		"host/shop.example.com.":            "host/shop.example.com",
		"shop.example.com/":                 "host/shop.example.com",
		"shop.example.com/api/v2":           "host/shop.example.com/api/v2",
		"host/shop.example.com/api":         "host/shop.example.com/api",
		"*.example.com":                     "host/*.example.com",
		"wildcard/*.example.com":            "host/*.example.com",
		"https://shop.example.com/x":        "host/shop.example.com/x",
		"http://shop.example.com/":          "host/shop.example.com",
		"https://203.0.113.7":               "address/203.0.113.7",
		"203.0.113.7":                       "address/203.0.113.7",
		"ip/203.0.113.7":                    "address/203.0.113.7",
		"address/203.0.113.7":               "address/203.0.113.7",
		"::ffff:203.0.113.7":                "address/203.0.113.7",
		"2001:DB8::7":                       "address/2001:db8::7",
		"endpoint/public":                   "endpoint/public",
		"public":                            "host/public",
		owner + "/8438017/1":                "lease/" + owner + "/8438017/1",
		owner + "/8438017/1/1":              "lease/" + owner + "/8438017/1",
		id:                                  "lease/" + id,
		"lease/" + id:                       "lease/" + id,
		"lease/" + owner + "/8438017/1":     "lease/" + owner + "/8438017/1",
		"":                                  "! the name is empty",
		"8438017":                           "! OWNER/DSEQ/GSEQ",
		owner:                               "! is an owner",
		"lease/":                            "! the name is empty; a lease is named OWNER/DSEQ/GSEQ",
		owner + "/8438017":                  "! such as " + owner + "/8438017/1",
		owner + "/0/1":                      "! is not a number from 1",
		"lease/x":                           "! a lease is named OWNER/DSEQ/GSEQ",
		"203.0.113.0/28":                    "! is a range of addresses",
		"address/shop.example.com":          "! is not an address",
		"fe80::1%eth0":                      "! has a zone; type fe80::1",
		"endpoint/Public":                   "! is not an endpoint name",
		"endpoint/":                         "! is not an endpoint name",
		"host/":                             "! the host name is empty",
		"https://shop.example.com:8443/x":   "! type shop.example.com/x",
		"https://shop.example.com/x?y=1":    "! type shop.example.com/x",
		"ftp://shop.example.com":            "! is not the URL of a host",
		"shop_example.com":                  "! is not a host name",
		"*":                                 "! ",
		"*.com":                             "! covers a whole top-level domain",
		"ip--203-0-113-7":                   "! is reserved",
		"shop.example.com/a//b":             "! has an empty segment",
		"problem/BlockedHost/x.example.com": "! is not a host, address, endpoint or lease; \"kubectl akash-net repair BlockedHost/x.example.com\"",
		"ingress/ns/shop.example.com":       "! is not a host, address, endpoint or lease; type host/shop.example.com",
		"Ingress/shop.example.com":          "! type host/shop.example.com",
		"ingress/pt--a":                     "! it is an object",
		"providerhost/shop.example.com":     "! type host/shop.example.com",
		"service/web-ip-443-tcp":            "! \"kubectl get\" shows",
		"pool/akash":                        "! is not a host, address, endpoint or lease; \"kubectl akash-net state pools\"",
		"dns/shop.example.com":              "! \"kubectl akash-net state dns\"",
		"hosts/shop.example.com":            "host/shop.example.com",
		"Host/shop.example.com":             "host/shop.example.com",
		"ips/203.0.113.7":                   "address/203.0.113.7",
		"addresses/203.0.113.7":             "address/203.0.113.7",
		"endpoints/public":                  "endpoint/public",
		"Lease/" + owner + "/8438017/1":     "lease/" + owner + "/8438017/1",
		"leases/" + id:                      "lease/" + id,
		"orders/" + owner + "/8438017/1/1":  "order/" + owner + "/8438017/1/1",
		"host/hosts/shop":                   "host/hosts/shop",
		"shop.example.com:8443":             "! type shop.example.com",
		"SHOP.example.com:80":               "! type shop.example.com",
		"203.0.113.7:443":                   "! type 203.0.113.7",
		"[2001:db8::7]":                     "! type 2001:db8::7",
		"[2001:db8::7]:443":                 "! type 2001:db8::7",
		"shop.example.com:http":             "! is not a host name",
		"a b":                               "! is not a host name",
	} {
		got, err := Parse(text)
		if problem, wrong := strings.CutPrefix(want, "! "); wrong {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%q: %q, error %v; want an error with %q", text, got, err, problem)
			}
			continue
		}
		if err != nil || got.String() != want {
			t.Errorf("%q: %q, error %v; want %q", text, got, err, want)
		}
	}
	if got, err := Parse("public"); err != nil || got.Endpoint != "public" {
		t.Errorf("a word may be an endpoint: %+v, error %v", got, err)
	}
}

// What is printed is understood, and as the same thing.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"shop.example.com", "host/a.b/c", "*.example.com", "https://a.b/c", "203.0.113.7", "ip/::1", "endpoint/public", id, "lease/" + id, "8438017", "problem/a/b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := Parse(text)
		if err != nil {
			return
		}
		for _, printed := range []string{first.String(), Print(string(first.Kind), first.Name())} {
			again, err := Parse(printed)
			if again.Endpoint = first.Endpoint; err != nil || again != first {
				t.Errorf("%q is %q, which is read as %+v, error %v; want %+v", text, printed, again, err, first)
			}
		}
	})
}
