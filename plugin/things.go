package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state"
)

// missingError says that something that was named does not exist.
type missingError struct{ what []string }

func (e *missingError) Error() string { return strings.Join(e.what, "; ") }

// addIgnoreMissing adds kubectl's flag.
func addIgnoreMissing(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "ignore-not-found", false, "Exit with 0 instead of 1 if something that is named does not exist")
}

// parseThings reads arguments, of which each must be one of the kinds.
func parseThings(args []string, kinds ...thing.Kind) ([]thing.Thing, error) {
	things := make([]thing.Thing, len(args))
	for i, arg := range args {
		t, err := thing.Parse(arg)
		if err != nil {
			return nil, usage.Wrap(err)
		}
		if !slices.Contains(kinds, t.Kind) {
			return nil, usage.Errorf("%s is not what this command takes: %s", t, kindsText(kinds))
		}
		things[i] = t
	}
	return things, nil
}

func kindsText(kinds []thing.Kind) string {
	words := map[thing.Kind]string{
		thing.Host: "a host (host/shop.example.com)", thing.Address: "an address (address/203.0.113.7)",
		thing.Endpoint: "an IP endpoint (endpoint/public)", thing.Lease: "a lease (OWNER/DSEQ/GSEQ)",
		thing.Order: "an order (order/OWNER/DSEQ/GSEQ/OSEQ)",
	}
	texts := make([]string, len(kinds))
	for i, k := range kinds {
		texts[i] = words[k]
	}
	return strings.Join(texts, ", ")
}

// whole refuses paths where only a host as a whole can be meant, and gives the names under which claims
// are looked for: those of hosts and addresses, "endpoint/NAME", and a word that may be a host's or an
// endpoint's.
func whole(things []thing.Thing, verb string) ([]string, error) {
	names := make([]string, len(things))
	for i, t := range things {
		switch {
		case t.Path != "":
			return nil, usage.Errorf("%s: %s works on hosts with all their paths; name %s", t, verb, thing.Thing{Kind: thing.Host, Host: t.Host})
		case t.Kind == thing.Endpoint:
			names[i] = t.String()
		default:
			names[i] = t.Name()
		}
	}
	return names, nil
}

// leaseArgument is an argument or a flag's value that names a lease, with or without the word before it.
func leaseArgument(text string) string { return strings.TrimPrefix(text, string(thing.Lease)+"/") }

// missing watches the events of a command for things that turn out not to exist.
type missing struct {
	report func(apply.Event)
	// seen are the names of which an event tells that something was done with them, unknown those that a
	// transfer did not find.
	seen, unknown map[string]bool
}

func watchMissing(report func(apply.Event)) *missing {
	return &missing{report: report, seen: map[string]bool{}, unknown: map[string]bool{}}
}

func (m *missing) event(e apply.Event) {
	switch e.Action {
	case apply.Left:
		if e.Kind == apply.KindThing {
			m.unknown[e.Name] = true
		}
	case apply.Failed, apply.Done:
	default:
		m.seen[e.Name] = true
		if state.Kind(e.Kind).HasPorts() {
			m.seen[string(thing.Endpoint)] = true
		}
	}
	m.report(e)
}

// notReleased says which of the things no event was about.
func (m *missing) notReleased(t thing.Thing) bool {
	if t.Endpoint != "" && m.seen[string(thing.Endpoint)] {
		return false
	}
	return !m.seen[t.Name()]
}

// notFound is true for a thing that a transfer did not find.
func (m *missing) notFound(t thing.Thing) bool { return m.unknown[t.Name()] || m.unknown[t.String()] }

// missingThings is an error that names the things that are missing, or nil.
func missingThings(things []thing.Thing, isMissing func(thing.Thing) bool, format string, args ...any) error {
	var what []string
	for _, t := range things {
		if isMissing(t) {
			what = append(what, fmt.Sprintf(format, append([]any{t}, args...)...))
		}
	}
	if len(what) == 0 {
		return nil
	}
	return &missingError{what}
}

// completeThings offers what is held: leases, and with them the hosts and addresses.
func (c *connection) completeThings(kinds ...thing.Kind) cobra.CompletionFunc {
	return c.complete(func(ctx context.Context, cluster *cluster.Cluster, cfg *config.ProviderConfig, toComplete string) (out []string, err error) {
		things, err := apply.HeldThings(ctx, cluster, cfg.LedgerNamespace)
		for _, t := range things {
			name := t.Name()
			if strings.HasPrefix(toComplete, string(t.Kind)+"/") {
				name = t.String()
			}
			if slices.Contains(kinds, t.Kind) && strings.HasPrefix(name, toComplete) {
				out = append(out, name)
			}
		}
		return out, err
	})
}
