package apply

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Drift returns a problem for each object of which other managers have set fields that its lease wants otherwise, by the definition
// that the ledger keeps. What Akash's provider has set is the tenant's update, and no drift. Only leases of whose objects others own
// anything are compared. It writes nothing.
func Drift(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig) ([]state.Problem, error) {
	s, err := observed.Read(ctx, c, ledger.New(c, cfg.LedgerNamespace), diagnosis.Reading)
	if err != nil {
		return nil, err
	}
	var defs []*lease.Definition
	for _, g := range touched(s) {
		if d := s.Definitions[kept.Name(g)]; d != nil && !d.Deleting {
			if def, err := d.Decode(); err == nil { // one that cannot be decoded is a problem of its own
				defs = append(defs, def)
			}
		}
	}
	if len(defs) == 0 {
		return nil, nil
	}
	// What fails for a lease is another problem than drift.
	p, err := PlanKept(ctx, c, command.Options{Config: cfg, Operators: observed.OperatorsAuto, Concurrency: 16}, defs)
	if ctx.Err() != nil {
		return nil, err
	}
	return driftOf(p), nil
}

// touched returns the deployment groups with objects of which other field managers own anything, sorted.
func touched(s *observed.Snapshot) (groups []lease.Group) {
	for _, kind := range kinds.OfLease {
		for live := range s.Of(kind) {
			if whose := s.Ownership(live); whose.Ours && whose.Labelled && ownedByOthers(live) {
				groups = append(groups, whose.Lease.Group())
			}
		}
	}
	slices.SortFunc(groups, lease.Group.Compare)
	return slices.Compact(groups)
}

func ownedByOthers(live *unstructured.Unstructured) bool {
	for e := range managed.Of(live) {
		if !e.Ours() {
			return true
		}
	}
	return false
}

// driftOf returns the problems of a plan of kept definitions.
func driftOf(p plan.Plan) (found []state.Problem) {
	for _, l := range p.Leases {
		for _, c := range l.Changes {
			c.Fields = slices.DeleteFunc(c.Conflicts(), func(f plan.Field) bool {
				return slices.ContainsFunc(f.Owners, func(o plan.Owner) bool { return o.Manager == managed.Akash })
			})
			if len(c.Fields) == 0 {
				continue
			}
			x := state.Problem{
				Problem: state.Drift, Thing: c.Kind + "/" + c.Name, Namespace: c.Namespace, Lease: l.Lease, Manual: true,
				Plan:    "let " + strings.Join(c.Others(), ", ") + " drop the fields, and apply the lease again",
				Command: "kubectl akash-net diff " + groupName(l.Lease),
			}
			if c.ByHand {
				x.Plan = "apply the lease again with --force-conflicts, or change its definition"
			}
			var texts []string
			for _, f := range c.Fields {
				texts = append(texts, report.Conflict(f))
				for _, o := range f.Owners {
					if x.Since.IsZero() || o.Since.Before(x.Since.Time) {
						x.Since = metav1.NewTime(o.Since)
					}
				}
			}
			x.Message = strings.Join(texts, "; ")
			found = append(found, x)
		}
	}
	return found
}

// groupName returns the deployment group of a lease's name.
func groupName(name string) string {
	id, err := lease.ParseID(name)
	if err != nil {
		return name
	}
	return id.Group().String()
}
