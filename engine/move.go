package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	status "github.com/akash-net/kubectl-akash-net/state/view"
)

// A migration is wants of several transactions: the new routes, the DNS records, and the end of the old routes. Each want is made of what
// was read for its transaction; what has changed since is not moved. Between them are wants that only wait.

// Move says which routes of a lease go to another kind. Each goes by itself: one that cannot go stays, and the others go. Claims do not
// change.
type Move struct {
	Routes []Moving
	// Records are the DNS records of hosts of the routes: they are written, or awaited. Unknown are the hosts of which it is awaited where they
	// are reached.
	Records []render.Object
	Unknown []render.UnknownHost
	// Target is what is kept of the kind to which all routes of the lease go: empty for that of the configuration; nil while one stays.
	Target *string
	// Ends deletes the old routes once their successors are known to serve, and then Companions that accompany no route that stays: neither one
	// of them nor of Stay.
	Ends       bool
	Companions []observed.Object
	Stay       []Key
	// Awaits only waits, and needs no turn: until the successors are known to serve, then for Unknown and Records, then until no resolver can have
	// the answers that lead to the old routes. What comes to serve is told if the routes were Changed before.
	Awaits, Changed bool
}

// Moving is a route that goes to another kind.
type Moving struct {
	// Old is the route as it was seen. Host is its host, Claim the name of the claim on that, and Key the part that it serves; Held is true if
	// the lease holds that.
	Old        observed.Object
	Host       string
	Claim, Key string
	Held       bool
	// New is its successor, Was is that as it was seen, nil if there was none.
	New Key
	Was *unstructured.Unstructured
	// With are the routes that accompany its successor, and that are waited for with it.
	With []Key
	// Objects are written for it. Message is what a person is told of the delete of the old route.
	Objects []Desired
	Message string
	// Lag is for how long resolvers may have the answer that leads to the old route, once DNS leads to its successor.
	Lag time.Duration
}

// Moved is an old route for which all was done that can be done now: as it was seen last, nil if it is gone; and until when resolvers may
// have the answer that leads to it, the zero time if it does not wait for that.
type Moved struct {
	Live  *unstructured.Unstructured
	Until time.Time
}

// withMoved adds the parts under the routes that go, as the lease has them.
func (v view) withMoved(things []state.Hold) []state.Hold {
	if v.want.Move == nil {
		return things
	}
	for _, m := range v.want.Move.Routes {
		c := v.w.Claim(m.Claim)
		own := v.own(c, m.Key)
		if own == nil {
			continue
		}
		i := slices.IndexFunc(things, func(h state.Hold) bool { return h.Name() == c.Name() })
		if i < 0 {
			i, things = len(things), append(things, state.Hold{Kind: c.Kind, Thing: c.Thing, SharingKey: c.SharingKey})
		}
		part := *own
		part.Run = ""
		things[i].Parts = append(things[i].Parts, part)
	}
	slices.SortFunc(things, state.Hold.Compare)
	return things
}

// SameRoute reports whether two versions of a route have the same spec, labels and annotations.
func SameRoute(a, b *unstructured.Unstructured) bool {
	return a == b || a != nil && b != nil && a.GetUID() == b.GetUID() && (a.GetDeletionTimestamp() == nil) == (b.GetDeletionTimestamp() == nil) &&
		managed.Contains(a.Object["spec"], b.Object["spec"]) && managed.Contains(b.Object["spec"], a.Object["spec"]) &&
		maps.Equal(a.GetAnnotations(), b.GetAnnotations()) && maps.Equal(a.GetLabels(), b.GetLabels())
}

// lost returns why the lease does not have the part under a route as it had; nil if it does.
func (v view) lost(m Moving) error {
	c := v.w.Claim(m.Claim)
	part, why := c.Part(m.Key), ""
	switch {
	case !m.Held && (c == nil || len(c.Parts) == 0 && c.Unreadable == ""), part != nil && part.Lease.Group() == v.group && !c.Deleting:
		return nil
	case !m.Held:
		why = "it was claimed meanwhile"
	case part == nil || c.Deleting:
		why = "the lease has given it up meanwhile"
	default:
		why = "lease " + part.Lease.String() + " has got it meanwhile"
	}
	return fmt.Errorf("host %s: %s; its old route stays, and the same command goes on when no other one works on the lease", m.Host, why)
}

// staying returns why a route that is to go stays as it is; nil if it goes.
func (v view) staying(m Moving) error {
	if v.isGone(m) {
		return nil
	}
	if err := v.lost(m); err != nil {
		return err
	}
	old, successor := v.w.live(keyOf(m.Old)), v.w.live(m.New)
	writes := slices.ContainsFunc(m.Objects, func(d Desired) bool { return d.key() == m.New })
	switch {
	case old.wrote == nil && !SameRoute(old.live, m.Old.Live), successor.wrote == nil && writes && successor.live != nil && !SameRoute(successor.live, m.Was):
		return fmt.Errorf("%s was changed meanwhile; it stays, and the same command carries the change over", m.Old)
	case (!writes || v.want.Move.Ends) && (successor.live == nil || isDeleting(successor.live)):
		return fmt.Errorf("host %s: its new route, %s, is gone again; its old route stays, and the same command writes it again", m.Host, m.New)
	case !writes && successor.wrote == nil && !SameRoute(successor.live, m.Was):
		return fmt.Errorf("host %s: its new route, %s, was changed meanwhile; its old route stays, and the same command looks at that", m.Host, m.New)
	}
	for _, d := range slices.Concat(m.Objects, v.recordsOf(m)) {
		if _, err := v.writeOne(d); err != nil {
			return err
		}
	}
	return nil
}

// recordsOf returns the DNS records that are written for the host of a route: none if another deployment has its records, nor one that
// has to wait for what it replaces.
func (v view) recordsOf(m Moving) (out []Desired) {
	for _, o := range v.want.Move.Records {
		if recordHost(o) == m.Host && !v.f.told[isStuck(o)] && v.w.Snapshot.RecordHolder(v.group, v.w.Claim(m.Claim), m.Host) == "" {
			out = append(out, Desired{Object: o, Manager: lease.FieldManager})
		}
	}
	return out
}

// onlyAwaits reports whether a step looks, or waits, for what needs no turn.
func (v view) onlyAwaits(s Step) bool {
	return v.want.Move != nil && v.want.Move.Awaits && !slices.ContainsFunc(s.Requests, func(r Request) bool { return r.Verb != GetLive && r.Verb != ReadTargets })
}

// going returns the routes that go.
func (v view) going() []Moving {
	if v.want.Move.Awaits {
		return v.want.Move.Routes
	}
	if v.memo.going == nil {
		v.memo.going = slices.DeleteFunc(slices.Clone(v.want.Move.Routes), func(m Moving) bool { return v.staying(m) != nil })
	}
	return v.memo.going
}

// movedStages returns the objects of routes by kinds.Stages, each once.
func movedStages(routes []Moving) [][]Desired {
	out, seen := make([][]Desired, len(kinds.Stages)), map[Key]bool{}
	for _, m := range routes {
		for _, d := range m.Objects {
			if !seen[d.key()] {
				seen[d.key()] = true
				i := slices.IndexFunc(kinds.Stages, func(stage []kinds.Kind) bool { return slices.Contains(stage, d.Object.Kind) })
				out[i] = append(out[i], d)
			}
		}
	}
	return out
}

// readMovedUnder reads the claims under the routes that were not read in the command's turn, since nobody of the owner held them, or that
// were read before the route.
func (v view) readMovedUnder() (out Step) {
	if v.want.Move == nil || v.want.Move.Awaits || !v.t.Settings.Waits {
		return out
	}
	for _, m := range v.want.Move.Routes {
		if !v.isGone(m) && v.w.see(m.Claim).Sent < max(v.w.Turn.Alone, v.w.live(keyOf(m.Old)).sent) {
			out.Requests = append(out.Requests, Request{Verb: Get, On: OfClaim{Name: m.Claim}, Why: "who holds it now"})
		}
	}
	return out
}

// recordsWhile returns the DNS records of the hosts whose routes all go.
func (m *Move) recordsWhile(going []Moving) []render.Object {
	stays := func(r Moving) bool {
		return !slices.ContainsFunc(going, func(g Moving) bool { return g.Old.UID() == r.Old.UID() })
	}
	return slices.DeleteFunc(slices.Clone(m.Records), func(o render.Object) bool {
		return slices.ContainsFunc(m.Routes, func(r Moving) bool { return r.Host == recordHost(o) && stays(r) })
	})
}

// isGone reports whether the old route was deleted, or was seen to be gone after the lease wanted to delete it.
func (v view) isGone(m Moving) bool {
	s, known := v.f.objects[m.Old.UID()]
	return v.want.Move.Ends && known && s.isGone()
}

// isWaiting reports whether an old route stays because its successor is not known to serve, or DNS does not lead to that.
func (v view) isWaiting(m Moving) bool {
	_, waits := v.f.stays[keyOf(m.Old)]
	return waits
}

// endMoved deletes the old routes, once their successors were read again in the command's turn; then the companions of those that are gone.
func (v view) endMoved() Step {
	if v.want.Move == nil || !v.want.Move.Ends {
		return Step{}
	}
	var all Step
	for _, m := range v.going() {
		switch s := v.endOne(m); {
		case len(all.Requests) == most:
		case s.idle():
		case len(s.Requests) == 0:
			return s
		default:
			all.Requests = append(all.Requests, s.Requests...)
		}
	}
	for _, o := range v.want.Move.Companions {
		if len(all.Requests) > 0 {
			break
		}
		if s := v.removeAs(o, report.Deleted, ""); !v.isStaying(o) && !s.idle() {
			return s
		}
	}
	return all
}

// endOne deletes an old route.
func (v view) endOne(m Moving) Step {
	if v.isGone(m) || v.isWaiting(m) {
		return Step{}
	}
	if v.t.Settings.Waits && v.w.live(m.New).sent <= v.w.Turn.Alone {
		return do(Request{Verb: GetLive, On: m.New, Why: "whether it is still there"})
	}
	s := v.removeAs(m.Old, report.Deleted, m.Message)
	for i := range s.Requests {
		if s.Requests[i].Verb == DeleteObject {
			s.Requests[i].Why = "its successor serves"
		}
	}
	return s
}

// moved returns the routes for which all was seen to be done that the want says, and why others were left as they are.
func (v view) moved() (done map[Key]Moved, left []error) {
	done = map[Key]Moved{}
	for _, m := range v.want.Move.Routes {
		k := keyOf(m.Old)
		if v.want.Move.Awaits {
			led, known := v.f.led[k]
			unknown := func(k Key) bool { return !v.f.served[k] }
			if !v.t.Settings.Waits || known && !v.isWaiting(m) && !slices.ContainsFunc(append([]Key{m.New}, m.With...), unknown) {
				done[k] = Moved{m.Old.Live, led.until}
			}
			continue
		}
		if err := v.staying(m); err != nil {
			left = append(left, err)
			continue
		}
		pending := slices.ContainsFunc(slices.Concat(m.Objects, v.recordsOf(m)), func(d Desired) bool {
			s, _ := v.writeOne(d)
			return !s.idle()
		})
		if v.isGone(m) || !v.want.Move.Ends && !pending {
			done[k] = Moved{Live: v.w.live(k).live}
		}
	}
	return done, left
}

// led is that DNS leads clients to the successor of a route: until when resolvers may have another answer, and when that was seen, by the
// steady clock.
type led struct{ until, at time.Time }

// lead is what is known of where DNS leads clients of a route.
type lead struct {
	// reads is what is read again next. isFresh is true if it was read since everything was, at is when that was, by the steady clock.
	reads   Step
	isFresh bool
	at      time.Time
	// lacks is what it lacks, failed why that does not come. since is when DNS began to lead there, or later; served are the records.
	lacks  string
	failed error
	since  time.Time
	served []Event
}

// lead returns what is known of where DNS leads clients of a route: where its host is reached, or whether the records of that are served,
// of whoever has them. external-dns does what the old route says.
func (v view) lead(m Moving) lead {
	out, newest, want := lead{isFresh: true, since: v.w.Time}, max(v.f.wrote, v.w.read), v.want.Move
	if i := slices.IndexFunc(want.Unknown, func(u render.UnknownHost) bool { return u.Name == m.Host }); i >= 0 {
		out.reads = do(Request{Verb: ReadTargets, On: OfHosts(want.Unknown), Why: "where the hosts are reached"})
		if out.isFresh, out.at = v.f.targets.sent > newest, v.f.targets.at; v.f.targets.is[m.Host].Empty() {
			out.lacks = want.Unknown[i].Lacks(v.t.Settings.Config)
		}
		return out
	}
	if e, applied := managed.Applied(m.Old.Live, lease.FieldManager); applied && e.Time != nil && v.t.Settings.Config.DNS.Form == config.DNSAnnotations {
		out.since = e.Time.Add(managed.Precision)
	}
	keys, wanted, holder := v.recordsAt(m.Host)
	var found []*unstructured.Unstructured
	var last time.Time
	var oldest Stamp
	for i, k := range keys {
		seen := v.w.live(k)
		if i == 0 || seen.sent < oldest { // this one was not read for longest
			oldest, out.isFresh, out.at = seen.sent, seen.sent > newest, seen.at
			out.reads = do(Request{Verb: GetLive, On: k, Why: "whether it is served"})
		}
		if seen.live == nil {
			continue
		}
		record := status.RecordObjectOf(seen.live)
		lacks, failed := record.Lacks()
		out.lacks, out.failed, found = cmp.Or(lacks, out.lacks), cmp.Or(out.failed, failed), append(found, seen.live)
		out.served = append(out.served, Event{Action: report.Served, Of: k, Message: record.ValuesText(), Once: "served " + k.String()})
		since := v.w.Time // unless its controller has said when
		if at := managed.LastWritten(seen.live, managed.Status); !at.IsZero() {
			since = at.Add(managed.Precision)
		}
		if since.After(last) {
			last, out.since = since, since
		}
	}
	if is, want := status.TargetsOf(m.Host, found...), status.TargetsOf(m.Host, wanted...); !slices.Equal(is, want) {
		listed := func(values []string) string { return cmp.Or(strings.Join(values, ", "), "nothing") }
		if out.lacks = fmt.Sprintf("host %s to lead to %s, not to %s", m.Host, listed(want), listed(is)); holder != "" {
			out.lacks += " (deployment " + holder + " has its records: migrate its routes too)"
		}
	}
	return out
}

// recordsAt returns the records that a host is to have, and where these are and those that it has had; holder is another deployment that
// has them.
func (v view) recordsAt(host string) (keys []Key, wanted []*unstructured.Unstructured, holder string) {
	holder = v.w.Snapshot.RecordHolder(v.group, v.w.Claim(state.HostName(host)), host)
	namespace := v.id.Namespace()
	for _, o := range v.w.Snapshot.Records.Of(host) {
		if o.Group.String() != cmp.Or(holder, v.group.String()) {
			continue
		}
		if keys = append(keys, keyOf(o)); holder != "" {
			namespace = o.Live.GetNamespace()
		}
	}
	for _, o := range v.want.Move.Records {
		if k := (Key{o.Kind, namespace, o.Name}); recordHost(o) == host {
			wanted, keys = append(wanted, render.Rendered(o)), append(keys, k)
		}
	}
	if len(wanted) == 0 {
		return nil, nil, ""
	}
	slices.SortFunc(keys, Key.compare)
	return slices.Compact(keys), wanted, holder
}

// awaitDNS waits until it is known where the hosts are reached, or their records are served; and then until no resolver can have the answer
// that leads to an old route. The old routes of hosts that lack something in the end stay.
func (v view) awaitDNS() (out Step) {
	if v.want.Move == nil || !v.want.Move.Awaits {
		return out
	}
	for _, m := range v.want.Move.Routes {
		k := keyOf(m.Old)
		if _, known := v.f.led[k]; known || v.isWaiting(m) {
			continue
		}
		l := v.lead(m)
		told, waiting, what := l.lacks, "host "+m.Host+": "+l.lacks, "the cluster to publish where host "+m.Host+" is reached"
		if len(v.want.Move.Records) > 0 {
			told, waiting, what = "its old routes stay; waiting for "+l.lacks, l.lacks, "DNS controllers to serve the new targets of host "+m.Host
		}
		s, late := v.awaitRead(l.reads, what, l.isFresh, l.at, l.isFresh && (l.failed != nil || l.lacks == "" || !v.t.Settings.Waits))
		switch {
		case !s.idle():
			return s
		case l.failed != nil:
			return Step{Stays: &stay{m.Old, "", l.failed}}
		case late:
			tells := v.tells(Event{Action: report.Unconfirmed, Kind: "dns", Thing: m.Host, Message: told, Once: "lacks " + m.Host}).Tells
			return Step{Stays: &stay{m.Old, waiting, nil}, Tells: tells}
		}
		if s.Led = &k; m.Lag > 0 && v.t.Settings.Waits {
			s.Until = l.since.Add(m.Lag)
		}
		if v.want.Move.Changed && l.lacks == "" {
			s.Tells = v.tells(l.served...).Tells
		}
		return s
	}
	for _, m := range v.want.Move.Routes {
		k := keyOf(m.Old)
		led := v.f.led[k]
		if !led.until.After(v.w.Time) {
			continue
		}
		text := fmt.Sprintf("until %s: resolvers may have the answer that leads to it", led.until.UTC().Format("15:04:05 UTC"))
		if s := v.tells(Event{Action: report.Kept, Of: k, Message: text, Once: text + k.String()}); !s.idle() {
			return s
		}
		if at := v.w.Clock.Add(led.until.Sub(v.w.Time)); at.After(out.Until) && !at.After(led.at.Add(v.t.Settings.Wait)) {
			out = Step{Wait: "resolvers to have the new answer", Until: at}
		}
	}
	return out
}
