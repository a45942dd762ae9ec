package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// overcome decides about an apply that other field managers refuse. One of Akash's claim-like objects is somebody else's who was
// first. If that was another deployment of the same owner, and the lease holds the claim, a transfer has left the object behind:
// the lease takes it over, by force, pinned to a version that it has read, and after which it has read the claims.
func (v view) overcome(d Desired, now seenLive) (Step, error) {
	k, o := d.key(), v.applied(d)
	live, managers := now.live, now.conflict.managers
	refused := func() (Step, error) {
		failed := &report.ConflictError{Object: d.Object.String(), Managers: managers, Err: now.conflict.err}
		if live != nil {
			failed.Differs = !plan.Contains(live.Object, render.Rendered(o).Object)
			failed.Fields = plan.Write(k.Kind.Singular, render.Rendered(o).Object, v.over(d, o, live), d.Manager).Conflicts()
			failed.ByHand = v.byHand(d, live, managers)
		}
		return Step{}, failed
	}
	switch {
	case now.sent <= now.conflict.refused: // read it again
		return do(Request{Verb: GetLive, Key: k, Why: "who has written it"}), nil
	case live == nil, now.misses >= v.t.Settings.Tries && errors.Is(now.why, now.conflict.err):
		return refused()
	case now.misses >= v.t.Settings.Tries:
		return Step{}, inVain(k, "written", live, now.why)
	}
	if v.want.Apply != nil && v.want.Apply.Limited {
		if err := v.unplanned(*v.changeOver(d, live)); err != nil {
			return Step{}, err
		}
	}
	id, labelled := lease.IDFromLabels(live.GetLabels())
	mine, claimLike := labelled && id.Group() == v.group, slices.Contains(kinds.ClaimLike, k.Kind)
	if v.staysDeclared(k) {
		service, _, _ := unstructured.NestedString(live.Object, "spec", "service_name")
		message := "Akash's provider has declared it, for service " + service + ", and never changes that"
		return v.tellOnce(Event{Action: report.Kept, Of: k, Message: message}, "declared "+k.String()), nil
	}
	runs := v.runs(d.Object)
	check := v.applies(CheckObject, d, o, live, "who owns what of it now")
	switch {
	case (runs || mine && (claimLike || v.t.Settings.Reclaims)) && now.conflict.asked <= now.sent:
		return do(check), nil
	}
	byHand := v.t.Settings.Reclaims && v.byHand(d, live, managers)
	switch {
	case byHand && runs:
		return v.seizeByHand(d, live), nil
	case runs && !v.mayForce(live, managers):
		return refused()
	case runs:
		return v.seize(d, live), nil
	}
	adopts := byHand || v.adopts(k, live, id, labelled) || mine && claimLike && areFormer(v.group.Owner, managers)
	if adopts {
		if s := v.readGrounds(k, live, now.answered); !s.idle() {
			return s, nil
		}
		adopts = !labelled || mine || !v.w.Objects.Entitled(Object{Kind: k.Kind, Live: live, Group: id.Group()}, v.w.Claim, v.w.claimsOf(id.Group()))
	}
	switch lost := v.lostOf(k, live); {
	case adopts && lost != nil:
		return Step{}, lost
	case byHand:
		return v.seizeByHand(d, live), nil
	case adopts:
		return v.seize(d, live), nil
	case !claimLike || mine:
		return refused()
	}
	holder := state.Holder{Object: k.Kind.Singular + " " + nameOf(k), Since: live.GetCreationTimestamp().Time}
	if labelled {
		holder.Owner, holder.Lease, holder.Namespace = id.Owner, id, id.Namespace()
	}
	kind := state.Host
	if k.Kind == kinds.ProviderLeasedIP {
		kind = state.Address
	}
	return Step{}, &report.HeldError{Lease: v.id, Held: []report.HeldThing{{Kind: kind, Thing: k.Name, By: holder}}}
}

// staysDeclared reports whether a ProviderLeasedIP stays as Akash's provider has declared it for the lease, and so differs from the wanted.
func (v view) staysDeclared(k Key) bool {
	now := v.w.live(k)
	return k.Kind == kinds.ProviderLeasedIP && now.conflict != nil && now.live != nil &&
		slices.ContainsFunc(v.reading().objects.DeclaredIn(v.id.Namespace(), v.group), func(o Object) bool { return o.uid() == now.live.GetUID() })
}

func (v view) applied(d Desired) render.Object {
	o, _ := v.asApplied(d)
	return o
}

// seize applies an object by force.
func (v view) seize(d Desired, live *unstructured.Unstructured) Step {
	r := v.applies(PutObject, d, v.applied(d), live, "the lease takes it over")
	r.Force = true
	return do(r)
}

// seizeByHand applies an object by force that somebody has changed by hand, and tells what that overwrites.
func (v view) seizeByHand(d Desired, live *unstructured.Unstructured) Step {
	s := v.seize(d, live)
	r := &s.Requests[0]
	var taken []string
	for _, f := range plan.Write(d.Object.Kind.Singular, render.Rendered(r.Apply).Object, live, d.Manager).Conflicts() {
		taken = append(taken, report.Taken(f))
	}
	r.Why, r.Overwrites = "somebody has changed it by hand", "taken back: "+strings.Join(taken, "; ")
	return s
}

// byHand reports whether fields of an object that other managers own are those that kubectl users have set on one that this
// program has written for the lease: only such fields are ever taken back by force. live has to be the version over which the
// managers refuse the apply.
func (v view) byHand(d Desired, live *unstructured.Unstructured, managers []string) bool {
	if len(managers) == 0 || slices.ContainsFunc(managers, func(manager string) bool { return !managed.IsHand(manager) }) {
		return false
	}
	if v.runs(d.Object) {
		return deployed.StandingOf(live, v.group, v.id.Namespace()) == deployed.Ours
	}
	return v.isOwn(d, live) && v.w.Objects.Ours(live)
}

// readGrounds reads the claims on which an object rests that were not read after it.
func (v view) readGrounds(k Key, live *unstructured.Unstructured, answered Stamp) Step {
	for _, g := range v.w.Objects.Grounds(Object{Kind: k.Kind, Live: live, Group: v.group}, v.w.claimsOf(v.group)) {
		if v.w.see(g.Name).Sent <= answered {
			return do(Request{Verb: Get, Name: g.Name, Why: "who holds it now"})
		}
	}
	return Step{}
}

// lostOf returns an error if the lease does not hold a claim of an object that it is about to take over.
func (v view) lostOf(k Key, live *unstructured.Unstructured) error {
	lost := v.w.Objects.Lost(Object{Kind: k.Kind, Live: live, Group: v.group}, v.w.Claim, v.w.claimsOf(v.group))
	for _, h := range v.things {
		if !slices.Contains(lost, h.Name()) {
			continue
		}
		if withheld := v.taking(h).Withheld; len(withheld) > 0 {
			return fmt.Errorf("%s serves %s %s too, which is withheld from the lease: %s. It is not taken over; take that out of it, or transfer it: "+
				"kubectl akash-net transfer %s --to %s", k.Kind.Singular+" "+nameOf(k), h.Kind, h.Thing, heldBy(withheld[0].By), h.Thing, v.group)
		}
		return &report.OvertakenError{Kind: h.Kind, Thing: h.Thing, Lease: v.id}
	}
	return nil
}

// adopts reports whether the lease may take over an object: it belongs to another deployment of the owner and this program has
// written it, or the command adopts the owner's objects.
func (v view) adopts(k Key, live *unstructured.Unstructured, id lease.ID, labelled bool) bool {
	if labelled && id.Owner == v.group.Owner && id.Group() != v.group && slices.Contains(kinds.ClaimLike, k.Kind) {
		return v.w.Objects.Ours(live) || v.want.Adopt
	}
	if !labelled {
		id, labelled = v.w.Objects.Tenant(live.GetNamespace()), true
	}
	return v.want.Adopt && labelled && id.Owner == v.group.Owner
}

// mayForce reports whether a conflict is only with Akash's provider, over an object that the lease runs, and the command adopts.
func (v view) mayForce(live *unstructured.Unstructured, managers []string) bool {
	return v.want.Adopt && len(managers) > 0 && deployed.StandingOf(live, v.group, v.id.Namespace()) != deployed.Foreign &&
		!slices.ContainsFunc(managers, func(manager string) bool { return manager != managed.Akash })
}

// areFormer reports whether all field managers are those of deployments of the owner.
func areFormer(owner string, managers []string) bool {
	return !slices.ContainsFunc(managers, func(manager string) bool {
		text, ours := strings.CutPrefix(manager, lease.FieldManager+"/")
		g, err := lease.ParseGroup(text)
		return !ours || err != nil || g.Owner != owner
	})
}
