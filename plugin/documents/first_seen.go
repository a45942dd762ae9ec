package documents

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// firstSeen is a hash table with the first claim on each thing of a run. It stores names and entries as bytes without
// pointers, a few bytes more than the name for each, so that it can hold millions of leases.
type firstSeen struct {
	seed maphash.Seed
	// index is an open-addressing table of entry numbers; 0 is a free slot.
	index []uint32
	count int
	// chunks hold the encoded entries. The number of an entry consists of its chunk and its offset in it; this limits the
	// table to 4 GiB, some 80 million leases.
	chunks [][]byte
}

// chunkBits is the number of bits of an entry's number for the offset in its chunk.
const chunkBits = 16

// entry is the first claim on a thing: its place (file is an index of renderer.files), the numbers of its holder and its lease,
// and whether it includes the whole host.
type entry struct {
	file, line, holder, lease uint32
	whole                     bool
}

func newFirstSeen() *firstSeen {
	// The first byte belongs to no entry, because 0 means a free slot.
	return &firstSeen{seed: maphash.MakeSeed(), index: make([]uint32, 1<<8), chunks: [][]byte{make([]byte, 1, 1<<chunkBits)}}
}

// add adds a thing, or returns the entry of one that is known. number identifies the thing.
func (r *firstSeen) add(name []byte, e entry) (number uint32, first entry, known bool) {
	slot := r.slot(name)
	if number = r.index[slot]; number != 0 {
		first, _ = r.read(number)
		return number, first, true
	}
	number = r.write(name, e)
	r.index[slot] = number
	if r.count++; r.count > len(r.index)/8*7 {
		r.grow()
	}
	return number, e, false
}

// slot returns the slot with the name, or the free slot for it.
func (r *firstSeen) slot(name []byte) int {
	mask := len(r.index) - 1
	for i := int(maphash.Bytes(r.seed, name)) & mask; ; i = (i + 1) & mask {
		if r.index[i] == 0 {
			return i
		}
		if _, other := r.read(r.index[i]); bytes.Equal(other, name) {
			return i
		}
	}
}

func (r *firstSeen) grow() {
	old := r.index
	r.index = make([]uint32, 2*len(old))
	for _, number := range old {
		if number != 0 {
			_, name := r.read(number)
			r.index[r.slot(name)] = number
		}
	}
}

// write appends an entry and returns its number. An entry that is longer than a chunk gets its own chunk.
func (r *firstSeen) write(name []byte, e entry) (number uint32) {
	last := len(r.chunks) - 1
	if need := len(name) + 6*binary.MaxVarintLen32; cap(r.chunks[last])-len(r.chunks[last]) < need {
		r.chunks = append(r.chunks, make([]byte, 0, max(need, 1<<chunkBits)))
		last++
	}
	if last >= 1<<(32-chunkBits) {
		panic("a run claims more names than firstSeen has room for")
	}
	chunk := r.chunks[last]
	number = uint32(last<<chunkBits | len(chunk))
	whole := uint32(0)
	if e.whole {
		whole = 1
	}
	for _, n := range []uint32{whole, e.file, e.line, e.holder, e.lease, uint32(len(name))} {
		chunk = binary.AppendUvarint(chunk, uint64(n))
	}
	r.chunks[last] = append(chunk, name...)
	return number
}

func (r *firstSeen) read(number uint32) (e entry, name []byte) {
	text := r.chunks[number>>chunkBits][number&(1<<chunkBits-1):]
	var fields [6]uint32
	for i := range fields {
		n, size := binary.Uvarint(text)
		fields[i], text = uint32(n), text[size:]
	}
	return entry{whole: fields[0] == 1, file: fields[1], line: fields[2], holder: fields[3], lease: fields[4]}, text[:fields[5]]
}

// find returns the first claim on a thing.
func (r *firstSeen) find(name []byte) (first entry, known bool) {
	number := r.index[r.slot(name)]
	if number == 0 {
		return entry{}, false
	}
	first, _ = r.read(number)
	return first, true
}
