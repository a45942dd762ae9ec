package change

import (
	"fmt"
	"maps"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state"
)

// claimNames returns the names that package apply expects for things: those of hosts and addresses, endpoint/NAME, and a
// single word, which may be a host or an endpoint. It refuses paths.
func claimNames(things []thing.Thing, verb string) ([]string, error) {
	names := make([]string, len(things))
	for i, t := range things {
		switch {
		case t.Path != "":
			return nil, usage.Errorf("%s: %s works on hosts with all their paths; name %s", t, verb,
				thing.Thing{Kind: thing.Host, Host: t.Host})
		case t.Kind == thing.Endpoint:
			names[i] = t.String()
		default:
			names[i] = t.Name()
		}
	}
	return names, nil
}

// holdsNothing says that a lease, or a thing of a transfer, was not found.
const holdsNothing = "holds nothing; is its name right? \"kubectl akash-net leases\" lists the leases"

// missingWatcher finds named things that do not exist, from the events of a command. It passes the events on to report.
type missingWatcher struct {
	report func(report.Event)
	// seen are the names of things that the command has processed.
	seen map[string]bool
	// unknown are those that a transfer, or leases of which a release, did not find anything, with what to do about it.
	unknown map[string]string
}

func newMissingWatcher(report func(report.Event)) *missingWatcher {
	return &missingWatcher{report: report, seen: map[string]bool{}, unknown: map[string]string{}}
}

func (m *missingWatcher) add(e report.Event) {
	switch e.Action {
	case report.Kept, report.Skipped, report.Refused, report.Unconfirmed:
		switch {
		case e.Kind == string(thing.Lease) && e.Next != "":
			m.unknown[e.Name] = e.Message + ": " + e.Next
		case e.Kind == apply.KindThing || e.Kind == string(thing.Lease) && e.Message == apply.HoldsNothing:
			m.unknown[e.Name] = holdsNothing
		}
	case report.Failed, report.Done:
	default:
		m.seen[e.Name] = true
		delete(m.unknown, e.Lease.Group().String()) // its namespace was left
		if state.Kind(e.Kind).HasPorts() {
			m.seen[string(thing.Endpoint)] = true
		}
	}
	m.report(e)
}

// notReleased reports whether no event was about a thing. Events about ports do not name their endpoint, so they count for any.
func (m *missingWatcher) notReleased(t thing.Thing) bool {
	return !m.seen[t.Name()] && (t.Endpoint == "" || !m.seen[string(thing.Endpoint)])
}

// notFound reports whether a transfer did not find a thing.
func (m *missingWatcher) notFound(t thing.Thing) bool {
	return m.unknown[t.Name()] != "" || m.unknown[t.String()] != ""
}

// missing returns an error for the leases of which a release did not find anything. held returns the deployment groups that hold something.
func (m *missingWatcher) missing(groups []lease.Group, held func() map[lease.Group]*reading.Holding) error {
	var what []string
	for _, g := range groups {
		if why := m.unknown[g.String()]; why != "" {
			if why == holdsNothing {
				if near, ok := thing.Nearest(g, maps.Keys(held())); ok {
					why += fmt.Sprintf("; the nearest that holds something is %s", near)
				}
			}
			what = append(what, fmt.Sprintf("lease/%s %s", g, why))
		}
	}
	if len(what) == 0 {
		return nil
	}
	return &session.MissingError{What: what}
}
