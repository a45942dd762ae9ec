package engine

import (
	"net/netip"
	"strings"

	"github.com/akash-net/kubectl-akash-net/state"
)

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
func (c Choice) Claim(claim *state.Claim) bool {
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
