package apply

import (
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Applier runs commands on a cluster.
type Applier struct {
	// Command is the command that it runs.
	Command *command.Command
}

// New returns an Applier for a cluster.
func New(c *cluster.Cluster, opts command.Options) *Applier {
	return &Applier{Command: command.New(c, opts)}
}

// Invalid returns what is wrong with a definition by itself.
func Invalid(def *lease.Definition, cfg *config.ProviderConfig) lease.Problems {
	_, _, problems := requestOf(def, cfg)
	return problems
}

// Repeated returns a problem if a definition before this one defines the same deployment group. first has where each is defined.
func Repeated(first map[lease.Group]lease.Place, def *lease.Definition) (problems lease.Problems) {
	group := def.Lease.Group()
	if at, twice := first[group]; twice {
		problems.Add(def.At, "deployment group %s is defined twice in one run (first in %s)", group, at)
	}
	first[group] = def.At
	return problems
}

// requestOf returns what a definition routes, what it asks for, and what is wrong with that.
func requestOf(def *lease.Definition, cfg *config.ProviderConfig) (*lease.Definition, state.Request, lease.Problems) {
	routes := def.Routes()
	req, problems := state.NewRequest(routes, cfg)
	return routes, req, append(problems, records.RecordProblems(routes, cfg)...)
}
