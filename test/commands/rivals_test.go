package commands

import (
	"os"
	"strings"
	"testing"
)

// Two owners want one thing in one input: the second is refused by every verb alike, and a dry run says
// what the real run does.
func TestTwoOwnersInOneInput(t *testing.T) {
	t.Parallel()
	address := newNet() + "1"
	cfg := configure(t, "hosts: {wildcards: true}", "ip: {ranges: ["+address+"/32]}")
	endpoint := func(file string) string {
		return strings.Replace(file, "{name: public}", "{name: public, addresses: ["+address+"]}", 1)
	}
	for name, services := range map[string]func(domain string) (first, second string){
		"host":     func(d string) (string, string) { return web("web", 80, "a."+d), web("web", 80, "b."+d, "a."+d) },
		"wildcard": func(d string) (string, string) { return web("web", 80, `"*.`+d+`"`), web("web", 80, "a."+d) },
		"below":    func(d string) (string, string) { return web("web", 80, "a."+d), web("web", 80, `"*.`+d+`"`) },
		"address":  func(string) (string, string) { return leased("web", "public", 443), leased("web", "public", 8443) },
	} {
		t.Run(name, func(t *testing.T) {
			first, second := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
			mine, theirs := services(newDomain())
			both := file(t, endpoint(read(t, define(t, first, mine)))+"---\n"+endpoint(read(t, define(t, second, theirs))))
			for _, args := range [][]string{{"check"}, {"apply", "--dry-run=client"}, {"reserve", "--dry-run=client"}, {"apply", "--wait=false"}} {
				r := mustRun(t, 4, append(args, "-f", both, "--config", cfg)...)
				r.Says(t, "is wanted by two owners of this input: first by lease "+first.String(), "then by lease "+second.String(), "Nothing was changed for lease "+second.String())
				if strings.Contains(r.Stderr, "Nothing was changed for lease "+first.String()) {
					t.Errorf("the first is refused as well: %s", r)
				}
			}
			mustRun(t, 4, "render", "-f", both, "--config", cfg).Says(t, "wanted by two owners of this input")
			// What the ledger has counts for more than the order of the input.
			turned := file(t, endpoint(read(t, define(t, second, theirs)))+"---\n"+endpoint(read(t, define(t, first, mine))))
			mustRun(t, 4, "apply", "--wait=false", "-f", turned, "--config", cfg).Says(t, "Nothing was changed for lease "+second.String())
		})
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
