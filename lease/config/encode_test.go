package config

import (
	"bytes"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/akash-net/kubectl-akash-net/emit"
)

// sameConfig compares configurations: an empty list is no list, and a selector is its text.
var sameConfig = cmp.Options{
	cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.AddrPort{}, netip.Addr{}),
	cmp.Transformer("shard", func(s Shard) [3]string { return [3]string{s.Name, s.Routes.String(), s.Namespaces.String()} }),
}

// A configuration that is written and read again is the same, with comments and without.
func TestEncode(t *testing.T) {
	for name, cfg := range map[string]*ProviderConfig{
		"default": Default(), "full": readFile(t, "testdata/full.yaml"), "provider": readFile(t, "testdata/provider.yaml"),
	} {
		var plain bytes.Buffer
		if err := emit.WriteYAML(&plain, Encode(cfg)); err != nil {
			t.Fatal(err)
		}
		annotated, err := Annotated(cfg, "", "f")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{plain.String(), string(annotated)} {
			again, problems, err := Read(strings.NewReader(text), name)
			if err != nil || len(problems) > 0 {
				t.Fatalf("%s: %v, %v\n%s", name, problems, err, text)
			}
			if diff := cmp.Diff(cfg, again, sameConfig); diff != "" {
				t.Errorf("%s (-before +after):\n%s", name, diff)
			}
		}
	}
}

// Each value says where it is from.
func TestAnnotated(t *testing.T) {
	provider, err := os.ReadFile("testdata/provider.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const head = "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\n"
	for text, want := range map[string][]string{
		"": {"  target: ingress # default\n", "    ranges: [] # default\n", "    http: # default\n", "  shards: [] # default\n"},
		head + "spec:\n  target: ''\n  gateway:\n    proxyBufferSize: ''\n  ip:\n    ranges:\n    - 203.0.113.0/28\n    mode:\n": {
			"  target: ingress # default\n", "    proxyBufferSize: \"\" # f:6\n", "    ranges: # f:8\n      - 203.0.113.0/28\n", "    mode: range # default\n",
		},
		head + "spec: {dns: {targets: [lb.example.com]}, shards: [{name: a}]}\n": {"    targets: # f:3\n", "    sources: # default\n      - target\n", "  shards: # f:3\n"},
		"deployment-ingress-static-hosts: false\nip-operator: false\n":           {"    staticHosts: false # f:1\n", "    mode: range # default\n"},
		string(provider): {"    blocked: # f:"},
		"blocked-hostnames: [a.example]\nmetal-lb-pool: public\ndeployment-blocked-hostnames: b.example\n": {"    blocked: # f:1, f:3\n", "    mode: pool # f:2\n", "    pool: public # f:2\n"},
	} {
		cfg, problems, err := Read(strings.NewReader(text), "f")
		if cfg == nil {
			t.Fatalf("%q: %v, %v", text, problems, err)
		}
		got, err := Annotated(cfg, text, "f")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range want {
			if !strings.Contains(string(got), line) {
				t.Errorf("%q: there is no %q in\n%s", text, line, got)
			}
		}
	}
}
