package state

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Former is the deployment group whose objects still serve the part after a transfer; ok is false where
// the holder's own do.
func (p Part) Former() (g lease.Group, ok bool) {
	if p.From == "" {
		return lease.Group{}, false
	}
	g, err := lease.ParseGroup(p.From)
	return g, err == nil && g.Owner == p.Lease.Owner && g != p.Lease.Group()
}

// FormerOf are the parts that others hold and that the objects of a deployment group still serve.
func (c *Claim) FormerOf(g lease.Group) []Part {
	var out []Part
	if c == nil || c.Unreadable != "" || c.Deleting {
		return nil
	}
	for _, p := range c.Parts {
		if former, ok := p.Former(); ok && former == g {
			out = append(out, p)
		}
	}
	return out
}

// Formers are the deployment groups that serve parts of the claim for another since a transfer, each once:
// those for which FormerOf finds any.
func (c *Claim) Formers() []lease.Group {
	var out []lease.Group
	if c == nil || c.Unreadable != "" || c.Deleting {
		return nil
	}
	for _, p := range c.Parts {
		if former, ok := p.Former(); ok && !slices.Contains(out, former) {
			out = append(out, former)
		}
	}
	return out
}

// ServesFor is the part which an object of a deployment group serves for another lease since a transfer,
// or nil.
func (c *Claim) ServesFor(g lease.Group, key string, redirect bool) *Part {
	for _, p := range c.FormerOf(g) {
		if p.Key == key || redirect {
			return &p
		}
	}
	return nil
}

// Transferring is what a row says of a part that the objects of another deployment still serve.
func Transferring(from string) string {
	return fmt.Sprintf("deployment %s serves it until the next apply of this lease", from)
}
