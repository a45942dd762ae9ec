package observed

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// How to run beside Akash's operators.
const (
	// OperatorsAuto leaves to an operator what it creates if its Deployment is in the cluster.
	OperatorsAuto = "auto"
	// OperatorsOn assumes that the operators run. OperatorsOff creates everything, and refuses what running operators
	// would overwrite.
	OperatorsOn  = "on"
	OperatorsOff = "off"
)

// OperatorsNamespace is the namespace in which Akash's charts run the provider and its operators.
const OperatorsNamespace = manifests.OperatorsNamespace

// roleSees is the Role in the namespace of Akash's operators that allows looking for them.
const roleSees = "akash-net-sees-operators"

// operators are the Akash operators that create objects in the cluster: the hostname operator a route for each
// ProviderHost, the IP operator a Service for each ProviderLeasedIP.
type operators struct {
	Hostname, IP bool
	// Off is true if the user turned the operators off but they run.
	Off bool
	// Unknown is true if the user may not see which run.
	Unknown bool
}

// findOperators finds the operators that run. It also looks for operators that the user has turned off; if that is
// forbidden, it believes the user.
func findOperators(ctx context.Context, c *command.Command) (operators, error) {
	switch c.Options.Operators {
	case OperatorsOn:
		return operators{Hostname: true, IP: true}, nil
	case "":
		return operators{}, nil
	}
	off := c.Options.Operators == OperatorsOff
	list, err := c.Cluster.Objects(ctx, kinds.Deployment.Resource(), OperatorsNamespace, metav1.ListOptions{})
	switch {
	case err != nil && off && !cluster.IsAway(err):
		return operators{}, nil
	case apierrors.IsForbidden(err):
		return operators{}, unseen(ctx, c, err)
	case err != nil:
		return operators{}, fmt.Errorf("whether Akash's operators run cannot be seen: %w\n--operators=on or --operators=off says it", err)
	}
	found := operators{Hostname: runs(list, manifests.HostnameOperators), IP: runs(list, manifests.IPOperators)}
	found.Off = off && (found.Hostname || found.IP)
	return found, nil
}

// unseen returns what follows from a refusal to list the operators: nil if their namespace does not exist, where none can run,
// and otherwise an error.
func unseen(ctx context.Context, c *command.Command, refusal error) error {
	in, err := c.Cluster.Get(ctx, kinds.Namespace, "", OperatorsNamespace)
	if err == nil && in == nil {
		return nil
	}
	return fmt.Errorf("whether Akash's operators run cannot be seen: %w\nIf the Role is missing there, \"install\" brings it. "+
		"Or say it: --operators=on or --operators=off", cluster.NeedsRoleOf(refusal, OperatorsNamespace, roleSees))
}

// IPOperatorFor reports whether Akash's IP operator runs and handles ports of the requests: those of endpoints whose
// address MetalLB chooses.
func IPOperatorFor(ctx context.Context, c *command.Command, requests []state.Request) (bool, error) {
	if c.Options.Config.IP.Mode != config.ModePool || !slices.ContainsFunc(requests, func(r state.Request) bool { return len(r.Endpoints) > 0 }) {
		return false, nil
	}
	found, err := findOperators(ctx, c)
	return found.IP, err
}

// runs reports whether one of the Deployments exists and is not scaled to zero.
func runs(deployments []*unstructured.Unstructured, names []string) bool {
	return slices.ContainsFunc(deployments, func(d *unstructured.Unstructured) bool {
		replicas, set, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
		return slices.Contains(names, d.GetName()) && (!set || replicas > 0)
	})
}

// Theirs reports whether one of Akash's operators creates the object for a ProviderHost or a ProviderLeasedIP. Objects
// that the operators do not know lack Akash's label, because the operators stop at others (docs/akash-operators.md).
func (o operators) Theirs(object render.Object) bool {
	makes := o.Hostname
	switch object.Kind {
	case kinds.Ingress, kinds.HTTPRoute:
	case kinds.Service:
		makes = o.IP
	default:
		return false
	}
	return makes && cluster.Rendered(object).GetLabels()[lease.LabelManaged] == "true"
}

// Moves reports whether the hostname operator deletes a route itself when its ProviderHost changes hands: if the route
// is already gone, the operator crashes and restarts.
func (o operators) Moves(route Owned) bool {
	return o.Hostname && (route.Kind == kinds.Ingress || route.Kind == kinds.HTTPRoute) && route.Live.GetLabels()[lease.LabelManaged] == "true"
}

// TheirRoute returns the live object that an operator has created for a rendered one. The hostname operator creates
// Ingresses or HTTPRoutes, whichever kind is rendered.
func (s *Snapshot) TheirRoute(o render.Object) *unstructured.Unstructured {
	for _, kind := range OperatorKinds(o.Kind) {
		if live := s.At(kind, o.Namespace, o.Name); live != nil {
			return live
		}
	}
	return nil
}

// OperatorKinds returns the kinds of which an operator may create an object for a rendered kind.
func OperatorKinds(kind kinds.Kind) []kinds.Kind {
	if kind == kinds.Service {
		return []kinds.Kind{kinds.Service}
	}
	return []kinds.Kind{kinds.Ingress, kinds.HTTPRoute}
}

// Owns reports whether a field manager has applied the annotation.
func Owns(live *unstructured.Unstructured, manager, annotation string) bool {
	entry, ok := managed.Applied(live, manager)
	return ok && entry.Owns("metadata", "annotations", annotation)
}

// Manifests are the Manifest objects of Akash's provider, by name. Akash's hostname operator looks the lease, service and
// port of each ProviderHost up in them. One that it does not find ends its loop, for all tenants, and after three times it
// ignores the lease until it is restarted (provider: operator/hostname, event-failure-limit).
type Manifests map[string]*unstructured.Unstructured

// OperatorManifests returns the Manifests if Akash's hostname operator runs, and nil if not or if the user may not see that.
// With leases it returns only theirs.
func OperatorManifests(ctx context.Context, c *command.Command, of ...lease.ID) (Manifests, error) {
	found, err := findOperators(ctx, c)
	var manifests Manifests
	if err == nil && found.Hostname && !found.Off {
		manifests, err = readManifests(ctx, c, of...)
	}
	if apierrors.IsForbidden(err) || cluster.IsMissingKind(err) {
		return nil, nil
	}
	return manifests, err
}

// fewLeases is the number of leases up to which their Manifests are read one by one.
const fewLeases = 10

// readManifests reads all Manifests, or those of a few leases.
func readManifests(ctx context.Context, c *command.Command, of ...lease.ID) (Manifests, error) {
	manifests := Manifests{}
	add := func(m *unstructured.Unstructured) { manifests[m.GetName()] = m }
	if len(of) == 0 || len(of) > fewLeases {
		list, err := c.Cluster.Objects(ctx, kinds.Manifest.Resource(), c.Options.Config.ManifestNamespace, metav1.ListOptions{})
		for _, m := range list {
			add(m)
		}
		return manifests, err
	}
	for _, id := range of {
		m, err := c.Cluster.Get(ctx, kinds.Manifest, c.Options.Config.ManifestNamespace, id.Namespace())
		if err != nil {
			return nil, err
		}
		if m != nil {
			add(m)
		}
	}
	return manifests, nil
}

// OurManifests returns what this program runs for a deployment group, or for all if g is zero: the Manifests that it has
// written, each before everything else in the namespace that it is named after. It reads only metadata. It returns none if
// the cluster does not serve the kind.
func OurManifests(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, g lease.Group) ([]deployed.Manifest, error) {
	var opts metav1.ListOptions
	if g != (lease.Group{}) {
		opts.LabelSelector = labels.Set{
			lease.LabelOwner: g.Owner, lease.LabelDSeq: strconv.FormatUint(g.DSeq, 10), lease.LabelGSeq: strconv.FormatUint(uint64(g.GSeq), 10),
		}.String()
	}
	found, err := cluster.ListMetas(ctx, c, kinds.Manifest.Resource(), cfg.ManifestNamespace, opts, deployed.ReadManifest)
	if cluster.IsMissingKind(err) {
		return nil, nil
	}
	return found, err
}

// SeenManifests is OurManifests of all groups for a user who may not be allowed to list Manifests, and then sees none.
func SeenManifests(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig) ([]deployed.Manifest, error) {
	found, err := OurManifests(ctx, c, cfg, lease.Group{})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	return found, err
}

// Lacks returns what the hostname operator would not find for a ProviderHost of the lease, or "". It finds a service with
// instances that has a global port of that number.
func (m Manifests) Lacks(id lease.ID, service string, port uint16) string {
	switch {
	case m[id.Namespace()] == nil:
		return "no Manifest"
	case service != "" && m.Port(id, service, port) == nil:
		return fmt.Sprintf("no service %s with instances and a global port %d in its Manifest", service, port)
	}
	return ""
}

// Warnings warns of the hosts of a request at whose ProviderHosts the hostname operator would stop. Nil Manifests warn of
// nothing.
func (m Manifests) Warnings(r state.Request) (warnings lease.Problems) {
	if m == nil {
		return nil
	}
	for _, h := range r.Hosts {
		if h.Path != "/" || strings.HasPrefix(h.Host, "*.") { // it has no ProviderHost
			continue
		}
		if lacks := m.Lacks(r.Lease, h.Service, h.Port); lacks != "" {
			warnings.Warn(h.At, "%s: lease %s has %s: Akash's hostname operator stops at its ProviderHost, for all tenants, "+
				"and ignores the lease from then on. Deliver it when the tenant has sent the manifest", h.Host, r.Lease, lacks)
		}
	}
	return warnings
}

// Port returns what the hostname operator looks for in the Manifest of a lease, nil if it is not there: the service, with
// instances, and a global port of that number.
func (m Manifests) Port(id lease.ID, service string, port uint16) map[string]any {
	manifest := m[id.Namespace()]
	if manifest == nil {
		return nil
	}
	services, _, _ := unstructured.NestedSlice(manifest.Object, "spec", "group", "services")
	for _, v := range services {
		s, ok := v.(map[string]any)
		if !ok || s["name"] != service || s["count"] == int64(0) {
			continue
		}
		exposes, _, _ := unstructured.NestedSlice(s, "expose")
		for _, v := range exposes {
			e, _ := v.(map[string]any)
			external, _ := e["external_port"].(int64)
			if external == 0 {
				external, _ = e["port"].(int64)
			}
			if e["global"] == true && external == int64(port) {
				return e
			}
		}
	}
	return nil
}

// NodeUses reads the addresses of the nodes, which no lease gets. A user who may not list nodes goes on without them.
func NodeUses(ctx context.Context, c *cluster.Cluster) ([]state.Use, error) {
	nodes := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	uses, err := cluster.ListObjects(ctx, c, nodes, "", metav1.ListOptions{}, state.NodeUses)
	if apierrors.IsForbidden(err) || cluster.IsMissingKind(err) {
		return nil, nil
	}
	return uses, err
}
