package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	status "github.com/akash-net/kubectl-akash-net/state/view"
)

// The DNS records of a lease are written after its routes, so that a name never points at a host that nothing serves. A DNS name
// has one writer.

// recordWait limits how long a lease waits for a replaced record to be gone if it waits for nothing else: if the command ended at
// once, the name would have no record.
const recordWait = 30 * time.Second

// dns returns the records that the lease wants, with what the cluster publishes as far as that was read.
func (v view) dns() (render.DNS, error) {
	if v.want.Move != nil {
		return render.DNS{Objects: v.want.Move.recordsWhile(v.going())}, nil
	}
	if v.want.Write != nil {
		return render.DNS{Objects: v.want.Write.Records}, nil
	}
	if v.memo.dns == nil {
		out, err := render.Records(v.wanted().granted, v.t.Settings.Config, v.addresses(), v.f.targets.is)
		v.memo.dns, v.memo.dnsErr = &out, err
	}
	return *v.memo.dns, v.memo.dnsErr
}

// readTargets reads where the hosts are reached whose records have no value in the configuration.
func (v view) readTargets() Step {
	if v.want.Apply == nil || v.f.targets.sent > 0 {
		return Step{}
	}
	records, err := v.dns()
	if err != nil || len(records.Unknown) == 0 {
		return Step{}
	}
	return do(Request{Verb: ReadTargets, On: OfHosts(records.Unknown), Early: true, Why: "where the hosts are reached"})
}

// writeRecords writes the records whose values are known, host by host. The records that they replace are deleted first: the
// controllers of two objects with the same DNS name would overwrite each other's records.
func (v view) writeRecords() Step {
	if !v.writes() || len(v.f.stays) > 0 || v.want.Move != nil && v.want.Move.Awaits {
		return Step{}
	}
	records, err := v.dns()
	if err != nil {
		return v.giveBack(err)
	}
	for _, of := range byHost(records.Objects) {
		if s := v.putHost(of); !s.idle() {
			return s
		}
	}
	return Step{}
}

// byHost returns records in groups of the same host.
func byHost(records []render.Object) (out [][]render.Object) {
	for _, o := range records {
		if n := len(out); n > 0 && recordHost(out[n-1][0]) == recordHost(o) {
			out[n-1] = append(out[n-1], o)
			continue
		}
		out = append(out, []render.Object{o})
	}
	return out
}

// putHost writes the records of one host, unless another deployment has its records.
func (v view) putHost(records []render.Object) Step {
	host := recordHost(records[0])
	if by := v.w.Snapshot.RecordHolder(v.group, v.w.Claim(state.HostName(host)), host); by != "" {
		return v.tells(Event{Action: report.Skipped, Kind: "dns", Thing: host, Message: "deployment " + by + " has its records", Once: "records of " + host})
	}
	if v.want.Write != nil && len(v.w.Claim(state.HostName(host)).PartsOf(v.group)) == 0 {
		return v.giveBack(report.ErrChanged)
	}
	replaced, again := v.toReplace(host, records)
	var olds []observed.Object
	for _, old := range replaced {
		if s := v.removeAs(old.Object, report.Replaced, old.Why); !s.idle() {
			return s
		}
		olds = append(olds, old.Object)
	}
	late, s := v.awaitGone(olds, cmp.Or(v.t.Settings.Wait, recordWait)) // one that a finalizer keeps is still served by DNS
	if !s.idle() {
		return s
	}
	if len(late) > 0 {
		var events []Event
		for _, o := range records {
			events = append(events, Event{Action: report.Skipped, Of: KeyOf(o), Message: "what it replaces is still being deleted; apply again when it is gone", Once: isStuck(o)})
		}
		return v.tells(events...)
	}
	var all []Desired
	for _, o := range records {
		all = append(all, Desired{Object: o, Manager: lease.FieldManager, Takes: v.want.Write != nil})
	}
	if s := v.orGiveBack(v.writeAll(all)); !s.idle() {
		return s
	}
	var out Step
	for _, e := range v.tell(all) {
		if again[e.Of.Name] && e.Action == report.Created {
			e.Message = "in place of what was"
		}
		out.Tells = append(out.Tells, e)
	}
	return out
}

// toReplace returns the records of a host that go before others are written, and which of these are made anew.
func (v view) toReplace(host string, records []render.Object) (goes []observed.Replaced, again map[string]bool) {
	goes, again = v.w.Snapshot.ToReplace(v.group, host, records)
	if v.want.Write == nil {
		return goes, again // an apply prunes what it does not want
	}
	for _, o := range v.w.Snapshot.Records.Of(host) {
		same := func(old observed.Replaced) bool { return old.Object.UID() == o.UID() }
		wanted := func(w render.Object) bool { return KeyOf(w) == keyOf(o) }
		if o.Group == v.group && !slices.ContainsFunc(goes, same) && !slices.ContainsFunc(records, wanted) {
			goes = append(goes, observed.Replaced{Object: o})
		}
	}
	return goes, again
}

// isStuck names that a person was told that a record waits for what it replaces.
func isStuck(o render.Object) string { return "stuck " + KeyOf(o).String() }

// handledRecords returns the records that the lease has handled, and those that were still being replaced when the time was over.
func (v view) handledRecords() (handled []render.Object, stuck []string) {
	records, err := v.dns()
	if err != nil || v.want.Apply == nil || len(v.f.stays) > 0 {
		return nil, nil
	}
	for _, of := range byHost(records.Objects) {
		host := recordHost(of[0])
		if v.w.Snapshot.RecordHolder(v.group, v.w.Claim(state.HostName(host)), host) != "" {
			continue
		}
		handled = append(handled, of...)
		replaced, _ := v.w.Snapshot.ToReplace(v.group, host, of)
		for _, old := range replaced {
			if seen := v.f.objects[old.Object.UID()]; seen.there && v.t.Settings.Waits {
				stuck = append(stuck, fmt.Sprintf("%s to be gone, so that another can take its place", old.Object))
				break
			}
		}
	}
	return handled, stuck
}

// keptRecords returns the records that pruning does not delete: those that are wanted, and those of hosts whose value is not known
// yet.
func (v view) keptRecords() (out []Key) {
	handled, _ := v.handledRecords()
	for _, o := range handled {
		out = append(out, KeyOf(o))
	}
	records, _ := v.dns()
	for _, h := range records.Unknown {
		for _, o := range v.w.Snapshot.Records.Of(h.Name) {
			if o.Group == v.group {
				out = append(out, keyOf(o))
			}
		}
	}
	return out
}

// recordHost returns the host of a rendered record.
func recordHost(o render.Object) string { return status.RecordHost(render.Rendered(o)) }

// Successors are the routes of a lease that replace others. An old route stays until its successor is known to serve.

// replacement is a route that goes, with the one in its place.
type replacement struct {
	old observed.Object
	new Key
}

// replaced finds the live routes with the host and path of a wanted one: routes of another kind, and on the Gateway API also those
// of other leases, which serve until they are deleted. On an Ingress controller or OpenShift a route of another lease may prevent
// the new one from being accepted at all, so those are not kept.
func (v view) replaced() (out []replacement) {
	if m := v.want.Move; m != nil && (m.Ends || m.Awaits) {
		for _, m := range v.going() {
			for _, k := range append([]Key{m.New}, m.With...) {
				out = append(out, replacement{m.Old, k})
			}
		}
	}
	if v.want.Apply == nil || v.w.Snapshot.Operators.Hostname {
		return out
	}
	for _, o := range v.wanted().objects {
		if _, _, redirect := lease.ParseRouteName(o.Name); redirect || !slices.Contains(kinds.RouteKinds, o.Kind) {
			continue
		}
		for _, use := range v.wanted().uses[KeyOf(o)] {
			for _, was := range v.w.Snapshot.Serving(state.HostName(use.Host)) {
				sameRoute := func(u state.Use) bool { return u.Host == use.Host && u.Path == use.Path && !u.Redirect }
				if v.goesFor(was, use) && (was.Kind != o.Kind || was.Group != v.group && onGateway(o.Kind)) &&
					slices.Contains(kinds.RouteKinds, was.Kind) && slices.ContainsFunc(state.HostUses(was.Live), sameRoute) {
					out = append(out, replacement{was, KeyOf(o)})
				}
			}
		}
	}
	return out
}

// goesFor reports whether the lease deletes a live object in favour of its own route.
func (v view) goesFor(was observed.Object, use state.Use) bool {
	if was.Group == v.group {
		return v.want.Prune
	}
	name := state.HostName(use.Host)
	h, mine := v.thing(name)
	mine = mine && slices.ContainsFunc(v.routed(h), func(p state.Part) bool { return p.Key == state.RouteKey(use.Path) })
	return mine && v.removes(was.Group, v.w.Claim(name))
}

// removes reports whether the lease deletes objects of another group that serve a claim: if it prunes, or if the group has handed a
// part on in a transfer, or does so in this one. A lease that is healed deletes nothing that serves.
func (v view) removes(g lease.Group, c *state.Claim) bool {
	return v.want.Prune || v.want.Apply != nil && !v.want.Apply.Heal && (len(c.FormerOf(g)) > 0 || slices.Contains(v.want.Groups(), g))
}

// onGateway reports whether a Gateway accepts several routes of the kind for one host, of which the oldest serves.
func onGateway(kind kinds.Kind) bool { return kind == kinds.HTTPRoute || kind == kinds.TLSRoute }

// awaitSuccessors waits until the successors are known to serve. If one is not in time, the old route stays, with its DNS records
// and companion objects.
func (v view) awaitSuccessors() Step {
	if !v.t.Settings.Waits {
		return Step{}
	}
	for _, r := range v.replaced() {
		if _, stays := v.f.stays[keyOf(r.old)]; stays || v.f.served[r.new] {
			continue
		}
		k := r.new
		if s := v.awaitServing(r, k); !s.idle() {
			return s
		}
		served := Step{Served: &k}
		now := v.w.live(k).live
		accepted := !v.t.Settings.AssumeServing || state.Serves(state.Reports(now, state.Routers{}))
		if accepted && (v.isChanged() || v.want.Move != nil && v.want.Move.Changed && len(v.want.Move.Records) == 0) {
			served.Tells = []Event{{Action: report.Accepted, Of: k, Message: "by its controller", Once: "accepted " + k.String()}}
		}
		return served
	}
	return Step{}
}

// awaitServing waits until a controller reports that a route serves. With Settings.AssumeServing only controllers are waited for
// that report at all.
func (v view) awaitServing(r replacement, k Key) Step {
	g := v.t.Settings.Config.Gateway
	gateway := Key{kinds.Gateway, g.Namespace, g.Name}
	if v.t.Settings.AssumeServing && !slices.Contains(kinds.Reporting, k.Kind) {
		return Step{}
	}
	if onGateway(k.Kind) && v.w.live(gateway).sent <= max(v.f.wrote, v.w.read) {
		return do(Request{Verb: GetLive, On: gateway, Why: "whether it is programmed"})
	}
	lacks := func(s seenLive) string {
		switch {
		case s.live == nil:
			return k.Kind.Kind + " " + nameOf(k) + " is not there"
		case v.t.Settings.AssumeServing && !v.w.Snapshot.ReportsOn(k.Kind, v.w.live(gateway).live):
			return ""
		case v.t.Settings.AssumeServing:
			return state.ToBeAccepted(k.Kind, k.Namespace, k.Name, s.live, state.Serves)
		}
		return state.NotServing(s.live, v.w.live(gateway).live, g.Namespace+"/"+g.Name)
	}
	done := func(s seenLive) bool { return s.sent > max(v.f.wrote, v.w.read) && lacks(s) == "" }
	s, late := v.awaitLive(k, "to serve", done)
	if late {
		text := lacks(v.w.live(k))
		if !v.t.Settings.AssumeServing {
			text += "; " + cmp.Or(v.t.Settings.GoesOn, "the same command") + " goes on, and --assume-serving does without a controller's word"
		}
		return Step{Stays: &stay{r.old, text, nil}, Tells: []Event{{
			Action: report.Kept, Of: keyOf(r.old), Message: "it stays: " + text, Once: "stays " + keyOf(r.old).String(),
		}}}
	}
	if onGateway(k.Kind) && len(s.Requests) > 0 && v.w.live(gateway).sent < v.w.live(k).sent { // both are looked at again
		s.Requests = []Request{{Verb: GetLive, On: gateway, Why: "whether it is programmed"}}
	}
	return s
}

// stay is an old route whose successor is not known to serve, and what that lacks, or why it fails.
type stay struct {
	old    observed.Object
	lacks  string
	failed error
}

// isStaying reports whether the lease leaves an object because a successor is not known to serve, or an old route stays that was to move: that
// route, its companion objects, and the DNS records of what the lease holds.
func (v view) isStaying(o observed.Object) bool {
	stays := slices.Collect(maps.Keys(v.f.stays))
	if m := v.want.Move; m != nil {
		for _, r := range m.Routes {
			if !v.isGone(r) {
				stays = append(stays, keyOf(r.Old))
			}
		}
		stays = append(stays, m.Stay...)
	}
	switch {
	case len(stays) == 0 || o.Kind == kinds.Service || slices.Contains(kinds.ClaimLike, o.Kind):
		return false
	case o.Record() != "":
		return slices.ContainsFunc(v.things, func(h state.Hold) bool { return h.Name() == state.HostName(o.Record()) })
	case o.Kind == kinds.BackendTLSPolicy: // named after a Service, which several routes may share
		return true
	}
	for _, k := range stays {
		if name := o.Live.GetName(); name == k.Name || name == lease.RedirectName(k.Name) {
			return true
		}
	}
	return false
}

// unserved returns the error of a lease whose old routes had to stay; nil if it is only that the command does not wait.
func (v view) unserved() error {
	var left []error
	if v.want.Move != nil {
		_, left = v.moved()
	}
	out := &report.TimeoutError{After: v.t.Settings.Wait}
	for _, k := range keysOf(v.f.stays) {
		switch s := v.f.stays[k]; {
		case s.failed != nil && !slices.ContainsFunc(left, func(e error) bool { return e.Error() == s.failed.Error() }):
			left = append(left, s.failed)
		case s.failed == nil && !slices.Contains(out.Waiting, s.lacks):
			out.Waiting = append(out.Waiting, s.lacks)
		}
	}
	if slices.Sort(out.Waiting); len(out.Waiting) > 0 && out.After > 0 {
		left = append(left, out)
	}
	return report.Gather(left)
}
