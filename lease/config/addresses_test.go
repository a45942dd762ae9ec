package config_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// spec reads a configuration by what stands below its spec; said is what is said of it.
func spec(t *testing.T, text string) (cfg *config.ProviderConfig, said string) {
	t.Helper()
	cfg, problems, err := config.Read(strings.NewReader("apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec: {"+text+"}\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	return cfg, problems.Error()
}

// A range has no address at its ends that a definition could not ask for: MetalLB would announce it all the same.
func TestRangesCanBeLeased(t *testing.T) {
	for text, want := range map[string]string{
		"203.0.113.0/28": "", "10.0.0.0/8": "", "100.64.0.0/10": "", "0.0.0.1/32": "", "223.255.255.255": "", "2001:db8::/64": "", "fd00::/8": "", "::2": "",
		"126.255.255.255-128.0.0.0": "",
		// What is excluded is leased to nobody.
		"!127.0.0.0/8": "", "!0.0.0.0/0": "", "!ff00::/8": "",
		"0.0.0.0":                         ":3:22: spec.ip.ranges[0]: 0.0.0.0 is not an address that can be leased",
		"0.0.0.0/0":                       "0.0.0.0 is not an address that can be leased",
		"127.0.0.0/28":                    "127.0.0.0 is not an address that can be leased",
		"126.0.0.0-127.0.0.1":             "127.0.0.1 is not an address that can be leased",
		"169.254.0.0/16":                  "169.254.0.0 is not an address that can be leased",
		"169.253.0.0/15":                  "has host bits set",
		"224.0.0.0/4":                     "224.0.0.0 is not an address that can be leased",
		"255.255.255.255":                 "255.255.255.255 is not an address that can be leased",
		"255.255.255.0/24":                "255.255.255.255 is not an address that can be leased",
		"::/0":                            ":: is not an address that can be leased",
		"::1":                             "::1 is not an address that can be leased",
		"fe80::/64":                       "fe80:: is not an address that can be leased",
		"ff02::1":                         "ff02::1 is not an address that can be leased",
		"2001:db8::-ffff::":               "ffff:: is not an address that can be leased",
		"203.0.113.8-203.0.113.7":         "ends before it begins",
		"203.0.113.0/28,203.0.114.0/28":   "is not a CIDR",
		"203.0.113.0-203.0.113.1-1.1.1.1": "is not an IP address",
	} {
		_, said := spec(t, "ip: {ranges: ['"+text+"']}")
		if !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("%s: %q, want %q", text, said, want)
		}
	}
}

func drawRange(t *rapid.T) string {
	first := rapid.IntRange(0, 60).Draw(t, "first")
	text := func(n int) string { return netip.AddrFrom4([4]byte{203, 0, 113, byte(n)}).String() }
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 0:
		return text(first)
	case 1:
		return text(first) + "-" + text(first+rapid.IntRange(0, 9).Draw(t, "more"))
	}
	bits := rapid.IntRange(28, 32).Draw(t, "bits")
	p, _ := netip.AddrFrom4([4]byte{203, 0, 113, byte(first)}).Prefix(bits)
	return p.String()
}

// What is leased is what lies in a range and is not excluded: each address once, and each finds the range of its pool.
func TestWhatIsLeased(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var texts []string
		for range rapid.IntRange(1, 4).Draw(rt, "ranges") {
			texts = append(texts, drawRange(rt))
		}
		for range rapid.IntRange(0, 4).Draw(rt, "exclusions") {
			texts = append(texts, "!"+drawRange(rt))
		}
		cfg, said := spec(t, "ip: {ranges: ['"+strings.Join(texts, "', '")+"']}")
		if cfg == nil {
			if !strings.Contains(said, "overlaps with") {
				rt.Fatalf("%v: %s", texts, said)
			}
			return
		}
		leased := slices.Collect(cfg.IP.Ranges.Addresses(config.IPv4))
		for n := range 80 {
			a := netip.AddrFrom4([4]byte{203, 0, 113, byte(n)})
			in := func(ranges []config.Range) bool {
				return slices.ContainsFunc(ranges, func(r config.Range) bool { return !a.Less(r.First) && !r.Last.Less(a) })
			}
			want, times := in(cfg.IP.Ranges.Include) && !in(cfg.IP.Ranges.Exclude), 0
			for _, b := range leased {
				if a == b {
					times++
				}
			}
			r, found := cfg.IP.Ranges.Find(a)
			pool, ok := cfg.PoolFor(a)
			if found != want || ok != want || times != map[bool]int{true: 1}[want] || want && (pool != r.PoolName() || !r.Contains(a)) {
				rt.Fatalf("%v: %s is leased %d times, found %t, pool %q %t; want %t", texts, a, times, found, pool, ok, want)
			}
		}
		if slices.ContainsFunc(leased, func(a netip.Addr) bool { return lease.CheckAddr(a) != nil }) {
			rt.Fatalf("%v: %v", texts, leased)
		}
	})
}

// MetalLB reads of a piece of a range what it is, and no two ranges have one pool.
func TestPoolsAreOfTheirRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, errA := config.ParseRange(drawRange(t))
		b, errB := config.ParseRange(drawRange(t))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		same := a.First == b.First && a.Last == b.Last
		if (a.PoolName() == b.PoolName()) != same || (a.MetalLB() == b.MetalLB()) != same {
			t.Fatalf("%s has the pool %s (%s), %s the pool %s (%s)", a.Text, a.PoolName(), a.MetalLB(), b.Text, b.PoolName(), b.MetalLB())
		}
		again, err := config.ParseRange(a.MetalLB())
		if err != nil || again.First != a.First || again.Last != a.Last || !strings.ContainsAny(a.MetalLB(), "/-") {
			t.Fatalf("%s is written %s and read as %+v, %v", a.Text, a.MetalLB(), again, err)
		}
	})
}
