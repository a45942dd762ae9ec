package command

import (
	"context"
	"errors"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
)

// NewTurn is a turn of the command to write for deployment groups.
func (c *Command) NewTurn(groups []lease.Group) *turn.Turn {
	return turn.New(c.Cluster, c.Ledger, groups, turn.Options{
		By: turn.WhoRuns(), Version: c.Options.Version,
		Dead: func(other *state.Announcement, now time.Time) bool {
			return c.Options.AssumeCrashed || other.Over(now) || c.Options.CrashedAfter > 0 && other.Dead(now, c.Options.CrashedAfter)
		},
		Waiting: c.tellWaiting,
	})
}

// tellWaiting tells of a command that is waited for.
func (c *Command) tellWaiting(other *state.Announcement) {
	g := other.Groups[0] // the reader of announcements takes none without a group
	c.Send(report.Event{
		Time: time.Now(), Action: report.Waiting, Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq},
		Kind: "lease", Name: g.String(), Message: "another command is at work on it: " + other.String(),
	})
}

// InTurn does work that writes for deployment groups, when it is the command's turn, and ends the turn. The work is
// begun again where what it had read has become old before its first write. It says for which groups it is unfinished.
// Where the work is a part of that of another verb it is done in that one's turn. A fault of the program is an error of the
// work: the turn ends all the same, so that nobody waits for the command.
func (c *Command) InTurn(ctx context.Context, groups []lease.Group, work func(ctx context.Context) (unfinished []lease.Group, err error)) error {
	if c.Options.Turn != nil {
		unfinished, err := work(ctx)
		c.Options.Turn.Leave(unfinished...)
		return err
	}
	c.Options.Turn = c.NewTurn(groups)
	defer func() { c.Options.Turn = nil }()
	for {
		var unfinished []lease.Group
		err := parallel.Guard(func() (err error) {
			unfinished, err = work(c.Options.Turn.Context(ctx))
			return err
		})
		if errors.Is(err, turn.ErrAgain) {
			continue
		}
		if _, fault := errors.AsType[*parallel.FaultError](err); fault {
			unfinished = groups // it is not known how far it came
		}
		c.Options.Turn.Leave(unfinished...)
		return errors.Join(err, parallel.Guard(func() error { return c.Options.Turn.Commit(ctx) }))
	}
}

// CannotUndo is true for an error after which nothing can, or may, be given back: the API server has gone, or another
// command works in the place of this one.
func CannotUndo(err error) bool { return cluster.IsAway(err) || cluster.IsShut(err) }
