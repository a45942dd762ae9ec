package apply

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// formersOf are the deployment groups that serve parts of the group's claims since a transfer, each once.
func (s *snapshot) formersOf(group lease.Group) []lease.Group {
	var out []lease.Group
	for _, c := range s.held[group] {
		for _, p := range c.PartsOf(group) {
			if former, ok := p.Former(); ok && former != group && !slices.Contains(out, former) {
				out = append(out, former)
			}
		}
	}
	return out
}

// pools are MetalLB's pools as they were read.
func (s *snapshot) pools() []state.PoolObject {
	var pools []state.PoolObject
	for _, name := range slices.Sorted(maps.Keys(s.live[kinds.IPAddressPool.Plural])) {
		pools = append(pools, state.PoolObjectOf(s.live[kinds.IPAddressPool.Plural][name]))
	}
	return pools
}

// namespacesOf are the namespaces of a deployment group's leases, sorted.
func (s *snapshot) namespacesOf(group lease.Group) []string {
	var names []string
	for name, id := range s.tenants {
		if id.Group() == group && id.Namespace() == name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// serves is true for a claim on which objects of a group rest: a route serves the host, or a Service
// uses the address.
func (s *snapshot) serves(c *state.Claim, group lease.Group) bool {
	of := func(u state.Use) bool {
		return u.Of(group) || u.HasLease && slices.ContainsFunc(c.FormerOf(u.Lease.Group()), func(p state.Part) bool { return p.Lease.Group() == group })
	}
	switch c.Kind {
	case state.Endpoint:
		return slices.ContainsFunc(slices.Concat(s.written[group], s.theirs[group]), func(o owned) bool {
			return o.kind == kinds.Service && state.ServiceObjectOf(o.live).SharingKey == c.SharingKey
		})
	case state.Address:
		return slices.ContainsFunc(s.addresses.Uses(c.Addr()), of)
	}
	return slices.ContainsFunc(s.hostUses[c.Thing], of)
}

// reported is true where a route of the kind has something in its status.
func (s *snapshot) reported(kind kinds.Kind, field string) bool {
	for _, o := range s.live[kind.Plural] {
		if entries, _, _ := unstructured.NestedSlice(o.Object, "status", field); len(entries) > 0 {
			return true
		}
	}
	return false
}

// names are the objects of a resource, by name or namespace/name; nil where the cluster does not
// serve the resource.
func names(ctx context.Context, c *cluster.Cluster, resource schema.GroupVersionResource, qualified bool) (map[string]bool, error) {
	metas, err := c.Metas(ctx, resource, "")
	if _, ok := errors.AsType[*cluster.MissingKindError](err); ok {
		return nil, nil //nolint:nilnil // nobody knows
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

// reports are what routers say of each host's routes.
func (s *snapshot) reports(there state.Routers) map[string][]state.Report {
	out := map[string][]state.Report{}
	for _, kind := range kinds.Reporting {
		for _, name := range slices.Sorted(maps.Keys(s.live[kind.Plural])) {
			o := s.live[kind.Plural][name]
			for _, r := range state.Reports(o, there) {
				for _, u := range state.HostUses(o) {
					out[u.Host] = append(out[u.Host], r)
				}
			}
		}
	}
	return out
}

func refOf(kind kinds.Kind, o *unstructured.Unstructured) state.ObjectRef {
	return state.ObjectRef{
		Kind: kind.Singular, Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(),
	}
}
