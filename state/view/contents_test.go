package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// objectOf reads an object from YAML.
func objectOf(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(data, &o.Object) // numbers as the API server's client has them
	}
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return o
}

// The book uses each object that concerns it exactly once, from a cluster or a folder.
func TestContents(t *testing.T) {
	const ofLease = `labels: {akash.network/lease.id.owner: ` + statetest.Alice + `}`
	for text, want := range map[string]string{
		`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a.example.com, namespace: akash-net, annotations: {net.akash.network/ledger: v1}}}`: "claim",
		`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a.example.com, annotations: {net.akash.network/ledger: v1}}}`:                       "claim",
		`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a.example.com, namespace: other, annotations: {net.akash.network/ledger: v1}}}`:     "",
		`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: leader, namespace: akash-net}}`:                                                     "",
		`{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {x: y}}}`:                                                                                "namespace",
		`{apiVersion: akash.network/v2beta2, kind: ProviderHost, metadata: {name: a.example.com}}`:                                                              "host",
		`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, ` + ofLease + `}, spec: {rules: [{host: a.example.com}]}}`:                       "host route",
		`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, spec: {rules: [{host: a.example.com}]}}`:                                        "route",
		`{apiVersion: other.example/v1, kind: ProviderHost, metadata: {name: a.example.com}}`:                                                                   "",
		`{apiVersion: akash.network/v2beta2, kind: ProviderLeasedIP, metadata: {name: k-tcp-443}}`:                                                              "port",
		`{apiVersion: v1, kind: Service, metadata: {name: a, labels: {akash.network/service-target: metal-lb}}}`:                                                "service",
		`{apiVersion: v1, kind: Service, metadata: {name: a}}`:                                                                                                  "",
		`{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: a}}`:                                                                            "pool",
		`{apiVersion: externaldns.k8s.io/v1alpha1, kind: DNSEndpoint, metadata: {name: a, ` + ofLease + `}}`:                                                    "record",
		`{apiVersion: extensions.gardener.cloud/v1alpha1, kind: DNSRecord, metadata: {name: a}}`:                                                                "",
	} {
		var c Contents
		c.Add(objectOf(t, text), "akash-net")
		var got []string
		for name, n := range map[string]int{"claim": len(c.Claims), "namespace": len(c.Namespaces), "host": len(c.Hosts), "port": len(c.Ports),
			"service": len(c.Services), "pool": len(c.Pools), "record": len(c.Records), "route": len(c.Routes)} {
			got = append(got, slices.Repeat([]string{name}, n)...)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A claim from a file has the deletion timestamp and finalizers of one from a cluster.
func TestClaimsOfFiles(t *testing.T) {
	var c Contents
	c.Add(objectOf(t, `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a.example.com, uid: u, resourceVersion: "7", creationTimestamp: "2026-11-18T09:00:00Z",
		deletionTimestamp: "2026-11-18T09:01:00Z", finalizers: [example.com/keep], annotations: {net.akash.network/ledger: v1},
		managedFields: [{manager: m, operation: Apply, time: "2026-11-18T09:02:00Z"}]}}`), "akash-net")
	want := &state.Claim{Kind: state.Host, Thing: "a.example.com", UID: "u", ResourceVersion: "7", Created: statetest.Start, Updated: statetest.Minute(2), Deleting: true, Finalizers: []string{"example.com/keep"}}
	if diff := cmp.Diff(want, c.Claims[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// ClaimedHosts yields hosts of claims that are kept whole and of those that are not.
func TestClaimedHosts(t *testing.T) {
	var c Contents
	c.AddClaim(claimtest.HostClaim("a.example.com", statetest.Shop, ""), true)
	c.AddClaim(claimtest.HostClaim("b.example.com", statetest.Shop, ""), false)
	c.AddClaim(claimtest.AddressClaim("203.0.113.7", "public", statetest.Shop), false)
	if diff := cmp.Diff([]string{"a.example.com", "b.example.com"}, slices.Collect(c.ClaimedHosts())); diff != "" || len(c.Claims) != 2 {
		t.Errorf("%d are kept whole (-want +got):\n%s", len(c.Claims), diff)
	}
	for host := range c.ClaimedHosts() {
		if host != "a.example.com" {
			t.Errorf("it goes on to %s", host)
		}
		break
	}
	c.DropClaims()
	if got := slices.Collect(c.ClaimedHosts()); len(got) > 0 {
		t.Errorf("claims that were dropped: %q", got)
	}
}

// The leases of edited objects are known for the rows that are shown, also after a choice among them.
func TestEditedLeases(t *testing.T) {
	service := claimtest.Service(statetest.Shop, "web-ip-443-tcp", "a", "TCP", 443, "203.0.113.0", "203.0.113.0")
	service.Edited = true
	in := Contents{
		Claims: []*state.Claim{
			claimtest.AddressClaim("203.0.113.0", "a", statetest.Shop, claimtest.HTTPS()), claimtest.HostClaim("a.example.com", statetest.Blog, ""),
		},
		Services: []state.ServiceObject{service},
	}
	for subject, want := range map[Subject][]lease.ID{SubjectIPs: {statetest.Shop}, SubjectLeases: {statetest.Shop}, SubjectHosts: nil, SubjectPools: nil} {
		b := NewBook(config.Default(), in, subject)
		if got := b.EditedLeases(); !slices.Equal(got, want) {
			t.Errorf("%s: the leases are %v, want %v", subject, got, want)
		}
		if b.Select(labels.Everything(), statetest.Blog.Namespace()); len(b.EditedLeases()) > 0 {
			t.Errorf("%s of another lease: there are %v", subject, b.EditedLeases())
		}
	}
}

// What was rendered for a lease and has no claim is counted, and what Akash's provider alone has written is not.
func TestUnclaimed(t *testing.T) {
	use := func(host string, rendered bool) state.HostObject {
		return state.HostObject{Host: host, Labelled: state.Labelled{Kind: "ingress", Namespace: statetest.Shop.Namespace(), Name: host, Lease: statetest.Shop, HasLease: true, Rendered: rendered}}
	}
	service := claimtest.Service(statetest.Shop, "web-ip-443-tcp", "a", "TCP", 443, "203.0.113.0", "203.0.113.0")
	service.Rendered = true
	in := Contents{
		Claims:   []*state.Claim{claimtest.HostClaim("claimed.example.com", statetest.Shop, "")},
		Hosts:    []state.HostObject{use("claimed.example.com", true), use("lost.example.com", true), use("akashs.example.com", false)},
		Services: []state.ServiceObject{service},
	}
	b := NewBook(config.Default(), in, SubjectHosts, SubjectIPs)
	if hosts, ports := b.Unclaimed(); hosts != 1 || ports != 1 {
		t.Errorf("%d hosts and %d ports are unclaimed, want one of each", hosts, ports)
	}
	in.Claims = append(in.Claims, claimtest.HostClaim("lost.example.com", statetest.Shop, ""), claimtest.AddressClaim("203.0.113.0", "a", statetest.Shop, claimtest.HTTPS()))
	b = NewBook(config.Default(), in, SubjectHosts, SubjectIPs)
	if hosts, ports := b.Unclaimed(); hosts+ports > 0 {
		t.Errorf("%d hosts and %d ports are unclaimed, and all are claimed", hosts, ports)
	}
}
