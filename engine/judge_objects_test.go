package engine_test

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// keyOf is the key of the object that a request reads, writes or deletes.
func keyOf(r engine.Request) engine.Key {
	switch on := r.On.(type) {
	case engine.OfObject:
		return engine.Key{Kind: on.Object.Kind, Namespace: on.Object.Live.GetNamespace(), Name: on.Object.Live.GetName()}
	case engine.Key:
		return on
	}
	return engine.KeyOf(engine.On[engine.OfRendered](r).Apply)
}

// judgeObject says what is wrong with a write or a delete of an object that was there before: it is neither the live one of another
// deployment, nor, for a command that was taken for crashed, one on which a later command relied.
func (h *history) judgeObject(c *command, r engine.Request, before int, was *unstructured.Unstructured) {
	if h.ledger.writes == before {
		return
	}
	k := keyOf(r)
	if r.Verb == engine.PutObject {
		h.judgeRoute(c, objectOf(k, h.ledger.live(k)))
	}
	if was == nil {
		return
	}
	o := objectOf(k, was)
	if slices.Contains(h.relied[k.String()], c.name) {
		h.wrong("%s writes or deletes %s late, on which a later command relies", c.name, k)
	}
	moves := slices.ContainsFunc(c.wants, func(want engine.Want) bool { return want.Move != nil && want.Request.Lease.Group() == o.Group })
	if r.Verb == engine.DeleteObject && moves && k.Kind == kinds.Ingress && h.ledger.live(engine.Key{Kind: kinds.HTTPRoute, Namespace: k.Namespace, Name: k.Name}) == nil {
		h.wrong("%s deletes %s, which has no successor", c.name, k)
	}
	if !slices.Contains(c.groups(), o.Group) && h.ledger.rests(o) {
		h.wrong("%s writes or deletes %s, the live one of %s", c.name, k, o.Group)
	}
}

// judgeDefinition says what is wrong with a write of a kept definition by a command that was taken for crashed.
func (h *history) judgeDefinition(c *command, g lease.Group) {
	if slices.Contains(h.relied[kept.Name(g)], c.name) {
		h.wrong("%s writes or deletes the definition of %s late, on which a later command relies", c.name, g)
	}
}

// rests reports whether the deployment group of an object holds what that serves.
func (l *ledger) rests(o observed.Object) bool {
	return slices.ContainsFunc(state.HostUses(o.Live), func(u state.Use) bool {
		c := l.claims[state.HostName(u.Host)]
		return slices.ContainsFunc(c.PartsOf(o.Group), func(p state.Part) bool {
			return !c.PartEnded(p, l.now) && p.Key == state.RouteKey(u.Path)
		})
	})
}

// isHandedOn reports whether another deployment group holds what an object serves since a transfer.
func (l *ledger) isHandedOn(o observed.Object) bool {
	return slices.ContainsFunc(state.HostUses(o.Live), func(u state.Use) bool { return len(l.claims[state.HostName(u.Host)].FormerOf(o.Group)) > 0 })
}

// judgeApplied says what is wrong with the objects of a lease that has what it wants: each is as wanted, and if it prunes there was no
// other one when it has last looked. A lease that was as wanted before its command had its turn has ended then.
func (h *history) judgeApplied(c *command, want engine.Want, o *engine.Outcome) {
	g, wanted := want.Request.Lease.Group(), map[engine.Key]bool{}
	if keeps := want.Transfer == nil || want.Transfer.Whole; keeps && want.Apply != nil && c.alone { // else it has written nothing, and met nobody
		if h.rely(kept.Name(g)); !h.ledger.definitions[g].Says(want.Apply.Definition) {
			h.wrong("%s is done, and the ledger does not keep its definition", c.name)
		}
	}
	for _, desired := range o.Applied.Desired {
		k := engine.KeyOf(desired)
		wanted[k] = true
		h.rely(k.String())
		if now := h.ledger.live(k); now == nil || !managed.Contains(now.Object, h.ledger.explored.rendered(desired).Object) {
			h.wrong("%s is done, and %s is not as wanted", c.name, k)
		}
	}
	prunes := want.Apply != nil && want.Prune || want.Release != nil && want.Release.Choice.All()
	if len(c.wants) > 1 || !prunes {
		return
	}
	for k, now := range h.ledger.objects {
		of := objectOf(k, now.live)
		if k.Kind != kinds.Namespace && k.Kind != kinds.Gateway && of.Group == g && c.looked[now.live.GetUID()] && !wanted[k] && !h.ledger.isHandedOn(of) {
			h.wrong("%s is done, and has left %s", c.name, k)
		}
	}
}

// applyAgain lets somebody finish what crashed commands have begun, undisturbed, and says what serves without a claim then. What one has
// left may be in the way of another one, so there may be two rounds.
func (h *history) applyAgain() {
	h.note("what crashed commands have begun is finished")
	var left []engine.Key
	for range 2 {
		for _, name := range []string{"A/1", "A/2", "B/1", "C/1"} {
			if words := h.finishing(name); h.hasFallen(leaseOf(name).Group()) && words != nil {
				h.applyOnce(words)
			}
		}
		if left = h.unclaimed(); len(left) == 0 || len(h.ledger.said) == 0 {
			return
		}
	}
	h.wrong("%v serve without a claim", left)
}

// finishing is what finishes the work of crashed commands for a lease: it is applied as the ledger keeps it, or released; if nothing was
// ever applied, the last of these commands runs again.
func (h *history) finishing(name string) []string {
	switch {
	case h.ledger.definitions[leaseOf(name).Group()] != nil:
		return []string{name, "heal", "prune"}
	case len(h.ledger.said) > 0:
		return []string{name, "release"}
	}
	for _, c := range slices.Backward(h.commands) {
		if len(c.words) > 0 && c.words[0] == name && (c.stalled || h.ledger.fallen[c.nonce] != nil) {
			return c.words
		}
	}
	return nil
}

// hasFallen reports whether a command for a group has crashed.
func (h *history) hasFallen(g lease.Group) bool {
	return h.ledger.hasFallen(g) || slices.ContainsFunc(h.commands, func(c *command) bool { return c.stalled && slices.Contains(c.groups(), g) })
}

// applyOnce lets a command run that nothing disturbs.
func (h *history) applyOnce(words []string) {
	c := h.begins("zz"+strconv.Itoa(len(h.commands)), words)
	c.begin()
	h.commands = append(h.commands, c)
	for range 500 {
		if h.goOn(c, c.answer); c.ended {
			return
		}
	}
	h.wrong("%s does not end once it is undisturbed", strings.Join(words, " "))
}

// unclaimed are the objects whose deployment groups do not hold what these serve.
func (h *history) unclaimed() (out []engine.Key) {
	for _, k := range h.ledger.keys() {
		o := objectOf(k, h.ledger.objects[k].live)
		if k.Kind != kinds.Namespace && k.Kind != kinds.Gateway && !h.ledger.rests(o) && !h.ledger.isHandedOn(o) {
			out = append(out, k)
		}
	}
	return out
}
