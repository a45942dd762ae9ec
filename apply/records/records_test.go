package records

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// recordLease returns a lease of one owner's deployment.
func recordLease(t *testing.T, dseq int) lease.ID {
	t.Helper()
	id, err := lease.ParseID(fmt.Sprintf("akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/%d/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0", dseq))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// recordsFor renders the records of a host.
func recordsFor(t *testing.T, id lease.ID, host string, change func(*config.DNS)) []render.Object {
	t.Helper()
	cfg := config.Default()
	cfg.DNS = config.DNS{Form: config.DNSGardener, Sources: []string{config.FromTarget}, Targets: []string{"192.0.2.1"}, Gardener: config.Gardener{Type: "aws-route53"}}
	if change != nil {
		change(&cfg.DNS)
	}
	def := &lease.Definition{Lease: id, Hash: "hash", Services: []lease.Service{{Name: "web", Expose: []lease.Expose{
		{Port: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: host}}},
	}}}}
	records, err := render.Records(def, cfg, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return records.Objects
}

// recordsOf returns a snapshot with live records, the oldest first.
func recordsOf(live ...render.Object) *observed.Snapshot {
	s, lists := observed.NewSnapshot(), map[string][]*unstructured.Unstructured{}
	for i, o := range live {
		u := cluster.Rendered(o)
		u.SetUID(types.UID(fmt.Sprint(i)))
		u.SetCreationTimestamp(metav1.NewTime(time.Unix(int64(i), 0)))
		lists[o.Kind.Plural] = append(lists[o.Kind.Plural], u)
	}
	s.Index(nil, lists)
	return s
}

// Records are deleted before others are created, and only then.
func TestToReplace(t *testing.T) {
	const host = "shop.example.com"
	id, other := recordLease(t, 1), recordLease(t, 2)
	to := func(values ...string) func(*config.DNS) { return func(d *config.DNS) { d.Targets = values } }
	endpoint := func(d *config.DNS) { d.Form = config.DNSEndpoint }
	typed := func(d *config.DNS) { d.Gardener.Type = "google-clouddns" }
	classed := func(d *config.DNS) { d.Gardener.Class = "garden" }
	for name, c := range map[string]struct {
		live, want []render.Object
		going      string
	}{
		"new":                    {nil, recordsFor(t, id, host, nil), ""},
		"the same":               {recordsFor(t, id, host, nil), recordsFor(t, id, host, nil), ""},
		"another value":          {recordsFor(t, id, host, nil), recordsFor(t, id, host, to("192.0.2.2")), ""},
		"a family more":          {recordsFor(t, id, host, nil), recordsFor(t, id, host, to("192.0.2.1", "2001:db8::1")), ""},
		"a family less":          {recordsFor(t, id, host, to("192.0.2.1", "2001:db8::1")), recordsFor(t, id, host, nil), ""},
		"addresses to a name":    {recordsFor(t, id, host, to("192.0.2.1", "2001:db8::1")), recordsFor(t, id, host, to("lb.example.net")), "shop.example.com-a by dnsrecord/shop.example.com-cname, shop.example.com-aaaa by dnsrecord/shop.example.com-cname"},
		"a name to an address":   {recordsFor(t, id, host, to("lb.example.net")), recordsFor(t, id, host, nil), "shop.example.com-cname by dnsrecord/shop.example.com-a"},
		"type":                   {recordsFor(t, id, host, nil), recordsFor(t, id, host, typed), `shop.example.com-a its type cannot be changed from "aws-route53" to "google-clouddns"`},
		"class":                  {recordsFor(t, id, host, nil), recordsFor(t, id, host, classed), `shop.example.com-a its class cannot be changed from "" to "garden"`},
		"form":                   {recordsFor(t, id, host, nil), recordsFor(t, id, host, endpoint), "shop.example.com-a by dnsendpoint/shop.example.com"},
		"an endpoint's type":     {recordsFor(t, id, host, endpoint), recordsFor(t, id, host, func(d *config.DNS) { endpoint(d); d.Targets = []string{"lb.example.net"} }), ""},
		"of another lease":       {recordsFor(t, other, host, nil), recordsFor(t, id, host, nil), "shop.example.com-a by dnsrecord/shop.example.com-a, from deployment " + other.Group().String()},
		"of another host":        {recordsFor(t, other, "other.example.com", nil), recordsFor(t, id, host, nil), ""},
		"of another, mine stays": {append(recordsFor(t, id, host, nil), recordsFor(t, other, host, nil)...), recordsFor(t, id, host, nil), ""},
	} {
		old, recreated := ToReplace(recordsOf(c.live...), id.Group(), host, c.want)
		var texts []string
		for _, g := range old {
			texts = append(texts, g.Live.GetName()+" "+g.Why)
		}
		if diff := cmp.Diff(c.going, strings.Join(texts, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if (len(recreated) > 0) != strings.Contains(c.going, "cannot be changed") {
			t.Errorf("%s: recreated %v", name, recreated)
		}
	}
}

// If several deployments hold parts of one host, the one with the oldest records keeps them.
func TestHolder(t *testing.T) {
	const host = "shop.example.com"
	mine, other := recordLease(t, 1), recordLease(t, 2)
	part := func(id lease.ID, path string) state.Part {
		return state.Part{Key: state.RouteKey(path), Lease: id, Path: path}
	}
	both := []state.Part{part(mine, "/"), part(other, "/v2")}
	own, theirs := recordsFor(t, mine, host, nil), recordsFor(t, other, host, nil)
	for name, c := range map[string]struct {
		live  []render.Object
		parts []state.Part
		want  string
	}{
		"nobody has any":              {nil, both, ""},
		"another has":                 {theirs, both, other.Group().String()},
		"another had, and is gone":    {theirs, both[:1], ""},
		"another has newer ones":      {append(own, theirs...), both, ""},
		"another has older ones":      {append(theirs, own...), both, other.Group().String()},
		"another's are for elsewhere": {recordsFor(t, other, "other.example.com", nil), both, ""},
		"nobody has claimed the host": {theirs, nil, ""},
	} {
		claim := &state.Claim{Kind: state.Host, Thing: host, Owner: mine.Owner, Parts: c.parts}
		if c.parts == nil {
			claim = nil
		}
		if got := Holder(recordsOf(c.live...), mine.Group(), claim, host); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A new spec of a DNSRecord comes with a new reconcile request; an unchanged spec keeps the old one.
func TestPrepared(t *testing.T) {
	id, now := recordLease(t, 1), time.Date(2026, 11, 21, 9, 0, 0, 1, time.UTC)
	o := recordsFor(t, id, "shop.example.com", nil)[0]
	read := func(o render.Object) [2]string {
		a := cluster.Rendered(o).GetAnnotations()
		return [2]string{a[view.GardenerOperation], a[view.GardenerTimestamp]}
	}
	asked := [2]string{"reconcile", "2026-11-21T09:00:00.000000001Z"}
	if got := read(Prepared(o, nil, now)); got != asked {
		t.Errorf("a new record asks %v", got)
	}
	live := cluster.Rendered(Prepared(o, nil, now))
	if got := read(Prepared(o, live, now.Add(time.Hour))); got != asked {
		t.Errorf("the same record asks %v", got)
	}
	done := live.DeepCopy()
	annotations := done.GetAnnotations()
	delete(annotations, view.GardenerOperation)
	done.SetAnnotations(annotations)
	if got := read(Prepared(o, done, now.Add(time.Hour))); got != [2]string{"", asked[1]} {
		t.Errorf("the same record, acted upon, asks %v", got)
	}
	changed := recordsFor(t, id, "shop.example.com", func(d *config.DNS) { d.TTL = 60 })[0]
	if got := read(Prepared(changed, done, now.Add(time.Second))); got != [2]string{"reconcile", "2026-11-21T09:00:01.000000001Z"} {
		t.Errorf("a changed record asks %v", got)
	}
	endpoint := recordsFor(t, id, "shop.example.com", func(d *config.DNS) { d.Form = config.DNSEndpoint })[0]
	if got := read(Prepared(endpoint, nil, now)); got != [2]string{} {
		t.Errorf("a DNSEndpoint asks %v", got)
	}
}

// Where hosts are reached is taken from the snapshot, or read now.
func TestTargets(t *testing.T) {
	c, err := cluster.OfObjects([]*unstructured.Unstructured{ot.Service(ot.Shop, 80, "", "203.0.113.10")})
	if err != nil {
		t.Fatal(err)
	}
	s := ot.Snapshot(nil, ot.Service(ot.Shop, 80, "", "203.0.113.7"))
	host := render.UnknownHost{Host: lease.Host{Name: "shop.example.com"}, Source: config.FromAddress, Endpoint: "public"}
	for fresh, want := range map[bool]string{false: "map[shop.example.com:{[203.0.113.7] }]", true: "map[shop.example.com:{[203.0.113.10] }]"} {
		got, err := Targets(t.Context(), s, c, config.Default(), ot.Shop, []render.UnknownHost{host}, fresh)
		if fmt.Sprint(got) != want || err != nil {
			t.Errorf("read again %t: %v, %v", fresh, got, err)
		}
	}
}

// The records of a host point at the endpoint that leases the port of the host's own service.
func TestLeasedEndpoint(t *testing.T) {
	id, other := recordLease(t, 1), recordLease(t, 2)
	port := func(id lease.ID, service string, number uint16) state.Part {
		return state.Part{Key: state.PortKey(lease.TCP, number), Lease: id, Service: service, Port: number}
	}
	address := func(endpoint, ip string, parts ...state.Part) *state.Claim {
		return &state.Claim{Kind: state.Address, Thing: ip, Owner: id.Owner, SharingKey: id.Owner + "-ip-" + endpoint, Parts: parts}
	}
	for name, c := range map[string]struct {
		held []*state.Claim
		want string
	}{
		"the group holds no address":                      {nil, ""},
		"only another service leases an address":          {[]*state.Claim{address("one", "192.0.2.1", port(id, "db", 80))}, ""},
		"only another group leases a port of the service": {[]*state.Claim{address("one", "192.0.2.1", port(other, "web", 80))}, ""},
		"a host claim is no address":                      {[]*state.Claim{{Kind: state.Host, Thing: "shop.example.com", Owner: id.Owner, Parts: []state.Part{port(id, "web", 80)}}}, ""},
		"another port of the service is leased":           {[]*state.Claim{address("one", "192.0.2.1", port(id, "web", 443))}, "one 192.0.2.1"},
		"the part's own port wins over a lower one":       {[]*state.Claim{address("one", "192.0.2.1", port(id, "web", 22)), address("two", "192.0.2.2", port(id, "web", 80))}, "two 192.0.2.2"},
		"the lowest of other ports wins":                  {[]*state.Claim{address("one", "192.0.2.1", port(id, "web", 443)), address("two", "192.0.2.2", port(id, "web", 22))}, "two 192.0.2.2"},
		"an endpoint has both families":                   {[]*state.Claim{address("one", "192.0.2.1", port(id, "web", 80)), address("one", "2001:db8::1", port(id, "web", 80))}, "one 192.0.2.1 2001:db8::1"},
	} {
		endpoint, addresses := leasedEndpoint(c.held, id.Group(), state.Part{Service: "web", Port: 80})
		got := endpoint
		for _, a := range addresses[endpoint] {
			got += " " + a.String()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A live record is replaced, not updated, only if it is being deleted or an immutable field differs.
func TestWhyReplaced(t *testing.T) {
	id := recordLease(t, 1)
	endpoint := func(d *config.DNS) { d.Form = config.DNSEndpoint }
	deleted := func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(&metav1.Time{Time: time.Now()}) }
	set := func(field, value string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { o.Object["spec"].(map[string]any)[field] = value }
	}
	record, dnsEndpoint := recordsFor(t, id, "shop.example.com", nil)[0], recordsFor(t, id, "shop.example.com", endpoint)[0]
	for name, c := range map[string]struct {
		want   render.Object
		change func(live *unstructured.Unstructured)
		why    string
	}{
		"nothing differs":                       {record, func(*unstructured.Unstructured) {}, ""},
		"a mutable field differs":               {record, set("ttl", "1"), ""},
		"the type differs":                      {record, set("type", "x"), `its type cannot be changed from "x" to "aws-route53"`},
		"the class differs":                     {record, set("class", "x"), `its class cannot be changed from "x" to ""`},
		"the name differs":                      {record, set("name", "x"), `its name cannot be changed from "x" to "shop.example.com"`},
		"the record type differs":               {record, set("recordType", "TXT"), `its recordType cannot be changed from "TXT" to "A"`},
		"a DNSRecord is being deleted":          {record, deleted, "it is being deleted"},
		"a DNSEndpoint is being deleted":        {dnsEndpoint, deleted, "it is being deleted"},
		"a DNSEndpoint has no immutable fields": {dnsEndpoint, set("name", "x"), ""},
	} {
		live := cluster.Rendered(c.want).DeepCopy()
		c.change(live)
		if diff := cmp.Diff(c.why, whyReplaced(c.want, live)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The annotation has whole seconds; a route without it, or with another text, is deleted at once.
func TestResidualTTL(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "0": 0, "300": 5 * time.Minute, "-1": 0, "5m": 0, "1.5": 0, fmt.Sprint(1 << 31): 0} {
		live := &unstructured.Unstructured{}
		live.SetAnnotations(map[string]string{lease.AnnotationDNSTTL: text})
		if got := ResidualTTL(live); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	if got := ResidualTTL(nil); got != 0 {
		t.Errorf("no route: got %s", got)
	}
}
