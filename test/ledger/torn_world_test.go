package ledger_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var (
	namespaces     = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitions    = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	worldResources = append([]schema.GroupVersionResource{{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}}, resources[1:]...)
)

// world is what one trial sees of the cluster: a ledger of its own and two tenants, "a" and "b", of whom both
// want one host. Of objects that every command reads (repair, release --all) it has only theirs.
type world struct {
	name   string
	ledger string
	// cfg is the configuration of the commands, before that of what was there before them.
	cfg, before *config.ProviderConfig
}

func newWorld(t *testing.T, name, target string) *world {
	t.Helper()
	preparing.Do(func() { prepareWorlds(t) })
	w := &world{name: name, ledger: "torn-" + name}
	w.before = settings(t, "10.64.0.0/20")
	w.before.LedgerNamespace, w.before.Target = w.ledger, config.TargetIngress
	cfg := *w.before
	cfg.Target = target
	w.cfg = &cfg
	return w
}

func (w *world) lease(tenant string, dseq uint64) lease.ID { return leaseOf(w.name+tenant, dseq) }
func (w *world) host() string                              { return "torn." + w.name + ".example.com" }

// selector selects what the world has.
func (w *world) selector() string {
	return lease.LabelOwner + " in (" + owner(w.name+"a") + "," + owner(w.name+"b") + "," + owner(w.name+"l") + ")"
}

// within lets a client see no other world.
func (w *world) within(connection *rest.Config) {
	connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if resource, ok := isList(r); ok && resource != "leases" {
				r = r.Clone(r.Context())
				q := r.URL.Query()
				q.Set("labelSelector", strings.TrimPrefix(q.Get("labelSelector")+","+w.selector(), ","))
				r.URL.RawQuery = q.Encode()
			}
			return next.RoundTrip(r)
		})
	})
}

// client is one whose requests pass through what is given, and then stay within the world.
func (w *world) client(t *testing.T, cfg *config.ProviderConfig, through ...func(*rest.Config)) *client {
	t.Helper()
	c := newClient(t, cfg, append([]func(*rest.Config){w.within}, through...)...)
	c.opts.Prune, c.opts.AssumeServing = true, true
	return c
}

var preparing sync.Once

// prepareWorlds keeps what all worlds share from being uninstalled with one of them, and brings the Gateway
// API.
func prepareWorlds(t *testing.T) {
	t.Helper()
	crds, err := programs.GatewayAPICRDs(t.Context())
	if err == nil {
		err = harness.Plane.InstallCRDs(crds)
	}
	if err != nil {
		t.Fatal(err)
	}
	const notOurs = `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`
	all, err := harness.Objects.Resource(definitions).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=kubectl-akash-net"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all.Items {
		if _, err := harness.Objects.Resource(definitions).Patch(t.Context(), o.GetName(), "application/merge-patch+json", []byte(notOurs), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// reset leaves the world with an empty ledger.
func (w *world) reset(t *testing.T) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	for _, resource := range worldResources {
		for _, o := range w.list(t, resource) {
			must(harness.Objects.Resource(resource).Namespace(o.GetNamespace()).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}))
		}
	}
	must(harness.Objects.Resource(leases).Namespace(w.ledger).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	for _, o := range w.list(t, namespaces) {
		if o.GetName() != w.ledger || o.GetDeletionTimestamp() != nil {
			w.end(t, o.GetName())
		}
	}
	ledger := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	ledger.SetName(w.ledger)
	ledger.SetLabels(map[string]string{lease.LabelOwner: owner(w.name + "l"), "app.kubernetes.io/managed-by": "kubectl-akash-net"})
	if _, err := harness.Objects.Resource(namespaces).Create(t.Context(), ledger, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// end deletes a namespace at once: no controller runs that would.
func (w *world) end(t *testing.T, name string) {
	t.Helper()
	_ = harness.Objects.Resource(namespaces).Delete(t.Context(), name, metav1.DeleteOptions{})
	empty := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "spec": map[string]any{}}}
	empty.SetName(name)
	const subresource = "finalize"
	if _, err := harness.Objects.Resource(namespaces).Update(t.Context(), empty, metav1.UpdateOptions{}, subresource); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// list are the world's objects of a resource, in their order.
func (w *world) list(t *testing.T, resource schema.GroupVersionResource) []unstructured.Unstructured {
	t.Helper()
	var from, opts = harness.Objects.Resource(resource).Namespace(""), metav1.ListOptions{LabelSelector: w.selector()}
	if resource == leases {
		from, opts.LabelSelector = harness.Objects.Resource(resource).Namespace(w.ledger), ""
	}
	all, err := from.List(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// thing is an object of a world, with the deployment group that it is of.
type thing struct {
	resource string
	live     unstructured.Unstructured
	group    lease.Group
}

func (o thing) String() string {
	return o.resource + " " + o.live.GetNamespace() + "/" + o.live.GetName()
}

// view is all that a world has at a moment.
type view struct {
	claims []*state.Claim
	things []thing
	// announced are the commands that have not ended, by nonce.
	announced map[string]*state.Announcement
	// closed is true where the ledger is gone, or going.
	closed bool
}

func (w *world) view(t *testing.T) (v view) {
	t.Helper()
	v.announced = underWay(t, w.ledger)
	for _, o := range w.list(t, leases) {
		if kept.IsName(o.GetName()) || state.IsAnnouncement(o.GetName()) {
			continue
		}
		c, ok := state.ReadClaim(&metav1.ObjectMeta{Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()})
		if !ok || c.Unreadable != "" {
			t.Errorf("claim %s cannot be read: %s", o.GetName(), c.Unreadable)
			continue
		}
		c.Meet(v.announced, time.Now())
		v.claims = append(v.claims, &c)
	}
	for _, resource := range worldResources {
		for _, o := range w.list(t, resource) {
			id, _ := lease.IDFromLabels(o.GetLabels())
			v.things = append(v.things, thing{resource.Resource, o, id.Group()})
		}
	}
	ledger, err := harness.Objects.Resource(namespaces).Get(t.Context(), w.ledger, metav1.GetOptions{})
	v.closed = apierrors.IsNotFound(err) || err == nil && ledger.GetDeletionTimestamp() != nil
	return v
}

// text is what a view says, without what the server adds and what differs from one run to the next.
func (v view) text(t *testing.T) (out []string) {
	t.Helper()
	if v.closed {
		out = append(out, "the ledger is gone")
	}
	for _, c := range v.claims {
		for _, p := range slices.Concat(c.Parts, c.Waits) {
			p.Definition, p.LeaseText = "", p.Lease.String()
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, "claim "+c.Thing+" "+string(text))
		}
	}
	for _, o := range v.things {
		spec, _, _ := unstructured.NestedMap(o.live.Object, "spec")
		for _, of := range []string{"clusterIP", "clusterIPs", "ports"} {
			delete(spec, of) // the server picks some of it
		}
		text, err := json.Marshal([]any{o.live.GetLabels(), spec})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o.String()+" "+string(text))
	}
	slices.Sort(out)
	return out
}

// problems are what `state --problems` shows.
func (w *world) problems(ctx context.Context, t *testing.T) (out []string) {
	t.Helper()
	found, err := diagnosis.Problems(ctx, w.client(t, w.cfg).cluster, w.cfg, time.Hour, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		out = append(out, p.Name()+" of "+p.Lease+": "+p.Message+"; "+p.Plan)
	}
	return out
}
