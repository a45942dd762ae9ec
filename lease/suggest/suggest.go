// Package suggest finds the name that a misspelt one was meant to be.
package suggest

import (
	"fmt"
	"maps"
	"slices"
)

// maxCandidates is among how many names a misspelt one is looked for: among more, each of many
// misspelt names would be compared with each of many others.
const maxCandidates = 64

// For is `; did you mean "x"?` for the candidate that is closest to a misspelt name, or empty
// when none is close.
func For(name string, candidates []string) string {
	if best := Nearest(name, candidates); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// ForKey suggests one of the keys of a map.
func ForKey[T any](name string, candidates map[string]T) string {
	return For(name, sortedFew(candidates))
}

// NearestKey is the nearest of the keys of a map.
func NearestKey[T any](name string, candidates map[string]T) string {
	return Nearest(name, sortedFew(candidates))
}

func sortedFew[T any](candidates map[string]T) []string {
	if len(candidates) > maxCandidates {
		return nil
	}
	return slices.Sorted(maps.Keys(candidates))
}

// Nearest is the candidate closest to a misspelt name, or empty when none is close, or there are more
// than 64: at most a third of the name may differ, and names longer than 64 bytes are not compared.
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

// distance is the Levenshtein distance, where a letter in the other case and "-" for "_" cost
// nothing.
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

func fold(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	case c == '_':
		return '-'
	}
	return c
}
