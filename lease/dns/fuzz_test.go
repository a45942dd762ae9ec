package dns_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/dns"
)

// What passes is what the most careless of readers understands in one way only.
func FuzzCheck(f *testing.F) {
	for _, seed := range []struct {
		kind        dns.Type
		name, value string
	}{
		{dns.A, "*.example.com", "192.0.2.4"}, {dns.AAAA, "a.example.com", "2001:db8::1"}, {dns.CNAME, "a.b", "c.d"},
		{dns.TXT, "_a.example.com", "x"}, {dns.A, "1.2.3.4", "::ffff:1.2.3.4"}, {dns.CNAME, "A.b.", "a.b."}, {"", "", ""},
	} {
		f.Add(string(seed.kind), seed.name, seed.value, int64(60))
	}
	f.Fuzz(func(t *testing.T, kind, name, value string, ttl int64) {
		r := dns.Record{Name: name, Type: dns.Type(kind), Values: []string{value}, TTL: ttl}
		if dns.Check(r) != nil {
			return
		}
		if name != dns.Canonical(name) || len(name) > 253 || strings.Count(name, ".") == 0 {
			t.Errorf("the name %q is not canonical", name)
		}
		if dns.Zone(name, []string{name}) != 0 || dns.Zone("x"+name, []string{strings.TrimPrefix(name, "*.")}) == 0 && !strings.HasPrefix(name, "*.") {
			t.Errorf("the zone of %q is not found", name)
		}
		target := dns.ParseTarget(r.Values)
		switch r.Type {
		case dns.A, dns.AAAA:
			a, err := netip.ParseAddr(value)
			if err != nil || a.String() != value || a.Is4() != (r.Type == dns.A) {
				t.Errorf("%q in an %s record", value, kind)
			}
			again(t, r, target)
		case dns.CNAME:
			if value == name || value != dns.Canonical(value) {
				t.Errorf("%q leads to %q", name, value)
			}
			again(t, r, target)
		case dns.TXT:
			if value == "" || len(value) > 255 {
				t.Errorf("a text of %d bytes", len(value))
			}
		default:
			t.Errorf("a record of type %q", kind)
		}
	})
}

// again makes the record from its value as configuration and status give it.
func again(t *testing.T, r dns.Record, target dns.Target) {
	t.Helper()
	made := target.Records(r.Name, r.TTL)
	if len(made) != 1 || made[0].Type != r.Type || made[0].Values[0] != r.Values[0] {
		t.Errorf("%v is made again as %v", r, made)
	}
	if err := dns.CheckAll(made); err != nil {
		t.Error(err)
	}
}
