package state

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
)

// bookRecord is an object with DNS records of a lease; the rest are JSON members of spec and status.
func bookRecord(t *testing.T, kind, host, name string, id lease.ID, generation int64, spec, status string) *unstructured.Unstructured {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(`{"spec": {`+spec+`}, "status": {`+status+`}}`), &o); err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: numbers(o).(map[string]any)}
	u.SetKind(kind)
	u.SetNamespace(id.Namespace())
	u.SetName(name)
	u.SetLabels(id.Labels())
	u.SetGeneration(generation)
	if host != "" {
		u.SetAnnotations(map[string]string{lease.AnnotationHost: host})
	}
	return u
}

// numbers makes whole numbers of those that encoding/json reads, as the API machinery has them.
func numbers(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	}
	return v
}

const bookA = `"name": "shop.example.com", "recordType": "A", "values": ["192.0.2.1"], "ttl": 60`

// How a record stands is what its controller says of the object as it is now.
func TestRecordState(t *testing.T) {
	operation := func(state string) string {
		return `"observedGeneration": 2, "lastOperation": {"type": "Reconcile", "state": "` + state + `", "description": "done"}`
	}
	for name, c := range map[string]struct {
		kind, status         string
		change               func(*unstructured.Unstructured)
		want, last, messages string
	}{
		"new":            {kind: "DNSRecord", want: StatePending},
		"served":         {kind: "DNSRecord", status: operation("Succeeded"), want: StateActive, last: "Reconcile Succeeded"},
		"at work":        {kind: "DNSRecord", status: operation("Processing"), want: StatePending, last: "Reconcile Processing"},
		"error":          {kind: "DNSRecord", status: operation("Error") + `, "lastError": {"description": "no zone"}`, want: StateFailed, last: "Reconcile Error", messages: "no zone"},
		"failed":         {kind: "DNSRecord", status: operation("Failed"), want: StateFailed, last: "Reconcile Failed", messages: "done"},
		"an old success": {kind: "DNSRecord", status: strings.Replace(operation("Succeeded"), ": 2", ": 1", 1), want: StatePending, last: "Reconcile Succeeded"},
		"asked again": {kind: "DNSRecord", status: operation("Succeeded"), want: StatePending, last: "Reconcile Succeeded", change: func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{GardenerOperation: "reconcile"})
		}},
		"going": {kind: "DNSRecord", status: operation("Succeeded"), want: StateTerminating, last: "Reconcile Succeeded", change: func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, "2026-11-18T09:00:00Z", "metadata", "deletionTimestamp")
		}},
		"endpoint new":      {kind: "DNSEndpoint", want: StatePending},
		"endpoint seen":     {kind: "DNSEndpoint", status: `"observedGeneration": 2`, want: StateActive},
		"endpoint outdated": {kind: "DNSEndpoint", status: `"observedGeneration": 1`, want: StatePending},
	} {
		o := bookRecord(t, c.kind, "shop.example.com", "x", bookShop, 2, bookA, c.status)
		if c.change != nil {
			c.change(o)
		}
		if r := RecordObjectOf(o); r.State != c.want || r.Operation != c.last || r.Message != c.messages {
			t.Errorf("%s: %q, %q, %q", name, r.State, r.Operation, r.Message)
		}
	}
}

// The book lists each record with its zone; two objects for one record are told.
func TestBookOfRecords(t *testing.T) {
	objects := []RecordObject{
		RecordObjectOf(bookRecord(t, "DNSRecord", "shop.example.com", "shop.example.com-a", bookShop, 1, bookA, `"zone": "found"`)),
		RecordObjectOf(bookRecord(t, "DNSRecord", "shop.example.com", "shop.example.com-txt", bookShop, 1, `"name": "_akash-net.shop.example.com", "recordType": "TXT", "values": ["x"], "zone": "asked"`, `"zone": "found"`)),
		RecordObjectOf(bookRecord(t, "DNSEndpoint", "shop.example.com", "shop.example.com", bookBlog, 1, `"endpoints": [{"dnsName": "shop.example.com", "recordType": "A", "targets": ["192.0.2.2"]}]`, "")),
		RecordObjectOf(bookRecord(t, "DNSRecord", "", "somebody-elses", bookShop, 1, bookA, "")),
	}
	type row struct{ Name, Type, Values, Zone, Owner, Message string }
	var got []row
	book := NewBook(config.Default(), Contents{Records: objects}, SubjectDNS)
	for _, r := range book.DNS {
		got = append(got, row{r.Name, string(r.Type), strings.Join(r.Values, ","), r.Zone, r.Owner, r.Message})
	}
	want := []row{
		{"shop.example.com", "A", "192.0.2.2", "", bookBlog.Owner, ""},
		{"shop.example.com", "A", "192.0.2.1", "found", bookShop.Owner, "dnsendpoint " + bookBlog.Namespace() + "/shop.example.com is for it too"},
		{"_akash-net.shop.example.com", "TXT", "x", "asked", bookShop.Owner, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	book.Select(labels.SelectorFromSet(labels.Set{lease.LabelOwner: bookBlog.Owner}), "")
	if len(book.DNS) != 1 || book.Empty() {
		t.Errorf("selected %v", book.DNS)
	}
	later := NewBook(config.Default(), Contents{}, SubjectDNS)
	if gone := later.Changes(book); len(gone.DNS) != 1 || gone.DNS[0].State != StateReleased {
		t.Errorf("what a watch tells: %v", gone.DNS)
	}
}

// Records of hosts that nobody holds, that another holds, of another form, and with other values.
func TestRecordProblems(t *testing.T) {
	cfg := config.Default()
	cfg.DNS.Form = config.DNSGardener
	own := func(host string, id lease.ID, want ...dns.Record) OwnRecord {
		o := RecordObjectOf(bookRecord(t, "DNSRecord", host, host+"-a", id, 1, `"name": "`+host+`", "recordType": "A", "values": ["192.0.2.1"], "ttl": 60`, ""))
		return OwnRecord{Ref: ObjectRef{Kind: "dnsrecord", Namespace: o.Namespace, Name: o.Name}, Object: o, Want: want, Known: want != nil}
	}
	a := func(host, value string, ttl int64) dns.Record {
		return dns.Record{Name: host, Type: dns.A, Values: []string{value}, TTL: ttl}
	}
	endpoint := own("form.example.com", bookShop)
	endpoint.Ref.Kind, endpoint.Object.Kind = "dnsendpoint", "dnsendpoint"
	claims := []*Claim{}
	for _, host := range []string{"right.example.com", "unknown.example.com", "value.example.com", "ttl.example.com", "type.example.com", "form.example.com"} {
		claims = append(claims, bookHostClaim(host, bookShop, ""))
	}
	claims = append(claims, bookHostClaim("other.example.com", bookBlog, ""))
	found := Problems(ProblemFacts{
		View:       &View{Config: cfg, Claims: claims, Book: &Book{}},
		Namespaces: map[string]bool{bookShop.Namespace(): true, bookBlog.Namespace(): true},
		Records: []OwnRecord{
			own("right.example.com", bookShop, a("right.example.com", "192.0.2.1", 60)), own("unknown.example.com", bookShop),
			own("value.example.com", bookShop, a("value.example.com", "192.0.2.2", 60)), own("ttl.example.com", bookShop, a("ttl.example.com", "192.0.2.1", 0)),
			own("type.example.com", bookShop, dns.Record{Name: "type.example.com", Type: dns.CNAME, Values: []string{"x.y"}}),
			own("free.example.com", bookShop), own("other.example.com", bookShop), endpoint,
		},
	})
	type problem struct{ Problem, Thing, Message string }
	var got []problem
	for _, p := range found {
		got = append(got, problem{p.Problem, p.Thing, p.Message})
		if (p.Mend.Delete == nil) != (p.Problem == RecordDiffers) || (p.Mend.Record == p.Thing) != (p.Problem == RecordDiffers) {
			t.Errorf("%s %s is mended by %v", p.Problem, p.Thing, p.Mend)
		}
	}
	in := func(kind, host string) string { return kind + " " + bookShop.Namespace() + "/" + host + "-a " }
	want := []problem{
		{StrayRecord, "form.example.com", in("dnsendpoint", "form.example.com") + "has a DNS record of it, and the configuration has none of that form (dns.form: gardener)"},
		{StrayRecord, "free.example.com", in("dnsrecord", "free.example.com") + "has a DNS record of it, and nobody has claimed it"},
		{StrayRecord, "other.example.com", in("dnsrecord", "other.example.com") + "has a DNS record of it, and " + holders(claims[6]) + " holds it"},
		{RecordDiffers, "ttl.example.com", in("dnsrecord", "ttl.example.com") + "says A 192.0.2.1 (TTL 60), it is to be 192.0.2.1"},
		{RecordDiffers, "type.example.com", in("dnsrecord", "type.example.com") + "has a record type.example.com A 192.0.2.1, which is not wanted"},
		{RecordDiffers, "value.example.com", in("dnsrecord", "value.example.com") + "says A 192.0.2.1 (TTL 60), it is to be 192.0.2.2 (TTL 60)"},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
