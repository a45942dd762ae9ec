package apply

import (
	"context"
	"fmt"
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
	if found, err = diagnosis.ProblemsIn(ctx, c, cfg, s, crashedAfter, namespace); err != nil {
		return nil, false, err
	}
	drift, err := drift(ctx, c, cfg, s)
	for _, x := range drift {
		switch i := slices.IndexFunc(found, x.Same); {
		case i >= 0:
			found[i].Message, found[i].Since = x.Message, x.Since
		case namespace == "" || x.Namespace == namespace:
			found = append(found, x)
		}
	}
	_, ledger = s.Namespace(cfg.LedgerNamespace)
	return found, ledger, err
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
		found, err := drift(ctx, c, cfg, s, may...)
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
// have set fields otherwise, or fields are gone. What Akash's provider has written is the tenant's update, and no drift. of are leases,
// and hosts whose holders are compared; none are all leases. It writes nothing.
func drift(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, s *observed.Snapshot, of ...thing.Thing) ([]state.Problem, error) {
	groups, alone := written(s)
	var defs []*lease.Definition
	for _, g := range groups {
		if len(of) > 0 && !slices.ContainsFunc(of, func(t thing.Thing) bool { return concerns(s, t, g) }) {
			continue
		}
		if d := s.Definitions[kept.Name(g)]; d != nil && !d.Deleting {
			def, err := d.Decode()
			if err != nil { // a problem of its own
				continue
			}
			if _, _, found := requestOf(def, cfg); len(found.Errors()) == 0 { // what the configuration refuses ends the whole plan
				defs = append(defs, def)
			}
		}
	}
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

// concerns reports whether a thing is of a deployment group: its lease, or a host that it holds.
func concerns(s *observed.Snapshot, t thing.Thing, g lease.Group) bool {
	claim := s.Claim(state.HostName(t.Host))
	return t.Kind == thing.Lease && t.Group == g || t.Kind == thing.Host && claim != nil && slices.Contains(claim.Writers(), g)
}

// written returns the deployment groups with objects that this program has written, sorted, and the IDs of those objects that Akash's
// provider has not written too: what such an object lacks, the provider has not taken away.
func written(s *observed.Snapshot) (groups []lease.Group, alone map[string]bool) {
	alone = map[string]bool{}
	for _, kind := range kinds.OfLease {
		for live := range s.Of(kind) {
			if whose := s.Ownership(live); whose.Ours && whose.Labelled {
				groups = append(groups, whose.Lease.Group())
				if !whose.Shared {
					alone[plan.Change{Kind: kind.Singular, Namespace: live.GetNamespace(), Name: live.GetName()}.ID()] = true
				}
			}
		}
	}
	slices.SortFunc(groups, lease.Group.Compare)
	return slices.Compact(groups), alone
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
