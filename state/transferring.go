package state

import (
	"fmt"
	"iter"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Former returns the deployment group whose objects still serve the part after a transfer. ok is false if the holder's
// own objects serve it.
func (p Part) Former() (g lease.Group, ok bool) {
	if p.From == "" {
		return lease.Group{}, false
	}
	g, err := lease.ParseGroup(p.From)
	return g, err == nil && g.Owner == p.Lease.Owner && g != p.Lease.Group()
}

// FormerOf returns the parts that other groups hold and that the objects of g still serve.
func (c *Claim) FormerOf(g lease.Group) []Part {
	var out []Part
	for p, former := range c.transferred() {
		if former == g {
			out = append(out, p)
		}
	}
	return out
}

// transferred yields the parts that a former holder's objects still serve, and the former holder.
func (c *Claim) transferred() iter.Seq2[Part, lease.Group] {
	return func(yield func(Part, lease.Group) bool) {
		if c == nil || c.Unreadable != "" || c.Deleting {
			return
		}
		for _, p := range c.Parts {
			if former, ok := p.Former(); ok && !yield(p, former) {
				return
			}
		}
	}
}

// Formers returns the deployment groups whose objects still serve parts of other groups after a transfer, each once.
func (c *Claim) Formers() []lease.Group {
	var out []lease.Group
	for _, former := range c.transferred() {
		if !slices.Contains(out, former) {
			out = append(out, former)
		}
	}
	return out
}

// ServesFor returns the part that an object of the group still serves for another group after a transfer, or nil. A
// redirect serves any part of the host.
func (c *Claim) ServesFor(g lease.Group, key string, redirect bool) *Part {
	for _, p := range c.FormerOf(g) {
		if p.Key == key || redirect {
			return &p
		}
	}
	return nil
}

// Transferring describes a part that the objects of another deployment still serve.
func Transferring(from string) string {
	return fmt.Sprintf("deployment %s serves it until the next apply of this lease", from)
}
