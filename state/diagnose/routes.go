package diagnose

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// rivals returns the routes of a host that serve the same requests for a path as another one, or belong to another
// tenant. Routes in one namespace are of one tenant.
func rivals(uses []state.Use) []state.Use {
	serving := slices.DeleteFunc(slices.Clone(uses), func(u state.Use) bool { return declares(u.Kind) || u.Redirect })
	type tenant struct{ namespace, owner string }
	at, tenants := map[string][]state.Use{}, map[tenant]state.Use{}
	for _, u := range serving {
		of := tenant{namespace: u.Namespace}
		if u.HasLease {
			of.owner = u.Lease.Owner
		}
		at[u.Path], tenants[of] = append(at[u.Path], u), u
	}
	return slices.DeleteFunc(serving, func(u state.Use) bool {
		for _, v := range tenants {
			if u.UID != v.UID && u.Namespace != v.Namespace && (!u.HasLease || !v.HasLease || u.Lease.Owner != v.Lease.Owner) {
				return false
			}
		}
		return !slices.ContainsFunc(at[u.Path], func(v state.Use) bool {
			return u.UID != v.UID && admission.Compete(u.Kind, u.Matches, v.Kind, v.Matches)
		})
	})
}

// findTwoRoutes finds hosts with competing routes, unless one of them is a stray route of this program.
func (p *problems) findTwoRoutes() {
	for host, uses := range p.w.Uses {
		c := p.w.claims[state.HostName(host)]
		serving := slices.DeleteFunc(rivals(uses), func(u state.Use) bool {
			return p.drifted[u.String()] || u.HasLease && c.ServesFor(u.Lease.Group(), state.RouteKey(u.Path), u.Redirect) != nil
		})
		slices.SortStableFunc(serving, func(a, b state.Use) int {
			return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.UID, b.UID))
		})
		objects := objectsOf(serving)
		if len(objects) < 2 || !c.Held() && !slices.ContainsFunc(serving, func(u state.Use) bool { return u.HasLease }) {
			continue
		}
		first := objects[0]
		base := state.Problem{Thing: host, Namespace: first.Namespace}
		switch {
		case areMoved(serving):
			base.Lease = first.Lease.String()
			p.add(fill(base, state.MigrationUnderWay, fmt.Sprintf("%s and %s serve it: a migration is under way, or ended early", first, objects[1]),
				"move the routes of its lease to the configured kind, "+p.w.Config.Target, &state.Fix{Do: state.MoveRoutes, Group: first.Lease.Group()}).ByName())
		case p.has(host, func(x state.Problem) bool { return x.Problem == state.StrayRoute }) == nil:
			p.add(twoRoutes(p.w, base, c, serving))
		}
	}
}

// objectsOf returns one of the uses of each object. Those of an object are beside each other.
func objectsOf(uses []state.Use) []state.Use {
	return slices.CompactFunc(slices.Clone(uses), sameObject)
}

func sameObject(a, b state.Use) bool { return a.UID == b.UID && a.String() == b.String() }

// areMoved reports whether routes of one deployment group differ only in kind: a migration is running or has ended early.
func areMoved(serving []state.Use) bool {
	forms := map[string]bool{}
	for _, u := range serving {
		form := u.Kind + " " + u.Path
		if !u.HasLease || u.Lease.Group() != serving[0].Lease.Group() || forms[form] {
			return false
		}
		forms[form] = true
	}
	return true
}

// twoRoutes is the problem of competing routes. Those that the holder does not want are deleted when the user says so; if all are of one
// deployment group and of this program, only its definition decides.
func twoRoutes(w *World, base state.Problem, c *state.Claim, serving []state.Use) state.Problem {
	objects, going := objectsOf(serving), objectsOf(unwanted(w, c, serving))
	x := fill(base, state.TwoRoutes, fmt.Sprintf("%d routes serve it, %s and %s among them", len(objects), objects[0], objects[1]), "", nil)
	if len(going) == 0 {
		x.Lease = serving[0].Lease.String()
		return byPruning(w, x, serving[0].Lease.Group())
	}
	var names []string
	x.Fix = &state.Fix{Do: state.Reject}
	for _, u := range going {
		names = append(names, u.String()+servesToo(w, u, serving))
		x.Fix.Objects = append(x.Fix.Objects, state.ObjectRef{Kind: u.Kind, Namespace: u.Namespace, Name: u.Name, UID: string(u.UID)})
	}
	if x.Plan = "delete " + strings.Join(names, " and "); c.Held() && len(going) < len(objects) {
		x.Plan += ": the other is the holder's"
	}
	return x.ByName()
}

// unwanted returns the competing routes that the holder of the host does not want. If nobody holds the host, the owner
// of the oldest route counts as the holder, as in package admission. It returns nothing if all routes belong to one
// deployment group and to this program.
func unwanted(w *World, c *state.Claim, serving []state.Use) []state.Use {
	first := oldest(serving)
	without := func(keep func(state.Use) bool) []state.Use { // a route stays with all of its paths
		stays := map[types.UID]bool{}
		for _, u := range serving {
			stays[u.UID] = stays[u.UID] || keep(u)
		}
		return slices.DeleteFunc(slices.Clone(serving), func(u state.Use) bool { return stays[u.UID] })
	}
	going := without(func(u state.Use) bool {
		if part := c.Part(state.RouteKey(u.Path)); c.Held() && part != nil {
			return u.Of(part.Lease.Group())
		}
		if c.Held() {
			return u.HasLease && len(c.PartsOf(u.Lease.Group())) > 0
		}
		return u.UID == first.UID || u.HasLease && first.HasLease && u.Lease.Owner == first.Lease.Owner
	})
	ours := func(u state.Use) bool { return w.written[string(u.UID)] }
	switch {
	case len(going) > 0:
		return going
	case slices.ContainsFunc(serving, ours):
		return without(ours)
	}
	return without(func(u state.Use) bool { return u.UID == first.UID })
}

// servesToo describes what a route serves beside that for which it competes.
func servesToo(w *World, route state.Use, serving []state.Use) string {
	if w.routed == nil {
		w.routed = map[types.UID][]state.Use{}
		for _, uses := range w.Uses {
			for _, u := range uses {
				w.routed[u.UID] = append(w.routed[u.UID], u)
			}
		}
	}
	competes, more := map[string]bool{}, []string(nil) // all of serving are of one host
	for _, u := range serving {
		competes[u.Path] = competes[u.Path] || sameObject(u, route)
	}
	for _, u := range w.routed[route.UID] {
		if u.Host != route.Host || !competes[u.Path] {
			more = append(more, lease.HostPath(u.Host, u.Path))
		}
	}
	if len(more) == 0 {
		return ""
	}
	slices.Sort(more)
	return " (which serves " + strings.Join(slices.Compact(more), ", ") + " too)"
}

// OwnRecord is an object of this program with DNS records.
type OwnRecord struct {
	Ref    state.ObjectRef
	Object view.RecordObject
	// Want are the records that the lease should have for the host. They are set only if Known is true.
	Want  []dns.Record
	Known bool
}

// checkRecords finds DNS records that are stray or wrong. A name that points at an address must not survive: whoever
// gets the address next would get the name's traffic. All that is wrong with the records of a host is one problem.
func (p *problems) checkRecords() {
	for _, r := range p.w.Records {
		o := r.Object
		base := state.Problem{Thing: o.Host, Namespace: o.Namespace, Lease: o.Lease.String(), Since: metav1.NewTime(o.Since)}
		kind, why := p.w.trouble(r)
		same := func(y state.Problem) bool { return y.Problem == kind && y.Lease == base.Lease }
		switch {
		case kind == state.StrayRecord:
			p.add(fill(base, kind, r.Ref.String()+" "+why, "delete "+r.Ref.String(), &state.Fix{Do: state.DeleteObjects, Objects: []state.ObjectRef{r.Ref}}))
		case kind == state.RecordDiffers && p.has(o.Host, same) == nil:
			p.add(fill(base, kind, r.Ref.String()+" "+why, "write the DNS records of the host anew",
				&state.Fix{Do: state.WriteRecords, Value: o.Host, Part: p.w.claims[state.HostName(o.Host)].PartsOf(o.Lease.Group())[0]}))
		}
	}
}

// trouble returns the kind of problem that a record is, and why; "" for none.
func (w *World) trouble(r OwnRecord) (kind, why string) {
	o, group, claim := r.Object, r.Object.Lease.Group(), w.claims[state.HostName(r.Object.Host)]
	switch {
	case o.Host == "" || !o.HasLease || o.State == view.StateTerminating:
	case view.FormOf(o.Kind) != w.Config.DNS.Form:
		return state.StrayRecord, fmt.Sprintf("has a DNS record of a form that the configuration does not have (dns.form: %s)", w.Config.DNS.Form)
	case claim != nil && claim.Unreadable != "":
	case claim == nil || len(claim.Parts) == 0:
		return state.StrayRecord, "has a DNS record of a host that nobody has claimed"
	case len(claim.FormerOf(group)) > 0: // its routes still serve the host after a transfer
	case len(claim.PartsOf(group)) == 0:
		return state.StrayRecord, fmt.Sprintf("is of lease %s, and %s holds the host", o.Lease, state.Holders(claim))
	case r.Known:
		var has []dns.Record // a host may have its records in several objects
		for _, other := range w.records[o.Host] {
			if other.Object.HasLease && other.Object.Lease.Group() == group {
				has = append(has, other.Object.Records...)
			}
		}
		if why = r.differs(has); why != "" {
			return state.RecordDiffers, why
		}
	}
	return "", ""
}

// differs returns how a record differs from the wanted one, or which one the objects of the host do not have, or "".
func (r OwnRecord) differs(has []dns.Record) string {
	find := func(in []dns.Record, r dns.Record) int {
		return slices.IndexFunc(in, func(x dns.Record) bool { return x.Name == r.Name && x.Type == r.Type })
	}
	for _, is := range r.Object.Records {
		switch i := find(r.Want, is); {
		case i < 0:
			return fmt.Sprintf("has a record %s %s %s, which is not wanted", is.Name, is.Type, strings.Join(is.Values, ", "))
		case !reflect.DeepEqual(r.Want[i], is):
			return fmt.Sprintf("says %s %s, it is to be %s", is.Type, recordText(is), recordText(r.Want[i]))
		}
	}
	for _, want := range r.Want {
		if find(has, want) < 0 {
			return fmt.Sprintf("lacks the record %s %s %s", want.Name, want.Type, recordText(want))
		}
	}
	return ""
}

func recordText(r dns.Record) string {
	text := strings.Join(r.Values, ", ")
	if r.TTL > 0 {
		text += fmt.Sprintf(" (TTL %d)", r.TTL)
	}
	return text
}

// recordsByHost returns the DNS records of each host.
func recordsByHost(all []OwnRecord) map[string][]OwnRecord {
	of := map[string][]OwnRecord{}
	for _, r := range all {
		of[r.Object.Host] = append(of[r.Object.Host], r)
	}
	return of
}

// oldest returns the use that has been there for longest.
func oldest(uses []state.Use) state.Use {
	return slices.MinFunc(uses, func(a, b state.Use) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.String(), b.String()))
	})
}
