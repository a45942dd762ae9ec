package command

import (
	"context"
	"errors"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// NewTurn returns a turn of the command for deployment groups.
func (c *Command) NewTurn(groups []lease.Group) *turn.Turn {
	return turn.New(c.Cluster, c.Ledger, groups, turn.Options{
		By: turn.WhoRuns(), Version: c.Options.Version, Lasts: c.Options.Lasts, AssumeCrashed: c.Options.AssumeCrashed, Waiting: c.reportWaiting,
	})
}

// reportWaiting reports a command that this one waits for.
func (c *Command) reportWaiting(other *state.Announcement) {
	g := other.Groups[0] // an announcement without groups is unreadable
	c.Send(report.Event{
		Time: time.Now(), Action: report.Waiting, Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq},
		Kind: "lease", Name: g.String(), Message: other.InTheWay(),
	})
}

// InTurn runs work that writes for deployment groups in a turn of the command, and then ends the turn. work returns the groups for
// which it is unfinished. InTurn turns a panic into an error and still ends the turn, so that nobody waits for this command.
func (c *Command) InTurn(ctx context.Context, groups []lease.Group, work func(context.Context, *turn.Turn) (unfinished []lease.Group, err error)) error {
	t := c.NewTurn(groups)
	var unfinished []lease.Group
	err := parallel.Guard(func() (err error) {
		unfinished, err = work(t.Context(ctx), t)
		return err
	})
	if _, fault := errors.AsType[*parallel.FaultError](err); fault {
		unfinished = groups // any of them may be
	}
	t.Leave(unfinished...)
	return errors.Join(err, parallel.Guard(func() error { return t.Commit(ctx) }))
}

// CannotUndo reports whether an error forbids undoing anything: the API server is away, or another command works in
// place of this one.
func CannotUndo(err error) bool { return cluster.IsAway(err) || cluster.IsShut(err) }
