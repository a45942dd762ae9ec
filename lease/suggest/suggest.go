// Package suggest finds the name that was probably meant by a misspelt one.
package suggest

import (
	"fmt"
	"maps"
	"slices"
)

// maxCandidates is the largest number of candidates that are compared. It bounds the cost of an input in which many
// names are misspelt.
const maxCandidates = 64

// For returns `; did you mean "x"?` for the candidate closest to name, or "" if none is close.
func For(name string, candidates []string) string {
	if best := Nearest(name, candidates); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// ForKey is For with the keys of a map as candidates.
func ForKey[T any](name string, candidates map[string]T) string {
	return For(name, sortedFew(candidates))
}

// NearestKey is Nearest with the keys of a map as candidates.
func NearestKey[T any](name string, candidates map[string]T) string {
	return Nearest(name, sortedFew(candidates))
}

// sortedFew returns the sorted keys, or nil if there are too many to compare.
func sortedFew[T any](candidates map[string]T) []string {
	if len(candidates) > maxCandidates {
		return nil
	}
	return slices.Sorted(maps.Keys(candidates))
}

// Nearest returns the candidate closest to name. It returns "" if none is close (at most a third of the name may
// differ), or if there are more than 64 candidates. It ignores names longer than 64 bytes.
func Nearest(name string, candidates []string) string {
	best, least := "", max(1, len(name)/3)+1
	if len(candidates) > maxCandidates {
		return ""
	}
	for _, c := range candidates {
		if len(name) > 64 || len(c) > 64 {
			continue
		}
		if d := distance(name, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance returns the Levenshtein distance. Differences between upper and lower case, and between "-" and "_", do not
// count.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if fold(a[i]) == fold(b[j]) {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

// fold maps characters that count as equal to the same byte.
func fold(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	case c == '_':
		return '-'
	}
	return c
}
