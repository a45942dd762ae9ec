package resources

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// ParseCPU reads CPUs, such as 0.5 or 500m, as thousandths (chain-sdk: go/sdl/units.go).
func ParseCPU(s string) (uint64, bool) {
	if m, ok := strings.CutSuffix(s, "m"); ok {
		return whole(m, 32)
	}
	return scale(s, 1000, math.MaxUint32)
}

// FormatCPU returns the shortest text that ParseCPU reads as milli.
func FormatCPU(milli uint64) string {
	if milli%1000 == 0 {
		return strconv.FormatUint(milli/1000, 10)
	}
	return strconv.FormatUint(milli, 10) + "m"
}

// letters are the suffixes of sizes, by increasing power.
const letters = "kMGTPE"

// ParseBytes reads a size with an optional decimal (k, M, G, …) or binary (Ki, Mi, …) suffix. It truncates fractions of
// a byte.
func ParseBytes(s string) (uint64, bool) {
	base, number := 1000.0, s
	if n, ok := strings.CutSuffix(s, "i"); ok {
		base, number = 1024, n
	}
	if number == "" {
		return 0, false
	}
	letter := number[len(number)-1]
	if base == 1024 && letter == 'K' {
		letter = 'k'
	} else if base == 1024 && letter == 'k' {
		return 0, false
	}
	power := strings.IndexByte(letters, letter)
	if power < 0 {
		if base == 1024 {
			return 0, false
		}
		return scale(s, 1, math.MaxUint64)
	}
	return scale(number[:len(number)-1], math.Pow(base, float64(power+1)), math.MaxUint64)
}

// SuggestBytes returns sizes that mean what a text probably does that ParseBytes does not read: for 16GB it returns 16G and
// 16Gi, for 16mi it returns 16Mi. It returns nil if it knows none.
func SuggestBytes(s string) []string {
	m := looseSize().FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	letter := strings.ToUpper(m[2])
	var out []string
	for _, text := range []string{m[1] + strings.Replace(letter, "K", "k", 1), m[1] + letter + "i"} {
		if _, ok := ParseBytes(text); ok && (m[3] == "" || strings.HasSuffix(text, "i")) {
			out = append(out, text)
		}
	}
	return out
}

var looseSize = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*([0-9]+(?:\.[0-9]+)?)\s*([kKmMgGtTpPeE])([iI]?)[bB]?\s*$`)
})

// HintSize returns the sizes that a text probably means that is no size, or one of less than least bytes, as the end of a
// message: for 16GB it returns ; write "16G" or "16Gi", for 512 it returns ; write "512Mi". It returns "" if it knows none.
func HintSize(s string, least uint64) string {
	sizes := SuggestBytes(s)
	if n, ok := ParseBytes(s); ok && n < least {
		sizes = suggestMebibytes(s, least)
	} else if ok {
		sizes = nil
	}
	if len(sizes) == 0 {
		return ""
	}
	return `; write "` + strings.Join(sizes, `" or "`) + `"`
}

// suggestMebibytes returns the number of a text that names too few bytes as mebibytes, unless that is too few or hardly meant.
func suggestMebibytes(s string, least uint64) []string {
	m := smallSize().FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	most := 1 << 16
	if m[2] != "" {
		most = 1000
	}
	number, _ := strconv.ParseFloat(m[1], 64)
	if n, ok := ParseBytes(m[1] + "Mi"); !ok || n < least || number >= float64(most) {
		return nil
	}
	return []string{m[1] + "Mi"}
}

var smallSize = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(k|Ki|M)?$`)
})

// FormatBytes returns the size with the largest binary suffix that is exact.
func FormatBytes(bytes uint64) string {
	suffix := ""
	for i := 0; bytes > 0 && bytes%1024 == 0 && i < len(letters); i++ {
		bytes /= 1024
		suffix = strings.ToUpper(letters[i:i+1]) + "i"
	}
	return strconv.FormatUint(bytes, 10) + suffix
}

// ParseCount reads a whole number.
func ParseCount(s string) (uint64, bool) { return whole(s, 64) }

// whole reads a whole number of at most the given number of bits.
func whole(s string, bits int) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		return 0, false
	}
	return n, true
}

// scale reads a decimal number and multiplies it. ok is false if the product is not below most.
func scale(s string, by, most float64) (uint64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.Signbit(f) && f != 0 || f*by >= most {
		return 0, false
	}
	return uint64(f * by), true
}

// Commit returns the part of an amount that is requested from a node if the provider overcommits: the amount divided by
// the level, rounded half away from zero, but at least 1. A level up to 1 changes nothing. It calculates in float64, as
// Akash's provider does (sdl/util), so large amounts lose low bits. Unlike Akash's provider, which makes 0 a 1, it
// leaves 0 unchanged.
func Commit(level float64, amount uint64) uint64 {
	if !(level > 1) || amount == 0 {
		return amount
	}
	// The product is below 2^64, because 1/level is below 1.
	return uint64(max(1, math.Round(float64(amount)*(1/level))))
}
