package records

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

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
		"the group holds no address": {nil, ""},
		"only another service leases an address": {
			[]*state.Claim{address("one", "192.0.2.1", port(id, "db", 80))}, ""},
		"only another group leases a port of the service": {
			[]*state.Claim{address("one", "192.0.2.1", port(other, "web", 80))}, ""},
		"a host claim is no address": {
			[]*state.Claim{{Kind: state.Host, Thing: "shop.example.com", Owner: id.Owner, Parts: []state.Part{port(id, "web", 80)}}}, ""},
		"another port of the service is leased": {
			[]*state.Claim{address("one", "192.0.2.1", port(id, "web", 443))}, "one 192.0.2.1"},
		"the part's own port wins over a lower one": {
			[]*state.Claim{address("one", "192.0.2.1", port(id, "web", 22)), address("two", "192.0.2.2", port(id, "web", 80))}, "two 192.0.2.2"},
		"the lowest of other ports wins": {
			[]*state.Claim{address("one", "192.0.2.1", port(id, "web", 443)), address("two", "192.0.2.2", port(id, "web", 22))}, "two 192.0.2.2"},
		"an endpoint has both families": {
			[]*state.Claim{address("one", "192.0.2.1", port(id, "web", 80)), address("one", "2001:db8::1", port(id, "web", 80))},
			"one 192.0.2.1 2001:db8::1"},
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
