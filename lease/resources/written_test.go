package resources_test

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// An amount that cannot be read is none: it is not taken for the largest that there is.
func TestWhatCannotBeReadIsNothing(t *testing.T) {
	for name, parse := range map[string]func(string) (uint64, bool){"cpu": resources.ParseCPU, "bytes": resources.ParseBytes, "count": resources.ParseCount} {
		for _, text := range []string{
			"", " ", "1 ", " 1", "1\n", "one", "١", "1,5", "1.5.5", "-", "+", ".", "e", "m", "-1", "-1m", "-1Mi", "--1", "0x", "1e", "1e400", "-1e400",
			"NaN", "nan", "Inf", "+Inf", "-Inf", "infinity", "1_", "_1", "99999999999999999999m", "99999999999999999999Ei", "1e99Ki", "1Mi1", "1MiB", "1b",
			"18446744073709551616E", "0x1p2000", strings.Repeat("9", 400), strings.Repeat("9", 1<<20),
		} {
			if n, ok := parse(text); ok || n != 0 {
				t.Errorf("%s: %.40q is read as %d, %t", name, text, n, ok)
			}
		}
	}
}

// suffixes are the multiples that a size may have.
var suffixes = map[string]*big.Rat{
	"": big.NewRat(1, 1), "k": big.NewRat(1e3, 1), "M": big.NewRat(1e6, 1), "G": big.NewRat(1e9, 1), "T": big.NewRat(1e12, 1), "P": big.NewRat(1e15, 1),
	"Ki": big.NewRat(1<<10, 1), "Mi": big.NewRat(1<<20, 1), "Gi": big.NewRat(1<<30, 1), "Ti": big.NewRat(1<<40, 1), "Pi": big.NewRat(1<<50, 1),
}

// Fractions are cut off as exact arithmetic cuts them off, as long as a float64 holds the size.
func TestSizesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`[0-9]{1,4}(\.[0-9]{1,3})?`).Draw(t, "number")
		suffix := rapid.SampledFrom([]string{"", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"}).Draw(t, "suffix")
		exact, ok := new(big.Rat).SetString(number)
		if !ok {
			t.Fatal(number)
		}
		exact.Mul(exact, suffixes[suffix])
		want := new(big.Int).Quo(exact.Num(), exact.Denom())
		if want.BitLen() > 52 {
			return
		}
		got, ok := resources.ParseBytes(number + suffix)
		if off := new(big.Int).Sub(new(big.Int).SetUint64(got), want); !ok || off.CmpAbs(big.NewInt(1)) > 0 {
			t.Errorf("%s%s is %d, %t; want %d", number, suffix, got, ok, want)
		}
	})
}

// Of two amounts the larger one is read as the larger one, so that no limit can be passed by another spelling.
func TestSpellingsKeepTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		milli := rapid.Uint64Range(0, 2*resources.MaxCPU).Draw(t, "milli")
		fraction := new(big.Rat).SetFrac64(int64(milli), 1000).FloatString(3)
		short, ok := resources.ParseCPU(resources.FormatCPU(milli))
		long, also := resources.ParseCPU(fraction)
		if !ok || !also || short != milli || long > milli || milli-long > 1 {
			t.Errorf("%d thousandths are read as %d, and %s as %d", milli, short, fraction, long)
		}
		if (resources.CheckCPU(milli) == nil) != (milli >= resources.MinCPU && milli <= resources.MaxCPU) {
			t.Errorf("%d: %v", milli, resources.CheckCPU(milli))
		}
	})
}

// What is written is read as it was.
func TestAmountsAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes, milli := rapid.Uint64Max(resources.MaxVolume).Draw(t, "bytes"), rapid.Uint64Max(resources.MaxCPU).Draw(t, "milli")
		if got, ok := resources.ParseBytes(resources.FormatBytes(bytes)); !ok || got != bytes {
			t.Errorf("%d is written %q and read as %d", bytes, resources.FormatBytes(bytes), got)
		}
		if got, ok := resources.ParseCPU(resources.FormatCPU(milli)); !ok || got != milli {
			t.Errorf("%d is written %q and read as %d", milli, resources.FormatCPU(milli), got)
		}
	})
}
