package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// KeptError says that a lease keeps claims on what Akash's provider, or one of its operators, still has
// objects for: nothing is served without a claim.
type KeptError struct {
	Group lease.Group
	// Kept are the things, each with the objects that are still there.
	Kept []KeptThing
}

// KeptThing is a host or an address that is still in use.
type KeptThing struct {
	Kind    state.Kind
	Thing   string
	Objects []string
}

func (e *KeptError) Error() string {
	var lines []string
	for _, k := range e.Kept {
		lines = append(lines, fmt.Sprintf("%s %s is kept for lease %s: Akash's provider declares it (%s)", k.Kind, k.Thing, e.Group, strings.Join(k.Objects, ", ")))
	}
	return strings.Join(lines, "\n") + "\nClose the lease at Akash's provider, or take them out of its manifest; then the same command releases them"
}

// usedParts are the parts of a claim that objects of Akash's provider for the deployment group still use,
// and those objects, as the cluster says now. What this run has deleted does not count.
func (r *run) usedParts(ctx context.Context, c *state.Claim) (used map[string]bool, by []string, err error) {
	used = map[string]bool{}
	for _, o := range r.snapshot.shared[r.group] {
		keys := r.keysOf(o, c)
		if len(keys) == 0 || r.removed[o.live.GetUID()] && !r.snapshot.stays(o) {
			continue
		}
		now, err := r.cluster.Get(ctx, o.kind, o.live.GetNamespace(), o.live.GetName())
		if err != nil {
			return nil, nil, err
		}
		if now == nil || now.GetDeletionTimestamp() != nil || r.snapshot.ownership(now).Lease.Group() != r.group {
			continue
		}
		by = append(by, o.kind.Singular+" "+o.live.GetNamespace()+"/"+o.live.GetName())
		for _, key := range keys {
			used[key] = true
		}
	}
	return used, by, nil
}

// keysOf are the parts of a claim that an object uses.
func (r *run) keysOf(o owned, c *state.Claim) (keys []string) {
	add := func(key string) {
		if part := c.Part(key); part != nil && part.Lease.Group() == r.group {
			keys = append(keys, key)
		}
	}
	switch {
	case o.kind == kinds.Service && c.Kind.HasPorts():
		service := state.ServiceObjectOf(o.live)
		if c.Kind == state.Endpoint && service.SharingKey == c.SharingKey || slices.Contains(service.Granted, c.Addr()) || slices.Contains(service.Asked, c.Addr()) {
			add(state.PortKey(service.Protocol, service.Port))
		}
	case o.kind == kinds.ProviderLeasedIP && c.Kind.HasPorts():
		if port := state.PortObjectOf(o.live); port.SharingKey == c.SharingKey {
			add(state.PortKey(port.Protocol, port.Port))
		}
	case !c.Kind.HasPorts() && o.kind != kinds.Service:
		for _, u := range state.HostUses(o.live) {
			if u.Host == c.Thing {
				add(state.RouteKey(u.Path))
			}
		}
	}
	return keys
}
