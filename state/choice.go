package state

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// What people name: hosts, addresses, and IP endpoints as "endpoint/NAME", by their name alone, or by their sharing key.

// Choice selects what of a deployment group is given up: everything if it names no things.
type Choice struct{ things map[string]bool }

// NewChoice returns the choice of hosts, addresses and IP endpoints as people type them; of everything if there are none.
func NewChoice(things []string) Choice {
	c := Choice{}
	for _, thing := range things {
		if a, err := netip.ParseAddr(thing); err == nil {
			thing = a.String()
		}
		if c.things == nil {
			c.things = map[string]bool{}
		}
		c.things[strings.ToLower(thing)] = true
	}
	return c
}

// All reports whether everything is chosen.
func (c Choice) All() bool { return len(c.things) == 0 }

// Has reports whether a host or an address is named.
func (c Choice) Has(thing string) bool { return c.things[thing] }

// Addresses returns the named addresses.
func (c Choice) Addresses() (out []netip.Addr) {
	for thing := range c.things {
		if a, err := netip.ParseAddr(thing); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// Claim reports whether a claim is chosen. An IP endpoint is as "endpoint/NAME", by its name alone, or by its sharing key, as
// it is printed.
func (c Choice) Claim(claim *Claim) bool {
	if c.All() || c.things[claim.Thing] {
		return true
	}
	if !claim.Kind.HasPorts() {
		return false
	}
	if c.things[claim.SharingKey] || c.things["endpoint/"+claim.SharingKey] {
		return true
	}
	name, ok := strings.CutPrefix(claim.SharingKey, claim.Owner+"-ip-")
	return ok && (c.things[name] || c.things["endpoint/"+name])
}

// OtherHolders returns the other deployment groups that have an entry on a claim of a transfer to a lease, or still serve what they held.
func OtherHolders(c *Claim, to lease.ID) (groups []lease.Group) {
	all := c.Writers()
	for _, p := range c.Parts {
		if former, handed := p.Former(); handed {
			all = append(all, former)
		}
	}
	for _, g := range all {
		if c.Owner == to.Owner && g != to.Group() && !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return groups
}

// ClaimsOn returns the claims on a thing of an owner: a host, an address, or an IP endpoint by its name or sharing key. named
// returns a claim by its name, leased those of an IP endpoint by its sharing key.
func ClaimsOn(owner, thing string, named func(string) *Claim, leased func(sharingKey string) []*Claim) (out []*Claim) {
	name, endpoint := HostName(strings.ToLower(thing)), strings.TrimPrefix(thing, "endpoint/")
	if a, err := netip.ParseAddr(strings.ToLower(thing)); err == nil {
		name = AddressName(a)
	}
	all := slices.Concat([]*Claim{named(name)}, leased(endpoint), leased(lease.SharingKey(owner, endpoint)))
	for _, c := range all {
		if c != nil && !c.Deleting && len(c.Parts) > 0 && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
