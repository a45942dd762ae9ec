package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// tenant gives the namespace of a lease the labels that Akash's provider gives it.
func (s *scene) tenant(id lease.ID) {
	s.Helper()
	labels, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": id.Labels()}})
	if err != nil {
		s.Fatal(err)
	}
	s.send(http.MethodPatch, "/api/v1/namespaces/"+id.Namespace(), string(labels))
}

// route makes an Ingress by hand, as this program marks those that it makes.
func (s *scene) route(namespace, name, host string, of lease.ID) {
	s.Helper()
	labels, err := json.Marshal(of.Labels())
	if err != nil {
		s.Fatal(err)
	}
	s.send(http.MethodPost, "/apis/networking.k8s.io/v1/namespaces/"+namespace+"/ingresses", fmt.Sprintf(
		`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":%q,"namespace":%q,"labels":%s,"annotations":{"net.akash.network/definition":"h"}},
"spec":{"rules":[{"host":%q,"http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"web","port":{"number":80}}}}]}}]}}`,
		name, namespace, labels, host))
}

// holders are the owners of the claims on hosts, by host.
func (s *scene) holders() map[string]string {
	owners := map[string]string{}
	for _, c := range (&world{server: s.server}).claims() {
		owners[c.Thing] = c.Owner
	}
	return owners
}

// Labels give nobody what is in a namespace of others: repair claims nothing for whom they name, and nothing for whom the
// namespace belongs to, who says of himself that the route is another's.
func TestForgedLabelsEarnNoClaim(t *testing.T) {
	t.Parallel()
	victim, other := leaseOf("a", 1), leaseOf("c", 1)
	for name, in := range map[string]string{"a tenant's namespace": other.Namespace(), "a namespace of no lease": settings().IP.MetalLBNamespace} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				s.tenant(other)
				s.tenant(victim)
				s.route(in, "forged", "b.example.com", victim)
				s.repair()
				if held := s.holders(); len(held) > 0 {
					t.Errorf("repair has claimed %v", held)
				}
			})
		})
	}
}

// What a lease serves without a claim is claimed by repair as an apply would claim it: with the proof, where proofs are
// required.
func TestRepairEarnsAClaim(t *testing.T) {
	t.Parallel()
	other := leaseOf("c", 1)
	for name, tt := range map[string]struct {
		prove command.Prove
		host  string
		want  map[string]string
	}{
		"no proof is required": {nil, "b.example.com", map[string]string{"b.example.com": other.Owner}},
		"it is proved": {func(context.Context, string, string) (string, error) { return "by DNS", nil }, "b.example.com",
			map[string]string{"b.example.com": other.Owner}},
		"it is not proved":        {func(context.Context, string, string) (string, error) { return "", errors.New("no record") }, "b.example.com", map[string]string{}},
		"the host is blocked":     {nil, "bad.example.net", map[string]string{}},
		"another route is served": {nil, "rival.example.com", map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				s.opts.Config.Hosts.Blocked = []string{"bad.example.net"}
				s.tenant(other)
				s.route(settings().IP.MetalLBNamespace, "somebodys", "rival.example.com", leaseOf("a", 1))
				s.route(other.Namespace(), tt.host, tt.host, other)
				told := s.repair(func(o *command.Options) { o.Prove = tt.prove })
				held := s.holders()
				if len(held) != len(tt.want) || held[tt.host] != tt.want[tt.host] {
					t.Errorf("after repair the claims are %v, want %v: %s", held, tt.want, told)
				}
			})
		})
	}
}

// A second route under the labels of a tenant, in a namespace of another, is a rival and no route of the tenant: it is not
// admitted, however old it is, and repair leaves the tenant's own.
func TestForgedSecondRoute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, victim, other, host := newScene(t), leaseOf("a", 1), leaseOf("c", 1), "a.example.com"
		s.tenant(victim)
		s.tenant(other)
		s.apply(victim, false, host)
		s.route(other.Namespace(), "0-forged", host, victim) // as old as the tenant's
		read, err := book.Read(t.Context(), connected(t, s.server.RoundTrip), s.opts.Config, view.SubjectRoutes, view.SubjectHosts)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range read.Routes {
			if own := r.Namespace == victim.Namespace(); r.Admitted != own || own != (r.Owner == victim.Owner) {
				t.Errorf("admitted: %+v", r)
			}
		}
		if !slices.ContainsFunc(s.problems(), func(p string) bool { return strings.HasSuffix(p, "/"+host) }) {
			t.Error("the second route is no problem")
		}
		before := s.everything()["ingresses "+victim.Namespace()+"/"+host]
		s.repair()
		if after := s.everything()["ingresses "+victim.Namespace()+"/"+host]; after != before || after == "" {
			t.Errorf("of the tenant's route repair has left %q", after)
		}
		if owner := s.holders()[host]; owner != victim.Owner {
			t.Errorf("the host is held by %q", owner)
		}
	})
}

// An address that a lease serves without a claim is claimed for it only while enough addresses are left for what orders
// have reserved, as an apply would be told.
func TestRepairLeavesReservedAddresses(t *testing.T) {
	t.Parallel()
	for reserves, claimed := range map[uint64]bool{3: true, 4: false} { // of the four that there are
		t.Run(fmt.Sprintf("%d are reserved", reserves), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, id := newScene(t), leaseOf("c", 1)
				s.tenant(id)
				s.apply(id, true, "a.example.com")
				s.send(http.MethodDelete, "/apis/coordination.k8s.io/v1/namespaces/akash-net/leases/ip--10-0-0-0", "")
				order := reserved.Claim{Order: leaseOf("a", 1).Order(), Bound: &reserved.Part{Asked: "group", Hold: inventory.Hold{Addresses: reserves}}}
				text, err := json.Marshal(order.Configuration("akash-net"))
				if err != nil {
					t.Fatal(err)
				}
				s.send(http.MethodPost, "/apis/coordination.k8s.io/v1/namespaces/akash-net/leases", string(text))
				told := s.repair()
				if _, held := s.holders()["10.0.0.0"]; held != claimed || claimed == strings.Contains(told, "reserved by order") {
					t.Errorf("the address is claimed: %t, want %t: %s", held, claimed, told)
				}
			})
		})
	}
}
