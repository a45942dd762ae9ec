// Package guard_test tries the guard's rules on a real control plane with MetalLB: each attack on
// the ledger is refused with it, and what Akash and this tool do in the normal course is not.
package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The tenants of the examples: alice has the shop, bob the blog.
const (
	alice    = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	bob      = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"
	provider = harness.Provider

	shop     = "shop.example.com"
	shopPort = alice + "-ip-public-tcp-443"
)

var (
	aliceLease = lease.ID{Owner: alice, DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: provider}
	bobLease   = lease.ID{Owner: bob, DSeq: 5905802, GSeq: 1, OSeq: 1, Provider: provider}
)

var (
	leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	hosts      = schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: "providerhosts"}
	leasedIPs  = schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: "providerleasedips"}
	services   = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, harness.Setup{Controllers: true, MetalLB: true, Then: func(ctx context.Context) error {
		for _, args := range [][]string{
			{"install", "--config", example("provider-config")},
			{"apply", "-f", example("shop"), "-f", example("blog")},
		} {
			if r := harness.Run(ctx, args...); r.Code != 0 {
				return errors.New(r.String())
			}
		}
		for _, a := range []*state.Announcement{activeRun, fencedRun} {
			if err := applied(ctx, a.Name(), lease.FieldManager, a.Configuration("akash-net")); err != nil {
				return err
			}
		}
		if err := makeFields(ctx); err != nil {
			return err
		}
		return applied(ctx, reserved.Name(reservation.Order), reservation.Order.FieldManager(), reservation.Configuration("akash-net"))
	}}))
}

func example(name string) string {
	return filepath.Join("..", "..", "manifests", "examples", name+".yaml")
}

// Two runs of a lease that nobody works on.
var (
	activeRun = &state.Announcement{
		Nonce: "aaaaaaaaaaaaa", Groups: []lease.Group{{Owner: alice, DSeq: 1, GSeq: 1}, {Owner: alice, DSeq: 2, GSeq: 1}}, By: "alice@laptop", Version: "v1",
		Begun: time.Unix(1790000000, 0), Renewed: time.Unix(1790000000, 0), Lasts: time.Second, Phase: state.Active,
	}
	fencedRun = func() *state.Announcement {
		a := *activeRun
		a.Nonce, a.Phase, a.FencedBy = "bbbbbbbbbbbbb", state.Fenced, activeRun.Nonce
		return &a
	}()
)

// reservation is what an order of alice has reserved.
var reservation = &reserved.Claim{Order: lease.Order{Owner: alice, DSeq: 7, GSeq: 1, OSeq: 1}, Bound: &reserved.Part{Asked: "group", Hold: inventory.Hold{Addresses: 1}, By: "alice@laptop", Run: "3a3l2dqngtg4w"}}

// applied writes an object of the ledger as the program does.
func applied(ctx context.Context, name, manager string, configuration any) error {
	body, err := json.Marshal(configuration)
	if err != nil {
		return err
	}
	_, err = harness.Objects.Resource(leases).Namespace("akash-net").Patch(ctx, name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager})
	return err
}

// must runs the plugin as the administrator; it has to succeed.
func must(t *testing.T, args ...string) harness.Result {
	t.Helper()
	return harness.Run(t.Context(), args...).Exits(t, 0)
}

// kubectl runs kubectl with a text on stdin. Its error holds what it printed.
func kubectl(t *testing.T, stdin string, env []string, args ...string) error {
	t.Helper()
	return harness.Kubectl(t.Context(), stdin, env, args...)
}

// ref names an object.
type ref struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

var (
	aliceClaim      = ref{leases, "akash-net", shop}
	aliceDefinition = ref{leases, "akash-net", kept.Name(aliceLease.Group())}
	aliceAddress    = ref{leases, "akash-net", "ip--203-0-113-0"}
	aliceReserved   = ref{leases, "akash-net", reserved.Name(reservation.Order)}
	aliceHost       = ref{hosts, "lease", shop}
	alicePort       = ref{leasedIPs, "lease", shopPort}
	aliceRun        = ref{leases, "akash-net", activeRun.Name()}
	deadRun         = ref{leases, "akash-net", fencedRun.Name()}
	bobsService     = ref{services, bobLease.Namespace(), "blog-ip-22-tcp"}
)

func (r ref) client() dynamic.ResourceInterface {
	return harness.Objects.Resource(r.resource).Namespace(r.namespace)
}

func (r ref) get(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	o, err := r.client().Get(t.Context(), r.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// restore makes an object again what it was.
func (r ref) restore(t *testing.T, was *unstructured.Unstructured) {
	t.Helper()
	was.SetResourceVersion(r.get(t).GetResourceVersion())
	if _, err := r.client().Update(t.Context(), was, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
