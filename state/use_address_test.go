package state

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// The addresses that a Service uses, however they are written: as MetalLB and Kubernetes read them. One of IPv4 that is written
// as one of IPv6 is the same address, and whoever asks for it so uses it.
func TestAddressesAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"203.0.113.7":               "203.0.113.7",
		" 203.0.113.7 ":             "203.0.113.7",
		"::ffff:203.0.113.7":        "203.0.113.7",
		"::FFFF:cb00:7107":          "203.0.113.7",
		"2001:db8::7":               "2001:db8::7",
		"2001:0DB8:0:0::0:7":        "2001:db8::7",
		"203.0.113.7,2001:db8::7":   "203.0.113.7 2001:db8::7",
		"203.0.113.7, , 2001:db8::": "203.0.113.7 2001:db8::",
		"":                          "", "shop.example.com": "", "203.0.113.007": "", "203.0.113.0/24": "", "203.0.113": "", "0xcb007107": "",
	} {
		for where, o := range map[string]map[string]any{
			"asked by annotation":     {"metadata": map[string]any{"annotations": map[string]any{"metallb.io/loadBalancerIPs": text}}},
			"asked by the older name": {"metadata": map[string]any{"annotations": map[string]any{"metallb.universe.tf/loadBalancerIPs": text}}},
			"asked by the field":      {"spec": map[string]any{"loadBalancerIP": text}},
			"granted":                 {"status": map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": text}}}}},
			"external":                {"spec": map[string]any{"externalIPs": []any{text}}},
		} {
			if strings.Contains(text, ",") && !strings.Contains(where, "annotation") && where != "asked by the older name" {
				continue // one address
			}
			var got []string
			for _, u := range ServiceUses(&unstructured.Unstructured{Object: o}) {
				if got = append(got, u.Address.String()); u.Granted != (where == "granted") || u.External != (where == "external") {
					t.Errorf("%s: %+v", where, u)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s, %q: %v, want %s", where, text, got, want)
			}
		}
	}
}

// Who asks for a claimed address in other letters is seen: nobody else is given what it has.
func TestForeignUsesInOtherLetters(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "game", "annotations": map[string]any{"metallb.io/loadBalancerIPs": "::ffff:203.0.113.0"}}}}
	known := NewAddresses(nil, AddressUses(o))
	r, err := config.ParseRange("203.0.113.0/31")
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := known.Next("akash1a", "akash1a-ip-public", config.IPv4, config.Ranges{Include: []config.Range{r}}, nil); !ok || fmt.Sprint(a) != "203.0.113.1" {
		t.Errorf("%s is given, and a Service asks for the first", a)
	}
}
