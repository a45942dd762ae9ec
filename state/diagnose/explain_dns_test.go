package diagnose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

const explained = "shop.example.com"

// explainedBy returns the input for a host that a lease serves, with records of it.
func explainedBy(form string, records ...OwnRecord) *View {
	cfg := config.Default()
	cfg.DNS.Form = form
	c := &View{Config: cfg, Claims: []*state.Claim{claimtest.HostClaim(explained, statetest.Shop, "")}, Records: records, Unrecorded: map[string]string{}}
	row := func(path string) view.HostRow {
		return view.HostRow{Host: explained, Path: path, State: view.StateActive, Claimed: true, Tenant: &view.Tenant{
			Lease: statetest.Shop.String(), Owner: statetest.Shop.Owner, DSeq: statetest.Shop.DSeq, GSeq: statetest.Shop.GSeq, Namespace: statetest.Shop.Namespace(),
		}}
	}
	c.Book = &view.Book{Hosts: []view.HostRow{row(""), row("/v1")}}
	return c
}

// ofDNS returns the facts and advice about records, with NS for namespaces.
func ofDNS(x Explanation) []string {
	var out []string
	for _, f := range x.Facts {
		if strings.Contains(f, "DNS") || strings.Contains(f, "dnsrecord") || strings.Contains(f, "dnsendpoint") {
			out = append(out, f)
		}
	}
	for _, n := range x.Next {
		out = append(out, "-> "+n)
	}
	for i := range out {
		out[i] = strings.NewReplacer(statetest.Shop.Namespace(), "NS", statetest.Blog.Namespace(), "BLOG", statetest.Shop.String(), "SHOP", statetest.Blog.String(), "BLOGLEASE").Replace(out[i])
	}
	return out
}

// The records of a host by writer and state, and what to do.
func TestExplainRecords(t *testing.T) {
	record := func(id lease.ID, change func(*OwnRecord), status string) OwnRecord {
		o := view.RecordObjectOf(statetest.Record(t, "DNSRecord", explained, explained+"-a", id, 2, statetest.RecordA, status))
		r := OwnRecord{Ref: state.ObjectRef{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}, Object: o, Known: true, Want: o.Records}
		change(&r)
		return r
	}
	as := func(*OwnRecord) {}
	operated := func(state string) string {
		return `"zone": "Z1", "observedGeneration": 2, "lastOperation": {"type": "Reconcile", "state": "` + state + `"}, "lastError": {"description": "no hosted zone."}`
	}
	endpoint := view.RecordObjectOf(statetest.Record(t, "DNSEndpoint", explained, explained, statetest.Shop, 1, `"endpoints": [{"dnsName": "shop.example.com", "recordType": "A", "targets": ["192.0.2.2", "192.0.2.3"]},
		{"dnsName": "_akash-net.shop.example.com", "recordType": "TXT", "recordTTL": 60, "targets": ["x"]}]`, `"observedGeneration": 1`))
	says := "DNS: shop.example.com A 192.0.2.1, TTL 60 s, in zone Z1 (dnsrecord NS/shop.example.com-a)."
	held := "kubectl akash-net repair"
	for name, c := range map[string]struct {
		form string
		with []OwnRecord
		want []string
	}{
		"served": {config.DNSGardener, []OwnRecord{record(statetest.Shop, as, operated("Succeeded"))}, []string{says, "dnsrecord NS/shop.example.com-a is served (Reconcile Succeeded)."}},
		"an endpoint": {config.DNSEndpoint, []OwnRecord{{Ref: state.ObjectRef{Kind: endpoint.Kind, Namespace: endpoint.Namespace, Name: endpoint.Name}, Object: endpoint}}, []string{
			"DNS: shop.example.com A 192.0.2.2 192.0.2.3, TTL left to whoever serves it; _akash-net.shop.example.com TXT x, TTL 60 s (dnsendpoint NS/shop.example.com).",
			"dnsendpoint NS/shop.example.com is served.",
		}},
		"failed": {config.DNSGardener, []OwnRecord{record(statetest.Shop, as, operated("Error"))}, []string{
			says, "dnsrecord NS/shop.example.com-a is not served: its controller could not make it (Reconcile Error): no hosted zone.",
			"-> fix what the controller reports, then trigger it again: kubectl -n NS annotate --overwrite dnsrecords.extensions.gardener.cloud shop.example.com-a gardener.cloud/operation=reconcile",
		}},
		"not taken up": {config.DNSGardener, []OwnRecord{record(statetest.Shop, as, `"zone": "Z1"`)}, []string{
			says, "dnsrecord NS/shop.example.com-a is not served yet: its controller has not taken it up as it is now.",
			"-> kubectl -n NS describe dnsrecords.extensions.gardener.cloud shop.example.com-a (and see that its controller runs)",
		}},
		"held back": {config.DNSGardener, []OwnRecord{record(statetest.Shop, func(r *OwnRecord) { r.Object.State = view.StateTerminating }, operated("Succeeded"))}, []string{
			says, "dnsrecord NS/shop.example.com-a is being deleted, and its controller has not let it go (Reconcile Succeeded).",
			"-> kubectl -n NS describe dnsrecords.extensions.gardener.cloud shop.example.com-a",
		}},
		"it leads elsewhere": {config.DNSGardener, []OwnRecord{record(statetest.Shop, func(r *OwnRecord) {
			r.Want = []dns.Record{{Name: explained, Type: dns.A, Values: []string{"192.0.2.9"}, TTL: 60}}
		}, operated("Succeeded"))}, []string{
			says, "dnsrecord NS/shop.example.com-a is served (Reconcile Succeeded).",
			"dnsrecord NS/shop.example.com-a says A 192.0.2.1 (TTL 60), it is to be 192.0.2.9 (TTL 60).", "-> " + held,
		}},
		"of another form": {config.DNSEndpoint, []OwnRecord{record(statetest.Shop, as, operated("Succeeded"))}, []string{
			says, "dnsrecord NS/shop.example.com-a is served (Reconcile Succeeded).",
			"dnsrecord NS/shop.example.com-a is of a form that the configuration does not have (dns.form: endpoint).", "-> " + held,
		}},
		"of who does not hold it": {config.DNSGardener, []OwnRecord{record(statetest.Blog, as, operated("Succeeded"))}, []string{
			strings.Replace(says, "(dnsrecord NS", "(dnsrecord BLOG", 1), "dnsrecord BLOG/shop.example.com-a is served (Reconcile Succeeded).",
			"dnsrecord BLOG/shop.example.com-a is of lease BLOGLEASE, which does not hold the host.", "-> " + held,
		}},
		"none":           {config.DNSGardener, nil, []string{"DNS: no record leads to it.", "-> its record is written with: kubectl akash-net apply -f FILE"}},
		"by annotations": {config.DNSAnnotations, nil, []string{"DNS: external-dns makes its record of the route; nothing in the cluster tells whether it has."}},
		"no form":        {config.DNSNone, nil, nil},
	} {
		if diff := cmp.Diff(c.want, ofDNS(explainedBy(c.form, c.with...).Host(explained))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A lease's explanation has its own records once per host, says if another deployment has the records, and what a
// missing record waits for.
func TestExplainRecordsOfLease(t *testing.T) {
	o := view.RecordObjectOf(statetest.Record(t, "DNSEndpoint", explained, explained, statetest.Shop, 1, `"endpoints": [{"dnsName": "shop.example.com", "recordType": "A", "targets": ["192.0.2.2"]}]`, `"observedGeneration": 1`))
	own := OwnRecord{Ref: state.ObjectRef{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}, Object: o}
	c := explainedBy(config.DNSEndpoint, own)
	want := []string{
		"shop.example.com: DNS: shop.example.com A 192.0.2.2, TTL left to whoever serves it (dnsendpoint NS/shop.example.com).",
		"shop.example.com: dnsendpoint NS/shop.example.com is served.",
	}
	if diff := cmp.Diff(want, ofDNS(c.Lease(statetest.Shop.Group()))); diff != "" {
		t.Errorf("its own (-want +got):\n%s", diff)
	}
	c.Records[0].Object.Lease = statetest.Blog
	if diff := cmp.Diff([]string{"shop.example.com: DNS: lease BLOGLEASE has its records."}, ofDNS(c.Lease(statetest.Shop.Group()))); diff != "" {
		t.Errorf("another's (-want +got):\n%s", diff)
	}
	c.Records, c.Unrecorded[explained] = nil, "the Gateway has no address"
	if diff := cmp.Diff([]string{"shop.example.com: DNS: no record leads to it: the Gateway has no address."}, ofDNS(c.Lease(statetest.Shop.Group()))); diff != "" {
		t.Errorf("none (-want +got):\n%s", diff)
	}
}
