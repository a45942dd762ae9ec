package engine

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// Want is what a command wants for one lease: a verb is a function that makes one.
type Want struct {
	// Request are the things that the lease is to hold.
	Request state.Request
	// Expires is when the hold ends by the API server's clock, in RFC 3339; empty for one without an end.
	Expires string
	// Prune gives up what else the deployment group holds and nothing serves.
	Prune bool
	// Adopt takes over what objects of the owner use without a claim.
	Adopt bool
	// Owned are the sources one of which has to own the lease, by the definition that the ledger keeps in the command's turn; an empty name
	// is no source, nil any.
	Owned []string
	// Obeys ends the work on a lease that a person has suspended.
	Obeys bool
	// Manifest is the version of the Manifest of Akash's provider on which the want rests; nil if it rests on none.
	Manifest *lease.Manifest
	// Serves are the objects that serve already what the lease asks for: it gets that only while one of them is there.
	Serves []observed.Object
	// Release is what the deployment group gives up, with the objects that serve it and what it runs; nil for nothing.
	Release *Release
	// Apply says which objects the lease wants; nil for none.
	Apply *Apply
	// Transfer is what the lease takes over from other deployment groups of its owner; nil for nothing.
	Transfer *Transfer
	// Move says which routes of the lease go to another kind; nil for none.
	Move *Move
	// Write is what repair writes of the lease, or for all; nil for nothing.
	Write *Write
}

// Settings are what all wants of a command have in common.
type Settings struct {
	Config *config.ProviderConfig
	// OnePort is true if Akash's IP operator runs (state.Judge).
	OnePort bool
	// Patience is how long a lease waits for another command that holds a thing and has not ended: that command may still
	// give it back.
	Patience time.Duration
	// Tries is how often a write is tried that meets another version each time.
	Tries int
	// Wait is how long a lease waits for what it has deleted to be gone. Waits is false for a dry run, which waits for nothing
	// and takes for gone what would go.
	Wait  time.Duration
	Waits bool
	// AssumeServing takes a route for serving if no controller reports on its kind. GoesOn is the command that goes on where an
	// old route has to stay; empty for the same one.
	AssumeServing bool
	GoesOn        string
	// Reclaims takes fields of the lease's own objects back that somebody has changed by hand.
	Reclaims bool
	// Plans is true if requests say what they change.
	Plans bool
	// InTurn is true if another command for the leases may have crashed: then the command has its turn, in which it goes on in the place
	// of that one, also if it has nothing to write.
	InTurn bool
}

// Transaction are the wants of one announcement, with the order in which leases are served that touch the same things.
type Transaction struct {
	Settings Settings
	Wants    []Want
	// order are the places of the wants, after those that each waits for.
	order []int
	after [][]int
	gives []bool
	// given says of each want whether it has to read again once those before it have ended.
	given []bool
	// hosts are the claims on hosts and wildcards that each want is to have, in the order in which they are taken.
	hosts [][]state.Hold
	// named are the addresses that requests name, with the sharing keys that they are for.
	named map[netip.Addr]string
	// inUse are the addresses that were claimed at the beginning, with the sharing keys that had them.
	inUse map[netip.Addr]string
}

// Assign makes a transaction: leases that ask for the same thing are served in the order of the input, after those that
// give it up.
func Assign(w *World, settings Settings, wants []Want) *Transaction {
	t := &Transaction{Settings: settings, Wants: wants, named: map[netip.Addr]string{}, inUse: map[netip.Addr]string{}, gives: make([]bool, len(wants))}
	if slices.ContainsFunc(wants, func(want Want) bool { return len(want.Request.Endpoints) > 0 }) {
		for _, c := range w.list(state.Address) {
			t.inUse[c.Addr()] = c.SharingKey
		}
	}
	wishes := make([]state.Wish, len(wants))
	for i, want := range wants {
		var held []*state.Claim
		var under []string
		if want.Prune {
			held = w.claimsOf(want.Request.Lease.Group())
			if want.Apply != nil {
				under = w.Snapshot.Under(want.Request.Lease.Group())
			}
		}
		wishes[i] = state.WishOf(want.Request, held, under)
		t.gives[i] = wishes[i].GivesAddress()
		t.hosts = append(t.hosts, inOrder(want.applying(want.Request.HostHolds()), want.Expires))
		for _, e := range want.Request.Endpoints {
			for _, a := range e.Addresses {
				if _, known := t.named[a]; !known {
					t.named[a] = e.SharingKey
				}
			}
		}
	}
	of := map[string][]netip.Addr{}
	for _, has := range []map[netip.Addr]string{t.named, t.inUse} {
		for a, key := range has {
			of[key] = append(of[key], a)
		}
	}
	for i, want := range wants {
		for _, e := range want.Request.Endpoints {
			if len(e.Addresses) == 0 {
				wishes[i].Asks = append(wishes[i].Asks, shared(of[e.SharingKey], wishes[i].Gives)...)
			}
		}
	}
	serving := state.Serve(wishes)
	t.order, t.after, t.given = serving.Order, serving.After, serving.Given
	return t
}

// shared returns the names of the addresses that an endpoint without a named one may get because its sharing key has them, or
// another request names them for it.
func shared(addresses []netip.Addr, gives []string) (names []string) {
	for _, a := range addresses {
		if name := state.AddressName(a); !slices.Contains(gives, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Order returns the places of the wants in the order in which they are served.
func (t *Transaction) Order() []int { return t.order }

// Groups returns the deployment groups of the wants.
func (t *Transaction) Groups() []lease.Group {
	var groups []lease.Group
	for _, want := range t.Wants {
		groups = append(groups, want.Groups()...)
	}
	return groups
}

// Groups returns the deployment groups for which the work on the lease writes, its own first.
func (want Want) Groups() []lease.Group {
	groups := []lease.Group{want.Request.Lease.Group()}
	if want.Transfer != nil {
		groups = append(groups, want.Transfer.From...)
	}
	return groups
}

// view is what the engine decides by for one want of a transaction.
type view struct {
	w     *World
	t     *Transaction
	f     *facts
	place int
	want  Want
	id    lease.ID
	group lease.Group
	// mark is the mark of the work on the lease, things are the claims that it is to have.
	mark   string
	things []state.Hold
	// gone are the parts of a kept definition that the lease does not hold any more, or that a transfer leaves as they are. open are
	// the parts that it takes over and that no definition routes.
	gone []gonePart
	open map[allocation]bool
	// memo is what this decision has found already, past what was found in those before it of the lease.
	memo *memo
	past *Memo
}

// Memo remembers what decisions on one lease of a transaction have found and do not need to find again. They are the same without it.
type Memo struct {
	// wanted is what was rendered for the input wantedOf.
	wanted   *wanted
	wantedOf string
	// fits are the objects that were found to be as wanted, due those that are not, allowed those whose dry run was not refused.
	fits, due, allowed map[Key]fit
}

// NewMemo returns what remembers nothing yet.
func NewMemo() *Memo { return &Memo{fits: map[Key]fit{}, due: map[Key]fit{}, allowed: map[Key]fit{}} }

// memo is what a decision has found already: what was seen does not change while it is made.
type memo struct {
	wanted  *wanted
	takings map[string]protocol.Taken
	things  map[string]state.Hold
	named   []*state.Claim
	isNamed map[string]bool
	going   []Moving
	// tells are what became of the objects that the lease writes, once all are as wanted. They are told before anything else is done.
	tells  []Event
	dns    *render.DNS
	dnsErr error
}

func viewOf(w *World, t *Transaction, place int, m *Memo) view {
	want := t.Wants[place]
	v := view{
		w: w, t: t, f: w.leases[place], place: place, want: want, id: want.Request.Lease,
		group: want.Request.Lease.Group(), mark: w.leases[place].mark, memo: &memo{takings: map[string]protocol.Taken{}}, past: m,
	}
	hosts := t.hosts[place]
	if want.Transfer != nil {
		v.memo.named = want.Transfer.claims(v.group.Owner, w)
	}
	if keeps := v.narrows(); keeps != nil {
		v.want.Request, v.gone = narrowed(w, want.Request, keeps)
		hosts = inOrder(want.applying(v.want.Request.HostHolds()), want.Expires)
	}
	v.things = v.withMoved(v.holds(hosts))
	v.things, v.open = v.withNamed(v.things)
	return v
}

// applying returns holds whose parts are marked as applied if the definition routes them. Part.Applied records whether objects have
// been written for a part.
func (want Want) applying(holds []state.Hold) []state.Hold {
	if want.Apply == nil {
		return holds
	}
	for i, h := range holds {
		unrouted := !h.Kind.HasPorts() && slices.ContainsFunc(want.Apply.Definition.Unrouted(), func(u lease.Host) bool { return u.Name == h.Thing })
		holds[i].Parts = slices.Clone(h.Parts)
		for j, p := range h.Parts {
			holds[i].Parts[j].Applied = p.Service != "" && !unrouted
		}
	}
	return holds
}

// holds returns the claims that the lease is to have, in the order in which every command takes them: those on addresses and
// endpoints first.
func (v view) holds(hosts []state.Hold) (out []state.Hold) {
	for _, e := range v.want.Request.Endpoints {
		if v.t.Settings.Config.IP.Mode == config.ModePool {
			out = append(out, e.EndpointHold(v.id))
			continue
		}
		for _, a := range v.addressesOf(e) {
			out = append(out, e.Hold(v.id, a))
		}
	}
	return append(inOrder(v.want.applying(out), v.want.Expires), hosts...)
}

// inOrder sets the end of holds and sorts them in the order in which they are taken.
func inOrder(holds []state.Hold, expires string) []state.Hold {
	for _, h := range holds {
		for i := range h.Parts {
			h.Parts[i].Expires = expires
		}
	}
	slices.SortFunc(holds, state.Hold.Compare)
	return holds
}

// of returns the view of another lease of the transaction.
func (v view) of(place int) view { return viewOf(v.w, v.t, place, NewMemo()) }

// succeeds reports whether the command succeeds a crashed one that worked for the group.
func (v view) succeeds() bool {
	return slices.ContainsFunc(v.w.Turn.Fenced, func(a *state.Announcement) bool { return a.Names(v.group) })
}

// placeOf returns the place of the want for a deployment group, -1 if there is none.
func (t *Transaction) placeOf(g lease.Group) int {
	return slices.IndexFunc(t.Wants, func(want Want) bool { return want.Request.Lease.Group() == g })
}

// settled returns a claim without the marks of leases of the transaction that have ended: they give nothing back any more.
func (v view) settled(c *state.Claim) *state.Claim {
	ended := func(p state.Part) bool {
		if p.Run == "" || p.Run == v.mark || state.NonceOf(p.Run) != v.w.Turn.Nonce {
			return false
		}
		i := v.t.placeOf(p.Lease.Group())
		return i >= 0 && v.w.leases[i].outcome != nil
	}
	if c == nil || !slices.ContainsFunc(c.Parts, ended) {
		return c
	}
	out := *c
	out.Parts = slices.Clone(c.Parts)
	out.Settle(ended)
	return &out
}

// rival returns where in the input another lease of the transaction asks for a claim that it has got; "" if somebody else
// holds it.
func (v view) rival(name string, by state.Holder) string {
	i := v.t.placeOf(by.Lease.Group())
	if i < 0 || i == v.place || !v.w.leases[i].taken[name].Anew {
		return ""
	}
	for _, h := range v.of(i).things {
		if h.Name() == name {
			return h.At.String()
		}
	}
	return ""
}

// textOf formats a part of a claim for people.
func textOf(h state.Hold, p state.Part) string {
	if h.Kind.HasPorts() {
		return h.Thing + " " + p.PortText()
	}
	return lease.HostPath(h.Thing, p.Path)
}

// Decide records the decisions of a step. It reports whether there were any, and the work has not ended: then Next is to be called again.
func (w *World) Decide(place int, s Step) bool {
	f := w.leases[place]
	for at, a := range s.Picks {
		if former, had := f.picks[at]; had {
			f.passed[former] = true
		}
		f.picks[at] = a
	}
	if s.Refused != nil {
		f.failed = s.Refused
	}
	for _, e := range s.Tells {
		if f.told[e.Once] = true; e.Of != (Key{}) && e.Once == "" {
			did := f.done[e.Of]
			did.action, did.told = cmp.Or(did.action, report.Unchanged), true
			f.done[e.Of] = did
			w.told[e.Of] = true
		}
	}
	if d := s.Passed; d != nil {
		k, body := d.key(), render.Rendered(d.Object)
		w.lives[k] = seenLive{live: body, sent: w.now, answered: w.now, at: w.Clock, wrote: body.Object}
		f.done[k] = done{action: report.Created}
		delete(f.refusals, k)
	}
	if s.Served != nil {
		f.served[*s.Served] = true
	}
	if s.Stays != nil {
		f.stays[keyOf(s.Stays.old)] = *s.Stays
	}
	if s.Led != nil {
		f.led[*s.Led] = led{s.Until, w.Clock}
	}
	if s.Budgeted && f.began.IsZero() {
		f.began = w.Clock
	}
	return s.decides() && s.Outcome == nil
}

// End records how the work on a lease has ended.
func (w *World) End(place int, o *Outcome) {
	w.leases[place].outcome, w.leases[place].ended = o, w.Send()
}

// Fail ends the work on a lease with an error of the executor's own.
func (w *World) Fail(place int, err error) {
	w.leases[place].failed = cmp.Or(w.leases[place].failed, err)
}

// Outcome returns how the work on a lease has ended, nil before.
func (w *World) Outcome(place int) *Outcome { return w.leases[place].outcome }

// Yield lets a lease go on although others that it waits for have not ended: they wait for it.
func (w *World) Yield(place int) { w.leases[place].yields = true }

// At sets the times: the API server's, and that of a steady clock.
func (w *World) At(server, steady time.Time) { w.Time, w.Clock = server, steady }
