package change

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin/console"
)

// The line of a question ends even if nobody answers, so that the error is on a line of its own.
func TestQuestionEndsItsLine(t *testing.T) {
	for answer, want := range map[string]struct {
		yes  bool
		told string
	}{
		"y\n": {true, "Go on? [y/N] "}, "YES\r\n": {true, "Go on? [y/N] "}, "n\n": {false, "Go on? [y/N] "}, "\n": {false, "Go on? [y/N] "},
		"": {false, "Go on? [y/N] \n"}, "y": {true, "Go on? [y/N] \n"},
	} {
		var told bytes.Buffer
		c := console.New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(answer), Out: &bytes.Buffer{}, ErrOut: &told})
		all := selection{all: true}
		if yes := all.confirm(&c, "", 2, "Go on?"); yes != want.yes || told.String() != want.told {
			t.Errorf("%q: %v, %q; want %v, %q", answer, yes, told.String(), want.yes, want.told)
		}
	}
}

// The addresses of reserve may have the prefix of an address in all its forms.
func TestReserveAddresses(t *testing.T) {
	f := reserveFlags{addresses: []string{"203.0.113.1", "address/203.0.113.2", "ip/203.0.113.3", "IPs/203.0.113.4"}}
	hosts, err := f.parseArgs([]string{"hosts/shop.example.com", "addresses/203.0.113.5"})
	want := []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4", "203.0.113.5"}
	if err != nil || !slices.Equal(hosts, []string{"shop.example.com"}) || !slices.Equal(f.addresses, want) {
		t.Errorf("hosts %q, addresses %q, error %v", hosts, f.addresses, err)
	}
}
