package engine_test

import (
	"errors"
	"maps"
	"slices"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// mayWrite reports whether a command may send a write: it asks before each whether it was taken for crashed.
func (c *command) mayWrite(r engine.Request) bool {
	return c.ledger.isAlive(c) || !isWrite(r)
}

func isWrite(r engine.Request) bool {
	return r.Verb.IsPinned()
}

// ownerOf is whose things a request reads; empty for all.
func ownerOf(r engine.Request) string { return string(engine.On[engine.OfOwner](r)) }

// reads returns what a command has read first of everything.
func (c *command) reads(r engine.Request) *reading {
	if c.half == nil {
		c.half = c.ledger.readLedger(ownerOf(r), c.nonce)
		c.waited = c.waited || c.ledger.meets(c)
	}
	return c.half
}

// answer lets the API server answer a request.
func (c *command) answer(r engine.Request) (a engine.Answer) {
	if !c.mayWrite(r) {
		return engine.Answer{Over: true, Err: errLost}
	}
	return c.arrived(r)
}

// arrived lets the API server answer a request that was sent while the command might send it.
func (c *command) arrived(r engine.Request) (a engine.Answer) {
	l, owner := c.ledger, c.wants[0].Request.Lease.Owner
	switch r.Verb {
	case engine.ReadAll, engine.Look:
		half := c.reads(r)
		now := l.readObjects(half, ownerOf(r))
		c.half = nil
		if l.breach == "claims are read before objects" && l.past != nil {
			l.past, now = now, l.past
		} else {
			l.past = now
		}
		c.sum = sumOf(c.sum, half.sum)
		return engine.Answer{Claims: half.claims, Snapshot: now}
	case engine.Announce:
		return l.announce(c)
	case engine.Undo:
		own := l.announced[c.nonce]
		if protocol.Lost(own) {
			return engine.Answer{Over: true, Err: errLost}
		}
		undoing := *own
		undoing.Phase = state.Undoing
		l.put(&undoing)
	case engine.Get:
		if now := l.claims[r.On.String()]; l.breach == "a wildcard is read after the host is claimed" && now != nil && now.Kind == state.Wildcard && now.Owner != owner {
			return engine.Answer{Claim: c.first[r.On.String()]}
		}
		claim := l.claims[r.On.String()]
		if c.half != nil {
			claim, c.half = c.half.claims[0], nil
		}
		return engine.Answer{Claim: l.settled(claim, c.nonce)}
	case engine.List:
		if l.breach == "hosts are listed after the wildcard is claimed" && r.On == engine.OfKind(state.Host) {
			return engine.Answer{Claims: slices.Collect(maps.Values(c.first))}
		}
		return engine.Answer{Claims: slices.DeleteFunc(l.list("", c.nonce), func(c *state.Claim) bool { return engine.OfKind(c.Kind) != r.On })}
	case engine.Put, engine.Delete:
		return l.write(r, c.nonce)
	case engine.GetObject:
		a.Live = l.live(keyOf(r))
	case engine.GetLive:
		a.Live = l.live(keyOf(r))
	case engine.PutObject:
		return l.apply(r, false)
	case engine.CheckObject:
		return l.apply(r, true)
	case engine.CreateObject:
		return l.create(r)
	case engine.DeleteObject:
		return l.remove(engine.On[engine.OfObject](r).Object)
	case engine.RemovePool:
		l.removePool(c.know().Snapshot, engine.On[engine.OfPool](r).Address)
	case engine.Touch:
		l.touch(engine.On[engine.OfObject](r).Object, c.nonce)
	case engine.GetDefinition:
		a.Definition = l.definitions[engine.On[engine.OfDefinition](r).Group]
	case engine.Keep:
		return l.keep(r)
	case engine.Forget:
		return l.forget(r)
	case engine.ReadTargets:
		a.Targets = maps.Clone(l.targets)
	case engine.ReadRuns:
		a.Runs.Reserved = l.reserved
	case engine.Unreserve:
		l.reserved = slices.DeleteFunc(slices.Clone(l.reserved), func(id lease.ID) bool { return id == r.On })
	case engine.ReadRunning:
		o := deploymentOf(c.wants[0].Request.Lease)
		a.Running.Stages = [][]render.Object{{o}}
		if live := l.live(engine.KeyOf(o)); live != nil {
			a.Running.Live = append(a.Running.Live, objectOf(engine.KeyOf(o), live))
		}
	case engine.ReadAnnouncements:
		for nonce, other := range l.announced {
			a.Announced = a.Announced || nonce != c.nonce && other.Names(engine.On[lease.Group](r))
		}
	}
	return a
}

var (
	errLost  = errors.New("another command has taken this one for crashed")
	errStale = errors.New("the object has been modified")
)
