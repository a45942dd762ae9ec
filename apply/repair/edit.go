package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/state"
)

// edit is one write of an object: what a field manager applies, whoever has set that, or a patch of the object, or of a subresource. A zero
// one writes nothing.
type edit struct {
	manager     string
	applies     *unstructured.Unstructured
	patch       map[string]any
	subresource []string
}

// editing returns the write of an object as it is now.
type editing func(*repair, *state.Fix, *unstructured.Unstructured) (edit, error)

// edits are the writes of single objects that fix problems, one after the other. The first one is pinned to the object as the problem was
// found, the others to it as the one before has left it.
var edits = map[state.Way][]editing{
	state.RewriteRoute:      {rewriteRoute},
	state.SetSharingKey:     {setSharingKey},
	state.AskAddress:        {askAddress, dropOtherGrant},
	state.DropGrant:         {dropGrant},
	state.ClearReports:      {clearReports},
	state.RestoreMarks:      {restoreMarks},
	state.DropManagedFields: {dropManagedFields, restoreMarks},
}

// edit fixes a problem by writes of an object.
func (r *repair) edit(ctx context.Context, f *state.Fix) error {
	kind, live := kinds.Of(f.Object().Kind), r.live(f.Object())
	for i, of := range edits[f.Do] {
		err := r.command.Cluster.Rewrite(ctx, kind, live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
			if i == 0 && now.GetResourceVersion() != live.GetResourceVersion() {
				return nil, report.ErrChanged
			}
			e, err := of(r, f, now)
			if err != nil || e.applies == nil && e.patch == nil {
				return nil, err
			}
			return func(ctx context.Context) error { return r.send(ctx, kind, now, e) }, nil
		})
		switch {
		case errors.Is(err, cluster.ErrMoving):
			return report.ErrChanged
		case err != nil:
			return err
		}
		now, err := r.command.Cluster.Get(ctx, kind, live.GetNamespace(), live.GetName())
		if err != nil || now == nil || now.GetUID() != live.GetUID() {
			return err
		}
		live, r.snapshot = now, r.snapshot.With(kind, now.GetNamespace(), now.GetName(), now) // other fixes of the object write over that
	}
	return nil
}

// send sends an edit, pinned to the object as it is now.
func (r *repair) send(ctx context.Context, kind kinds.Kind, now *unstructured.Unstructured, e edit) error {
	resource := kind.Resource()
	if e.applies != nil {
		return r.command.Cluster.Explain(r.command.Cluster.Seize(ctx, cluster.Applicable(kind, e.applies), e.manager, now), "patch", resource)
	}
	resource.Resource = strings.Join(append([]string{resource.Resource}, e.subresource...), "/")
	return r.command.Cluster.Explain(r.command.Cluster.MergePinned(ctx, kind, now, e.patch, lease.FieldManager, e.subresource...), "patch", resource)
}

// rewriteRoute sets the backend of a route to that of the claim, and leaves everything else.
func rewriteRoute(_ *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	o := executor.Applied(now)
	if err := setBackend(o, f.Part.Service, f.Part.Port); err != nil {
		return edit{}, fmt.Errorf("%s %s/%s: %w", f.Object().Kind, now.GetNamespace(), now.GetName(), err)
	}
	return edit{manager: lease.FieldManager, applies: o}, nil
}

func setSharingKey(r *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	return r.asks(now, "allow-shared-ip", f.Value)
}

func askAddress(r *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	return r.asks(now, "loadBalancerIPs", f.Address.String())
}

// asks changes one of the annotations by which a Service asks MetalLB for something, and leaves everything else.
func (r *repair) asks(now *unstructured.Unstructured, annotation, value string) (edit, error) {
	o := executor.AppliedOnly(now)
	annotations := o.GetAnnotations()
	annotations[r.command.Options.Config.IP.AnnotationPrefix+"/"+annotation] = value
	o.SetAnnotations(annotations)
	return edit{manager: lease.FieldManager, applies: o}, executor.LeaveGiven(o, now)
}

// dropOtherGrant removes the grant of another address of the family than the one that a Service asks for.
func dropOtherGrant(r *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	other := func(u state.Use) bool {
		return u.Granted && u.Address != f.Address && u.Address.BitLen() == f.Address.BitLen()
	}
	if !slices.ContainsFunc(state.AddressUses(now), other) {
		return edit{}, nil
	}
	return dropGrant(r, f, now)
}

// dropGrant removes the granted addresses from a Service's status. The load balancer then grants what the Service asks for.
func dropGrant(*repair, *state.Fix, *unstructured.Unstructured) (edit, error) {
	return edit{patch: map[string]any{"status": map[string]any{"loadBalancer": nil}}, subresource: []string{"status"}}, nil
}

// clearReports removes stale reports from a route's status.
func clearReports(r *repair, _ *state.Fix, now *unstructured.Unstructured) (edit, error) {
	field, kept := state.WithoutStale(now, r.routers)
	return edit{patch: map[string]any{"status": map[string]any{field: kept}}, subresource: []string{"status"}}, nil
}

// dropManagedFields removes managed fields of other API versions from an object: the API server fails every apply because of them
// (kubernetes/kubernetes#111937).
func dropManagedFields(_ *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	kept, dropped := managed.OfVersion(now, kinds.Of(f.Object().Kind).GroupVersion())
	if dropped == 0 {
		return edit{}, nil
	}
	if len(kept) == 0 {
		kept = []metav1.ManagedFieldsEntry{{}} // the API server ignores an empty list
	}
	return edit{patch: map[string]any{"metadata": map[string]any{"managedFields": kept}}}, nil
}

// restoreMarks applies an object as it is, with the marks that it has lost.
func restoreMarks(r *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	whose, kind := r.snapshot.Ownership(now), kinds.Of(f.Object().Kind)
	if len(whose.Lost) == 0 {
		return edit{}, nil
	}
	manager := observed.ManagerOf(kind, whose.Lease.Group())
	o := executor.AppliedBy(now, manager)
	if kind == kinds.Service {
		if err := executor.LeaveGiven(o, now); err != nil {
			return edit{}, err
		}
	}
	annotations := o.GetAnnotations()
	for key, value := range now.GetAnnotations() {
		if strings.HasPrefix(key, lease.Domain+"/") {
			annotations[key] = value
		}
	}
	if annotations[lease.AnnotationDefinition] == "" {
		annotations[lease.AnnotationDefinition] = f.Value
	}
	labels := o.GetLabels()
	maps.Copy(labels, markLabels(whose.Lease, now.GetLabels(), slices.Contains(kinds.ClaimLike, kind)))
	o.SetAnnotations(annotations)
	o.SetLabels(labels)
	return edit{manager: manager, applies: o}, nil
}

// markLabels returns the labels that name the lease. It includes Akash's label only if the object has it or Akash's
// operators read all objects of the kind: they stop at others.
func markLabels(id lease.ID, has map[string]string, claimLike bool) map[string]string {
	labels := id.Labels()
	if has[lease.LabelManaged] == "" && !claimLike {
		delete(labels, lease.LabelManaged)
		labels[lease.LabelOurs] = "true"
	}
	return labels
}

// setBackend sets the backend of a route with one rule.
func setBackend(o *unstructured.Unstructured, service string, port uint16) error {
	set := func(at any, path ...any) error { // a number in the path is a list of one item
		for i, step := range path {
			switch v := at.(type) {
			case map[string]any:
				at = v[step.(string)]
			case []any:
				if len(v) != 1 {
					return fmt.Errorf("it has %d rules, paths or backends where one is expected; delete it (kubectl -n %s delete %s %s), and repair with -f",
						len(v), o.GetNamespace(), strings.ToLower(o.GetKind()), o.GetName())
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
	// A Route names the container port, which the claim does not have.
	return unstructured.SetNestedField(o.Object, service, "spec", "to", "name")
}
