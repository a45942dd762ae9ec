package lease

import (
	"cmp"
	"fmt"
	"strings"
)

// Order is what providers bid on: the order of a deployment group. It becomes a lease at the provider that wins it.
type Order struct {
	Owner      string
	DSeq       uint64
	GSeq, OSeq uint32
}

// Order is the order that the lease was made of.
func (id ID) Order() Order {
	return Order{Owner: id.Owner, DSeq: id.DSeq, GSeq: id.GSeq, OSeq: id.OSeq}
}

// ParseOrder reads OWNER/DSEQ/GSEQ/OSEQ.
func ParseOrder(s string) (Order, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 {
		return Order{}, fmt.Errorf("order %q is not of the form OWNER/DSEQ/GSEQ/OSEQ", Clip(s))
	}
	g, err := parseGroup(parts[:3])
	if err != nil {
		return Order{}, fmt.Errorf("order %q: %w", Clip(s), err)
	}
	oseq, err := parseSeq("oseq", parts[3], 32)
	if err != nil {
		return Order{}, fmt.Errorf("order %q: %w", Clip(s), err)
	}
	return Order{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq, OSeq: uint32(oseq)}, nil
}

// String is the order as Akash writes it: OWNER/DSEQ/GSEQ/OSEQ.
func (o Order) String() string { return fmt.Sprintf("%s/%d/%d/%d", o.Owner, o.DSeq, o.GSeq, o.OSeq) }

// Group is the deployment group of the order.
func (o Order) Group() Group { return Group{Owner: o.Owner, DSeq: o.DSeq, GSeq: o.GSeq} }

// FieldManager is the server-side apply field manager under which the order's reservation is written. It has at most 128
// characters (the API server's limit), whatever the address.
func (o Order) FieldManager() string { return "akash-net/" + o.String() }

// Compare orders orders by owner, then by number.
func (o Order) Compare(other Order) int {
	return cmp.Or(o.Group().Compare(other.Group()), cmp.Compare(o.OSeq, other.OSeq))
}
