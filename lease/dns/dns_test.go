package dns_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease/dns"
)

// record is a valid A record, changed.
func record(change func(*dns.Record)) dns.Record {
	r := dns.Record{Name: "test.example.com", Type: dns.A, Values: []string{"192.0.2.4"}}
	change(&r)
	return r
}

func named(t dns.Type, name string) dns.Record {
	return record(func(r *dns.Record) { r.Type, r.Name, r.Values = t, name, valueOf(t) })
}

func valued(t dns.Type, values ...string) dns.Record {
	return record(func(r *dns.Record) { r.Type, r.Values = t, values })
}

func lasting(ttl int64) dns.Record { return record(func(r *dns.Record) { r.TTL = ttl }) }

func valueOf(t dns.Type) []string {
	switch t {
	case dns.AAAA:
		return []string{"2001:db8::1"}
	case dns.CNAME:
		return []string{"other.example.org"}
	case dns.TXT:
		return []string{"anything"}
	}
	return []string{"192.0.2.4"}
}

// Each case is a record and a word of the error, or "" where it is valid. Those with "Gardener takes
// it" pass Gardener's own webhook.
func TestCheck(t *testing.T) {
	long63, long64 := strings.Repeat("a", 63), strings.Repeat("a", 64)
	name253 := strings.Repeat("abcdefg.", 30) + "example.com.x"
	for name, c := range map[string]struct {
		record dns.Record
		want   string
	}{
		"A":                              {named(dns.A, "test.example.com"), ""},
		"AAAA":                           {named(dns.AAAA, "test.example.com"), ""},
		"CNAME":                          {named(dns.CNAME, "test.example.com"), ""},
		"TXT":                            {named(dns.TXT, "test.example.com"), ""},
		"type SOA":                       {named("SOA", "test.example.com"), "not a type"},
		"type empty":                     {named("", "test.example.com"), "not a type"},
		"type in lower case":             {named("a", "test.example.com"), "not a type"},
		"type MX":                        {named("MX", "test.example.com"), "not a type"},
		"type NS":                        {named("NS", "test.example.com"), "not a type"},
		"type SRV":                       {named("SRV", "test.example.com"), "not a type"},
		"name empty":                     {named(dns.A, ""), "empty"},
		"name of one label":              {named(dns.A, "test"), "one label"},
		"name at the apex":               {named(dns.A, "example.com"), ""},
		"name with a trailing dot":       {named(dns.A, "example.com."), `write "example.com"`}, // Gardener takes it, and finds no zone
		"wildcard":                       {named(dns.A, "*.example.com"), ""},
		"wildcard AAAA":                  {named(dns.AAAA, "*.example.com"), ""},
		"wildcard CNAME":                 {named(dns.CNAME, "*.example.com"), ""},
		"wildcard TXT":                   {named(dns.TXT, "*.example.com"), "not a host name"},
		"wildcard below":                 {named(dns.A, "*.test.example.com"), ""},
		"wildcard of a top level domain": {named(dns.A, "*.com"), "one label"},
		"wildcard alone":                 {named(dns.A, "*"), "not a host name"},
		"wildcard twice":                 {named(dns.A, "*.*.example.com"), "not a host name"},
		"wildcard inside":                {named(dns.A, "foo.*.example.com"), "not a host name"},
		"wildcard in a label":            {named(dns.A, "*foo.example.com"), "not a host name"},
		"underscore":                     {named(dns.A, "_acme-challenge.example.com"), "not a host name"},
		"underscore TXT":                 {named(dns.TXT, "_acme-challenge.example.com"), ""},
		"underscore CNAME":               {named(dns.CNAME, "_dmarc.example.com"), "not a host name"},
		"underscore in a later label":    {named(dns.TXT, "foo._bar.example.com"), "not a host name"},
		"underscore twice":               {named(dns.TXT, "__foo.example.com"), "not a host name"},
		"underscore inside":              {named(dns.TXT, "foo_bar.example.com"), "not a host name"},
		"underscore alone":               {named(dns.TXT, "_"), "empty"},
		"upper case":                     {named(dns.A, "FOO.example.com"), `write "foo.example.com"`},
		"dash last":                      {named(dns.A, "foo-.example.com"), "not a host name"},
		"dash first":                     {named(dns.A, "-foo.example.com"), "not a host name"},
		"empty label":                    {named(dns.A, "foo..example.com"), "not a host name"},
		"dot first":                      {named(dns.A, ".example.com"), "not a host name"},
		"space":                          {named(dns.A, "api.foo bar.com"), "not a host name"},
		"space last":                     {named(dns.A, "example.com "), "not a host name"},
		"not ASCII":                      {named(dns.A, "bücher.example.com"), "not a host name"},
		"punycode":                       {named(dns.A, "xn--bcher-kva.example.com"), ""},
		"label of 63":                    {named(dns.A, long63+".example.com"), ""},
		"label of 64":                    {named(dns.A, long64+".example.com"), "at most 63"},
		"name of 253":                    {named(dns.A, name253), ""},
		"name of 254":                    {named(dns.A, name253+"y"), "at most 253"},
		"wildcard of 254":                {named(dns.A, "*."+name253[1:]), "at most 253"},
		"address as a name":              {named(dns.A, "1.2.3.4"), "is an address"},           // Gardener takes it
		"number last":                    {named(dns.A, "test.example.8"), "ends in a number"}, // Gardener takes it
		"all digits":                     {named(dns.A, "123.456.example"), ""},
		"no value":                       {valued(dns.A), "no value"},
		"two values":                     {valued(dns.A, "192.0.2.4", "192.0.2.5"), ""},
		"the same value twice":           {valued(dns.A, "192.0.2.4", "192.0.2.4"), "stands twice"}, // Gardener takes it
		"A with a host name":             {valued(dns.A, "example.com"), "not an address"},
		"A with nothing":                 {valued(dns.A, ""), "not an address"},
		"A with three numbers":           {valued(dns.A, "1.2.3"), "not an address"},
		"A out of range":                 {valued(dns.A, "256.1.1.1"), "not an address"},
		"A with a leading zero":          {valued(dns.A, "01.2.3.4"), "not an address"},
		"A with a prefix":                {valued(dns.A, "192.0.2.4/32"), "not an address"},
		"A with a space":                 {valued(dns.A, " 192.0.2.4"), "not an address"},
		"A with IPv6":                    {valued(dns.A, "2001:db8::1"), "does not belong"},                       // Gardener takes it
		"A with mapped IPv4":             {valued(dns.A, "::ffff:192.0.2.4"), `write "192.0.2.4" in an A record`}, // Gardener takes it
		"A one of three is wrong":        {valued(dns.A, "192.0.2.4", "example.com", "192.0.2.5"), `"example.com"`},
		"A unspecified":                  {valued(dns.A, "0.0.0.0"), "not an address of a host"},   // Gardener takes it
		"A multicast":                    {valued(dns.A, "224.0.0.1"), "not an address of a host"}, // Gardener takes it
		"AAAA in full":                   {valued(dns.AAAA, "2001:db8:f00:0:0:0:0:1"), `write "2001:db8:f00::1"`},
		"AAAA in upper case":             {valued(dns.AAAA, "2001:DB8::1"), `write "2001:db8::1"`},
		"AAAA with IPv4":                 {valued(dns.AAAA, "192.0.2.4"), "does not belong"}, // Gardener takes it
		"AAAA with mapped IPv4":          {valued(dns.AAAA, "::ffff:192.0.2.4"), "written as IPv6"},
		"AAAA with a zone":               {valued(dns.AAAA, "fe80::1%eth0"), "not an address"},
		"AAAA unspecified":               {valued(dns.AAAA, "::"), "not an address of a host"},
		"CNAME with a trailing dot":      {valued(dns.CNAME, "example.com."), `write "example.com"`}, // Gardener takes it
		"CNAME of one label":             {valued(dns.CNAME, "example"), "one label"},
		"CNAME with an address":          {valued(dns.CNAME, "192.0.2.4"), "is an address"},     // Gardener takes it
		"CNAME with a mistyped address":  {valued(dns.CNAME, "10.0.0.256"), "ends in a number"}, // Gardener takes it
		"CNAME with an IPv6 address":     {valued(dns.CNAME, "2001:db8::1"), "is an address"},
		"CNAME with two values":          {valued(dns.CNAME, "example.com", "foo.bar"), "one value"},
		"CNAME with a wildcard":          {valued(dns.CNAME, "*.example.com"), "not a host name"},
		"CNAME with nothing":             {valued(dns.CNAME, ""), "empty"},
		"CNAME in upper case":            {valued(dns.CNAME, "Example.com"), `write "example.com"`},
		"CNAME to itself":                {valued(dns.CNAME, "test.example.com"), "leads to itself"}, // Gardener takes it
		"CNAME with an underscore":       {valued(dns.CNAME, "_x.example.com"), "not a host name"},
		"TXT with spaces":                {valued(dns.TXT, "can be anything"), ""},
		"TXT empty":                      {valued(dns.TXT, ""), "is empty"}, // Gardener takes it
		"TXT two":                        {valued(dns.TXT, "a", "b"), ""},
		"TXT of 255 bytes":               {valued(dns.TXT, strings.Repeat("x", 255)), ""},
		"TXT of 256 bytes":               {valued(dns.TXT, strings.Repeat("x", 256)), "256 bytes"}, // Gardener takes it
		"TXT of 256 bytes, 128 letters":  {valued(dns.TXT, strings.Repeat("ü", 128)), "256 bytes"},
		"TXT with a line break":          {valued(dns.TXT, "a\nb"), "cannot be printed"}, // Gardener takes it
		"TXT that is no text":            {valued(dns.TXT, "\xff"), "cannot be printed"},
		"TTL 0":                          {lasting(0), ""},
		"TTL 1":                          {lasting(1), ""},
		"TTL 2147483647":                 {lasting(2147483647), ""},
		"TTL 2147483648":                 {lasting(2147483648), "not between"},
		"TTL -1":                         {lasting(-1), "not between"},
	} {
		err := dns.Check(c.record)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestCheckAll(t *testing.T) {
	a, aaaa, cname, txt := named(dns.A, "x.example.com"), named(dns.AAAA, "x.example.com"), named(dns.CNAME, "x.example.com"), named(dns.TXT, "x.example.com")
	for _, c := range []struct {
		records []dns.Record
		want    string
	}{
		{[]dns.Record{a, aaaa, txt}, ""},
		{[]dns.Record{a, named(dns.CNAME, "y.example.com")}, ""},
		{[]dns.Record{cname, dns.Owner("x.example.com", "lease", 0)}, ""},
		{[]dns.Record{cname, txt}, "no TXT record may stand"},
		{[]dns.Record{a, cname}, "no A record may stand"},
		{[]dns.Record{aaaa, a, a}, "two A records"},
		{[]dns.Record{a, named(dns.A, "")}, "empty"},
	} {
		err := dns.CheckAll(c.records)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.records, err, c.want)
		}
	}
}

// The cases of Gardener's search for a zone, and labels that only look alike.
func TestZone(t *testing.T) {
	for _, c := range []struct {
		name  string
		zones []string
		want  int
	}{
		{"api.example.com", []string{"example.com"}, 0},
		{"example.com", []string{"example.com"}, 0},
		{"testexample.com", []string{"example.com"}, -1},
		{"api.dev.example.com", []string{"example.com", "dev.example.com", "com"}, 1},
		{"api.dev.example.com", []string{"dev.example.com", "example.com"}, 0},
		{"dev.example.com", []string{"example.com", "dev.example.com"}, 1},
		{"example.org", []string{"example.com", "dev.example.com"}, -1},
		{"com", []string{"example.com"}, -1},
		{"*.example.com", []string{"example.com"}, 0},
		{"_akash-net.example.com", []string{"example.com"}, 0},
		{"a.b", nil, -1},
		{"a.b", []string{""}, -1},
		{"api.example.com", []string{"Example.com"}, -1},
		{"api.example.com", []string{"example.com."}, -1},
	} {
		if got := dns.Zone(c.name, c.zones); got != c.want {
			t.Errorf("%s in %v: got %d, want %d", c.name, c.zones, got, c.want)
		}
	}
}

func TestRecords(t *testing.T) {
	addr := netip.MustParseAddr
	for _, c := range []struct {
		target dns.Target
		want   []dns.Record
	}{
		{dns.Target{}, nil},
		{dns.ParseTarget([]string{"192.0.2.1"}), []dns.Record{{Name: "h.example.com", Type: dns.A, Values: []string{"192.0.2.1"}, TTL: 60}}},
		{
			dns.Target{Addresses: []netip.Addr{addr("2001:db8::2"), addr("192.0.2.9"), addr("192.0.2.1"), addr("192.0.2.9")}, Host: "lb.example.org"},
			[]dns.Record{
				{Name: "h.example.com", Type: dns.A, Values: []string{"192.0.2.1", "192.0.2.9"}, TTL: 60},
				{Name: "h.example.com", Type: dns.AAAA, Values: []string{"2001:db8::2"}, TTL: 60},
			},
		},
		{dns.ParseTarget([]string{"LB.example.org."}), []dns.Record{{Name: "h.example.com", Type: dns.CNAME, Values: []string{"lb.example.org"}, TTL: 60}}},
		{dns.ParseTarget([]string{"::ffff:192.0.2.1"}), []dns.Record{{Name: "h.example.com", Type: dns.A, Values: []string{"192.0.2.1"}, TTL: 60}}},
	} {
		if diff := cmp.Diff(c.want, c.target.Records("h.example.com", 60)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.target, diff)
		}
	}
}

func TestCheckTargets(t *testing.T) {
	for values, want := range map[string]string{
		"192.0.2.1": "", "192.0.2.1 2001:db8::1": "", "lb.example.org": "", "lb.example.org.": "", "LB.example.org": "",
		"192.0.2.1 192.0.2.1": "twice", "192.0.2.1 lb.example.org": "one host name alone", "lb": "one label",
		"10.0.0.256": "ends in a number, and is not an address", "10.0.0.1 10.0.0.256": "ends in a number, and is not an address", "1.2.3": "ends in a number",
		"2001:DB8::1": "canonical", "::ffff:192.0.2.1": "written as IPv6", "http://lb.example.org": "not a host name", "*.example.org": "not a host name",
	} {
		err := errors.Join(dns.CheckTargets(strings.Fields(values))...)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", values, err, want)
		}
	}
}

// The owner's record is valid for every host, and no two hosts share one.
func TestOwner(t *testing.T) {
	const lease = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/18446744073709551615/4294967295/4294967295/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	for _, host := range []string{"shop.example.com", "*.example.com", "example.com"} {
		r := dns.Owner(host, lease, 60)
		if err := dns.Check(r); err != nil {
			t.Error(err)
		}
	}
	if a, b := dns.OwnerName("*.example.com"), dns.OwnerName("example.com"); a == b {
		t.Errorf("the wildcard and the apex share %s", a)
	}
	if err := dns.Check(dns.Owner(strings.Repeat("abcdefg.", 31)+"com", lease, 0)); err == nil {
		t.Error("a name of more than 253 characters is valid")
	}
}
