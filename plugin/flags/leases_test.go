package flags

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

const owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"

func TestFindLease(t *testing.T) {
	one := lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}
	two := one
	two.OSeq = 2
	in := func(ids ...lease.ID) *cluster.Cluster {
		var objects []*unstructured.Unstructured
		for _, id := range ids {
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
			o.SetName(id.Namespace())
			o.SetLabels(id.Labels())
			objects = append(objects, o)
		}
		c, err := cluster.OfObjects(objects)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for name, tt := range map[string]struct {
		typed string
		in    *cluster.Cluster
		want  lease.ID
		fails string
	}{
		"in full":          {one.String(), in(), one, ""},
		"with its kind":    {"lease/" + one.String(), in(), one, ""},
		"not a lease":      {"public", in(), lease.ID{}, "public"},
		"the only one":     {one.Group().String(), in(one), one, ""},
		"by its order":     {two.Order().String(), in(one, two), two, ""},
		"one of several":   {one.Group().String(), in(one, two), lease.ID{}, "name one in full: "},
		"none":             {one.Group().String(), in(), lease.ID{}, "nothing runs for lease"},
		"none of an order": {two.Order().String(), in(one), lease.ID{}, "nothing runs for lease"},
	} {
		got, err := FindLease(t.Context(), tt.in, tt.typed)
		if got != tt.want || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestCheckOneOf(t *testing.T) {
	for _, c := range []struct {
		name, value string
		values      []string
		want        string
	}{
		{"one of the values", "json", []string{"yaml", "json"}, ""},
		{"no value of an optional flag", "", []string{"", "yaml", "json"}, ""},
		{"no value of a required flag", "", []string{"yaml", "json"}, `--output must be 'yaml' or 'json', not ""`},
		{"another value", "xml", []string{"", "yaml", "json", "name"}, `--output must be 'yaml', 'json' or 'name', not "xml"`},
		{"a value in upper case", "JSON", []string{"yaml", "json"}, `--output must be 'yaml' or 'json', not "JSON"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := CheckOneOf("output", c.value, c.values...)
			if _, ok := errors.AsType[*usage.Error](err); err != nil && !ok {
				t.Errorf("%T is not a usage error", err)
			}
			if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	if CheckTarget("") != nil || CheckTarget("route") != nil || CheckTarget("service") == nil {
		t.Error("--target has other values")
	}
}

func TestParseThings(t *testing.T) {
	for _, c := range []struct {
		name, arg string
		kinds     []thing.Kind
		want      string
	}{
		{"a thing of the first kind", "shop.example.com", []thing.Kind{thing.Host, thing.Address}, ""},
		{"a thing of the last kind", "203.0.113.7", []thing.Kind{thing.Host, thing.Address}, ""},
		{"a thing of another kind", "endpoint/public", []thing.Kind{thing.Host, thing.Address}, "endpoint/public is not what this command takes: a host (host/shop.example.com), an address (address/203.0.113.7)"},
		{"no thing", "host/", []thing.Kind{thing.Host}, "the host name is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			things, err := ParseThings([]string{c.arg}, c.kinds...)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, error %v, want %q", things, err, c.want)
			}
		})
	}
}

func TestMissingThings(t *testing.T) {
	things := []thing.Thing{{Kind: thing.Host, Host: "a.b"}, {Kind: thing.Host, Host: "c.d"}}
	for _, c := range []struct{ missing, want string }{
		{"", ""},
		{"a.b", "host/a.b is not held by x"},
		{"a.b c.d", "host/a.b is not held by x; host/c.d is not held by x"},
	} {
		isMissing := func(t thing.Thing) bool { return strings.Contains(c.missing, t.Host) }
		err := MissingThings(things, isMissing, "%s is not held by %s", "x")
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestParseOrder(t *testing.T) {
	for _, c := range []struct{ name, typed, fails string }{
		{"without its kind", owner + "/7/1/2", ""},
		{"with its kind", "order/" + owner + "/7/1/2", ""},
		{"a lease", owner + "/7/1", "--order: "},
		{"a mistyped owner", owner[:42] + "hh/7/1/2", "its checksum is wrong; is there a typing error?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			order, err := ParseOrder(c.typed)
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%v, error %v", order, err)
			}
		})
	}
}
