package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// What is excluded is a line of the document, whose comments stay; what is excluded already is none.
func TestExclude(t *testing.T) {
	head := "# The provider's.\napiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec:\n  ip:\n"
	for name, tt := range map[string]struct{ document, exclude, want, fails string }{
		"a list":               {document: head + "    ranges: # ours\n      - 203.0.113.0/28\n", exclude: "203.0.113.4-203.0.113.5", want: head + "    ranges: # ours\n      - 203.0.113.0/28\n      - \"!203.0.113.4/31\"\n"},
		"a list on one line":   {document: head + "    ranges: [203.0.113.0/28]\n", exclude: "203.0.113.4", want: head + "    ranges: [203.0.113.0/28, \"!203.0.113.4/32\"]\n"},
		"JSON":                 {document: `{"apiVersion": "net.akash.network\/v1alpha1", "kind": "ProviderConfig", "spec": {"ip": {"ranges": ["203.0.113.0\/28"]}}}`, exclude: "203.0.113.4", want: `{"apiVersion": "net.akash.network/v1alpha1", "kind": "ProviderConfig", "spec": {"ip": {"ranges": ["203.0.113.0/28", "!203.0.113.4/32"]}}}` + "\n"},
		"excluded already":     {document: head + "    ranges:   [203.0.113.0/28, '!203.0.113.4/30']\n", exclude: "203.0.113.5", want: head + "    ranges:   [203.0.113.0/28, '!203.0.113.4/30']\n"},
		"no ranges":            {document: head + "    mode: dedicated\n", exclude: "203.0.113.5", fails: "it has no ranges"},
		"Akash's own":          {document: "metal-lb-pool: x\n", exclude: "203.0.113.5", fails: "it has no spec"},
		"nothing":              {exclude: "203.0.113.5", fails: "it is empty"},
		"no good":              {document: head + "    mode: none\n", exclude: "203.0.113.5", fails: "unknown mode"},
		"a list of its values": {document: "spec:\n  ip:\n    ranges: [203.0.113.0/28]\nkind: ProviderConfig\napiVersion: net.akash.network/v1alpha1\n", exclude: "203.0.113.5", want: "spec:\n  ip:\n    ranges: [203.0.113.0/28, \"!203.0.113.5/32\"]\nkind: ProviderConfig\napiVersion: net.akash.network/v1alpha1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := config.ParseRange(tt.exclude)
			if err != nil {
				t.Fatal(err)
			}
			got, err := config.Exclude([]byte(tt.document), []config.Range{r})
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			cfg, problems, err := config.Read(strings.NewReader(string(got)), "")
			if err != nil || cfg == nil || !cfg.IP.Ranges.Excludes(r.First) {
				t.Errorf("it is read as %+v, %v, %v", cfg, problems, err)
			}
		})
	}
}

func TestIntersect(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"203.0.113.0/28", "203.0.113.8-203.0.113.20", "203.0.113.8/29"},
		{"203.0.113.4", "203.0.113.0/28", "203.0.113.4/32"},
		{"203.0.113.0/29", "203.0.113.8/29", ""},
		{"203.0.113.0/29", "2001:db8::/64", ""},
		{"2001:db8::/64", "2001:db8::7", "2001:db8::7/128"},
	} {
		a, errA := config.ParseRange(tt.a)
		b, errB := config.ParseRange(tt.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		for _, pair := range [][2]config.Range{{a, b}, {b, a}} {
			shared, ok := pair[0].Intersect(pair[1])
			if ok != (tt.want != "") || ok && shared.MetalLB() != tt.want {
				t.Errorf("%s and %s share %s (%t), want %q", pair[0].Text, pair[1].Text, shared.MetalLB(), ok, tt.want)
			}
		}
	}
}
