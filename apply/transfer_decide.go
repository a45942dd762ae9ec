package apply

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/operators"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// checkAllowed refuses what the configuration does not allow the new lease: errors in its definition, and hosts that
// the provider generates for another lease.
func (r *transfer) checkAllowed(moves []*move, def *lease.Definition) error {
	var refused lease.Problems
	if def != nil {
		_, problems := state.NewRequest(def, r.Options.Config)
		refused = problems.Errors()
	}
	for _, m := range moves {
		for _, p := range m.new {
			to := config.Backend{Lease: p.Lease, Service: p.Service, Port: p.Port}
			why := r.Options.Config.OwnDomain(m.claim.Thing)
			if !m.claim.Kind.HasPorts() && why != "" && !r.Options.Config.Gives(m.claim.Thing, to) {
				refused.Add(lease.Place{}, "%s %s: lease %s cannot have it", m.claim.Thing, why, r.Request.Lease)
				break
			}
		}
	}
	if len(refused) > 0 {
		return refused
	}
	return nil
}

// checkLease refuses a lease that has nothing while another lease of its deployment group is live: the routes would lead
// into a namespace in which nothing runs. With a definition the whole deployment moves there, as by an apply.
func (r *transfer) checkLease(def *lease.Definition) error {
	live, elsewhere := state.Elsewhere(r.Request.Lease, r.Snapshot.LiveOf(r.Group))
	if !elsewhere || def != nil {
		return nil
	}
	return &report.ElsewhereError{Named: r.Request.Lease, Live: live, Next: fmt.Sprintf(
		"--to %s transfers to that lease; if the deployment has moved to the new one, apply the definition of that first", live)}
}

// planMoves decides about all claims on the things before anything is written.
func (r *transfer) planMoves(things []string) ([]*move, error) {
	var refused []report.HeldThing
	var moves []*move
	for _, claim := range r.claimsOn(things) {
		m, held := r.planMove(claim)
		if held != nil {
			refused = append(refused, *held)
			continue
		}
		moves = append(moves, m)
	}
	if err := report.ErrorOfHeld(r.Request.Lease, refused); err != nil {
		return nil, err
	}
	for _, m := range moves {
		if err := r.checkAnnounced(m); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(moves, func(a, b *move) int { return a.claim.Compare(b.claim) })
	return moves, nil
}

// planMove decides about one claim.
func (r *transfer) planMove(claim *state.Claim) (*move, *report.HeldThing) {
	if claim.Owner != r.Group.Owner || claim.Unreadable != "" {
		return nil, &report.HeldThing{Kind: claim.Kind, Thing: claim.Thing, By: claim.HeldBy()}
	}
	m := &move{claim: claim}
	for _, p := range claim.Parts {
		g := p.Lease.Group()
		if g == r.Group {
			if p.Run != "" { // the run that took it has not ended: complete it
				m.new = append(m.new, r.newPart(claim, p))
			}
			continue
		}
		if !slices.Contains(m.from, g) {
			m.from = append(m.from, g)
		}
		m.old, m.new = append(m.old, p), append(m.new, r.newPart(claim, p))
	}
	return m, nil
}

// checkAnnounced returns errUnannounced if a claim has holders that this command has not announced: their commands
// would not wait for it.
func (r *transfer) checkAnnounced(m *move) error {
	groups := r.Options.Turn.Groups()
	for _, g := range m.from {
		if !slices.Contains(groups, g) {
			return fmt.Errorf("%s %s: %w", m.claim.Kind, m.claim.Thing, errUnannounced)
		}
	}
	return nil
}

// claimsOn returns the claims on the things: hosts, addresses, or IP endpoints of the owner by name. It reports things
// that nobody holds.
func (r *transfer) claimsOn(things []string) []*state.Claim {
	claims, seen := r.Snapshot.ByClaim(), map[*state.Claim]bool{}
	var out []*state.Claim
	for _, thing := range things {
		name, typed := strings.ToLower(thing), strings.TrimPrefix(thing, "endpoint/")
		if a, err := netip.ParseAddr(name); err == nil {
			name = a.String()
		}
		found := false
		endpoints := slices.Concat(claims.Endpoints[typed], claims.Endpoints[lease.SharingKey(r.Group.Owner, typed)])
		for _, c := range slices.Concat(claims.Things[name], endpoints) {
			if c.Deleting || len(c.Parts) == 0 {
				continue
			}
			if found = true; !seen[c] {
				seen[c], out = true, append(out, c)
			}
		}
		if !found {
			r.Event(report.Left, KindThing, "", thing, r.whyNotFound(thing))
		}
	}
	return out
}

// whyNotFound says why no claim on a thing can be moved, and what to do.
func (r *transfer) whyNotFound(thing string) string {
	if a, err := netip.ParseAddr(thing); err == nil {
		if endpoint := r.Snapshot.EndpointWith(a); endpoint != nil {
			return chosenFor(endpoint)
		}
	}
	for _, c := range r.Snapshot.ByClaim().Things[strings.ToLower(thing)] {
		if c.Deleting {
			return "its claim is being deleted: kubectl akash-net explain " + thing
		}
		if c.Unreadable != "" {
			return "its claim cannot be read (" + c.Unreadable + "): kubectl akash-net repair " + state.UnreadableClaim + "/" + thing
		}
	}
	if uses := r.Snapshot.HostUses[strings.ToLower(thing)]; len(uses) > 0 {
		return "nobody has claimed it, but objects use it: kubectl akash-net explain " + thing
	}
	return "nobody holds it; reserve it or apply a definition that names it"
}

// newPart returns a part as the new lease holds it, with the backend that the lease asked for. Its stored definition
// comes first, unless a note disagrees with it.
func (r *transfer) newPart(claim *state.Claim, p state.Part) state.Part {
	out := p
	out.Lease, out.Run = r.Request.Lease, r.Nonce
	out.From, out.Applied = r.FormerOf(claim, p), false
	if out.Expires != "" {
		out.Expires = state.WhileTurned
	}
	if claim.Kind == state.Wildcard && !p.Bound {
		out = protocol.Pend(out, claim, r.PendingUntil())
	}
	asked, noted := r.asked.part(claim, p.Key), false
	for _, w := range claim.Waits {
		if w.For == p.Key && w.Lease == r.Request.Lease { // what another order asked for is in another namespace
			out.Service, out.Port, out.HTTP, out.Definition = w.Service, w.Port, w.HTTP, w.Definition
			noted = true
		}
	}
	if asked != nil && (!noted || r.asked.routes(claim, out)) {
		out.Lease, out.Service, out.Port = asked.Lease, asked.Service, asked.Port
		out.HTTP, out.Definition = asked.HTTP, asked.Definition
	}
	return out
}

// checkRoutes refuses, before any claim moves, routes that the cluster cannot serve, that cannot be rendered as the
// configured kind, or at which Akash's operators would stop.
func (r *transfer) checkRoutes(moves []*move, def *lease.Definition) error {
	if def == nil {
		def = &lease.Definition{Lease: r.Request.Lease}
		known := r.knownDefinitions(moves)
		if _, err := r.renderKnown(known, moves); err != nil {
			return err
		}
		for _, k := range known {
			def.Services = append(def.Services, k.Services...)
		}
	}
	if !def.Exposes() {
		return nil
	}
	r.Kinds = render.Kinds(def, r.Options.Config)
	if err := r.FindKinds(); err != nil {
		return err
	}
	req, problems := state.NewRequest(def, r.Options.Config)
	if len(problems.Errors()) > 0 {
		req = state.Request{Lease: def.Lease}
	}
	return operators.Fits(r.Snapshot, r.Options.Config, def, req)
}
