package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var (
	leases    = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	resources = []schema.GroupVersionResource{
		leases,
		{Group: "akash.network", Version: "v2beta2", Resource: "providerhosts"},
		{Group: "akash.network", Version: "v2beta2", Resource: "providerleasedips"},
		{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
		{Version: "v1", Resource: "services"},
	}
)

// work is a command with what comes before it.
type work struct {
	name, addresses string
	// before makes the state in which the command is run.
	before, command func(ctx context.Context, c *client) error
}

// definition exposes hosts, and a port of an address where an endpoint is named.
func definition(id lease.ID, endpoint string, hosts ...string) *lease.Definition {
	web := lease.Expose{Port: 8080, As: 80, Protocol: lease.TCP, Global: true}
	for _, h := range hosts {
		web.Hosts = append(web.Hosts, lease.Host{Name: h})
	}
	d := &lease.Definition{Name: "shop", Lease: id, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{web}}}}
	if endpoint != "" {
		d.Services[0].Expose = append(d.Services[0].Expose, lease.Expose{Port: 8443, As: 443, Protocol: lease.TCP, Global: true, IP: endpoint})
		d.IPEndpoints = []lease.IPEndpoint{{Name: endpoint}}
	}
	d.Hash = lease.Sum(d)
	return d
}

func (c *client) apply(ctx context.Context, d *lease.Definition) error {
	return c.applier().Apply(ctx, []*lease.Definition{d})
}

func works() []work {
	return []work{
		{
			name: "apply", addresses: "10.211.0.0/29",
			before: func(ctx context.Context, c *client) error {
				return c.apply(ctx, definition(leaseOf("apply", 1), "", "a.apply.example.com", "old.apply.example.com"))
			},
			command: func(ctx context.Context, c *client) error {
				return c.apply(ctx, definition(leaseOf("apply", 1), "public", "a.apply.example.com", "b.apply.example.com"))
			},
		},
		{
			name: "reserve", addresses: "10.212.0.0/29",
			before: func(ctx context.Context, c *client) error {
				return c.reserve(ctx, leaseOf("reserve", 1), "", "a.reserve.example.com/path")
			},
			command: func(ctx context.Context, c *client) error {
				return c.reserve(ctx, leaseOf("reserve", 1), "public", "a.reserve.example.com", "b.reserve.example.com", "*.wild.reserve.example.com")
			},
		},
		{
			name: "transfer", addresses: "10.213.0.0/29",
			before: func(ctx context.Context, c *client) error {
				return c.apply(ctx, definition(leaseOf("transfer", 1), "public", "a.transfer.example.com", "b.transfer.example.com"))
			},
			command: func(ctx context.Context, c *client) error {
				to := leaseOf("transfer", 2)
				def := definition(to, "public", "a.transfer.example.com", "b.transfer.example.com")
				return c.applier().Transfer(ctx, to, []string{"a.transfer.example.com", "b.transfer.example.com", "public"}, def)
			},
		},
		{
			name: "release", addresses: "10.214.0.0/29",
			before: func(ctx context.Context, c *client) error {
				id := leaseOf("release", 1)
				if err := c.reserve(ctx, leaseOf("release", 2), "", "a.release.example.com/path"); err != nil {
					return err
				}
				return c.apply(ctx, definition(id, "public", "a.release.example.com", "b.release.example.com"))
			},
			command: func(ctx context.Context, c *client) error { return c.release(ctx, leaseOf("release", 1)) },
		},
	}
}

// uncut runs the command to its end: it counts the requests and keeps the outcome.
func uncut(t *testing.T, w work, cfg *config.ProviderConfig) (requests int, outcome []string) {
	t.Helper()
	prepare(t, w, cfg)
	c := &nth{}
	if err := w.command(t.Context(), w.client(t, cfg, c.through)); err != nil {
		t.Fatal(err)
	}
	return c.seen, written(t, w.name)
}

// client is one that does the work. It knows that nobody else does: who has not ended is dead.
func (w work) client(t *testing.T, cfg *config.ProviderConfig, through ...func(*rest.Config)) *client {
	t.Helper()
	c := newClient(t, cfg, through...)
	c.opts.Prune = w.name != "reserve"
	c.opts.Concurrency, c.opts.AssumeCrashed = 1, true
	return c
}

// prepare brings the tenant into the state before the command.
func prepare(t *testing.T, w work, cfg *config.ProviderConfig) {
	t.Helper()
	c := newClient(t, cfg)
	groups := []lease.Group{leaseOf(w.name, 1).Group(), leaseOf(w.name, 2).Group()}
	if err := c.applier().Release(t.Context(), groups); err != nil {
		t.Fatal(err)
	}
	if left := written(t, w.name); len(left) > 0 {
		t.Fatalf("release leaves %v", left)
	}
	if err := w.before(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// bystander makes claims of another owner, and is them as the server has them.
func bystander(t *testing.T, w work, cfg *config.ProviderConfig) string {
	t.Helper()
	if err := newClient(t, cfg).reserve(t.Context(), leaseOf(w.name+"x", 1), "public", "c."+w.name+".example.com", "x."+w.name+".example.com/path"); err != nil {
		t.Fatal(err)
	}
	return claims(t, w.name+"x")
}

// claims are an owner's claims, byte for byte.
func claims(t *testing.T, name string) string {
	t.Helper()
	text, err := json.MarshalIndent(list(t, leases, name), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// list is what an owner has of a resource.
func list(t *testing.T, resource schema.GroupVersionResource, name string) (out []unstructured.Unstructured) {
	t.Helper()
	all, err := harness.Objects.Resource(resource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all.Items {
		id, _ := lease.IDFromLabels(o.GetLabels())
		if id.Owner == owner(name) || o.GetLabels()[state.LabelOwner] == owner(name) {
			out = append(out, o)
		}
	}
	return out
}

// written is all that an owner has, without what the server adds and without the marks of commands that have ended.
func written(t *testing.T, name string) (out []string) {
	t.Helper()
	announced := underWay(t, ledgerNamespace)
	for _, resource := range resources {
		for _, o := range list(t, resource, name) {
			unmark(&o, announced)
			// A run that goes on from another says so on the objects that it finds.
			unstructured.RemoveNestedField(o.Object, "metadata", "annotations", lease.AnnotationTaken)
			spec, _, _ := unstructured.NestedMap(o.Object, "spec")
			for _, of := range []string{"clusterIP", "clusterIPs", "ports"} {
				delete(spec, of) // the server picks some of it
			}
			text, err := json.Marshal([]any{resource.Resource, o.GetNamespace(), o.GetName(), o.GetLabels(), o.GetAnnotations(), spec})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(text))
		}
	}
	slices.Sort(out)
	return out
}

// ledgerNamespace is that of the default configuration.
const ledgerNamespace = "akash-net"

// underWay are the announcements in a ledger, by nonce: those of the commands that have not ended.
func underWay(t *testing.T, ledger string) map[string]*state.Announcement {
	t.Helper()
	all, err := harness.Objects.Resource(leases).Namespace(ledger).List(t.Context(), metav1.ListOptions{LabelSelector: state.LabelKind + "=" + state.KindRun})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*state.Announcement{}
	for _, o := range all.Items {
		a, err := state.ReadAnnouncement(&o)
		if err != nil {
			t.Fatal(err)
		}
		out[a.Nonce] = a
	}
	return out
}

// announced are the commands that are announced for an owner's leases.
func announced(t *testing.T, name string) (out []string) {
	t.Helper()
	for _, a := range underWay(t, ledgerNamespace) {
		if slices.ContainsFunc(a.Groups, func(g lease.Group) bool { return g.Owner == owner(name) }) {
			out = append(out, fmt.Sprintf("%s, %s by %q, for %v", a, a.Phase, a.FencedBy, a.Groups))
		}
	}
	return out
}

// unmark takes the marks off a claim that say nothing any more.
func unmark(o *unstructured.Unstructured, announced map[string]*state.Announcement) {
	annotations := o.GetAnnotations()
	for key, text := range annotations {
		annotations[key] = anyMark.ReplaceAllStringFunc(text, func(mark string) string {
			if announced[state.NonceOf(anyMark.FindStringSubmatch(mark)[1])] == nil {
				return ""
			}
			return mark
		})
	}
	o.SetAnnotations(annotations)
}

// anyMark is a mark in a part.
var anyMark = regexp.MustCompile(`,"run":"([^"]*)"`)

// invariants are those that hold at any moment: a claim and all its parts are one owner's, and what
// serves a host or an address has a claim of the owner.
func invariants(t *testing.T, w work, where string) {
	t.Helper()
	held := map[string]bool{}
	for _, o := range list(t, leases, w.name) {
		c, ok := state.ReadClaim(&metav1.ObjectMeta{Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()})
		holder, _, _ := unstructured.NestedString(o.Object, "spec", "holderIdentity")
		if !ok || c.Unreadable != "" || len(c.Parts) == 0 || holder != c.Owner {
			t.Errorf("claim %s%s: readable %v %q, %d parts, holder %s, owner %s", o.GetName(), where, ok, c.Unreadable, len(c.Parts), holder, c.Owner)
		}
		for _, p := range c.Parts {
			if p.Lease.Owner != holder {
				t.Errorf("claim %s%s has a part of %s", o.GetName(), where, p.Lease.Owner)
			}
		}
		held[c.Thing] = true
	}
	for _, resource := range resources[3:] {
		for _, o := range list(t, resource, w.name) {
			for _, u := range append(state.HostUses(&o), state.AddressUses(&o)...) {
				thing := u.Host
				if u.Address.IsValid() {
					thing = u.Address.String()
				}
				if !held[thing] && !strings.HasPrefix(thing, "*") {
					t.Errorf("%s %s%s serves %s without a claim", resource.Resource, o.GetName(), where, thing)
				}
			}
		}
	}
}
