package repair

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// rewrite makes a route lead where the claim says; all else that it says stays.
func (r *mending) rewrite(ctx context.Context, ref state.ObjectRef, part state.Part) error {
	kind := kinds.Of(ref.Kind)
	live := r.Snapshot.Live[kind.Plural][ref.Namespace+"/"+ref.Name]
	o := executor.Applied(live)
	if err := lead(o, part.Service, part.Port); err != nil {
		return fmt.Errorf("%s %s/%s: %w", kind.Singular, ref.Namespace, ref.Name, err)
	}
	return r.Cluster.Seize(ctx, render.Object{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Config: o}, lease.FieldManager, live)
}

// ask makes a Service ask MetalLB for something else; all else that it says stays.
func (r *mending) ask(ctx context.Context, ref state.ObjectRef, annotation, value string) error {
	kind := kinds.Of(ref.Kind)
	live := r.Snapshot.Live[kind.Plural][ref.Namespace+"/"+ref.Name]
	o := executor.AppliedOnly(live)
	annotations := o.GetAnnotations()
	annotations[r.Options.Config.IP.AnnotationPrefix+"/"+annotation] = value
	o.SetAnnotations(annotations)
	if err := executor.LeaveGiven(o, live); err != nil {
		return err
	}
	if err := r.Cluster.Seize(ctx, render.Object{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Config: o}, lease.FieldManager, live); err != nil {
		return err
	}
	return r.sees(ctx, kind, live)
}

// sees reads an object again that this call has changed: another mend of it rests on what it says now.
func (r *mending) sees(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured) error {
	now, err := r.Cluster.Get(ctx, kind, live.GetNamespace(), live.GetName())
	if err != nil || now == nil || now.GetUID() != live.GetUID() {
		return err
	}
	r.Snapshot.Live[kind.Plural][live.GetNamespace()+"/"+live.GetName()] = now
	return nil
}

// dropGrant takes the addresses that were granted out of a Service's status, as it was read: whoever
// grants looks at it then, and grants what it asks for.
func dropGrant(ctx context.Context, c *cluster.Cluster, live *unstructured.Unstructured) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion()},
		"status":   map[string]any{"loadBalancer": nil},
	})
	if err != nil {
		return err
	}
	err = c.Write(ctx, func(write context.Context) error {
		_, err := c.Metadata.Resource(kinds.Service.Resource()).Namespace(live.GetNamespace()).Patch(write, live.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: lease.FieldManager}, "status")
		return err
	})
	if cluster.IsOvertaken(err) {
		return report.ErrChanged
	}
	return c.Explain(err, "patch", kinds.Service.GroupVersion().WithResource("services/status"))
}

// lead sets the backend of a route with one rule.
func lead(o *unstructured.Unstructured, service string, port uint16) error {
	set := func(at any, path ...any) error { // a number stands for a list of one
		for i, step := range path {
			switch v := at.(type) {
			case map[string]any:
				at = v[step.(string)]
			case []any:
				if len(v) != 1 {
					return fmt.Errorf("it has %d rules, paths or backends where one is expected", len(v))
				}
				at = v[0]
			}
			if at == nil {
				return fmt.Errorf("it has no backend (%v is missing)", path[:i+1])
			}
		}
		backend, ok := at.(map[string]any)
		if !ok {
			return fmt.Errorf("its backend cannot be read")
		}
		backend["name"] = service
		if number, nested := backend["port"].(map[string]any); nested {
			delete(number, "name")
			number["number"] = int64(port)
			return nil
		}
		backend["port"] = int64(port)
		return nil
	}
	spec := o.Object["spec"]
	switch o.GetKind() {
	case "Ingress":
		return set(spec, "rules", 0, "http", "paths", 0, "backend", "service")
	case "HTTPRoute", "TLSRoute":
		return set(spec, "rules", 0, "backendRefs", 0)
	}
	// A Route names the port of the containers, which the claim does not know.
	return unstructured.SetNestedField(o.Object, service, "spec", "to", "name")
}

// askAddress lets a Service ask for an address, and takes the grant of another out of its status.
func (r *repair) askAddress(ctx context.Context, m state.AskAddress) error {
	if err := r.runFor(lease.Group{}).ask(ctx, m.Service, "loadBalancerIPs", m.Address.String()); err != nil {
		return err
	}
	err := r.Cluster.Retry(ctx, func(ctx context.Context) (bool, error) {
		now, err := r.Cluster.Get(ctx, kinds.Service, m.Service.Namespace, m.Service.Name)
		if now == nil || err != nil {
			return err == nil, err
		}
		other := func(u state.Use) bool {
			return u.Granted && u.Address != m.Address && u.Address.BitLen() == m.Address.BitLen()
		}
		if !slices.ContainsFunc(state.AddressUses(now), other) {
			return true, nil
		}
		err = dropGrant(ctx, r.Cluster, now)
		if errors.Is(err, report.ErrChanged) {
			return false, nil
		}
		return err == nil, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return report.ErrChanged
	}
	return err
}
