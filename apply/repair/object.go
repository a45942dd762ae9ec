package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// rewrite sets the backend of a route to that of the claim, and leaves everything else.
func (r *repair) rewrite(ctx context.Context, f *state.Fix) error {
	ref := f.Object()
	kind, live := kinds.Of(ref.Kind), r.live(ref)
	o := executor.Applied(live)
	if err := setBackend(o, f.Part.Service, f.Part.Port); err != nil {
		return fmt.Errorf("%s %s/%s: %w", kind.Singular, ref.Namespace, ref.Name, err)
	}
	return asChanged(r.command.Cluster.Seize(ctx, cluster.Applicable(kind, o), lease.FieldManager, live))
}

// setSharingKey makes a Service ask for its address with another sharing key.
func (r *repair) setSharingKey(ctx context.Context, f *state.Fix) error {
	return r.ask(ctx, f.Object(), "allow-shared-ip", f.Value)
}

// ask changes one of the annotations by which a Service asks MetalLB for something, and leaves everything else.
func (r *repair) ask(ctx context.Context, ref state.ObjectRef, annotation, value string) error {
	kind := kinds.Of(ref.Kind)
	live := r.live(ref)
	o := executor.AppliedOnly(live)
	annotations := o.GetAnnotations()
	annotations[r.command.Options.Config.IP.AnnotationPrefix+"/"+annotation] = value
	o.SetAnnotations(annotations)
	if err := executor.LeaveGiven(o, live); err != nil {
		return err
	}
	if err := r.command.Cluster.Seize(ctx, cluster.Applicable(kind, o), lease.FieldManager, live); err != nil {
		return asChanged(err)
	}
	return r.refresh(ctx, kind, live)
}

// write applies an object over the one that was read, nil for none, without force.
func (r *repair) write(ctx context.Context, o render.Object, live *unstructured.Unstructured) error {
	switch _, _, err := r.command.Cluster.ApplyOver(ctx, o, lease.FieldManager, live, false); {
	case cluster.IsOwned(err):
		return &report.ConflictError{
			Object: o.String(), Managers: cluster.Owners(err), Differs: live != nil && !managed.Contains(live.Object, render.Rendered(o).Object), Err: err,
		}
	case err != nil && !cluster.IsOvertaken(err):
		return fmt.Errorf("%s: %w", o, r.command.Cluster.Explain(err, "patch", o.Kind.Resource()))
	default:
		return asChanged(err)
	}
}

// refresh reads an object again after this command has changed it: other repairs of the object use the new state.
func (r *repair) refresh(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured) error {
	now, err := r.command.Cluster.Get(ctx, kind, live.GetNamespace(), live.GetName())
	if err != nil || now == nil || now.GetUID() != live.GetUID() {
		return err
	}
	r.snapshot = r.snapshot.With(kind, live.GetNamespace(), live.GetName(), now)
	return nil
}

// dropGrant removes the granted addresses from a Service's status.
func (r *repair) dropGrant(ctx context.Context, f *state.Fix) error {
	return dropGrant(ctx, r.command.Cluster, r.live(f.Object()))
}

// dropGrant removes the granted addresses from a Service's status, pinned to what was read. The load balancer then
// grants what the Service asks for.
func dropGrant(ctx context.Context, c *cluster.Cluster, live *unstructured.Unstructured) error {
	status := map[string]any{"status": map[string]any{"loadBalancer": nil}}
	err := c.MergePinned(ctx, kinds.Service, live, status, lease.FieldManager, "status")
	if cluster.IsOvertaken(err) {
		return report.ErrChanged
	}
	return c.Explain(err, "patch", kinds.Service.GroupVersion().WithResource("services/status"))
}

// clearReports removes stale reports from a route's status, pinned to the route as it was read.
func (r *repair) clearReports(ctx context.Context, f *state.Fix) error {
	live := r.live(f.Object())
	field, kept := state.WithoutStale(live, r.routers)
	status := map[string]any{"status": map[string]any{field: kept}}
	return asChanged(r.command.Cluster.MergePinned(ctx, kinds.Of(f.Object().Kind), live, status, lease.FieldManager, "status"))
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

// askAddress makes a Service ask for an address, and removes the grant of another one from its status.
func (r *repair) askAddress(ctx context.Context, m *state.Fix) error {
	if err := r.ask(ctx, m.Object(), "loadBalancerIPs", m.Address.String()); err != nil {
		return err
	}
	err := r.command.Cluster.Retry(ctx, func(ctx context.Context) (bool, error) {
		now, err := r.command.Cluster.Get(ctx, kinds.Service, m.Object().Namespace, m.Object().Name)
		if now == nil || err != nil {
			return err == nil, err
		}
		other := func(u state.Use) bool {
			return u.Granted && u.Address != m.Address && u.Address.BitLen() == m.Address.BitLen()
		}
		if !slices.ContainsFunc(state.AddressUses(now), other) {
			return true, nil
		}
		err = dropGrant(ctx, r.command.Cluster, now)
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

// rerecord replaces or updates the DNS records of a host so that they have the wanted values, whoever has changed them.
// Each write is pinned to the version that was read.
func (r *repair) rerecord(ctx context.Context, m *state.Fix) error {
	group := m.Part.Lease.Group()
	wanted, err := records.Wanted(ctx, r.command, r.snapshot, m.Value, m.Part)
	if err != nil {
		return err
	}
	var deleted []*unstructured.Unstructured
	remove := func(o observed.Object) error {
		deleted = append(deleted, o.Live)
		_, err := r.removeWhile(ctx, o.Kind, o.Live, reading.OfTenant(o.Live))
		return err
	}
	replaced, again := r.snapshot.ToReplace(group, m.Value, wanted.Objects)
	for _, old := range replaced {
		if err := remove(old.Object); err != nil {
			return err
		}
	}
	for _, o := range r.snapshot.Records.Of(m.Value) {
		isWanted := slices.ContainsFunc(wanted.Objects, func(w render.Object) bool { return r.snapshot.Find(w) == o.Live })
		if o.Group != group || isWanted || slices.Contains(deleted, o.Live) {
			continue
		}
		if err := remove(o); err != nil {
			return err
		}
	}
	if kept, err := r.stillThere(ctx, deleted, cmp.Or(r.command.Options.Wait, engine.RecordWait)); err != nil || kept != nil {
		return cmp.Or(err, errors.New("what is to be replaced is still being deleted"))
	}
	for _, o := range wanted.Objects {
		live := r.snapshot.Find(o)
		switch {
		case live == nil || again[o.Name]:
			err = r.write(ctx, observed.Prepared(o, nil, r.command.Cluster.Now()), nil)
		case !reflect.DeepEqual(live.Object["spec"], render.Rendered(o).Object["spec"]):
			err = asChanged(r.command.Cluster.Seize(ctx, observed.Prepared(o, live, r.command.Cluster.Now()), lease.FieldManager, live))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
