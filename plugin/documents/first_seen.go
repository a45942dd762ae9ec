package documents

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// firstSeen remembers where a run first saw each thing claimed: a few bytes beside the name of each
// thing, without a pointer. A hash only says where to look; names are compared in full.
type firstSeen struct {
	seed maphash.Seed
	// index has at each slot the number of an entry, found by its name's hash; 0 is a free slot.
	index []uint32
	count int
	// chunks hold the entries one after the other. An entry's number is that of its chunk and its
	// place in the chunk, so that there is room for 4 GiB: some 80 million leases.
	chunks [][]byte
}

// chunkBits are the bits of an entry's number that are its place in its chunk.
const chunkBits = 16

// entry is what is remembered of a thing: the place where it was claimed first (renderer.files), the
// number of its holder, and whether all of it was claimed.
type entry struct {
	file, line, holder uint32
	whole              bool
}

func newFirstSeen() *firstSeen {
	// The first byte is no entry's: 0 stands for none.
	return &firstSeen{seed: maphash.MakeSeed(), index: make([]uint32, 1<<8), chunks: [][]byte{make([]byte, 1, 1<<chunkBits)}}
}

// add remembers a thing that is new; of one that is known it answers what was remembered first. The
// number tells the thing from all others.
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

// slot is that of the name, or the free one where it is to stand.
func (r *firstSeen) slot(name []byte) int {
	mask := len(r.index) - 1
	for i := int(maphash.Bytes(r.seed, name)) & mask; ; i = (i + 1) & mask {
		if r.index[i] == 0 {
			return i
		}
		if _, there := r.read(r.index[i]); bytes.Equal(there, name) {
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

// write appends an entry; one that is longer than a chunk gets one of its own.
func (r *firstSeen) write(name []byte, e entry) (number uint32) {
	last := len(r.chunks) - 1
	if need := len(name) + 5*binary.MaxVarintLen32; cap(r.chunks[last])-len(r.chunks[last]) < need {
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
	for _, n := range []uint32{whole, e.file, e.line, e.holder, uint32(len(name))} {
		chunk = binary.AppendUvarint(chunk, uint64(n))
	}
	r.chunks[last] = append(chunk, name...)
	return number
}

func (r *firstSeen) read(number uint32) (e entry, name []byte) {
	text := r.chunks[number>>chunkBits][number&(1<<chunkBits-1):]
	var fields [5]uint32
	for i := range fields {
		n, size := binary.Uvarint(text)
		fields[i], text = uint32(n), text[size:]
	}
	return entry{whole: fields[0] == 1, file: fields[1], line: fields[2], holder: fields[3]}, text[:fields[4]]
}

// find is what is remembered of a thing.
func (r *firstSeen) find(name []byte) (first entry, known bool) {
	number := r.index[r.slot(name)]
	if number == 0 {
		return entry{}, false
	}
	first, _ = r.read(number)
	return first, true
}
