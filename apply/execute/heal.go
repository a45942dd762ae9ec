package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// heal ends the work on leases of a command that another one has taken for crashed: what it has written may have come after the other one
// gave that up. It writes nothing more by itself; a new command, with a turn of its own, brings the deployments to what the ledger keeps.
// ended is why the turn has not ended as it should. It returns why each of these leases fails. A lease that is concluded has been worked on
// to its end, and its error is of what follows.
func (l *loop) heal(ctx context.Context, leases []*Lease, ended error) map[*Lease]error {
	lost := map[*Lease]error{}
	var groups []lease.Group
	for _, one := range leases {
		failed := ended
		if one.concluded == nil {
			failed = cmp.Or(one.err, ended)
		}
		_, is := errors.AsType[*turn.LostError](failed)
		if is && one.Outcome != nil && (one.Outcome.Unfinished || one.X.Changed()) {
			lost[one], groups = failed, append(groups, one.Want.Groups()...)
		}
	}
	if len(lost) == 0 || l.work.heals {
		return nil
	}
	slices.SortFunc(groups, lease.Group.Compare)
	if err := parallel.Guard(func() error { return healed(ctx, l.command, slices.Compact(groups)) }); err != nil {
		for one, failed := range lost {
			lost[one] = errors.Join(failed, err)
		}
	}
	return lost
}

// healed brings deployment groups to what the ledger keeps of them, by a new command.
func healed(ctx context.Context, of *command.Command, groups []lease.Group) (err error) {
	ctx, cancel := executor.UndoContext(cluster.WithGate(ctx, nil))
	defer cancel()
	was := of.Options
	c := command.New(of.Cluster, command.Options{
		Config: of.Configured, Prune: true, Heal: true, InTurn: true, Obeys: was.Obeys, Operators: was.Operators, AssumeServing: was.AssumeServing, Wait: was.Wait,
		Version: was.Version, Lasts: was.Lasts, Concurrency: was.Concurrency,
		Report: func(e report.Event) {
			switch e.Action {
			case report.Unchanged, report.Withheld, report.Kept, report.Skipped, report.Refused, report.Unconfirmed, report.Failed:
			default:
				of.Send(e)
			}
		},
	})
	var s *observed.Snapshot
	var unknown []error
	work := Work{
		Command: c, heals: true,
		Read: func(ctx context.Context) (_ *observed.Snapshot, err error) {
			s, err = reading.ReadWithOperators(ctx, c, reading.Reading{
				Addresses: true, Pools: c.Options.Config.IP.Mode == config.ModeDedicated, Further: kinds.RecordsOf(c.Options.Config), Definitions: groups,
			})
			return s, err
		},
		Wants: func() (wants []engine.Want) {
			unknown = nil
			for _, g := range groups {
				switch want, err := healing(s, c.Options.Config, g, was.Target); {
				case err != nil:
					unknown = append(unknown, fmt.Errorf("of lease %s: %w", g, err))
				default:
					wants = append(wants, want)
				}
			}
			return wants
		},
		Ended: func(context.Context, []*Lease) {},
	}
	for range executor.Looks {
		if err = work.Run(ctx); !errors.Is(err, report.ErrChanged) {
			break
		}
	}
	if err != nil && ctx.Err() != nil {
		err = errors.New("it had no turn, or no answer, in time")
	}
	if err = errors.Join(append(unknown, err)...); err != nil { // by its text alone: the command ends with why it was lost
		return fmt.Errorf("what it wrote late may stay, until: kubectl akash-net repair (%s)", err.Error())
	}
	return nil
}

// healing returns what a deployment group wants to be as the ledger keeps it: one of which nothing is kept keeps what it holds, and if that
// is nothing, it has nothing. chosen is the kind of routes that the command line has chosen. A definition that is that of
// Akash's Manifest is not healed: the Manifest may say something else by now.
func healing(s *observed.Snapshot, cfg *config.ProviderConfig, g lease.Group, chosen string) (want engine.Want, err error) {
	d := s.Definitions[kept.Name(g)]
	if d == nil || d.Deleting {
		return engine.Want{Request: state.Request{Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}}, Release: &engine.Release{Strays: true}}, nil
	}
	def, err := d.Decode()
	switch {
	case err != nil:
		return want, err
	case d.Source == kept.OfManifests:
		return want, errors.New("what it is to have is said by its Manifest, which a reconciler of Manifests applies")
	case d.Target == "" && chosen != "":
		return want, fmt.Errorf("its routes are of the kind that the configuration says, and this command was told --target %s", chosen)
	}
	routes := def.Routes()
	request, problems := state.NewRequest(routes, cfg)
	if found := append(problems, records.RecordProblems(routes, cfg)...).Errors(); len(found) > 0 {
		return want, found
	}
	return engine.Want{Request: request, Prune: true, Apply: &engine.Apply{Definition: routes, Kinds: render.Kinds(routes, cfg), Heal: true, Lost: true}}, nil
}
