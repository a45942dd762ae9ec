package state

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

func TestPoolRanges(t *testing.T) {
	ours := func(name string, addresses ...string) PoolObject {
		o := PoolObject{Name: name, Ours: true}
		for _, text := range addresses {
			r, err := config.ParseRange(text)
			if err != nil {
				t.Fatal(err)
			}
			o.Ranges = append(o.Ranges, r)
		}
		return o
	}
	theirs := func(addresses ...string) PoolObject {
		o := ours("admin", addresses...)
		o.Ours = false
		return o
	}
	for _, tt := range []struct {
		name   string
		wanted []string
		pools  []PoolObject
		used   []string
		want   []string
	}{
		{"the first pool", []string{"203.0.113.0/28"}, nil, nil, []string{"203.0.113.0/28"}},
		{"widened", []string{"203.0.113.0/27"}, []PoolObject{ours("old", "203.0.113.0/28")}, []string{"203.0.113.1"}, []string{"203.0.113.16/28"}},
		{"widened on both sides", []string{"203.0.113.0/28"}, []PoolObject{ours("old", "203.0.113.4/30")}, nil, []string{"203.0.113.0/30", "203.0.113.8/29"}},
		{"widened and made", []string{"203.0.113.0/27"}, []PoolObject{ours("old", "203.0.113.0/28"), ours("new", "203.0.113.16/28")}, nil, []string{"203.0.113.16/28"}},
		{"an administrator's pool gives nothing", []string{"203.0.113.0/27"}, []PoolObject{theirs("203.0.113.0/28")}, nil, []string{"203.0.113.0/27"}},
		{"excluded in use", []string{"203.0.113.1-203.0.113.3"}, []PoolObject{ours("new", "203.0.113.0/30")}, []string{"203.0.113.0"}, []string{"203.0.113.1-203.0.113.3", "203.0.113.0/32"}},
		{"excluded and unused", []string{"203.0.113.1-203.0.113.3"}, []PoolObject{ours("new", "203.0.113.0/30")}, []string{"203.0.113.2"}, []string{"203.0.113.1-203.0.113.3"}},
		{"excluded for an administrator's pool", []string{"203.0.113.2/31"}, []PoolObject{ours("new", "203.0.113.0/30"), theirs("203.0.113.0/31")}, []string{"203.0.113.0"}, []string{"203.0.113.2/31"}},
		{"a pool of each address", []string{"203.0.113.0/29"}, []PoolObject{ours("one", "203.0.113.0/32"), ours("two", "203.0.113.2/32")}, nil, []string{"203.0.113.1/32", "203.0.113.3-203.0.113.7"}},
		{"IPv6", []string{"2001:db8::/126"}, []PoolObject{ours("old", "2001:db8::/127", "203.0.113.0/28")}, nil, []string{"2001:db8::2/127"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var used []netip.Addr
			for _, a := range tt.used {
				used = append(used, netip.MustParseAddr(a))
			}
			var got []string
			for _, r := range PoolRanges("new", ours("", tt.wanted...).Ranges, NewPoolIndex(tt.pools), used) {
				got = append(got, r.MetalLB())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
