package diagnose

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Records of hosts that nobody or another lease holds, of another form, and with other values.
func TestRecordProblems(t *testing.T) {
	cfg := config.Default()
	cfg.DNS.Form = config.DNSGardener
	own := func(host string, id lease.ID, want ...dns.Record) OwnRecord {
		o := view.RecordObjectOf(statetest.Record(t, "DNSRecord", host, host+"-a", id, 1, `"name": "`+host+`", "recordType": "A", "values": ["192.0.2.1"], "ttl": 60`, ""))
		return OwnRecord{Ref: state.ObjectRef{Kind: "dnsrecord", Namespace: o.Namespace, Name: o.Name}, Object: o, Want: want, Known: want != nil}
	}
	a := func(host, value string, ttl int64) dns.Record {
		return dns.Record{Name: host, Type: dns.A, Values: []string{value}, TTL: ttl}
	}
	endpoint := own("form.example.com", statetest.Shop)
	endpoint.Ref.Kind, endpoint.Object.Kind = "dnsendpoint", "dnsendpoint"
	claims := []*state.Claim{}
	for _, host := range []string{"right.example.com", "unknown.example.com", "value.example.com", "ttl.example.com", "type.example.com", "form.example.com"} {
		claims = append(claims, claimtest.HostClaim(host, statetest.Shop, ""))
	}
	claims = append(claims, claimtest.HostClaim("other.example.com", statetest.Blog, ""))
	found := Problems(ProblemFacts{
		View:       &View{Config: cfg, Claims: claims, Book: &view.Book{}},
		Namespaces: map[string]bool{statetest.Shop.Namespace(): true, statetest.Blog.Namespace(): true},
		Records: []OwnRecord{
			own("right.example.com", statetest.Shop, a("right.example.com", "192.0.2.1", 60)), own("unknown.example.com", statetest.Shop),
			own("value.example.com", statetest.Shop, a("value.example.com", "192.0.2.2", 60)), own("ttl.example.com", statetest.Shop, a("ttl.example.com", "192.0.2.1", 0)),
			own("type.example.com", statetest.Shop, dns.Record{Name: "type.example.com", Type: dns.CNAME, Values: []string{"x.y"}}),
			own("free.example.com", statetest.Shop), own("other.example.com", statetest.Shop), endpoint,
		},
	})
	type problem struct{ Problem, Thing, Message string }
	var got []problem
	for _, p := range found {
		got = append(got, problem{p.Problem, p.Thing, p.Message})
		_, deletes := p.Mend.(state.DeleteObjects)
		records, writes := p.Mend.(state.WriteRecords)
		if deletes == (p.Problem == state.RecordDiffers) || (writes && records.Host == p.Thing) != (p.Problem == state.RecordDiffers) {
			t.Errorf("%s %s is mended by %v", p.Problem, p.Thing, p.Mend)
		}
	}
	in := func(kind, host string) string { return kind + " " + statetest.Shop.Namespace() + "/" + host + "-a " }
	want := []problem{
		{state.StrayRecord, "form.example.com", in("dnsendpoint", "form.example.com") + "has a DNS record of it, and the configuration has none of that form (dns.form: gardener)"},
		{state.StrayRecord, "free.example.com", in("dnsrecord", "free.example.com") + "has a DNS record of it, and nobody has claimed it"},
		{state.StrayRecord, "other.example.com", in("dnsrecord", "other.example.com") + "has a DNS record of it, and " + state.Holders(claims[6]) + " holds it"},
		{state.RecordDiffers, "ttl.example.com", in("dnsrecord", "ttl.example.com") + "says A 192.0.2.1 (TTL 60), it is to be 192.0.2.1"},
		{state.RecordDiffers, "type.example.com", in("dnsrecord", "type.example.com") + "has a record type.example.com A 192.0.2.1, which is not wanted"},
		{state.RecordDiffers, "value.example.com", in("dnsrecord", "value.example.com") + "says A 192.0.2.1 (TTL 60), it is to be 192.0.2.2 (TTL 60)"},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
