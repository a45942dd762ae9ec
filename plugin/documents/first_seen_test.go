package documents

import (
	"fmt"
	"strings"
	"testing"
)

func TestFirstSeenKeepsFirstEntries(t *testing.T) {
	r := newFirstSeen()
	name := func(i int) []byte {
		if i%1000 == 0 { // longer than a chunk
			return fmt.Appendf(nil, "%s%d", strings.Repeat("a", 1<<chunkBits), i)
		}
		return fmt.Appendf(nil, "host shop-%d.example.com", i)
	}
	const n = 20000
	numbers := map[uint32]bool{}
	for i := range n {
		number, _, known := r.add(name(i), entry{file: 3, line: uint32(i), holder: 1 << 20, whole: i%2 == 0})
		if known || number == 0 || numbers[number] {
			t.Fatalf("name %d is new; add says known %v, number %d", i, known, number)
		}
		numbers[number] = true
	}
	for i := range n {
		number, first, known := r.add(name(i), entry{line: 1})
		want := entry{file: 3, line: uint32(i), holder: 1 << 20, whole: i%2 == 0}
		if !known || first != want || !numbers[number] {
			t.Fatalf("name %d was added as %+v; add says known %v, first %+v, number %d", i, want, known, first, number)
		}
	}
}
