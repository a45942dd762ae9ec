package observed

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
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
