package apply

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Problems reads the cluster once and finds its problems, with who has set what of the leases' objects to which value. It limits them to
// a namespace if one is given. It reports whether the ledger's namespace exists.
func Problems(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, crashedAfter time.Duration, namespace string,
) (found []state.Problem, ledger bool, err error) {
	s, err := diagnosis.Read(ctx, c, cfg, kinds.Records)
	if err != nil {
		return nil, false, err
	}
	defs := diagnosis.Definitions(s, maps.Keys(s.Definitions))
	var drifted []state.Problem
	group, both := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		found, err = diagnosis.ProblemsIn(both, c, cfg, s, defs, crashedAfter, namespace)
		return err
	})
	group.Go(func() (err error) {
		drifted, err = drift(both, c, cfg, s, defs)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, false, err
	}
	for _, x := range drifted {
		switch i := slices.IndexFunc(found, x.Same); {
		case i >= 0:
			found[i].Message, found[i].Since = x.Message, x.Since
		case namespace == "" || x.Namespace == namespace:
			found = append(found, x)
		}
	}
	_, ledger = s.Namespace(cfg.LedgerNamespace)
	return found, ledger, nil
}

// Explain reads the cluster once and explains the state of hosts, addresses, IP endpoints, leases and orders.
func Explain(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, things []thing.Thing) ([]diagnose.Explanation, error) {
	var s *observed.Snapshot
	var err error
	if slices.ContainsFunc(things, func(t thing.Thing) bool { return t.Kind != thing.Order }) {
		if s, err = diagnosis.Read(ctx, c, cfg, kinds.RecordsOf(cfg)); err != nil {
			return nil, err
		}
	}
	out, err := diagnosis.Explain(ctx, c, cfg, s, things)
	if err != nil {
		return nil, err
	}
	if may := slices.DeleteFunc(slices.Clone(things), hasNoObjects); len(may) > 0 {
		found, err := drift(ctx, c, cfg, s, diagnosis.Definitions(s, namesOf(s, may)))
		if err != nil {
			return nil, err
		}
		for i := range out {
			addDrift(&out[i], things[i], found)
		}
	}
	return out, nil
}

// hasNoObjects reports whether a thing is neither a host nor a lease, which objects serve.
func hasNoObjects(of thing.Thing) bool { return of.Kind != thing.Host && of.Kind != thing.Lease }

// addDrift adds how the objects of a lease, or of a host, differ from what the lease wants to its explanation.
func addDrift(x *diagnose.Explanation, of thing.Thing, drift []state.Problem) {
	for _, d := range drift {
		_, name, _ := strings.Cut(d.Thing, "/")
		host, _, _ := lease.ParseRouteName(name)
		id, err := lease.ParseID(d.Lease)
		if err == nil && (of.Kind == thing.Host && host == of.Host || of.Kind == thing.Lease && id.Group() == of.Group) {
			x.Facts = append(x.Facts, fmt.Sprintf("%s in namespace %s is not as the lease wants it: %s.", d.Thing, d.Namespace, d.Message))
			if !slices.Contains(x.Next, d.Command) {
				x.Next = append(x.Next, d.Command)
			}
		}
	}
}

// drift returns a problem for each object that is not as its lease wants it, by the definition that the ledger keeps: other managers
// have set fields otherwise, or fields are gone. What Akash's provider has written is the tenant's update, and no drift. It writes nothing.
func drift(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, s *observed.Snapshot, of []diagnose.KeptDefinition,
) ([]state.Problem, error) {
	groups, alone := written(s)
	var defs []*lease.Definition
	for _, k := range of {
		if k.Def == nil || !groups[k.Def.Lease.Group()] { // one that cannot be read is a problem of its own
			continue
		}
		if _, _, found := requestOf(k.Def, cfg); len(found.Errors()) == 0 { // what the configuration refuses ends the whole plan
			defs = append(defs, k.Def)
		}
	}
	slices.SortFunc(defs, func(a, b *lease.Definition) int { return a.Lease.Group().Compare(b.Lease.Group()) })
	if len(defs) == 0 || s.Operators.Unknown {
		return nil, nil
	}
	// What fails for a lease is another problem than drift.
	p, err := preview(ctx, c, command.Options{Config: cfg, Operators: observed.OperatorsAuto, Concurrency: 16, Heal: true}, s, defs)
	if ctx.Err() != nil {
		return nil, err
	}
	return driftOf(p, alone), nil
}

// namesOf returns the names of the definitions of leases, and of the holders of hosts.
func namesOf(s *observed.Snapshot, things []thing.Thing) iter.Seq[string] {
	names := map[string]bool{}
	for _, t := range things {
		groups := []lease.Group{t.Group}
		if t.Kind == thing.Host {
			groups = nil
			if claim := s.Claim(state.HostName(t.Host)); claim != nil {
				groups = claim.Writers()
			}
		}
		for _, g := range groups {
			names[kept.Name(g)] = true
		}
	}
	return maps.Keys(names)
}

// written returns the deployment groups with objects that this program has written, and the IDs of those objects that Akash's provider
// has not written too: what such an object lacks, the provider has not taken away.
func written(s *observed.Snapshot) (groups map[lease.Group]bool, alone map[string]bool) {
	groups, alone = map[lease.Group]bool{}, map[string]bool{}
	for _, kind := range kinds.OfLease {
		for live := range s.Of(kind) {
			if whose := s.Ownership(live); whose.Ours && whose.Labelled {
				groups[whose.Lease.Group()] = true
				if !whose.Shared {
					alone[plan.Change{Kind: kind.Singular, Namespace: live.GetNamespace(), Name: live.GetName()}.ID()] = true
				}
			}
		}
	}
	return groups, alone
}

// driftOf returns the problems of a plan of kept definitions. alone are the IDs of the objects of which a missing field is drift.
func driftOf(p plan.Plan, alone map[string]bool) (found []state.Problem) {
	for _, l := range p.Leases {
		for _, c := range l.Changes {
			set := slices.DeleteFunc(c.Conflicts(), func(f plan.Field) bool {
				return slices.ContainsFunc(f.Owners, func(o plan.Owner) bool { return o.Manager == managed.Akash })
			})
			fields := set
			if alone[c.ID()] {
				fields = append(fields, c.Removed()...)
			}
			if len(fields) == 0 {
				continue
			}
			c.Fields = set
			x := state.Problem{
				Problem: state.Drift, Thing: c.Kind + "/" + c.Name, Namespace: c.Namespace, Lease: l.Lease, Manual: true,
				Command: "kubectl akash-net diff " + groupName(l.Lease),
			}
			switch {
			case len(set) == 0:
				x.Plan = "apply the lease again, or change its definition"
			case c.ByHand:
				x.Plan = "apply the lease again with --force-conflicts, or change its definition"
			default:
				x.Plan = "let " + strings.Join(c.Others(), ", ") + " drop the fields, and apply the lease again"
			}
			var texts []string
			for _, f := range fields {
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
