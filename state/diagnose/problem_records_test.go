package diagnose

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// A host whose object has lost a record is a problem; one whose records are in several objects is none.
func TestRecordThatIsGone(t *testing.T) {
	const host = "shop.example.com"
	v4, v6 := dns.Record{Name: host, Type: "A", Values: []string{"192.0.2.1"}}, dns.Record{Name: host, Type: "AAAA", Values: []string{"2001:db8::1"}}
	cfg := config.Default()
	cfg.DNS.Form = config.DNSEndpoint
	found := func(objects ...[]dns.Record) (texts []string) {
		f := Facts{Config: cfg, Book: &view.Book{}, Contents: view.Contents{Claims: []*state.Claim{claimtest.HostClaim(host, shop, "")}}}
		for _, records := range objects {
			r := OwnRecord{Ref: state.ObjectRef{Kind: "dnsendpoint", Namespace: shop.Namespace(), Name: host}, Want: []dns.Record{v4, v6}, Known: true}
			r.Object.Kind, r.Object.Host, r.Object.Lease, r.Object.HasLease, r.Object.Records = "dnsendpoint", host, shop, true, records
			f.Records = append(f.Records, r)
		}
		for _, p := range Problems(f) {
			if p.Problem == state.RecordDiffers {
				texts = append(texts, p.Message)
			}
		}
		return texts
	}
	want := "dnsendpoint " + shop.Namespace() + "/shop.example.com lacks the record shop.example.com AAAA 2001:db8::1"
	if got := found([]dns.Record{v4}); len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := found([]dns.Record{v4}, []dns.Record{v6}); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
