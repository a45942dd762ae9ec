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

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
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

	shop   = "shop.example.com"
	ledger = "akash-net"
	nonce  = "3a3l2dqngtg4w"
	// micro is the form of the times of an announcement.
	micro = "2006-01-02T15:04:05.000000Z"
)

var (
	aliceLease = lease.ID{Owner: alice, DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: provider}
	bobLease   = lease.ID{Owner: bob, DSeq: 5905802, GSeq: 1, OSeq: 1, Provider: provider}
	sibling    = lease.ID{Owner: alice, DSeq: 9, GSeq: 1, OSeq: 1, Provider: provider}
	rootPath   = state.RouteKey("/")

	leases, namespaces = cluster.Leases, cluster.Namespaces
	hosts, leasedIPs   = kinds.ProviderHost.Resource(), kinds.ProviderLeasedIP.Resource()
	services           = kinds.Service.Resource()
)

// Objects with every field that the ledger has, beside those that the program makes for the examples.
var (
	fieldsHost = &state.Claim{Kind: state.Host, Thing: "fields.example.com", Owner: alice, Parts: []state.Part{
		{Key: rootPath, Lease: aliceLease, Path: "/", Service: "web", Port: 80, Run: nonce, From: sibling.Group().String(), Applied: true},
		{Key: state.RouteKey("/hold"), Lease: aliceLease, Path: "/hold", Service: "web", Port: 80, Run: nonce, Expires: "2099-01-01T00:00:00Z"},
	}}
	fieldsWildcard = &state.Claim{Kind: state.Wildcard, Thing: "*.fields.example.com", Owner: alice, Parts: []state.Part{
		{Key: rootPath, Lease: aliceLease, Path: "/", Service: "web", Port: 80, Bound: true},
	}}
	fieldsEndpoint = &state.Claim{Kind: state.Endpoint, Thing: alice + "-ip-fields", Owner: alice, SharingKey: alice + "-ip-fields", Parts: []state.Part{
		{Key: state.PortKey(lease.TCP, 25), Lease: aliceLease, Service: "web", Port: 80},
		{Key: state.PortKey(lease.TCP, 26), Lease: aliceLease, Service: "web", Port: 80},
	}}
	fieldsOrder = &reserved.Claim{
		Order:   lease.Order{Owner: alice, DSeq: 8, GSeq: 1, OSeq: 1},
		Bound:   &reserved.Part{Asked: "a", Hold: inventory.Hold{Addresses: 1}, By: "alice@laptop", Run: nonce},
		Pending: &reserved.Part{Asked: "b", Hold: inventory.Hold{Addresses: 2}, By: "alice@laptop", Run: nonce, Expires: time.Now().UTC().Format(time.RFC3339)},
	}
	reservation = &reserved.Claim{Order: lease.Order{Owner: alice, DSeq: 7, GSeq: 1, OSeq: 1}}

	activeRun = announcement("aaaaaaaaaaaaa", lease.Group{Owner: alice, DSeq: 1, GSeq: 1}, lease.Group{Owner: alice, DSeq: 2, GSeq: 1})
	fencedRun = func() *state.Announcement {
		a := announcement("bbbbbbbbbbbbb", activeRun.Groups...)
		a.Phase, a.FencedBy = state.Fenced, activeRun.Nonce
		return a
	}()
)

// announcement is that of a run which crashed long ago.
func announcement(nonce string, groups ...lease.Group) *state.Announcement {
	return &state.Announcement{Nonce: nonce, Groups: groups, By: "alice@laptop", Version: "v1", Phase: state.Active,
		Begun: time.Unix(1790000000, 0), Renewed: time.Unix(1790000000, 0), Lasts: time.Second}
}

// ref names an object: one that is there, or one whose text is given.
type ref struct {
	resource              schema.GroupVersionResource
	namespace, name, text string
}

// refs are the objects of testdata/writes.yaml.
var refs = map[string]ref{
	"claim": {leases, ledger, shop, ""}, "address": {leases, ledger, "ip--203-0-113-0", ""}, "definition": {leases, ledger, kept.Name(aliceLease.Group()), ""},
	"host": {leases, ledger, fieldsHost.Name(), ""}, "wildcard": {leases, ledger, fieldsWildcard.Name(), ""}, "endpoint": {leases, ledger, fieldsEndpoint.Name(), ""},
	"order": {leases, ledger, reserved.Name(fieldsOrder.Order), ""}, "run": {leases, ledger, activeRun.Name(), ""}, "dead run": {leases, ledger, fencedRun.Name(), ""},
	"ProviderHost": {hosts, "lease", shop, ""}, "ProviderLeasedIP": {leasedIPs, "lease", alice + "-ip-public-tcp-443", ""},
	"Namespace": {namespaces, "", bobLease.Namespace(), ""}, "system Namespace": {namespaces, "", "kube-system", ""},
	"Service": {services, bobLease.Namespace(), "blog-ip-22-tcp", ""}, "kubernetes Service": {services, "default", "kubernetes", ""},
	"sharing Service": {services, bobLease.Namespace(), "", sharing}, "sharing Service elsewhere": {services, "default", "", sharing},
	"election": {leases, ledger, "", election}, "election elsewhere": {leases, "default", "", election},
}

const (
	election = `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: new}, spec: {holderIdentity: somebody}}`
	sharing  = `{apiVersion: v1, kind: Service, metadata: {name: new, annotations: {metallb.universe.tf/allow-shared-ip: ` + alice + `-ip-public}},
		spec: {type: LoadBalancer, ports: [{name: smtp, port: 25}]}}`
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, harness.Setup{Controllers: true, MetalLB: true, Then: func(ctx context.Context) error {
		example := func(name string) string { return filepath.Join("..", "..", "manifests", "examples", name+".yaml") }
		for _, args := range [][]string{{"install", "--config", example("provider-config")}, {"apply", "-f", example("shop"), "-f", example("blog")}} {
			if r := harness.Run(ctx, args...); r.Code != 0 {
				return errors.New(r.String())
			}
		}
		var errs []error
		for _, c := range []*state.Claim{fieldsHost, fieldsWildcard, fieldsEndpoint} {
			errs = append(errs, applied(ctx, managers["own"], c.Configuration(ledger, c.Parts)))
		}
		for _, a := range []*state.Announcement{activeRun, fencedRun} {
			errs = append(errs, applied(ctx, lease.FieldManager, a.Configuration(ledger)))
		}
		return errors.Join(append(errs, applied(ctx, managers["order"], fieldsOrder.Configuration(ledger)))...)
	}}))
}

// applied writes an object of the ledger as the program does.
func applied(ctx context.Context, manager string, configuration any) error {
	body, err := json.Marshal(configuration)
	if err != nil {
		return err
	}
	o, err := harness.ParseObject(string(body))
	if err == nil {
		_, err = harness.Objects.Resource(leases).Namespace(ledger).Patch(ctx, o.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager})
	}
	return err
}

// must runs the plugin as the administrator; it has to succeed.
func must(t *testing.T, args ...string) harness.Result {
	t.Helper()
	return harness.Run(t.Context(), args...).Exits(t, 0)
}

func (r ref) client() dynamic.ResourceInterface {
	return harness.Objects.Resource(r.resource).Namespace(r.namespace)
}

func (r ref) get(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	if r.text != "" {
		return harness.Parse(t, r.text)
	}
	return harness.Need(t, r.resource, r.namespace, r.name)
}

func encoded(t *testing.T, o any) []byte {
	t.Helper()
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// bare is what a person or a Git repository keeps of an object.
func bare(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	return o
}
