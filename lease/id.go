package lease

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// ID is the identity of a lease: the contract between a tenant (Owner) and a Provider for one
// order of one deployment group, as akash-network's market module numbers it.
type ID struct {
	// Owner is the tenant's wallet, a bech32 address that begins with "akash1".
	Owner string
	// DSeq, GSeq and OSeq number the deployment, its group and the group's order; all start at 1.
	DSeq       uint64
	GSeq, OSeq uint32
	// Provider is the provider's wallet, a bech32 address.
	Provider string
}

// Group is a deployment group, the identity that holds claims. An order's number and the provider
// do not count, as in Akash's hostname service ("there is no need to consider order ID or
// provider ID").
type Group struct {
	Owner string
	DSeq  uint64
	GSeq  uint32
}

// CheckAddress says why s is not the form of an Akash address, or returns nil. The checksum is
// not judged here: see ChecksumOK.
func CheckAddress(s string) error {
	// Not more than fits a label's value. A loop, for it runs for each of 100,000 claims.
	rest, ok := strings.CutPrefix(s, "akash1")
	ok = ok && len(rest) >= 1 && len(rest) <= 57
	for i := 0; ok && i < len(rest); i++ {
		ok = rest[i] >= '0' && rest[i] <= '9' || rest[i] >= 'a' && rest[i] <= 'z'
	}
	if !ok {
		return fmt.Errorf("%q is not an Akash address (akash1…, lower case, at most 63 characters)", Clip(s))
	}
	return nil
}

// ParseID reads OWNER/DSEQ/GSEQ/OSEQ/PROVIDER.
func ParseID(s string) (ID, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 5 {
		return ID{}, fmt.Errorf("lease %q is not of the form OWNER/DSEQ/GSEQ/OSEQ/PROVIDER", Clip(s))
	}
	group, err := parseGroup(parts[:3])
	if err != nil {
		return ID{}, fmt.Errorf("lease %q: %w", Clip(s), err)
	}
	oseq, err := parseSeq("oseq", parts[3], 32)
	if err != nil {
		return ID{}, fmt.Errorf("lease %q: %w", Clip(s), err)
	}
	if err := CheckAddress(parts[4]); err != nil {
		return ID{}, fmt.Errorf("lease %q: provider: %w", Clip(s), err)
	}
	return ID{Owner: group.Owner, DSeq: group.DSeq, GSeq: group.GSeq, OSeq: uint32(oseq), Provider: parts[4]}, nil
}

// ParseGroup reads OWNER/DSEQ/GSEQ; what follows a third slash (an order and a provider, so a
// whole lease ID) is read and left out.
func ParseGroup(s string) (Group, error) {
	parts := strings.Split(s, "/")
	if len(parts) == 5 {
		id, err := ParseID(s)
		return id.Group(), err
	}
	if len(parts) == 4 {
		if _, err := parseSeq("oseq", parts[3], 32); err != nil {
			return Group{}, fmt.Errorf("lease %q: %w", Clip(s), err)
		}
		parts = parts[:3]
	}
	if len(parts) != 3 {
		return Group{}, fmt.Errorf("lease %q is not of the form OWNER/DSEQ/GSEQ[/OSEQ[/PROVIDER]]", Clip(s))
	}
	g, err := parseGroup(parts)
	if err != nil {
		return Group{}, fmt.Errorf("lease %q: %w", Clip(s), err)
	}
	return g, nil
}

func parseGroup(parts []string) (Group, error) {
	if err := CheckAddress(parts[0]); err != nil {
		return Group{}, fmt.Errorf("owner: %w", err)
	}
	dseq, err := parseSeq("dseq", parts[1], 64)
	if err != nil {
		return Group{}, err
	}
	gseq, err := parseSeq("gseq", parts[2], 32)
	if err != nil {
		return Group{}, err
	}
	return Group{Owner: parts[0], DSeq: dseq, GSeq: uint32(gseq)}, nil
}

func parseSeq(name, s string, bits int) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil || n == 0 || s != strconv.FormatUint(n, 10) {
		return 0, fmt.Errorf("%s %q is not a number from 1", name, Clip(s))
	}
	return n, nil
}

// String is the lease ID as Akash writes and hashes it: owner/dseq/gseq/oseq/provider.
func (id ID) String() string {
	var text [128]byte
	return string(id.appendTo(text[:0]))
}

func (id ID) appendTo(b []byte) []byte {
	b = append(append(b, id.Owner...), '/')
	b = append(strconv.AppendUint(b, id.DSeq, 10), '/')
	b = append(strconv.AppendUint(b, uint64(id.GSeq), 10), '/')
	b = append(strconv.AppendUint(b, uint64(id.OSeq), 10), '/')
	return append(b, id.Provider...)
}

// Group is the deployment group of the lease.
func (id ID) Group() Group { return Group{Owner: id.Owner, DSeq: id.DSeq, GSeq: id.GSeq} }

// Compare orders leases by owner, then by number.
func (id ID) Compare(other ID) int {
	return cmp.Or(id.Group().Compare(other.Group()), cmp.Compare(id.OSeq, other.OSeq), cmp.Compare(id.Provider, other.Provider))
}

// Compare orders deployment groups by owner, then by number.
func (g Group) Compare(other Group) int {
	return cmp.Or(cmp.Compare(g.Owner, other.Owner), cmp.Compare(g.DSeq, other.DSeq), cmp.Compare(g.GSeq, other.GSeq))
}

// String is owner/dseq/gseq.
func (g Group) String() string { return fmt.Sprintf("%s/%d/%d", g.Owner, g.DSeq, g.GSeq) }

// FieldManager is the server-side apply field manager under which the group's claims are written.
// It has at most 128 characters (the API server's limit), whatever the address.
func (g Group) FieldManager() string { return "akash-net/" + g.String() }
