package plugin

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Each topic is explained offline, in plain text that fits a terminal, and completely.
func TestTopics(t *testing.T) {
	for topic, texts := range map[string][]string{
		"exit-codes": {"\n  0\n", "\n  1\n", "\n  2\n", "\n  3\n", "\n  4\n", "\n  5\n", "\n  6\n", "\n  130\n"},
		"names":      {"  host/shop.example.com,", "  OWNER/DSEQ/GSEQ/OSEQ/PROVIDER\n", "akash1h24…9w3c9h/8438017/1", "--ignore-not-found", "apply --workloads also deploys"},
		"states": {view.StateActive, view.StatePending, view.StateTransferring, view.StateReserved, view.StateExpired, view.StateWithheld, view.StateClaiming,
			view.StatePartial},
		"formats": {"  render\n      yaml (default)", "custom-columns=", "    lease akash1"},
	} {
		code, out, errOut := main1(t, "", "help", topic)
		if code != codeDone || errOut != "" {
			t.Errorf("%s: exit code %d: %s", topic, code, errOut)
		}
		for _, text := range texts {
			if !strings.Contains("\n"+out, text) {
				t.Errorf("%s: there is no %q in\n%s", topic, text, out)
			}
		}
		for line := range strings.Lines(out) {
			if code := strings.HasPrefix(line, "    "); (strings.Contains(line, "`") || strings.Contains(line, "](")) && !code || !code && utf8.RuneCountInString(line) > helpWidth+1 {
				t.Errorf("%s: the line %q", topic, line)
			}
		}
	}
	if code, out, _ := main1(t, "", "exit-codes"); code != codeDone || !strings.Contains(out, "success") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
