package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// checkClaim checks one claim and its parts.
func (p *problems) checkClaim(c *state.Claim) {
	base := state.Problem{Thing: c.Thing, Since: metav1.NewTime(c.Created)}
	if c.Unreadable != "" {
		p.add(fill(base, state.UnreadableClaim, c.Unreadable,
			"look at lease.coordination.k8s.io/"+c.Name()+", and delete it", &state.Fix{Do: state.Discard, Parts: state.ClaimParts{Claim: c}}).ByName())
		return
	}
	if c.Deleting && len(c.Finalizers) > 0 {
		p.addTerminating(base, c.Finalizers, state.ObjectRef{Kind: "lease.coordination.k8s.io", Namespace: p.Config.LedgerNamespace, Name: c.Name()})
		return
	}
	if why := c.Refused(p.Config); why != "" {
		p.add(fill(base, state.BlockedHost, "it is held, and it "+why,
			"release it, or change the configuration", &state.Fix{Do: state.Release, Parts: state.ClaimParts{Claim: c}}).ByName())
	}
	p.checkClaimMarks(base, c)
	for _, g := range c.Groups() {
		p.checkParts(base, c, g)
	}
	if c.Kind == state.Address && !c.Deleting {
		p.checkPool(base, c)
		p.checkSquatters(base, c)
	}
}

// addTerminating adds an object that was deleted, and is kept by finalizers. Until it is gone nobody else can take its thing: a claim has
// its name, and the claim of a route or a Service goes after it.
func (p *problems) addTerminating(base state.Problem, finalizers []string, o state.ObjectRef) {
	x := fill(base, state.Terminating, "it is being deleted, and kept by its finalizers "+strings.Join(finalizers, ", "),
		"nobody can take it until who put them there removes them", nil)
	x.Manual, x.Command = true, fmt.Sprintf("kubectl -n %s edit %s/%s", o.Namespace, o.Kind, o.Name)
	p.add(x)
}

func (p *problems) checkParts(base state.Problem, c *state.Claim, g lease.Group) {
	var ended, marked, left, missing []string
	var id lease.ID
	over := "the hold has expired"
	gone := map[lease.ID][]string{}
	for _, part := range c.PartsOf(g) {
		id = part.Lease
		switch {
		case c.PartEnded(part, p.Now):
			if ended = append(ended, part.Key); !part.Ended(p.Now) {
				over = "it is announced until " + part.Expires + ", which no run does: whoever comes next may take it"
			}
		case p.hasCrashed(part.Run):
			marked = append(marked, part.Key)
		case p.isGone(c, part):
			gone[part.Lease] = append(gone[part.Lease], part.Key)
		case p.nothingLeft(c, part) && p.isMissing(c, part):
			missing = append(missing, part.Key)
		case p.nothingLeft(c, part):
			left = append(left, part.Key)
		}
	}
	base.Lease, base.Namespace = id.String(), id.Namespace()
	of := func(keys []string) state.ClaimParts { return state.ClaimParts{Claim: c, Group: g, Keys: keys} }
	if len(ended) > 0 {
		p.add(fill(base, state.HoldEnded, over, "give up the hold", &state.Fix{Do: state.GiveUp, Parts: of(ended)}))
	}
	if len(marked) > 0 {
		p.addCrashed(base, of(marked))
	}
	for _, id := range slices.SortedFunc(maps.Keys(gone), lease.ID.Compare) {
		base := base
		base.Lease, base.Namespace = id.String(), id.Namespace()
		p.add(fill(base, state.NamespaceGone, "the namespace of the lease does not exist", "give it up and delete its objects",
			&state.Fix{Do: state.GiveUp, Parts: of(gone[id]), Namespace: id.Namespace(), Objects: p.objectsFor(c, g)}))
	}
	if len(missing) > 0 {
		p.addMissing(base, c, g, missing)
	}
	if len(left) > 0 {
		p.addNothingLeft(base, c, g, left)
	}
}

// addCrashed adds parts that a crashed run has marked.
func (p *problems) addCrashed(base state.Problem, parts state.ClaimParts) {
	c, g := parts.Claim, parts.Group
	run := p.runs[state.NonceOf(c.Part(parts.Keys[0]).Run)]
	base.Problem, base.Message = state.CrashedRun, run.String()+", claimed it and did not finish"
	objects := p.objectsFor(c, g)
	switch isServed := p.isServed(c, g, objects); {
	case p.servedByFormer(c, g):
		base.Plan, base.Fix = "keep it, for the objects of its former holder serve it, and end the run", &state.Fix{Do: state.EndRun, Parts: parts}
	case p.canFinish(c, g, parts.Keys, isServed):
		base.Plan, base.Fix = "finish the run: "+keptPlan, &state.Fix{Do: state.Heal, Group: g, Kept: true}
	case isServed:
		base.Plan, base.Fix = "keep it, for its objects are there, and end the run", &state.Fix{Do: state.EndRun, Parts: parts}
	case len(objects) == 0:
		base.Plan, base.Fix = "give it up, for nothing was made for it", &state.Fix{Do: state.GiveUp, Parts: parts}
	default:
		base.Plan, base.Fix = "give it up and delete its objects, which serve nothing", &state.Fix{Do: state.GiveUp, Parts: parts, Objects: objects}
	}
	p.add(base)
}

// servedByFormer reports whether objects of a former holder still serve a part of the group.
func (p *problems) servedByFormer(c *state.Claim, g lease.Group) bool {
	return slices.ContainsFunc(c.PartsOf(g), func(part state.Part) bool {
		former, ok := part.Former()
		return ok && (len(p.objectsFor(c, former)) > 0 || p.isServed(c, former, nil))
	})
}

// isGone reports whether the lease that a part names is gone with its namespace. Either the part says that the lease was
// applied, or an object of the lease proves it: this program and Akash's provider create the namespace before anything
// else. Objects that a pipeline delivered prove nothing; the namespace may come later. While another lease of the
// deployment group serves the claim, in a namespace that exists, nothing is gone, whichever lease the part names.
func (p *problems) isGone(c *state.Claim, part state.Part) bool {
	if part.Run != "" || p.Namespaces[part.Lease.Namespace()] {
		return false
	}
	objects := p.dependent(c, part.Lease.Group())
	live := func(o *state.OwnObject) bool { return p.Namespaces[o.Lease.Namespace()] }
	proves := func(o *state.OwnObject) bool {
		return o.Lease == part.Lease && o.Ours && (!o.Written.IsZero() || o.Declared)
	}
	return !slices.ContainsFunc(objects, live) && (part.Applied || slices.ContainsFunc(objects, proves))
}

// objectsFor returns the objects of the group that this program wrote and that depend on the claim.
func (p *problems) objectsFor(c *state.Claim, g lease.Group) []state.ObjectRef {
	var refs []state.ObjectRef
	for _, o := range p.dependent(c, g) {
		if o.Ours {
			refs = append(refs, o.ObjectRef)
		}
	}
	return refs
}

// dependent returns the objects of the group that depend on the claim, whoever wrote them.
func (p *problems) dependent(c *state.Claim, g lease.Group) []*state.OwnObject {
	var out []*state.OwnObject
	for _, o := range p.objects[g] {
		uses := func(u state.Use) bool { return u.Thing() == c.Thing }
		if o.StandsForPort(c) || slices.ContainsFunc(o.Uses, uses) {
			out = append(out, o)
		}
	}
	return out
}

// KeptDefinition is a definition that the ledger keeps, with the facts that the search for problems needs.
type KeptDefinition struct {
	state.ObjectRef
	// Def is the definition. It is nil if it cannot be read; Unreadable says why.
	Def        *lease.Definition
	Unreadable string
	// Run is the nonce of the run that wrote it, Written the time of the write.
	Run     string
	Written time.Time
}

// keptPlan is the plan of a problem that a kept definition fixes.
const keptPlan = "apply the definition that the ledger keeps"

// checkKept finds kept definitions that are unreadable or belong to no lease any more.
func (p *problems) checkKept() {
	for i := range p.Definitions {
		k := &p.Definitions[i]
		base := state.Problem{Thing: "definition/" + k.Name, Since: metav1.NewTime(k.Written)}
		switch {
		case k.Def == nil:
			p.add(fill(base, state.UnreadableDefinition, k.Unreadable, "delete it: the next apply of its lease keeps it anew",
				&state.Fix{Do: state.Forget, Objects: []state.ObjectRef{k.ObjectRef}}).ByName())
		case p.isStray(k):
			base.Lease = k.Def.Lease.String()
			p.add(fill(base, state.StrayDefinition,
				"its lease holds nothing and has no object, and its namespace is gone", "delete it",
				&state.Fix{Do: state.Forget, Objects: []state.ObjectRef{k.ObjectRef}, Group: k.Def.Lease.Group()}))
		}
	}
}

// isStray reports whether the lease of a definition has ended: it has no entries on claims and no objects, its
// namespace is gone, and nothing was written for it for longer than a run may need. While the namespace exists, the
// lease may have transferred or released what it had, or everything that it asks for may be withheld.
func (p *problems) isStray(k *KeptDefinition) bool {
	g := k.Def.Lease.Group()
	return !p.Namespaces[k.Def.Lease.Namespace()] && p.Now.Sub(p.lastWritten[g]) > p.CrashedAfter &&
		!p.entries[g] && len(p.objects[g]) == 0
}

// byDefinition makes a definition of the deployment group the repair of a problem: the one that the ledger keeps, or
// else one from a file.
func (p *problems) byDefinition(x state.Problem, g lease.Group) state.Problem {
	x = x.ByDefinition(g)
	if p.canApplyKept(g) {
		x.Plan, x.Manual, x.Command, x.Fix = keptPlan, false, "", &state.Fix{Do: state.Heal, Group: g, Kept: true}
	}
	return x
}

// byPruning is byDefinition with pruning. It deletes objects that serve and are not in the definition, so the user must
// name the problem.
func (p *problems) byPruning(x state.Problem, g lease.Group) state.Problem {
	if x = p.byDefinition(x, g); !x.Manual {
		x = x.ByName()
		x.Plan, x.Fix = keptPlan+", and remove what is of another", &state.Fix{Do: state.Heal, Group: g, Kept: true, Prune: true}
	}
	return x
}

// canApplyKept reports whether the ledger keeps the definition that the group's objects were rendered from, and no run
// is working on them. Other tools and older versions of this program do not keep what they apply.
func (p *problems) canApplyKept(g lease.Group) bool {
	k := p.kept[g]
	return k != nil && p.hashes[g][k.Def.Hash] && p.Now.Sub(p.lastWritten[g]) > p.CrashedAfter
}

// canFinish reports whether the kept definition is that of the crashed run that marked the parts. A run that changed
// nothing in the definition has not written it; such a run can be finished if its objects are missing.
func (p *problems) canFinish(c *state.Claim, g lease.Group, keys []string, isServed bool) bool {
	k := p.kept[g]
	return k != nil && !slices.ContainsFunc(keys, func(key string) bool {
		part := c.Part(key)
		return !p.asksFor(g, c, key) || part.Run != k.Run && (isServed || !p.hashes[g][k.Def.Hash])
	})
}

// asked are the parts of things that a definition asks for: a host with the key of a path, or a sharing key with that of a port. refused is
// true if the configuration refuses the definition.
type asked struct {
	parts   map[[2]string]bool
	refused bool
}

// asked returns what the kept definition of a deployment group asks for, or nil if none is kept that can be read.
func (p *problems) asked(g lease.Group) *asked {
	k := p.kept[g]
	if k == nil {
		return nil
	}
	if a := p.asks[g]; a != nil {
		return a
	}
	req, wrong := state.NewRequest(k.Def, p.Config)
	a := &asked{map[[2]string]bool{}, wrong.Failed()}
	for _, h := range req.Hosts {
		a.parts[[2]string{h.Host, state.RouteKey(h.Path)}] = true
	}
	for _, e := range req.Endpoints {
		for _, w := range e.Ports {
			a.parts[[2]string{e.SharingKey, w.Key()}] = true
		}
	}
	p.asks[g] = a
	return a
}

// asksFor reports whether the kept definition of a deployment group asks for a part of a claim, and can be applied.
func (p *problems) asksFor(g lease.Group, c *state.Claim, key string) bool {
	thing := c.Thing
	if c.Kind.HasPorts() {
		thing = c.SharingKey
	}
	a := p.asked(g)
	return a != nil && !a.refused && a.parts[[2]string{thing, key}]
}

// isMissing reports whether the route of a part that Akash does not know, a path or a wildcard, is missing while the
// lease's other objects exist. Akash's provider cannot have purged it.
func (p *problems) isMissing(c *state.Claim, part state.Part) bool {
	g := part.Lease.Group()
	undeclared := c.Kind == state.Wildcard || c.Kind == state.Host && part.Key != state.RouteKey("/")
	return undeclared && p.canApplyKept(g) && p.kept[g].Def.Lease == part.Lease && p.asksFor(g, c, part.Key)
}

// addMissing adds parts whose routes somebody has deleted.
func (p *problems) addMissing(base state.Problem, c *state.Claim, g lease.Group, keys []string) {
	what := "its route is missing: somebody has deleted it"
	if c.Kind == state.Host {
		what = fmt.Sprintf("the route of its path %s is missing: somebody has deleted it", c.Part(keys[0]).Path)
		if len(keys) > 1 {
			what = fmt.Sprintf("the routes of %d of its paths are missing: somebody has deleted them", len(keys))
		}
	}
	base.Problem, base.Message = state.MissingRoute, what
	p.add(p.byDefinition(base, g))
}

// checkMarks finds an object of this program that has lost marks. Objects that Akash's operators maintain need none: an
// operator takes the annotation away whenever it starts, and if it changes nothing else, no managed field tells of it.
func (p *problems) checkMarks(base state.Problem, o *state.OwnObject) {
	if o.ByProvider && slices.Equal(o.Lost, []string{state.MarkAnnotation}) {
		return
	}
	if !o.Ours || len(o.Lost) == 0 || o.Kept || slices.ContainsFunc(o.Uses, func(u state.Use) bool { return p.isAbandoned(o, u) }) {
		return
	}
	p.add(fill(base, state.LostMarks,
		fmt.Sprintf("%s has lost its %s: somebody has written over it", o, strings.Join(o.Lost, " and its ")),
		"write them again", &state.Fix{Do: state.RestoreMarks, Objects: one(o), Group: o.Lease.Group(), Value: p.hash(o.Lease)}))
}

// checkClaimMarks finds a claim that was restored from a backup: the field managers of its leases own nothing of it.
func (p *problems) checkClaimMarks(base state.Problem, c *state.Claim) {
	if len(c.Unmanaged) == 0 || c.Deleting {
		return
	}
	base.Lease = c.PartsOf(c.Unmanaged[0])[0].Lease.String()
	p.add(fill(base, state.LostMarks, "its claim has lost the managed fields of its leases: "+
		"it was restored from a backup, or somebody has written over it", "write them again", &state.Fix{Do: state.OwnParts, Parts: state.ClaimParts{Claim: c}}))
}

// isAbandoned reports whether the object uses an unclaimed thing and has lost its annotation.
func (p *problems) isAbandoned(o *state.OwnObject, u state.Use) bool {
	if u.Address.IsValid() && p.Config.IP.Mode == config.ModePool {
		return false
	}
	c := p.claims[claimName(u)]
	return (c == nil || len(c.Parts) == 0) && slices.Contains(o.Lost, state.MarkAnnotation) && !o.Kept
}

// addAbandoned adds an object without its annotation that serves an unclaimed thing. Nobody can tell whether a release
// has left it behind or the claim was lost, so the user must decide.
func (p *problems) addAbandoned(base state.Problem, o *state.OwnObject) {
	base.Problem = state.LostMarks
	base.Message = fmt.Sprintf("%s serves it, nobody has claimed it, and the object has lost its %s",
		o, strings.Join(o.Lost, " and its "))
	base.Plan = "apply the definition of its lease, which claims it again, or delete " + o.String()
	p.addDelete(base.ByName(), o)
}

// hash returns the hash of the definition that the marked objects of a lease were rendered from. If they differ or none
// is marked, it returns a hash that represents the lease until it is applied again.
func (p *problems) hash(id lease.ID) string {
	if hashes := p.hashes[id.Group()]; len(hashes) == 1 {
		return slices.Collect(maps.Keys(hashes))[0]
	}
	return lease.Hash("marked " + id.String())
}

// hasCrashed reports whether the run with the mark has crashed: its command no longer renews its announcement, or ended
// with unfinished work.
func (p *problems) hasCrashed(mark string) bool {
	if mark == "" {
		return false
	}
	a := p.runs[state.NonceOf(mark)]
	return a != nil && p.isDead(a) // without an announcement the run has ended since the claim was read
}

// isDead reports whether the command of the announcement has crashed and no running command has taken over its work.
// The command that asks counts what it has taken over itself.
func (p *problems) isDead(a *state.Announcement) bool {
	if a.Unreadable != "" {
		return false // nobody knows whether its command is at work
	}
	if a.Phase != state.Fenced {
		return a.Nonce != p.Own && a.Dead(p.Now, p.CrashedAfter)
	}
	by := p.runs[a.FencedBy]
	return a.FencedBy == p.Own || by == nil || by.Phase == state.Fenced || by.Dead(p.Now, p.CrashedAfter)
}

// findCrashedRuns finds announcements of crashed commands that left no marks.
func (p *problems) findCrashedRuns() {
	marked := map[string]bool{}
	for _, c := range p.Claims {
		for _, nonce := range c.Nonces() {
			marked[nonce] = true
		}
	}
	for _, a := range p.Runs {
		if a.Unreadable != "" {
			p.add(fill(state.Problem{Thing: a.Name(), Since: metav1.NewTime(a.Begun)}, state.UnreadableClaim,
				"it cannot be read as the announcement of a run, so commands for the leases that it names cannot begin: "+a.Unreadable,
				"look who wrote it, and delete it where no command of theirs is at work",
				&state.Fix{Do: state.Drop, Objects: []state.ObjectRef{{
					Kind: "lease", Namespace: p.Config.LedgerNamespace, Name: a.Name(), UID: string(a.UID), ResourceVersion: a.ResourceVersion,
				}}}).ByName())
			continue
		}
		if a.Phase == state.Closing || marked[a.Nonce] || a.FencedBy == p.Own && p.Own != "" || !p.isDead(a) {
			continue
		}
		p.add(state.Problem{
			Problem: state.CrashedRun, Thing: a.Name(), Lease: a.Groups[0].String(), Since: metav1.NewTime(a.Begun),
			Message: a.String() + ", did not finish, and nothing of it remains",
			Plan:    "take its announcement away", Fix: &state.Fix{Do: state.EndAnnouncement, Of: a.Groups},
		})
	}
}

// findCrashedUninstalls finds the announcements of uninstalls that have crashed, and the mark of one whose announcement is
// gone: no command takes a claim until the ledger is opened again. A ledger whose namespace is being deleted goes, and
// nothing opens it.
func (p *problems) findCrashedUninstalls() {
	if !p.Namespaces[p.Config.LedgerNamespace] {
		return
	}
	add := func(nonce, message string, since time.Time) {
		p.add(state.Problem{
			Problem: state.CrashedRun, Thing: state.AnnouncementName(nonce), Since: metav1.NewTime(since), Message: message + "; no command can claim anything",
			Plan: "open the ledger again, as install does", Fix: &state.Fix{Do: state.OpenLedger, Value: nonce},
		})
	}
	for _, a := range p.Runs {
		if a.Phase == state.Closing && p.isDead(a) {
			add(a.Nonce, a.String()+", did not finish to uninstall the ledger", a.Begun)
		}
	}
	if p.ClosedBy != "" && p.runs[p.ClosedBy] == nil {
		add(p.ClosedBy, "an uninstall has closed the ledger, and is not announced", time.Time{})
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// findFailing finds the leases that the reconciler fails to bring to what they are to be.
func (p *problems) findFailing() {
	for _, f := range p.Failing {
		namespace, history := "", "" // only what has a namespace has a story
		if id, err := lease.ParseID(f.Lease); err == nil {
			if namespace = id.Namespace(); p.Namespaces[namespace] {
				history = "kubectl akash-net events " + f.Lease
			}
		}
		again := "tries again by itself, at %s at the latest"
		if p.Now.After(f.Next) {
			again = "was to try again at %s: it does so now, or has ended"
		}
		p.add(state.Problem{
			Problem: state.LeaseFails, Thing: f.Lease, Namespace: namespace, Lease: f.Lease, Since: metav1.NewTime(f.Since),
			Message: fmt.Sprintf("the reconciler has failed %s: %s", times(f.Count), strings.ReplaceAll(f.Error, "\n", "; ")),
			Plan:    "fix the cause that the message names; the reconciler " + fmt.Sprintf(again, f.Next.UTC().Format(time.RFC3339)),
			Manual:  true, Command: history,
		})
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}
