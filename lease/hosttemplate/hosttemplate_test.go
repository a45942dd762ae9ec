package hosttemplate_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
)

const lease1 = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"

func TestDomain(t *testing.T) {
	for template, want := range map[string]string{
		"": "", "a": "", "${service}.apps.example.com": "apps.example.com", "a.${namespace}.example.com": "example.com", "${service}.${dseq}.${gseq}.b": "b", "a.b.${dseq}": "",
	} {
		if got := hosttemplate.Domain(template); got != want {
			t.Errorf("the domain of %s is %q, want %q", template, got, want)
		}
	}
}

func TestHost(t *testing.T) {
	id, err := lease.ParseID(lease1)
	if err != nil {
		t.Fatal(err)
	}
	hash := func(service string, port uint16) string {
		name, _, _ := strings.Cut(hosttemplate.Host(id, "${hash}.x", service, port), ".")
		return name
	}
	h := hash("web", 80)
	if h != "rck41vpkoqmu0" {
		t.Errorf("the hash is %s: every generated name changes", h)
	}
	for template, want := range map[string]string{
		"${service}-${dseq}.apps.example.com": "web-8438017-" + h + ".apps.example.com",
		"${service}-${hash}.apps.example.com": "web-" + h + ".apps.example.com",
		"${service}${hash}.apps.example.com":  "web-" + h + ".apps.example.com",
		"apps.example.com":                    "apps-" + h + ".example.com",
		"a.${gseq}.${namespace}.com":          "a-" + h + ".1." + id.Namespace() + ".com",
		"ip--${service}.com":                  h + ".com",
	} {
		if got := hosttemplate.Host(id, template, "web", 80); got != want {
			t.Errorf("%s: %s, want %s", template, got, want)
		}
	}
	service := strings.Repeat("a", 48) + "-bcdefghijklmn"
	if got, want := hosttemplate.Host(id, "${service}.x-${service}.com", service, 80),
		strings.Repeat("a", 48)+"-"+hash(service, 80)+".x-"+strings.Repeat("a", 48)+"-bcdefghijklm.com"; got != want {
		t.Errorf("what is too long is not cut off: %s, want %s", got, want)
	}
}

// generatedFrom is what a name must tell apart.
type generatedFrom struct {
	id      lease.ID
	service string
	port    uint16
}

func drawFrom(t *rapid.T) generatedFrom {
	number := rapid.Uint64Range(1, 12)
	return generatedFrom{
		lease.ID{
			Owner: rapid.SampledFrom([]string{"akash1a", "akash1b", "akash1a1"}).Draw(t, "owner"), DSeq: number.Draw(t, "dseq"),
			GSeq: uint32(number.Draw(t, "gseq")), OSeq: uint32(number.Draw(t, "oseq")), Provider: "akash1p",
		},
		rapid.StringMatching(`[a-z]([-a-z0-9]{0,61}[a-z0-9])?|(ip|pt|rs)--[a-z]|ip|a|a-1|a-1-1`).Draw(t, "service"),
		rapid.SampledFrom([]uint16{80, 8, 1, 11, 443}).Draw(t, "port"),
	}
}

// TestGeneratedHostsAreInjective: whatever the template, two ports have two names, each a good host.
func TestGeneratedHostsAreInjective(t *testing.T) {
	part := rapid.SampledFrom([]string{"${service}", "${dseq}", "${gseq}", "${namespace}", "-", ".", "a", "--", "0", "ip"})
	ends := rapid.SampledFrom([]string{".example.com", "-${hash}.example.com", "${hash}.example.com"})
	tried := 0
	rapid.Check(t, func(t *rapid.T) {
		template := strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "template"), "") + ends.Draw(t, "ends")
		if hosttemplate.Check(template) != nil {
			return
		}
		tried++
		seen := map[string]generatedFrom{}
		for i := range 8 {
			from := drawFrom(t)
			host := hosttemplate.Host(from.id, template, from.service, from.port)
			if err := lease.CheckHost(host); err != nil {
				t.Fatalf("%d: %s makes %s of %+v: %v", i, template, host, from, err)
			}
			if other, ok := seen[host]; ok && other != from {
				t.Fatalf("%s makes %s of %+v and of %+v", template, host, from, other)
			}
			if again := hosttemplate.Host(from.id, template, from.service, from.port); again != host {
				t.Fatalf("%s and %s", host, again)
			}
			seen[host] = from
		}
	})
	if tried == 0 {
		t.Error("no template was good")
	}
}

func FuzzHostTemplate(f *testing.F) {
	for _, template := range []string{"${service}-${dseq}.apps.example.com", "x${service}${hash}.example.com", "${gseq}-${dseq}.${service}.local", "${service}.${namespace}", "ip--${hash}.example.com", "$service.example.com"} {
		f.Add(template, "web", uint64(8438017))
	}
	f.Fuzz(func(t *testing.T, template, service string, dseq uint64) {
		if hosttemplate.Check(template) != nil || lease.CheckServiceName(service) != nil || dseq == 0 {
			return
		}
		id := lease.ID{Owner: "akash1a", DSeq: dseq, GSeq: 1, OSeq: 1, Provider: "akash1p"}
		host := hosttemplate.Host(id, template, service, 80)
		if err := lease.CheckHost(host); err != nil {
			t.Errorf("%q makes %q: %v", template, host, err)
		}
		if other := hosttemplate.Host(id, template, service, 81); other == host {
			t.Errorf("%q makes %q of two ports", template, host)
		}
	})
}

func ExampleHost() {
	id, _ := lease.ParseID("akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0")
	fmt.Println(hosttemplate.Host(id, "${service}-${dseq}.apps.example.com", "web", 80))
	// Output: web-8438017-rck41vpkoqmu0.apps.example.com
}

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
