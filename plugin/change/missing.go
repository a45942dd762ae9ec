package change

import (
	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state"
)

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

// missing watches the events of a command for things that turn out not to exist.
type missing struct {
	report func(report.Event)
	// seen are the names of which an event tells that something was done with them, unknown those that a
	// transfer did not find.
	seen, unknown map[string]bool
}

func watchMissing(report func(report.Event)) *missing {
	return &missing{report: report, seen: map[string]bool{}, unknown: map[string]bool{}}
}

func (m *missing) event(e report.Event) {
	switch e.Action {
	case report.Left:
		if e.Kind == apply.KindThing {
			m.unknown[e.Name] = true
		}
	case report.Failed, report.Done:
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
