package records

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// The endpoint that leases the port of the host's own service, web:80: testdata/records.txt. A claim is ENDPOINT ADDRESS LEASE SERVICE:PORT, leases
// are one and other.
//
//	endpoint CLAIM; ...
func TestLeasedEndpoint(t *testing.T) {
	one := lease.ID{Owner: ot.Shop.Owner, DSeq: 1, GSeq: 1, OSeq: 1, Provider: ot.Shop.Provider}
	ids := map[string]lease.ID{"one": one, "other": {Owner: one.Owner, DSeq: 2, GSeq: 1, OSeq: 1, Provider: one.Provider}}
	golden.Rules{
		"endpoint": func(line string) string {
			var held []*state.Claim
			for _, text := range strings.Split(line, ";") {
				words := strings.Fields(text)
				if len(words) < 4 {
					continue
				}
				service, number, _ := strings.Cut(words[3], ":")
				var port uint16
				_, _ = fmt.Sscan(number, &port)
				c := &state.Claim{Kind: state.Address, Thing: words[1], Owner: ids["one"].Owner, SharingKey: ids["one"].Owner + "-ip-" + words[0]}
				if words[0] == "host" {
					c = &state.Claim{Kind: state.Host, Thing: words[1], Owner: ids["one"].Owner}
				}
				c.Parts = []state.Part{{Key: state.PortKey(lease.TCP, port), Lease: ids[words[2]], Service: service, Port: port}}
				held = append(held, c)
			}
			endpoint, addresses := leasedEndpoint(held, ids["one"].Group(), state.Part{Service: "web", Port: 80})
			return fmt.Sprint(endpoint, " ", addresses[endpoint])
		},
	}.Check(t, "testdata/records.txt")
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
