package change

import (
	"bytes"
	"encoding/json"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
)

// apply --plan reads what diff has printed, whatever characters a definition has.
func TestPlansAreReadAsTheyWerePrinted(t *testing.T) {
	const env = "A=a\u0085b\x7fc\u2028d\ufeffe😀\x1b f\u009fg"
	const definition = "{\"env\":[\"A=a\u0085b\x7f\"]}"
	p := plan.New(plan.Settings{Operators: "auto", Scheduler: []byte("{\"a\":\"x\u0085\"}")}, []plan.Lease{
		{Lease: "akash1one/1/1/1/p", Definition: []byte(definition), Changes: []plan.Change{
			{Action: plan.Update, Kind: "deployment", Name: "web", Fields: []plan.Field{{Path: plan.Path{"env"}, Before: "A=x", After: env}}},
		}},
	})
	for _, output := range []string{"json", "yaml"} {
		var out bytes.Buffer
		if err := printPlan(&console.Console{IOStreams: genericiooptions.IOStreams{Out: &out}}, p, output); err != nil {
			t.Errorf("%s: %v", output, err)
			continue
		}
		var got plan.Plan
		if err := readPlan(out.Bytes(), "plan", &got); err != nil {
			t.Errorf("%s: %v", output, err)
			continue
		}
		if after := got.Leases[0].Changes[0].Fields[0].After; after != env {
			t.Errorf("%s: the value is %q, want %q", output, after, env)
		}
		var text bytes.Buffer
		if err := json.Compact(&text, got.Leases[0].Definition); err != nil || text.String() != definition {
			t.Errorf("%s: the definition is %q (%v), want %q", output, &text, err, definition)
		}
	}
}
