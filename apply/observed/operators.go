package observed

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The ways to live beside Akash's operators.
const (
	// OperatorsAuto leaves to an operator what it makes where its Deployment is in the cluster.
	OperatorsAuto = "auto"
	// OperatorsOn leaves it to them without looking. OperatorsOff makes everything, and refuses what they
	// would write over where their Deployments are in the cluster.
	OperatorsOn  = "on"
	OperatorsOff = "off"
)

// OperatorsNamespace is where Akash's charts run the provider and its operators.
const OperatorsNamespace = "akash-services"

// The Deployments of Akash's operators, as its charts name them and as they did before.
var (
	HostnameOperators = []string{"operator-hostname", "akash-hostname-operator"}
	IpOperators       = []string{"operator-ip", "akash-ip-operator"}
)

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// operators are those of Akash's operators that make objects in this cluster: the hostname operator
// the route of each ProviderHost, the IP operator the Service of each ProviderLeasedIP.
type operators struct {
	Hostname, IP bool
	// Off is true where they are to be done without and run all the same.
	Off bool
}

// findOperators says which operators to count on. Those that are said to be off are looked for too: they
// do not ask whether they are wanted. Whoever may not look is believed.
func findOperators(ctx context.Context, c *command.Command) (operators, error) {
	switch c.Options.Operators {
	case OperatorsOn:
		return operators{Hostname: true, IP: true}, nil
	case "":
		return operators{}, nil
	}
	off := c.Options.Operators == OperatorsOff
	list, err := c.Cluster.Objects(ctx, deployments, OperatorsNamespace, metav1.ListOptions{})
	switch {
	case err != nil && off && !cluster.IsAway(err):
		return operators{}, nil
	case err != nil:
		return operators{}, fmt.Errorf("whether Akash's operators run cannot be seen: %w\n--operators=on or --operators=off says it", err)
	}
	found := operators{Hostname: runs(list, HostnameOperators), IP: runs(list, IpOperators)}
	found.Off = off && (found.Hostname || found.IP)
	return found, nil
}

// IPOperatorFor is true where Akash's IP operator runs and a request asks for ports on which it has a say:
// those of endpoints whose address MetalLB chooses.
func IPOperatorFor(ctx context.Context, c *command.Command, requests []state.Request) (bool, error) {
	if c.Options.Config.IP.Mode != config.ModePool || !slices.ContainsFunc(requests, func(r state.Request) bool { return len(r.Endpoints) > 0 }) {
		return false, nil
	}
	found, err := findOperators(ctx, c)
	return found.IP, err
}

// runs is true where one of the Deployments is there and is not scaled to nothing.
func runs(deployments []*unstructured.Unstructured, names []string) bool {
	return slices.ContainsFunc(deployments, func(d *unstructured.Unstructured) bool {
		replicas, set, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
		return slices.Contains(names, d.GetName()) && (!set || replicas > 0)
	})
}

// Theirs is true for an object that one of Akash's operators makes of a ProviderHost or of a
// ProviderLeasedIP. What it does not know is not labelled as Akash's (design: 2.7).
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

// Moves is true for a route of another lease that the hostname operator removes itself when the
// ProviderHost changes hands: where it finds it gone already it stops and starts anew.
func (o operators) Moves(route Owned) bool {
	return o.Hostname && (route.Kind == kinds.Ingress || route.Kind == kinds.HTTPRoute) && route.Live.GetLabels()[lease.LabelManaged] == "true"
}

// TheirRoute is the live object that an operator has made for a rendered one; the hostname operator
// makes Ingresses or HTTPRoutes, whatever is rendered.
func (s *Snapshot) TheirRoute(o render.Object) *unstructured.Unstructured {
	for _, kind := range OperatorKinds(o.Kind) {
		if live := s.Live[kind.Plural][o.Namespace+"/"+o.Name]; live != nil {
			return live
		}
	}
	return nil
}

// OperatorKinds are the kinds of which an operator makes one where a kind is rendered.
func OperatorKinds(kind kinds.Kind) []kinds.Kind {
	if kind == kinds.Service {
		return []kinds.Kind{kinds.Service}
	}
	return []kinds.Kind{kinds.Ingress, kinds.HTTPRoute}
}

// Owns is true where a field manager has applied the annotation.
func Owns(live *unstructured.Unstructured, manager, annotation string) bool {
	entry, ok := managed.Applied(live, manager)
	return ok && entry.Owns("metadata", "annotations", annotation)
}

// Operated is true for what one of Akash's operators makes a route or a Service of.
func (o operators) Operated(kind kinds.Kind) bool {
	return o.Hostname && kind == kinds.ProviderHost || o.IP && kind == kinds.ProviderLeasedIP
}
