package layered_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/layered"
)

// A map has what a plain map has after the same changes, and each moment that was shared stays as it was.
func TestMoments(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		var now layered.Map[int, int]
		want := map[int]int{}
		type moment struct {
			is   layered.Map[int, int]
			want map[int]int
		}
		var shared []moment
		check := func(m layered.Map[int, int], want map[int]int) {
			t.Helper()
			if got := maps.Collect(m.All()); !maps.Equal(got, want) || m.Len() != len(want) || !maps.Equal(m.Map(), want) {
				t.Fatalf("seed %d: %v of %d, want %v", seed, got, m.Len(), want)
			}
			for key := range 60 {
				value, is := m.Get(key)
				if wanted, there := want[key]; value != wanted || is != there || m.At(key) != wanted {
					t.Fatalf("seed %d: %d is %d, %t, want %d, %t", seed, key, value, is, wanted, there)
				}
			}
		}
		for range 300 {
			switch key := r.IntN(60); r.IntN(5) {
			case 0:
				now.Drop(key)
				delete(want, key)
			case 1:
				shared = append(shared, moment{now.Share(), maps.Clone(want)})
			default:
				now.Put(key, r.IntN(1000))
				want[key] = now.At(key)
			}
			check(now, want)
		}
		for _, one := range shared {
			check(one.is, one.want)
			one.is.Put(1000, 1) // who keeps a moment as a map of his own changes nobody's
			one.is.Drop(1)
		}
		for _, one := range shared {
			check(one.is, one.want)
		}
	}
}
