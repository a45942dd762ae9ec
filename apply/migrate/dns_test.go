package migrate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Where a host leads is what the records of its own name say, in whatever order and objects.
func TestValuesOf(t *testing.T) {
	records := []dns.Record{
		{Name: "a.example.com", Type: dns.AAAA, Values: []string{"2001:db8::1"}},
		{Name: "a.example.com", Type: dns.A, Values: []string{"192.0.2.2", "192.0.2.1"}},
		{Name: "a.example.com", Type: dns.A, Values: []string{"192.0.2.1"}},
		{Name: "a.example.com", Type: dns.TXT, Values: []string{"text"}},
		{Name: "_akash-net.a.example.com", Type: dns.TXT, Values: []string{"text"}},
	}
	if diff := cmp.Diff([]string{"A 192.0.2.1", "A 192.0.2.2", "AAAA 2001:db8::1"}, valuesOf("a.example.com", records)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Resolvers keep an answer for the longest of the TTLs of the host's own records; one that is not said is
// that of who serves it.
func TestLongestTTL(t *testing.T) {
	record := func(name string, kind dns.Type, ttl int64) dns.Record {
		return dns.Record{Name: name, Type: kind, TTL: ttl}
	}
	for name, c := range map[string]struct {
		kind    kinds.Kind
		records []dns.Record
		want    time.Duration
	}{
		"the longest":      {kinds.DNSEndpoint, []dns.Record{record("h", dns.A, 60), record("h", dns.AAAA, 600)}, 10 * time.Minute},
		"not that of text": {kinds.DNSEndpoint, []dns.Record{record("h", dns.A, 60), record("h", dns.TXT, 600), record("_akash-net.h", dns.TXT, 600)}, time.Minute},
		"Gardener's":       {kinds.DNSRecord, []dns.Record{record("h", dns.A, 0)}, 2 * time.Minute},
		"external-dns'":    {kinds.DNSEndpoint, []dns.Record{record("h", dns.CNAME, 0)}, 5 * time.Minute},
		"none":             {kinds.DNSRecord, []dns.Record{record("_akash-net.h", dns.TXT, 0)}, 0},
	} {
		o := view.RecordObject{Labelled: state.Labelled{Kind: c.kind.Singular}, Records: c.records}
		if got := longestTTL("h", o); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
