package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// ingressControllers are the routers of OpenShift's ingress operator.
var ingressControllers = schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: "ingresscontrollers"}

// routers are those that are there to report. Only what the routes of the snapshot name is read.
func routers(ctx context.Context, c *cluster.Cluster, s *snapshot) (there state.Routers, err error) {
	if s.reported(kinds.HTTPRoute, "parents") || s.reported(kinds.TLSRoute, "parents") {
		if there.Gateways, err = names(ctx, c, kinds.Gateway.Resource(), true); err != nil {
			return there, err
		}
	}
	if s.reported(kinds.Route, "ingress") {
		there.Routers, err = names(ctx, c, ingressControllers, false)
	}
	return there, err
}

// awaitAccepted waits until a router accepts each route of the lease, where routers say so at all.
func (r *successors) awaitAccepted(ctx context.Context, desired []render.Object) error {
	for _, o := range desired {
		if !slices.Contains(kinds.Reporting, o.Kind) || r.snapshot.operators.theirs(o) || !r.changed && r.acceptedAlready(o) {
			continue
		}
		if err := r.awaitRoute(ctx, o, state.Accepted); err != nil {
			return err
		}
	}
	return nil
}

// awaitRoute waits until a route's reports are as they are to be, where there is somebody to report.
func (r *successors) awaitRoute(ctx context.Context, o render.Object, done func([]state.Report) bool) error {
	reports, err := r.reportsOn(ctx, o)
	if err != nil || !reports {
		r.unjudged = true
		return err
	}
	var last []state.Report
	err = r.poll(ctx, func(ctx context.Context) (bool, error) {
		live, err := r.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		if live != nil {
			last = state.Reports(live, state.Routers{})
		}
		return done(last), err
	})
	if errors.Is(err, errTimedOut) {
		return &TimeoutError{After: r.opts.Wait, Waiting: []string{refusal(o, last)}}
	}
	if err == nil {
		r.tellAccepted(o, last)
	}
	return err
}

func (r *successors) acceptedAlready(o render.Object) bool {
	live := r.snapshot.find(o)
	return live != nil && (state.Accepted(state.Reports(live, state.Routers{})) || len(state.Reports(live, state.Routers{})) == 0)
}

// reportsOn is true where somebody is there to judge a route: a controller has taken the Gateway, or
// a router reports on some Route of the cluster.
func (r *successors) reportsOn(ctx context.Context, o render.Object) (bool, error) {
	if o.Kind == kinds.Route {
		return r.snapshot.reported(kinds.Route, "ingress"), nil
	}
	g := r.opts.Config.Gateway
	gateway, err := r.cluster.Get(ctx, kinds.Gateway, g.Namespace, g.Name)
	if _, ok := errors.AsType[*cluster.MissingKindError](err); ok {
		err = nil
	}
	if err != nil || taken(gateway) {
		return err == nil, err
	}
	if r.changed {
		r.event(Left, o.Kind.Singular, o.Namespace, o.Name, fmt.Sprintf("nobody says whether it is accepted: no controller has taken Gateway %s/%s", g.Namespace, g.Name))
	}
	return false, nil
}

// taken is true for a Gateway that a controller has judged: until then its conditions are Unknown
// (gateway-api: GatewaySpec's default status).
func taken(gateway *unstructured.Unstructured) bool {
	if gateway == nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(gateway.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(v any) bool {
		c, _ := v.(map[string]any)
		return c["type"] == "Accepted" && c["status"] != "Unknown"
	})
}

func (r *successors) tellAccepted(o render.Object, reports []state.Report) {
	for _, report := range reports {
		if report.Stale != "" || report.Verdict != state.RouteAccepted {
			continue
		}
		message := "by " + report.By
		if report.Unresolved != "" {
			message += ", which does not find its backend yet (" + report.Unresolved + ")"
		}
		if r.changed {
			r.event(Accepted, o.Kind.Singular, o.Namespace, o.Name, message)
		}
		return
	}
}

func refusal(o render.Object, reports []state.Report) string {
	for _, report := range reports {
		if report.Stale == "" && (report.Verdict == state.RouteRefused || report.Unresolved != "") {
			return fmt.Sprintf("%s %s/%s to be accepted: %s", o.Kind.Singular, o.Namespace, o.Name, report)
		}
	}
	return fmt.Sprintf("%s %s/%s to be accepted by a router (see: kubectl -n %s get %s %s -o yaml)", o.Kind.Singular, o.Namespace, o.Name, o.Namespace, o.Kind.Singular, o.Name)
}

// clearReports takes the stale reports out of a route's status, as it was read.
func clearReports(ctx context.Context, c *cluster.Cluster, kind kinds.Kind, live *unstructured.Unstructured, there state.Routers) error {
	field, kept := state.WithoutStale(live, there)
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion()},
		"status":   map[string]any{field: kept},
	})
	if err != nil {
		return err
	}
	return c.Write(ctx, func(write context.Context) error {
		_, err := c.Metadata.Resource(kind.Resource()).Namespace(live.GetNamespace()).Patch(write, live.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: lease.FieldManager}, "status")
		return err
	})
}
