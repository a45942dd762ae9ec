package hosttemplate_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
)

// The first label keeps the hash whole; the text before it gives way.
func TestTheFirstLabelIsTextAndHash(t *testing.T) {
	id, err := lease.ParseID(lease1)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ service, template, want string }{
		"a short name":                    {"web", "${service}.x.com", "web-HASH"},
		"as long as fits":                 {strings.Repeat("a", 49), "${service}.x.com", strings.Repeat("a", 49) + "-HASH"},
		"one character more is cut":       {strings.Repeat("a", 50), "${service}.x.com", strings.Repeat("a", 49) + "-HASH"},
		"no dash is left at the cut":      {strings.Repeat("a", 47) + "--b", "${service}.x.com", strings.Repeat("a", 47) + "-HASH"},
		"a claim of an address":           {"ip--a", "${service}.x.com", "HASH"},
		"a route of a path":               {"pt--a", "${service}.x.com", "HASH"},
		"reserved only with its own dash": {"ip", "${service}-.x.com", "ip-HASH"},
		"a dash before the hash":          {"web", "${service}-${hash}.x.com", "web-HASH"},
		"nothing but the hash":            {"web", "${hash}.x.com", "HASH"},
		"text around the variable":        {"web", "a${service}b.x.com", "awebb-HASH"},
	} {
		host := hosttemplate.Host(id, c.template, c.service, 80)
		hash, _, _ := strings.Cut(hosttemplate.Host(id, "${hash}.x.com", c.service, 80), ".")
		if want := strings.Replace(c.want, "HASH", hash, 1) + ".x.com"; host != want {
			t.Errorf("%s: %s, want %s", name, host, want)
		}
		if label, _, _ := strings.Cut(host, "."); len(hash) != 13 || len(label) > 63 {
			t.Errorf("%s: the hash %s or the label %s has a wrong length", name, hash, label)
		}
	}
}
