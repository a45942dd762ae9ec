package lease

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Sum returns a hash that identifies what a definition routes, independent of its format, name, source positions, the order of hosts,
// addresses and exposes, and of whether workloads were read. It hashes an encoding in which the length precedes every text and list. The
// definition must have passed Check, which makes defaults and order canonical.
func Sum(d *Definition) string {
	routed := *d
	routed.Workloads, routed.Services = nil, d.routed()
	return SumWhole(&routed)
}

// SumWhole is Sum of all that the definition says: also what the lease runs, and ports that only its own services reach.
func SumWhole(d *Definition) string {
	d = ordered(d)
	b := make([]byte, 0, 512)
	b = appendTexts(b, d.Lease.String())
	b = binary.AppendUvarint(b, uint64(len(d.Services)))
	for _, s := range d.Services {
		b = appendTexts(b, s.Name)
		b = binary.AppendUvarint(b, uint64(len(s.Expose)))
		for i := range s.Expose {
			b = appendExpose(b, &s.Expose[i])
		}
	}
	b = binary.AppendUvarint(b, uint64(len(d.IPEndpoints)))
	for _, e := range d.IPEndpoints {
		b = appendTexts(b, e.Name)
		b = binary.AppendUvarint(b, uint64(len(e.Addresses)))
		for _, a := range slices.SortedFunc(slices.Values(e.Addresses), netip.Addr.Compare) {
			b = appendTexts(b, a.String())
		}
	}
	return Hash(string(appendWorkloads(appendRoutes(b, d), d)))
}

// ordered returns the definition with exposes that have Akash's order by more than that: those that are alike but for their external ports,
// IP endpoints and hosts stand as the input has them.
func ordered(d *Definition) *Definition {
	compare := func(a, b Expose) int {
		if c := cmp.Or(compareExpose(a, b), cmp.Compare(a.As, b.As), cmp.Compare(a.IP, b.IP)); c != 0 {
			return c
		}
		return slices.Compare(a.hostNames(), b.hostNames())
	}
	var out *Definition
	for i, s := range d.Services {
		if slices.IsSortedFunc(s.Expose, compare) {
			continue
		}
		if out == nil {
			ordered := *d
			ordered.Services, out = slices.Clone(d.Services), &ordered
		}
		out.Services[i].Expose = slices.SortedStableFunc(slices.Values(s.Expose), compare)
	}
	return cmp.Or(out, d)
}

// appendRoutes encodes targets, paths and routing. The encoding before it is self-delimiting, so a definition without
// any of them keeps the hash that it had before these fields existed.
func appendRoutes(b []byte, d *Definition) []byte {
	for i, s := range d.Services {
		if s.Target != "" {
			b = binary.AppendUvarint(b, uint64(i))
			b = appendTexts(b, "target", s.Target)
		}
		for j, e := range s.Expose {
			if e.Path == "" && e.Routing == nil {
				continue
			}
			b = binary.AppendUvarint(b, uint64(i))
			b = appendTexts(b, "expose")
			b = binary.AppendUvarint(b, uint64(j))
			b = appendTexts(b, e.Path)
			if e.Routing == nil {
				b = append(b, 0)
				continue
			}
			b = appendRouting(append(b, 1), e.Routing)
		}
	}
	return b
}

func appendRouting(b []byte, r *Routing) []byte {
	if t := r.TLS; t == nil {
		b = append(b, 0)
	} else {
		b = appendTexts(append(b, 1), string(t.Termination), string(t.Insecure), t.SecretName, t.DestinationCASecretName)
		if t.Issuer == nil {
			b = append(b, 0)
		} else {
			b = appendTexts(append(b, 1), t.Issuer.Name, t.Issuer.Kind, t.Issuer.Group)
		}
	}
	weight := uint64(DefaultWeight)
	if r.Weight != nil {
		weight = uint64(*r.Weight)
	}
	b = binary.AppendUvarint(b, weight)
	b = binary.AppendUvarint(b, uint64(len(r.Backends)))
	for _, w := range r.Backends {
		b = appendTexts(b, w.Service)
		b = binary.AppendUvarint(b, uint64(w.Port))
		b = binary.AppendUvarint(b, uint64(w.Weight))
	}
	if s := r.Sticky; s == nil {
		b = append(b, 0)
	} else {
		b = appendTexts(append(b, 1+boolByte(s.Disabled)), s.Cookie, s.SameSite)
	}
	for _, rules := range [][]HeaderRule{r.Headers.Request, r.Headers.Response} {
		b = binary.AppendUvarint(b, uint64(len(rules)))
		for _, h := range rules {
			b = appendTexts(append(b, boolByte(bool(h.Delete))), h.Name, h.Value)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(r.Annotations)))
	for _, a := range r.Annotations {
		b = appendTexts(b, a.Key, a.Value)
	}
	b = binary.AppendUvarint(b, uint64(len(r.Labels)))
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		b = appendTexts(b, key, r.Labels[key])
	}
	return b
}

func boolByte(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func appendExpose(b []byte, e *Expose) []byte {
	b = binary.AppendUvarint(b, uint64(e.Port))
	b = binary.AppendUvarint(b, uint64(e.As))
	b = appendTexts(b, string(e.Protocol), e.IP)
	b = append(b, boolByte(e.Global))
	hosts := e.hostNames()
	b = binary.AppendUvarint(b, uint64(len(hosts)))
	b = appendTexts(b, hosts...)
	for _, n := range []uint64{
		uint64(e.HTTP.MaxBodySize), uint64(e.HTTP.ReadTimeout), uint64(e.HTTP.SendTimeout),
		uint64(e.HTTP.NextTries), uint64(e.HTTP.NextTimeout), uint64(len(e.HTTP.NextCases)),
	} {
		b = binary.AppendUvarint(b, n)
	}
	return appendTexts(b, e.HTTP.NextCases...)
}

// appendTexts appends each text after its length.
func appendTexts(b []byte, texts ...string) []byte {
	for _, t := range texts {
		b = binary.AppendUvarint(b, uint64(len(t)))
		b = append(b, t...)
	}
	return b
}

// Key joins texts such that different lists of texts have different keys.
func Key(texts ...string) string { return string(appendTexts(nil, texts...)) }

// CheckWallet returns an error if s is not the address of a wallet of Akash: it has the form of one (CheckAddress), and
// cosmos-sdk decodes it (types/bech32). Akash's operators stop for all tenants over an object with an address that does
// not decode.
func CheckWallet(s string) error {
	if err := CheckAddress(s); err != nil {
		return err
	}
	if !decodes(s) {
		return fmt.Errorf("%q is not an address of Akash: its checksum is wrong; is there a typing error?", Clip(s))
	}
	return nil
}

// CheckWallets returns an error if the owner or the provider of a lease is not the address of a wallet.
func (id ID) CheckWallets() error {
	if err := id.Group().CheckWallet(); err != nil {
		return err
	}
	if err := CheckWallet(id.Provider); err != nil {
		return fmt.Errorf("provider: %w", err)
	}
	return nil
}

// CheckWallet returns an error if the owner is not the address of a wallet.
func (g Group) CheckWallet() error {
	if err := CheckWallet(g.Owner); err != nil {
		return fmt.Errorf("owner: %w", err)
	}
	return nil
}

// decodes reports whether the text is bech32 (BIP 173): its checksum is right, and its data are whole bytes.
func decodes(address string) bool {
	const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	const checksum = 6
	prefix, data, ok := strings.Cut(address, "1")
	if !ok || len(data) <= checksum {
		return false
	}
	sum := uint32(1)
	step := func(v uint32) {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ v
		for i, g := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	for i := range len(prefix) {
		step(uint32(prefix[i] >> 5))
	}
	step(0)
	for i := range len(prefix) {
		step(uint32(prefix[i] & 31))
	}
	last := 0 // the last character before the checksum
	for i := range len(data) {
		v := strings.IndexByte(alphabet, data[i])
		if v < 0 {
			return false
		}
		if i == len(data)-checksum-1 {
			last = v
		}
		step(uint32(v))
	}
	// Each character has five bits. Those beyond the last whole byte are fewer than five, and zero.
	rest := (len(data) - checksum) * 5 % 8
	return sum == 1 && rest < 5 && last&(1<<rest-1) == 0
}
