package commands

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A command reads each thing once. What it sends for a lease of one host grows neither with a change of the program nor with other leases:
// a row fails if it has more requests. Only apply writes, in this order, and only what is not there. Nothing else runs meanwhile, since what
// others have may be asked for, too.
func TestRequests(t *testing.T) {
	r := record(t)
	for range 3 {
		r.do(t, "apply", "-f", defineParts(t, leaseOf(newTenant(t), 1), webPart(newHost("other"))))
	}
	id, host := leaseOf(newTenant(t), 1), newHost("counted")
	hosts := defineParts(t, id, webPart(host))
	mail := defineParts(t, leaseOf(newTenant(t), 1), webPart(newHost("mail")), service("mail", leasedPart("public", "TCP", 25), leasedPart("public", "UDP", 25)), endpoint("public"))
	r.do(t, "apply", "-f", mail)
	for _, tt := range []struct {
		most   int
		args   string
		writes []string
	}{
		{18, "diff -f " + hosts, nil},
		{25, "apply -f " + hosts, []string{
			"PATCH announcement", "PATCH leases/" + host, "POST namespaces",
			"PATCH leases/" + kept.Name(id.Group()), "PATCH providerhosts/" + host, "PATCH ingresses/" + host, "DELETE announcement",
		}},
		{17, "apply -f " + hosts, nil},
		{21, "apply -f " + mail, nil},
		{17, "diff -f " + hosts, nil},
		{18, "diff " + id.Group().String(), nil},
		{22, "explain " + host, nil},
		{22, "explain " + id.Group().String(), nil},
		{24, "state --problems", nil},
		{10, "state hosts", nil},
		{15, "state", nil},
	} {
		r.sent()
		out := runAs(t.Context(), r.kubeconfig, strings.Fields(tt.args)...)
		sent := slices.DeleteFunc(r.sent(), func(q request) bool { return q.announces() && q.String() == "GET "+announcement || q.renews() })
		if out.Code > 1 || len(sent) > tt.most {
			all := []string{}
			for _, q := range sent {
				all = append(all, q.String())
			}
			slices.Sort(all)
			t.Errorf("%s sends %d requests, more than %d:\n%s\n%s", tt.args, len(sent), tt.most, strings.Join(all, "\n"), out)
		}
		writes := writesOf(sent)
		if i := slices.Index(writes, "POST namespaces"); i > 0 && strings.Contains(writes[i-1], "/df--") { // they are sent at once
			writes[i-1], writes[i] = writes[i], writes[i-1]
		}
		if diff := cmp.Diff(append([]string{}, tt.writes...), writes); diff != "" {
			t.Errorf("writes of %s (-want +got):\n%s", tt.args, diff)
		}
	}
}

// Twenty leases cost no more requests, Events among them, and no more bytes both ways than today, with a little to spare: a row fails if they
// do. The cluster holds nothing else, so that the sizes of lists do not vary.
func TestRequestsOfTwentyLeases(t *testing.T) {
	t.Parallel()
	plane := harness.Bare(t)
	r := &recorder{startProxyOf(t, plane.Config, nil)}
	var events atomic.Int64
	r.told = func() { events.Add(1) }
	r.do(t, "install")
	tenant, args := newTenant(t), []string{}
	for i := range 20 {
		args = append(args, "-f", defineParts(t, leaseOf(tenant, uint64(i+1)), webPart(newHost("many"))))
	}
	for _, tt := range []struct {
		name           string
		requests, wire int
		args           []string
	}{
		{"apply of new leases", 130, 230_000, append([]string{"apply"}, args...)},
		{"apply of unchanged leases", 17, 150_000, append([]string{"apply"}, args...)},
		{"state", 15, 95_000, []string{"state"}},
		{"release", 232, 275_000, append([]string{"release", "--yes"}, args...)},
	} {
		r.sent()
		events.Store(0)
		r.wire.Store(0)
		r.do(t, tt.args...)
		sent := slices.DeleteFunc(r.sent(), func(q request) bool { return q.announces() && q.String() == "GET "+announcement || q.renews() })
		if n := len(sent) + int(events.Load()); n > tt.requests || int(r.wire.Load()) > tt.wire {
			t.Errorf("%s: %d requests, %d Events among them, and %d bytes; at most %d and %d", tt.name, n, events.Load(), r.wire.Load(), tt.requests, tt.wire)
		}
	}
}

// versions adds the objects of a namespace, as resource/name, with UID and version.
func versions(t *testing.T, out map[string]string, resource schema.GroupVersionResource, namespace string) {
	t.Helper()
	list, err := harness.Objects.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		out[resource.Resource+"/"+o.GetName()] = string(o.GetUID()) + " " + o.GetResourceVersion()
	}
}

// A release deletes what serves before the claims, and each delete names the very object, in the
// very version, that was read.
func TestReleaseIsPinnedAndInOrder(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	r := record(t)
	r.config = configure(t, "ip: {ranges: ["+v4+"0/28]}")
	id, host := leaseOf(newTenant(t), 1), newHost("pinned")
	r.do(t, "apply", "-f", defineParts(t, id, service("web", served(host), leasedPart("public", "TCP", 443)), endpoint("public")))
	before := map[string]string{}
	for resource, namespace := range map[schema.GroupVersionResource]string{ingresses: id.Namespace(), services: id.Namespace(), hosts: manifests, leasedIPs: manifests, claims: ledger} {
		versions(t, before, resource, namespace)
	}
	r.sent()

	r.do(t, "release", id.Group().String())
	sent := slices.DeleteFunc(r.sent(), func(q request) bool { return !q.writes() })
	want := []string{
		"PATCH announcement",
		"DELETE leases/" + kept.Name(id.Group()), // nothing heals what is being released
		"DELETE ingresses/" + host, "DELETE services/web-ip-443-tcp",
		"DELETE providerhosts/" + host, "DELETE providerleasedips/" + id.Owner + "-ip-public-tcp-443",
		"DELETE leases/" + host, "DELETE leases/" + claimName(v4+"0"),
		"DELETE announcement",
	}
	if diff := cmp.Diff(want, writesOf(sent)); diff != "" {
		t.Errorf("writes, in their order (-want +got):\n%s", diff)
	}
	for _, q := range sent {
		if q.announces() {
			continue // there was none before
		}
		var options metav1.DeleteOptions
		if err := json.Unmarshal([]byte(q.body), &options); err != nil {
			t.Fatalf("%s: %v: %q", q, err, q.body)
		}
		resource, name := q.target()
		pin := options.Preconditions
		if pin == nil || pin.UID == nil || pin.ResourceVersion == nil {
			t.Errorf("%s is not pinned: %s", q, q.body)
			continue
		}
		if got := string(*pin.UID) + " " + *pin.ResourceVersion; before[resource+"/"+name] != got {
			t.Errorf("%s is pinned to %s, which is not what was there", q, got)
		}
	}
	r.do(t, "release", id.Group().String(), "--ignore-not-found").Prints(t, "holds nothing")
	if writes := writesOf(r.sent()); len(writes) > 0 {
		t.Errorf("the second release writes %s", strings.Join(writes, ", "))
	}
}
