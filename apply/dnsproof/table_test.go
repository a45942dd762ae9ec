package dnsproof_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/apply/dnsproof"
	"github.com/akash-net/kubectl-akash-net/test/nameserver"
)

// The proofs, and the messages without one, are in testdata/zones.txt; `go test ./apply/dnsproof -rewrite` writes it. Each block is a
// zone, and its argument the host. OWNER and OTHER are two owners, DOMAIN is the provider's ingress domain; with "domain=-" there
// is none.
func TestZones(t *testing.T) {
	words, said := strings.NewReplacer("OWNER", owner, "OTHER", other, "DOMAIN", domain), strings.NewReplacer(owner, "OWNER", other, "OTHER", domain, "DOMAIN")
	datadriven.RunTest(t, "testdata/zones.txt", func(t *testing.T, d *datadriven.TestData) string {
		var records []string
		for line := range strings.Lines(d.Input) {
			records = append(records, words.Replace(strings.TrimSpace(line)))
		}
		server := nameserver.Start(t, records...)
		p := proverFor(enough, server)
		host := ""
		for _, arg := range d.CmdArgs {
			if arg.Key == "domain" {
				p.Domain = strings.Trim(arg.Vals[0], "-")
				continue
			}
			host = words.Replace(arg.Key)
		}
		how, err := p.Prove(t.Context(), owner, host)
		if err == nil {
			return said.Replace("proved by "+how) + "\n"
		}
		why, ok := errors.AsType[*dnsproof.Unproved](err)
		if !ok || why.Host != host || why.Owner != owner {
			t.Fatalf("%s: %v", host, err)
		}
		var out strings.Builder
		for _, x := range why.Asked {
			fmt.Fprintf(&out, "%s %s: %s\n", x.Type, x.Name, x.Answer)
			if x.Server != server.Addr || !strings.Contains(err.Error(), x.String()) {
				t.Errorf("%s asks %s, and says %q", host, x.Server, err)
			}
		}
		if why.Note != "" {
			fmt.Fprintln(&out, why.Note)
		}
		for _, record := range why.Records {
			fmt.Fprintln(&out, "would prove it: "+record)
		}
		return said.Replace(out.String())
	})
}
