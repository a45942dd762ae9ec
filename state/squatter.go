package state

import (
	"cmp"
	"fmt"
	"slices"
)

// Squatters are the Services among the uses of an address that belong to none of those who hold it, each
// once. Of an address that nobody holds they are all.
func (c *Claim) Squatters(uses []Use) []Use {
	var out []Use
	for _, u := range uses {
		if u.HasLease && c.concerns(u) {
			continue
		}
		i := slices.IndexFunc(out, func(v Use) bool { return v.Namespace == u.Namespace && v.Name == u.Name })
		switch {
		case i < 0:
			out = append(out, u)
		case u.Granted || u.External: // it has the address already
			out[i] = u
		}
	}
	slices.SortFunc(out, func(a, b Use) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// concerns is true for a use by a deployment group that holds a part of the claim, or whose Services serve
// one until the holder is applied. A label alone does not make a Service theirs: it is in their namespace.
func (c *Claim) concerns(u Use) bool {
	g := u.Lease.Group()
	return c != nil && u.Namespace == u.Lease.Namespace() && (slices.Contains(c.Groups(), g) || len(c.FormerOf(g)) > 0)
}

// Takes says how a Service uses an address: "asks for", "was granted" or "has in spec.externalIPs".
func (u Use) Takes(what string) string {
	switch {
	case u.External:
		return fmt.Sprintf("%s has %s in spec.externalIPs", u, what)
	case u.Granted:
		return fmt.Sprintf("%s was granted %s", u, what)
	}
	return fmt.Sprintf("%s asks for %s", u, what)
}

// Edit is the command that opens the object of a use.
func (u Use) Edit() string {
	return fmt.Sprintf("kubectl -n %s edit %s %s", u.Namespace, u.Kind, u.Name)
}
