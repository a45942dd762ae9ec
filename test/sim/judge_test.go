package sim

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// wrong notes that an invariant does not hold.
func (w *world) wrong(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.note("WRONG: %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.verdicts = append(w.verdicts, text)
}

// claims are the claims as they are, read as the program reads them: without the marks of runs that have ended.
func (w *world) claims() (out []*state.Claim) {
	announced := map[string]*state.Announcement{}
	for _, o := range w.server.Objects("leases") {
		if a, err := state.ReadAnnouncement(o); err == nil {
			announced[a.Nonce] = a
		}
	}
	for _, o := range w.server.Objects("leases") {
		if kept.IsName(o.GetName()) || state.IsAnnouncement(o.GetName()) || strings.HasPrefix(o.GetName(), state.ReservationPrefix) {
			continue
		}
		c, ok := state.ReadClaim(&metav1.ObjectMeta{Name: o.GetName(), Namespace: o.GetNamespace(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(), UID: o.GetUID()})
		if !ok || c.Unreadable != "" {
			w.wrong("%s is no claim that can be read (%s)", o.GetName(), c.Unreadable)
			continue
		}
		c.Meet(announced, w.server.Now())
		out = append(out, &c)
	}
	return out
}

// things are what a deployment group holds: hosts by name, and its addresses as one; with forGood those only
// of which no part has an end.
func (w *world) things(g lease.Group, forGood bool) (out []string) {
	for _, c := range w.claims() {
		for _, p := range c.PartsOf(g) {
			if forGood && p.Expires != "" || p.Ended(w.server.Now()) {
				continue
			}
			thing := c.Thing
			if c.Kind.HasPorts() {
				thing = "address"
			}
			if !slices.Contains(out, thing) {
				out = append(out, thing)
			}
		}
	}
	slices.Sort(out)
	return out
}

// judgeWrite judges what a write has left.
func (w *world) judgeWrite(q *request, deleted *unstructured.Unstructured) {
	claims := w.claims()
	settled := func(c *state.Claim) bool {
		return slices.ContainsFunc(c.Parts, func(p state.Part) bool { return p.Run == "" && p.Expires == "" })
	}
	for _, c := range claims {
		over := state.WildcardOver(c.Thing)
		if i := slices.IndexFunc(claims, func(d *state.Claim) bool { return over != "" && d.Thing == over }); i >= 0 &&
			claims[i].Owner != c.Owner && claims[i].Bound() && settled(c) {
			w.wrong("%s of %s is held below %s of %s", c.Thing, c.Owner, over, claims[i].Owner)
		}
	}
	if deleted != nil && q.of.now != nil {
		w.judgeDelete(q.of.now, deleted, claims)
	}
	w.notice(q)
}

// notice notes what a command has written in its turn.
func (w *world) notice(q *request) {
	if strings.Contains(q.http.URL.Path, "/leases/run--") && q.of.announced == "" {
		q.of.announced = q.http.URL.Path
	}
	own := w.server.objects[q.of.announced]
	if q.http.Method == http.MethodDelete && own == nil && q.of.now != nil && q.http.URL.Path == q.of.announced {
		for _, d := range q.of.now.all() {
			d.committed = len(w.trace)
		}
	}
	if q.of.now == nil || own == nil || own.object.GetAnnotations()[state.AnnotationPhase] == string(state.Fenced) || !strings.Contains(q.http.URL.Path, "/leases/") {
		return
	}
	for _, d := range q.of.now.all() {
		d.wrote = len(w.trace)
	}
}

// before is the route or ProviderHost that a request is about to delete.
func (w *world) before(q *request) *unstructured.Unstructured {
	if q.http.Method != http.MethodDelete {
		return nil
	}
	o := w.server.objects[q.http.URL.Path]
	if o == nil || o.kind.plural != "ingresses" && o.kind.plural != "providerhosts" {
		return nil
	}
	return o.object
}

// judgeDelete: what serves for a claim that stands is deleted by its own lease's commands, or its owner's
// transfer.
func (w *world) judgeDelete(c *invocation, o *unstructured.Unstructured, claims []*state.Claim) {
	id, _ := lease.IDFromLabels(o.GetLabels())
	given := slices.ContainsFunc(c.defs, func(d *lease.Definition) bool { return d.Lease.Group() == id.Group() })
	own := slices.ContainsFunc(c.all(), func(d *invocation) bool { return d.id.Group() == id.Group() })
	if given || own && c.verb != "repair" || c.verb == "transfer" && c.id.Owner == id.Owner {
		return
	}
	for _, u := range state.HostUses(o) {
		for _, claim := range claims {
			part := claim.Part(state.RouteKey(u.Path))
			if claim.Thing == u.Host && part != nil && part.Run == "" && part.Lease.Group() == id.Group() {
				w.wrong("%s deletes %s %s/%s, which serves %s for lease %s", c, o.GetKind(), o.GetNamespace(), o.GetName(), u.Host, id.Group())
			}
		}
	}
}

// meets is true for a command that had not ended when the other began.
func (c *invocation) meets(other *invocation) bool { return c.ended == 0 || c.ended >= other.began }

// over is when a command had its last word: its announcement was deleted, whenever it has got the answer.
func (c *invocation) over() int {
	if c.committed > 0 {
		return c.committed
	}
	return c.ended
}

// isLost is true for a command that was taken for dead. A write of it may come late; repair gives up what it has claimed.
func (c *invocation) isLost() bool {
	_, lost := errors.AsType[*turn.LostError](c.err)
	return lost
}

// follows is true for a command that may have had its turn after the other: it ended later, or was killed. One that
// counted as dead had its turn until then.
func (c *invocation) follows(other *invocation) bool {
	if c.isLost() {
		return c.wrote > other.over()
	}
	return c.ended == 0 || c.ended > other.over()
}

// judgeEnd: what serves rests on a claim of its lease, and of what was just applied everything serves.
func (w *world) judgeEnd(applied *invocation) {
	claims, served := w.claims(), map[string]int{}
	for _, plural := range []string{"ingresses", "providerhosts"} {
		for _, o := range w.server.Objects(plural) {
			id, _ := lease.IDFromLabels(o.GetLabels())
			for _, u := range state.HostUses(o) {
				held := slices.ContainsFunc(claims, func(c *state.Claim) bool {
					part := c.Part(state.RouteKey(u.Path))
					return c.Thing == u.Host && part != nil && (part.Lease.Group() == id.Group() || part.From == id.Group().String())
				})
				if !held {
					w.wrong("%s %s/%s serves %s without a claim", o.GetKind(), o.GetNamespace(), o.GetName(), u.Host)
				}
				if id.Group() == applied.id.Group() {
					served[u.Host]++
				}
			}
		}
	}
	for _, h := range applied.hosts {
		objects := 2 // the ProviderHost and the Ingress
		if strings.HasPrefix(h, "*") {
			objects = 1 // a wildcard has no ProviderHost
		}
		if !applied.withheld[h] && served[h] < objects {
			w.wrong("%s has succeeded, and %s is not served", applied, h)
		}
	}
}

// touches is true for a command that may have changed what another's lease holds of a thing.
func (c *invocation) touches(other *invocation, thing string) bool {
	same := c.id.Group() == other.id.Group()
	switch c.verb {
	case "release":
		return same && (len(c.hosts) == 0 || slices.Contains(c.hosts, thing))
	case "transfer":
		return c.id.Owner == other.id.Owner && slices.Contains(c.hosts, thing)
	case "apply", "reserve":
		// Of an address a reservation holds another part than a definition.
		return same && !refused(c.err) && (!c.wants(thing) || c.expires > 0 || thing == "address" && c.verb != other.verb)
	}
	return false
}

// early is true for a command whose work on its lease may have ended before the command did: it may have found nothing to
// write.
func (c *invocation) early() bool { return c.wrote == 0 || c.among }

// gives is true for a command that may have given another's lease a thing.
func (c *invocation) gives(other *invocation, thing string) bool {
	switch c.verb {
	case "apply", "reserve":
		return c.id.Group() == other.id.Group() && c.wants(thing)
	case "transfer":
		return c.id.Owner == other.id.Owner && slices.Contains(c.hosts, thing)
	}
	return c.verb == "repair"
}

func (c *invocation) wants(thing string) bool {
	return slices.Contains(c.hosts, thing) || c.endpoint && thing == "address"
}

// wanted are the things that the command was given if it succeeded.
func (c *invocation) wanted() (out []string) {
	for _, h := range c.hosts {
		if !c.withheld[h] {
			out = append(out, h)
		}
	}
	if c.endpoint && !slices.ContainsFunc(slices.Collect(mapsKeys(c.withheld)), func(name string) bool { return !strings.Contains(name, "example") }) {
		out = append(out, "address")
	}
	return out
}

func mapsKeys(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// judgeCommand: a run that reported success holds what it claimed; one that was refused has what it had.
func (w *world) judgeCommand(c *invocation, until int) {
	if c.verb != "apply" && c.verb != "reserve" || c.expires > 0 {
		return
	}
	excused := func(thing string) bool {
		return slices.ContainsFunc(w.commands, func(d *invocation) bool {
			return d != c && d.began <= until && (d.follows(c) || c.early() && d.meets(c)) && d.touches(c, thing)
		})
	}
	has := w.things(c.id.Group(), false)
	if c.err == nil {
		for _, thing := range c.wanted() {
			if !slices.Contains(has, thing) && !excused(thing) {
				w.wrong("%s has succeeded, and the lease does not hold %s", c, thing)
			}
		}
		given := func(thing string) bool {
			return slices.ContainsFunc(w.commands, func(d *invocation) bool {
				return d != c && d.began <= until && (d.follows(c) || (c.early() || d.isLost()) && d.meets(c)) && d.gives(c, thing)
			})
		}
		for _, thing := range has {
			if c.verb == "apply" && !c.wants(thing) && !given(thing) {
				w.wrong("%s has succeeded, and the lease still holds %s", c, thing)
			}
		}
		return
	}
	if !refused(c.err) || until != c.ended || slices.ContainsFunc(w.commands, func(d *invocation) bool {
		return d != c && d.id.Owner == c.id.Owner && d.meets(c)
	}) {
		return
	}
	for _, thing := range has {
		if !slices.Contains(c.had, thing) {
			w.wrong("%s was refused, and the lease holds %s, which it did not", c, thing)
		}
	}
	for _, thing := range c.hadForGood {
		if !slices.Contains(has, thing) {
			w.wrong("%s was refused, and the lease does not hold %s any more", c, thing)
		}
	}
}
