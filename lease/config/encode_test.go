package config

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/akash-net/kubectl-akash-net/lease/emit"
)

// sameConfig compares configurations: an empty list is no list, and a selector is its text.
var sameConfig = cmp.Options{
	cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.AddrPort{}, netip.Addr{}),
	cmp.Transformer("shard", func(s Shard) [3]string { return [3]string{s.Name, text(s.Routes), text(s.Namespaces)} }),
}

func text(s Selector) string {
	text, _ := s.MarshalText() // cannot fail
	return string(text)
}

// A configuration that is written and read again is the same.
func TestEncode(t *testing.T) {
	for name, cfg := range map[string]*ProviderConfig{
		"default": Default(), "full": readFile(t, "testdata/full.yaml"), "provider": readFile(t, "testdata/provider.yaml"),
	} {
		var plain bytes.Buffer
		if err := emit.WriteYAML(&plain, Encode(cfg)); err != nil {
			t.Fatal(err)
		}
		again, problems, err := Read(&plain, name)
		if err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v, %v", name, problems, err)
		}
		if diff := cmp.Diff(cfg, again, sameConfig); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}
