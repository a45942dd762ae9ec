package lease

import (
	"encoding/binary"
	"slices"
)

// Sum identifies what a definition says, whatever its format, name, places and order of hosts:
// the Hash of an encoding in which every text and list is preceded by its length. Check must
// have passed it, so that defaults and order are canonical.
func Sum(d *Definition) string {
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
		for _, a := range e.Addresses {
			b = appendTexts(b, a.String())
		}
	}
	return Hash(string(b))
}

func appendExpose(b []byte, e *Expose) []byte {
	b = binary.AppendUvarint(b, uint64(e.Port))
	b = binary.AppendUvarint(b, uint64(e.As))
	b = appendTexts(b, string(e.Protocol), e.IP)
	global := byte(0)
	if e.Global {
		global = 1
	}
	b = append(b, global)
	hosts := make([]string, len(e.Hosts))
	for i, h := range e.Hosts {
		hosts[i] = h.Name
	}
	slices.Sort(hosts)
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

func appendTexts(b []byte, texts ...string) []byte {
	for _, t := range texts {
		b = binary.AppendUvarint(b, uint64(len(t)))
		b = append(b, t...)
	}
	return b
}
