package state

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// Which address an endpoint gets, and which addresses a pool has: testdata/addresses.txt and testdata/pools.txt.
//
//	next      OWNER@ENDPOINT [IPv6] | the ranges | claims, ";;" between them | what Services use | addresses that were lost
//	foreign   ADDRESS for OWNER@ENDPOINT | what Services use
//	in-use    claims | what Services use
//	pick      the ranges | what the leases of one run ask, one after the other: OWNER@ENDPOINT, name ADDRESS OWNER@ENDPOINT,
//	          lost ADDRESS
func TestAddressTable(t *testing.T) {
	table(t, "addresses.txt", map[string]func(*testing.T, string) string{
		"next": nextInWords, "foreign": foreignInWords, "in-use": inUseInWords, "pick": pickInWords,
	})
}

// endpointOf parses OWNER@ENDPOINT.
func endpointOf(t *testing.T, text string) (owner, key string) {
	who, endpoint, _ := strings.Cut(strings.TrimSpace(text), "@")
	owner = wordLease(t, who).Owner
	return owner, lease.SharingKey(owner, endpoint)
}

func wordClaims(t *testing.T, text string) (claims []*Claim) {
	for one := range strings.SplitSeq(text, ";;") {
		if c := wordClaim(t, one); c != nil {
			claims = append(claims, c)
		}
	}
	return claims
}

// addressUses parses uses of addresses. key=A@public is the sharing key of an endpoint.
func addressUses(t *testing.T, text string) []Use {
	uses := wordUses(t, text)
	for i, u := range uses {
		if u.SharingKey != "" {
			_, uses[i].SharingKey = endpointOf(t, u.SharingKey)
		}
	}
	return uses
}

func nextInWords(t *testing.T, line string) string {
	f := fields(line, 5)
	words := strings.Fields(f[0])
	owner, key := endpointOf(t, words[0])
	family := config.IPv4
	if slices.Contains(words, "IPv6") {
		family = config.IPv6
	}
	cfg := statetest.Config(t, config.ModeRange, strings.Fields(f[1])...)
	a, ok := NewAddresses(wordClaims(t, f[2]), addressUses(t, f[3])).Next(owner, key, family, cfg.IP.Ranges, addressSet(strings.Fields(f[4])...))
	if !ok {
		return "none"
	}
	return a.String()
}

func foreignInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	address, endpoint, _ := strings.Cut(f[0], " for ")
	_, key := endpointOf(t, endpoint)
	var names []string
	for _, u := range NewAddresses(nil, addressUses(t, f[1])).Foreign(netip.MustParseAddr(address), key) {
		name := u.String()
		if u.HasLease {
			name += " of a lease"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func inUseInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	return strings.Trim(fmt.Sprint(NewAddresses(wordClaims(t, f[0]), addressUses(t, f[1])).InUse()), "[]")
}

func pickInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	cfg := statetest.Config(t, config.ModeRange, strings.Fields(f[0])...)
	p, lost := NewPicker(NewAddresses(nil, addressUses(t, strings.Join(f[2:], "")))), map[netip.Addr]bool{}
	var said []string
	for step := range strings.SplitSeq(f[1], ";") {
		word, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
		switch word {
		case "name":
			address, endpoint, _ := strings.Cut(rest, " ")
			_, key := endpointOf(t, endpoint)
			p.Name(Request{Endpoints: []EndpointWant{{SharingKey: key, Addresses: []netip.Addr{netip.MustParseAddr(address)}}}})
		case "lost":
			lost[netip.MustParseAddr(rest)] = true
		default:
			owner, key := endpointOf(t, word)
			family := config.IPv4
			if rest == "IPv6" {
				family = config.IPv6
			}
			text := "none"
			if a, _, ok := p.Next(owner, key, family, cfg.IP.Ranges, lost); ok {
				text = a.String()
			}
			said = append(said, text)
		}
	}
	return strings.Join(said, " ")
}

// Pools: "POOLS | question". A pool is NAME [NAMESPACE/] RANGE..., after "their" if it is an administrator's.
func TestPoolTable(t *testing.T) {
	table(t, "pools.txt", map[string]func(*testing.T, string) string{
		"of":       poolQuestion(poolsOf),
		"overlap":  poolQuestion(poolOverlap),
		"ranges":   poolQuestion(poolRanges),
		"served":   poolQuestion(poolServed),
		"stranded": strandedInWords,
		"within":   poolWithin,
		"shares":   poolShares,
		"without":  poolWithout,
	})
}

func wordPool(t *testing.T, text string) PoolObject {
	words := strings.Fields(text)
	o := PoolObject{Ours: true}
	if words[0] == "their" {
		o.Ours, words = false, words[1:]
	}
	namespace, name, named := strings.Cut(words[0], "/")
	if !named {
		namespace, name = "metallb", words[0]
	}
	o.Name, o.Ref = name, ObjectRef{Kind: "ipaddresspool", Namespace: namespace, Name: name}
	o.Ranges = wordRanges(t, strings.Join(words[1:], " "))
	return o
}

func wordPools(t *testing.T, text string) (pools []PoolObject) {
	for one := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(one) != "" {
			pools = append(pools, wordPool(t, one))
		}
	}
	return pools
}

func poolQuestion(ask func(t *testing.T, x *PoolIndex, words []string) string) func(*testing.T, string) string {
	return func(t *testing.T, line string) string {
		f := fields(line, 2)
		return ask(t, NewPoolIndex(wordPools(t, f[0])), strings.Fields(f[1]))
	}
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

func poolServed(_ *testing.T, x *PoolIndex, words []string) string {
	return fmt.Sprint(ServedByOurs(netip.MustParseAddr(words[0]), words[1], x))
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
	var names []string
	for _, c := range Stranded(configuration(f[0]), configuration(f[1]), wordClaims(t, f[2]), wordPools(t, f[3])) {
		names = append(names, c.Thing)
	}
	return strings.Join(names, " ")
}

func poolWithin(t *testing.T, line string) string {
	f := fields(line, 2)
	return fmt.Sprint(wordPool(t, f[0]).Within(wordRanges(t, f[1])[0]))
}

func poolShares(t *testing.T, line string) string {
	f := fields(line, 2)
	return sayRanges(wordPool(t, f[0]).Shares(wordPool(t, f[1])))
}

func poolWithout(t *testing.T, line string) string {
	f := fields(line, 2)
	return sayRanges(wordPool(t, f[0]).Without(wordRanges(t, f[1])))
}
