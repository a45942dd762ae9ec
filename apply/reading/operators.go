package reading

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// roleSees is the Role in the namespace of Akash's operators that allows looking for them.
const roleSees = "akash-net-sees-operators"

// findOperators finds the operators that run. It also looks for operators that the user has turned off; if that is
// forbidden, it believes the user.
func findOperators(ctx context.Context, c *command.Command) (observed.Operators, error) {
	switch c.Options.Operators {
	case observed.OperatorsOn:
		return observed.Operators{Hostname: true, IP: true}, nil
	case "":
		return observed.Operators{}, nil
	}
	off := c.Options.Operators == observed.OperatorsOff
	list, err := c.Cluster.Objects(ctx, kinds.Deployment.Resource(), manifests.OperatorsNamespace, metav1.ListOptions{})
	switch {
	case err != nil && off && !cluster.IsAway(err):
		return observed.Operators{}, nil
	case apierrors.IsForbidden(err):
		return observed.Operators{}, unseen(ctx, c, err)
	case err != nil:
		return observed.Operators{}, fmt.Errorf("whether Akash's operators run cannot be seen: %w\n--operators=on or --operators=off says it", err)
	}
	found := observed.Operators{Hostname: runs(list, manifests.HostnameOperators), IP: runs(list, manifests.IPOperators)}
	found.Off = off && (found.Hostname || found.IP)
	return found, nil
}

// unseen returns what follows from a refusal to list the operators: nil if their namespace does not exist, where none can run,
// and otherwise an error.
func unseen(ctx context.Context, c *command.Command, refusal error) error {
	in, err := c.Cluster.Get(ctx, kinds.Namespace, "", manifests.OperatorsNamespace)
	if err == nil && in == nil {
		return nil
	}
	return fmt.Errorf("whether Akash's operators run cannot be seen: %w\nIf the Role is missing there, \"install\" brings it. "+
		"Or say it: --operators=on or --operators=off", cluster.NeedsRoleOf(refusal, manifests.OperatorsNamespace, roleSees))
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

// OperatorManifests returns the Manifests if Akash's hostname operator runs, and nil if not or if the user may not see that.
// With leases it returns only theirs.
func OperatorManifests(ctx context.Context, c *command.Command, of ...lease.ID) (observed.Manifests, error) {
	found, err := findOperators(ctx, c)
	var manifests observed.Manifests
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
func readManifests(ctx context.Context, c *command.Command, of ...lease.ID) (observed.Manifests, error) {
	manifests := observed.Manifests{}
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

// EachManifest yields the Manifest objects of Akash's provider as JSON, sorted by name.
func EachManifest(ctx context.Context, c *cluster.Cluster, namespace string, yield func(name string, version lease.Manifest, data []byte) error) error {
	objects, err := c.Objects(ctx, cluster.AkashResource("manifests"), namespace, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range objects {
		data, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		if err := yield(o.GetName(), lease.Manifest{UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion()}, data); err != nil {
			return err
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

// gatewaysOf lists the Gateways, if there is a route of somebody else that is attached to one; else it returns nil.
func gatewaysOf(ctx context.Context, c *cluster.Cluster, lists map[string][]*listed.Object) (admission.Gateways, error) {
	attached := func(o *listed.Object) bool {
		return admission.AttachedOf(o.Look()).ToGateway() && !state.OwnershipOf(o.Look(), lease.ID{}).Ours
	}
	routes := slices.Concat(lists[kinds.HTTPRoute.Plural], lists[kinds.TLSRoute.Plural], lists[kinds.GRPCRoute.Plural])
	if !slices.ContainsFunc(routes, attached) {
		return nil, nil //nolint:nilnil // nobody asks for them
	}
	return Gateways(ctx, c)
}

// Gateways lists the listeners of all Gateways. Who may not list them goes by what routes say: then it returns nil.
func Gateways(ctx context.Context, c *cluster.Cluster) (admission.Gateways, error) {
	list, err := c.Objects(ctx, kinds.Gateway.Resource(), "", metav1.ListOptions{})
	if cluster.IsMissingKind(err) || apierrors.IsForbidden(err) {
		return nil, nil //nolint:nilnil // they are not known
	}
	gateways := admission.Gateways{}
	for _, o := range list {
		gateways.Add(o)
	}
	return gateways, err
}

// ingressControllers are the routers of OpenShift's ingress operator.
var ingressControllers = schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: "ingresscontrollers"}

// Routers reads the routers that may report on the snapshot's routes. It lists only kinds that these routes name.
func Routers(ctx context.Context, c *cluster.Cluster, s *observed.Snapshot) (there state.Routers, err error) {
	if s.Reported(kinds.HTTPRoute, "parents") || s.Reported(kinds.TLSRoute, "parents") {
		if there.Gateways, err = listNames(ctx, c, kinds.Gateway.Resource(), true); err != nil {
			return there, err
		}
	}
	if s.Reported(kinds.Route, "ingress") {
		there.Routers, err = listNames(ctx, c, ingressControllers, false)
	}
	return there, err
}

// listNames lists a resource and returns the objects' names, as NAMESPACE/NAME if qualified. It returns nil if the
// cluster does not serve the resource.
func listNames(
	ctx context.Context, c *cluster.Cluster, resource schema.GroupVersionResource, qualified bool,
) (map[string]bool, error) {
	metas, err := c.Metas(ctx, resource, "")
	if cluster.IsMissingKind(err) {
		return nil, nil //nolint:nilnil // nil means unknown
	}
	if err != nil {
		return nil, err
	}
	out := make(map[string]bool, len(metas))
	for _, m := range metas {
		if qualified {
			out[m.Namespace+"/"+m.Name] = true
		} else {
			out[m.Name] = true
		}
	}
	return out, nil
}
