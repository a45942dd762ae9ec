package inventory

import "github.com/akash-net/kubectl-akash-net/lease/resources"

// GroupOf is a deployment group's wish as the inventory reads it.
func GroupOf(asked resources.Group) Group {
	g := Group{Name: asked.Name}
	for _, u := range asked.Units {
		r := Resource{ID: u.ID, Count: u.Count, CPU: u.CPU, Memory: u.Memory, GPU: GPU{Units: u.GPU.Units}}
		for _, a := range u.GPU.Attributes {
			r.GPU.Attributes = append(r.GPU.Attributes, a.Key)
		}
		for _, v := range u.Volumes {
			r.Storage = append(r.Storage, Volume{Name: v.Name, Size: v.Size, Attributes: VolumeAttributes{
				Class: v.Class(), Persistent: v.Attribute(resources.AttributePersistent)}})
		}
		for _, e := range u.Endpoints {
			r.Endpoints = append(r.Endpoints, Endpoint{Kind: EndpointKind(e.Kind.String()), Sequence: e.Sequence})
		}
		g.Resources = append(g.Resources, r)
	}
	return g
}
