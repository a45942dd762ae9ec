package lease

import (
	"fmt"
	"net/netip"
)

// CheckEndpointName returns an error if an IP endpoint cannot have the name. Akash's rule (chain-sdk:
// endpointNameValidationRegex): at least two characters, first a letter, then letters, digits, "-" and "_".
func CheckEndpointName(name string) error {
	ok := len(name) >= 2 && 'a' <= name[0] && name[0] <= 'z'
	for i := range len(name) {
		b := name[i]
		ok = ok && ('a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '_')
	}
	if !ok {
		return fmt.Errorf("%q is not an endpoint name (two or more of a-z, 0-9, \"-\" and \"_\", a letter first)", Clip(name))
	}
	return nil
}

func (c *checker) endpoints(d *Definition) {
	owner := map[netip.Addr]string{}
	for i, e := range d.IPEndpoints {
		if c.missing(e.Name == "") {
			continue
		}
		if err := CheckEndpointName(e.Name); err != nil {
			c.problems.Add(e.At, "%v", err)
		}
		if i > 0 && d.IPEndpoints[i-1].Name == e.Name {
			c.problems.Add(e.At, "there are two endpoints named %q", e.Name)
		}
		if !c.used[e.Name] {
			c.problems.Add(e.At, "endpoint %q is declared but never used", e.Name)
		}
		c.sharingKey(d, &d.IPEndpoints[i])
		four, six := 0, 0
		for _, a := range e.Addresses {
			if err := CheckAddr(a); err != nil {
				c.problems.Add(e.At, "%v", err)
				continue
			}
			if other, ok := owner[a]; ok {
				c.problems.Add(e.At, "address %s is given twice%s", a, otherEndpoint(other, e.Name))
			}
			owner[a] = e.Name
			if a.Is4() {
				four++
			} else {
				six++
			}
		}
		if four > 1 || six > 1 {
			c.problems.Add(e.At, "endpoint %q has more than one address of a family", e.Name)
		}
	}
}

// sharingKey reports an endpoint whose name equals the hash in the sharing key of another: MetalLB would assign both
// the same address.
func (c *checker) sharingKey(d *Definition, e *IPEndpoint) {
	key := SharingKey(d.Lease.Owner, e.Name)
	first := c.keys[key]
	if first == nil {
		c.keys[key] = e
		return
	}
	if first.Name != e.Name {
		at, also := laterEarlier(first.At, e.At)
		c.problems.Add(at,
			"the IP endpoints %q and %q%s have the same sharing key, so both would have the same address: rename one of them",
			first.Name, e.Name, alsoAt(also))
	}
}

// otherEndpoint returns the text that names the endpoint with the same address, or "" if it is the same endpoint.
func otherEndpoint(other, name string) string {
	if other == name {
		return ""
	}
	return fmt.Sprintf(" (also to endpoint %q)", other)
}

// broadcast is the IPv4 limited broadcast address.
var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// CheckAddr returns an error if the address cannot be leased.
func CheckAddr(a netip.Addr) error {
	switch {
	case !a.IsValid():
		return fmt.Errorf("an address is missing")
	case a.Zone() != "":
		return fmt.Errorf("%s has a zone; an address that is leased has none", a)
	case a.Is4In6():
		return fmt.Errorf("%s is an IPv4-mapped IPv6 address; write %s", a, a.Unmap())
	case a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.IsLinkLocalUnicast() || a == broadcast:
		return fmt.Errorf("%s is not an address that can be leased", a)
	}
	return nil
}
