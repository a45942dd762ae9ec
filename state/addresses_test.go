package state_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	. "github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// Which address an endpoint gets: testdata/addresses.txt.
//
//	next      OWNER@ENDPOINT [IPv6] | the ranges | claims, ";;" between them | what Services use | addresses that were lost
//	foreign   ADDRESS for OWNER@ENDPOINT | what Services use
//	in-use    claims | what Services use
//	pick      the ranges | what the leases of one run ask, one after the other: OWNER@ENDPOINT, name ADDRESS OWNER@ENDPOINT,
//	          lost ADDRESS
func TestAddressTable(t *testing.T) {
	table(t, "addresses.txt", map[string]func(*testing.T, string) string{
		"next": func(t *testing.T, line string) string {
			f := fields(line, 5)
			lost := map[netip.Addr]bool{}
			for word := range strings.FieldsSeq(f[4]) {
				lost[netip.MustParseAddr(word)] = true
			}
			return next(t, NewAddresses(wordClaims(t, f[2]), wordUses(t, f[3])).Next, f[0], f[1], lost)
		},
		"foreign": func(t *testing.T, line string) string {
			f := fields(line, 2)
			address, endpoint, _ := strings.Cut(f[0], " for ")
			_, key := endpointOf(t, endpoint)
			return each(NewAddresses(nil, wordUses(t, f[1])).Foreign(netip.MustParseAddr(address), key), func(u Use) string { return statetest.Say(u) })
		},
		"in-use": func(t *testing.T, line string) string {
			f := fields(line, 2)
			return fmt.Sprint(NewAddresses(wordClaims(t, f[0]), wordUses(t, f[1])).InUse())
		},
		"pick": pickInWords,
	})
}

// next asks for an address: "OWNER@ENDPOINT [IPv6]".
func next(t *testing.T, ask func(owner, key string, family config.Family, ranges config.Ranges, lost map[netip.Addr]bool) (netip.Addr, bool), who, ranges string, lost map[netip.Addr]bool) string {
	words := strings.Fields(who)
	owner, key := endpointOf(t, words[0])
	family := config.IPv4
	if slices.Contains(words, "IPv6") {
		family = config.IPv6
	}
	a, ok := ask(owner, key, family, statetest.Config(t, config.ModeRange, strings.Fields(ranges)...).IP.Ranges, lost)
	if !ok {
		return "none"
	}
	return a.String()
}

func pickInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	p, lost := NewPicker(NewAddresses(nil, wordUses(t, strings.Join(f[2:], "")))), map[netip.Addr]bool{}
	var said []string
	for step := range strings.SplitSeq(f[1], ";") {
		step = strings.TrimSpace(step)
		word, rest, _ := strings.Cut(step, " ")
		switch word {
		case "name":
			address, endpoint, _ := strings.Cut(rest, " ")
			_, key := endpointOf(t, endpoint)
			p.Name(Request{Endpoints: []EndpointWant{{SharingKey: key, Addresses: []netip.Addr{netip.MustParseAddr(address)}}}})
		case "lost":
			lost[netip.MustParseAddr(rest)] = true
		default:
			said = append(said, next(t, func(owner, key string, family config.Family, ranges config.Ranges, lost map[netip.Addr]bool) (netip.Addr, bool) {
				a, _, ok := p.Next(owner, key, family, ranges, lost)
				return a, ok
			}, step, f[0], lost))
		}
	}
	return strings.Join(said, " ")
}

// The leases of a run share addresses only by sharing key, in whatever order they ask: no address goes to two keys or
// to a key that did not name it, and an address is refused only if all are taken.
func TestPicker(t *testing.T) {
	cfg := statetest.Config(t, config.ModeRange, "203.0.113.0/29")
	keys := []string{"a-ip-x", "a-ip-y", "b-ip-x", "c-ip-x"}
	rapid.Check(t, func(t *rapid.T) {
		p, lost, has := NewPicker(NewAddresses(nil, nil)), map[netip.Addr]bool{}, map[string]netip.Addr{}
		if named := netip.MustParseAddr("203.0.113.1"); rapid.Bool().Draw(t, "named") {
			p.Name(Request{Endpoints: []EndpointWant{{SharingKey: keys[0], Addresses: []netip.Addr{named}}}})
			has[keys[0]] = named
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			a, anew, ok := p.Next("a", key, config.IPv4, cfg.IP.Ranges, lost)
			taken := slices.ContainsFunc(keys, func(other string) bool { return other != key && has[other] == a })
			switch {
			case !ok && len(lost)+len(has) < 8:
				t.Fatalf("%s gets none, and there are some: %v lost, %v taken", key, lost, has)
			case ok && (taken || lost[a] || has[key].IsValid() && has[key] != a):
				t.Fatalf("%s gets %s: %v lost, %v taken", key, a, lost, has)
			case anew != (ok && !has[key].IsValid()):
				t.Fatalf("%s gets %s, picked anew: %v; %v are taken", key, a, anew, has)
			case ok:
				has[key] = a
			}
		}
	})
}

// Pools: "POOLS | question", testdata/pools.txt. A pool is NAME [NAMESPACE/] RANGE..., after "their" if it is an administrator's.
func TestPoolTable(t *testing.T) {
	ask := func(ask func(t *testing.T, x *PoolIndex, words []string) string) func(*testing.T, string) string {
		return func(t *testing.T, line string) string {
			f := fields(line, 2)
			return ask(t, NewPoolIndex(wordPools(t, f[0])), strings.Fields(f[1]))
		}
	}
	table(t, "pools.txt", map[string]func(*testing.T, string) string{
		"of": ask(poolsOf), "overlap": ask(poolOverlap), "ranges": ask(poolRanges), "stranded": strandedInWords,
		"served": ask(func(_ *testing.T, x *PoolIndex, words []string) string {
			return fmt.Sprint(ServedByOurs(netip.MustParseAddr(words[0]), words[1], x))
		}),
		"within": func(t *testing.T, line string) string {
			f := fields(line, 2)
			return fmt.Sprint(wordPools(t, f[0])[0].Within(wordRanges(t, f[1])[0]))
		},
		"shares": func(t *testing.T, line string) string {
			f := fields(line, 2)
			return sayRanges(wordPools(t, f[0])[0].Shares(wordPools(t, f[1])[0]))
		},
		"without": func(t *testing.T, line string) string {
			f := fields(line, 2)
			return sayRanges(wordPools(t, f[0])[0].Without(wordRanges(t, f[1])))
		},
	})
}

func wordPools(t *testing.T, text string) (pools []PoolObject) {
	for one := range strings.SplitSeq(text, ",") {
		words := strings.Fields(one)
		if len(words) == 0 {
			continue
		}
		o := PoolObject{Ours: words[0] != "their"}
		if !o.Ours {
			words = words[1:]
		}
		namespace, name, named := strings.Cut(words[0], "/")
		if !named {
			namespace, name = "metallb", words[0]
		}
		o.Name, o.Ref = name, ObjectRef{Kind: "ipaddresspool", Namespace: namespace, Name: name}
		o.Ranges = wordRanges(t, strings.Join(words[1:], " "))
		pools = append(pools, o)
	}
	return pools
}

// poolsOf prints the pools of an address, or all that overlap a range.
func poolsOf(t *testing.T, x *PoolIndex, words []string) string {
	if strings.ContainsAny(words[0], "/-") {
		var names []string
		for _, o := range x.Sharing(wordRanges(t, words[0])[0]) {
			names = append(names, o.Name)
		}
		return strings.Join(names, " ")
	}
	a := netip.MustParseAddr(words[0])
	o := x.Of(a)
	if o == nil {
		return "none"
	}
	if !o.Has(a) {
		t.Errorf("%s is said to be of %s, which does not have it", a, o.Name)
	}
	return o.Name
}

// poolOverlap prints a pool other than NAMESPACE/NAME that overlaps ranges.
func poolOverlap(t *testing.T, x *PoolIndex, words []string) string {
	namespace, name, _ := strings.Cut(words[0], "/")
	o, theirs, ok := x.Overlap(wordRanges(t, strings.Join(words[1:], " ")), namespace, name)
	if !ok {
		return "none"
	}
	return fmt.Sprintf("%s/%s %s", o.Ref.Namespace, o.Name, theirs.MetalLB())
}

// poolRanges prints the ranges that the pool NAME should have: NAME RANGE... used ADDRESS...
func poolRanges(t *testing.T, x *PoolIndex, words []string) string {
	wanted, used, _ := strings.Cut(strings.Join(words[1:], " "), "used")
	var addresses []netip.Addr
	for word := range strings.FieldsSeq(used) {
		addresses = append(addresses, netip.MustParseAddr(word))
	}
	return sayRanges(PoolRanges(words[0], wordRanges(t, wanted), x, addresses))
}

// strandedInWords: before: MODE RANGE... | after: MODE RANGE... | claims | pools.
func strandedInWords(t *testing.T, line string) string {
	f := fields(line, 4)
	configuration := func(text string) *config.ProviderConfig {
		words := strings.Fields(text)
		if words[0] == "unknown" {
			return nil
		}
		return statetest.Config(t, words[0], words[1:]...)
	}
	return each(Stranded(configuration(f[0]), configuration(f[1]), wordClaims(t, f[2]), wordPools(t, f[3])), func(c *Claim) string { return c.Thing })
}

// Dedicated mode has one pool per address. A lookup must not visit all pools.
func TestWorkOnAPoolIsItsOwn(t *testing.T) {
	perPool := func(n int) float64 {
		pools := make([]PoolObject, n)
		for i := range pools {
			a := netip.MustParseAddr(fmt.Sprintf("10.1.%d.%d", i/256, i%256))
			pools[i] = PoolObject{Name: a.String(), Ours: true, Ranges: []config.Range{{First: a, Last: a}}}
		}
		x := NewPoolIndex(pools)
		for i, o := range pools {
			if of := x.Of(o.Ranges[0].First); of != &pools[i] {
				t.Fatalf("the pool of %s is %v", o.Name, of)
			}
			if left := PoolRanges(o.Name, o.Ranges, x, nil); len(left) != 1 {
				t.Fatalf("%v is left for the pool %s", left, o.Name)
			}
			if other, _, overlaps := x.Overlap(o.Ranges, "", o.Name); overlaps {
				t.Fatalf("the pools %s and %s overlap", o.Name, other.Name)
			}
		}
		return float64(x.Visited()) / float64(n)
	}
	if few, many := perPool(64), perPool(2048); many > 2*few {
		t.Errorf("%.0f pools are looked at for one of 64, %.0f for one of 2048", few, many)
	}
}

// Counts of addresses do not overflow: a /64 has more addresses than an int64 can count.
func TestSaturated(t *testing.T) {
	const most = 1<<63 - 1
	for _, x := range [][3]int64{{0, 0, 0}, {1, 2, 3}, {most, 0, most}, {0, most, most}, {most - 1, 1, most}, {most, 1, most}, {most, most, most}, {1, most, most}, {most - 5, 3, most - 2}} {
		if got := Saturated(x[0], x[1]); got != x[2] {
			t.Errorf("%d and %d are %d", x[0], x[1], got)
		}
	}
}

// The addresses in use are found once for all who share them, and a change is seen by none of them.
func TestInUseOfWhoShares(t *testing.T) {
	t.Parallel()
	as := NewAddresses([]*Claim{{Kind: Address, Thing: "203.0.113.1"}}, nil)
	one, other := as.Share(), as.Share()
	before, again := one.InUse(), other.InUse()
	if len(before) != 1 || &before[0] != &again[0] {
		t.Errorf("%v and %v are not the same list", before, again)
	}
	as.Use(Use{Kind: "service", Address: netip.MustParseAddr("203.0.113.2"), Granted: true}, true)
	if now := as.Share().InUse(); len(now) != 2 || len(one.InUse()) != 1 {
		t.Errorf("%v after a change, %v for who shares what was before", now, one.InUse())
	}
}
