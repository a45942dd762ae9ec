package lease

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// ID identifies a lease: the contract between a tenant (Owner) and a Provider for one order of one deployment group,
// numbered as in akash-network's market module.
type ID struct {
	// Owner is the tenant's wallet, a bech32 address with the prefix "akash1".
	Owner string `doc:"owner" read:"required" rule:"wallet"`
	// DSeq, GSeq and OSeq number the deployment, its group and the group's order, each from 1.
	DSeq uint64 `doc:"dseq" read:"required,sequence" is:"a number" min:"1"`
	GSeq uint32 `doc:"gseq" read:"required,sequence" is:"a number" min:"1"`
	OSeq uint32 `doc:"oseq" read:"required,sequence" is:"a number" min:"1"`
	// Provider is the provider's wallet, a bech32 address.
	Provider string `doc:"provider" read:"required" rule:"wallet"`
}

// Order is the order of a deployment group, which providers bid on. It becomes a lease at the provider that wins it.
type Order struct {
	Owner      string
	DSeq       uint64
	GSeq, OSeq uint32
}

// Group is a deployment group, the identity that holds claims. Like Akash's hostname service, it ignores the order and
// the provider ("there is no need to consider order ID or provider ID").
type Group struct {
	Owner string
	DSeq  uint64
	GSeq  uint32
}

// CheckAddress returns an error if s does not have the form of an Akash address. This is enough for what the ledger
// says. CheckWallet also verifies the checksum of what users type and of what input files contain.
func CheckAddress(s string) error {
	// At most the 63 characters of a label's value. A loop is used because this runs for each of 100,000 claims.
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
	o, err := parseOrder(parts[:4])
	if err != nil {
		return ID{}, fmt.Errorf("lease %q: %w", Clip(s), err)
	}
	if err := CheckAddress(parts[4]); err != nil {
		return ID{}, fmt.Errorf("lease %q: provider: %w", Clip(s), err)
	}
	return ID{Owner: o.Owner, DSeq: o.DSeq, GSeq: o.GSeq, OSeq: o.OSeq, Provider: parts[4]}, nil
}

// ParseOrder reads OWNER/DSEQ/GSEQ/OSEQ.
func ParseOrder(s string) (Order, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 {
		return Order{}, fmt.Errorf("order %q is not of the form OWNER/DSEQ/GSEQ/OSEQ", Clip(s))
	}
	o, err := parseOrder(parts)
	if err != nil {
		return Order{}, fmt.Errorf("order %q: %w", Clip(s), err)
	}
	return o, nil
}

// ParseGroup reads OWNER/DSEQ/GSEQ. It also accepts an order and a lease ID, checks them, and returns their group.
func ParseGroup(s string) (Group, error) {
	parts := strings.Split(s, "/")
	var g Group
	var err error
	switch len(parts) {
	case 3:
		g, err = parseGroup(parts)
	case 4:
		var o Order
		o, err = parseOrder(parts)
		g = o.Group()
	case 5:
		id, err := ParseID(s)
		return id.Group(), err
	default:
		return Group{}, fmt.Errorf("lease %q is not of the form OWNER/DSEQ/GSEQ[/OSEQ[/PROVIDER]]", Clip(s))
	}
	if err != nil {
		return Group{}, fmt.Errorf("lease %q: %w", Clip(s), err)
	}
	return g, nil
}

func parseOrder(parts []string) (Order, error) {
	g, err := parseGroup(parts[:3])
	if err != nil {
		return Order{}, err
	}
	oseq, err := parseSeq("oseq", parts[3], 32)
	if err != nil {
		return Order{}, err
	}
	return Order{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq, OSeq: uint32(oseq)}, nil
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

// String returns the lease ID as Akash writes and hashes it: owner/dseq/gseq/oseq/provider.
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

// Order returns the order that became the lease.
func (id ID) Order() Order {
	return Order{Owner: id.Owner, DSeq: id.DSeq, GSeq: id.GSeq, OSeq: id.OSeq}
}

// Group returns the deployment group of the lease.
func (id ID) Group() Group { return Group{Owner: id.Owner, DSeq: id.DSeq, GSeq: id.GSeq} }

// Compare orders leases by owner, then by their numbers.
func (id ID) Compare(other ID) int {
	return cmp.Or(id.Group().Compare(other.Group()), cmp.Compare(id.OSeq, other.OSeq), cmp.Compare(id.Provider, other.Provider))
}

// Compare orders deployment groups by owner, then by their numbers.
func (g Group) Compare(other Group) int {
	return cmp.Or(cmp.Compare(g.Owner, other.Owner), cmp.Compare(g.DSeq, other.DSeq), cmp.Compare(g.GSeq, other.GSeq))
}

// String returns owner/dseq/gseq.
func (g Group) String() string { return fmt.Sprintf("%s/%d/%d", g.Owner, g.DSeq, g.GSeq) }

// FieldManager returns the server-side apply field manager of the group's claims. It never exceeds the API server's
// limit of 128 characters.
func (g Group) FieldManager() string { return "akash-net/" + g.String() }

// Lease returns the lease of the order at a provider, which has won it.
func (o Order) Lease(provider string) ID {
	return ID{Owner: o.Owner, DSeq: o.DSeq, GSeq: o.GSeq, OSeq: o.OSeq, Provider: provider}
}

// String returns the order as Akash writes it: owner/dseq/gseq/oseq.
func (o Order) String() string { return fmt.Sprintf("%s/%d/%d/%d", o.Owner, o.DSeq, o.GSeq, o.OSeq) }

// Group returns the deployment group of the order.
func (o Order) Group() Group { return Group{Owner: o.Owner, DSeq: o.DSeq, GSeq: o.GSeq} }

// FieldManager returns the server-side apply field manager of the order's reservation. It never exceeds the API
// server's limit of 128 characters.
func (o Order) FieldManager() string { return "akash-net/" + o.String() }

// Compare orders orders by owner, then by their numbers.
func (o Order) Compare(other Order) int {
	return cmp.Or(o.Group().Compare(other.Group()), cmp.Compare(o.OSeq, other.OSeq))
}
