package diagnose

import (
	"cmp"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// rivals returns the routes of a host that serve the same requests for a path as another one, or belong to another
// tenant. Routes in one namespace are of one tenant.
func rivals(uses []state.Use) []state.Use {
	var serving []state.Use
	for _, u := range uses {
		if u.Kind != kinds.ProviderHost.Singular && !u.Redirect {
			serving = append(serving, u)
		}
	}
	return slices.DeleteFunc(slices.Clone(serving), func(u state.Use) bool {
		return !slices.ContainsFunc(serving, func(v state.Use) bool {
			same := u.Namespace == v.Namespace || u.HasLease && v.HasLease && u.Lease.Owner == v.Lease.Owner
			return u.UID != v.UID && (u.Path == v.Path && admission.Compete(u.Kind, u.Matches, v.Kind, v.Matches) || !same)
		})
	})
}

// findTwoRoutes finds hosts with competing routes, unless one of them is a stray route of this program.
func (p *problems) findTwoRoutes() {
	for host, uses := range p.Uses {
		c := p.claims[state.HostName(host)]
		serving := slices.DeleteFunc(rivals(uses), func(u state.Use) bool {
			return p.drifted[u.String()] || u.HasLease && c.ServesFor(u.Lease.Group(), state.RouteKey(u.Path), u.Redirect) != nil
		})
		ofLease := func(u state.Use) bool { return u.HasLease }
		if len(serving) < 2 || !c.Held() && !slices.ContainsFunc(serving, ofLease) || p.addMigration(host, serving) {
			continue
		}
		if p.has(host, func(x state.Problem) bool { return x.Problem == state.StrayRoute }) {
			continue
		}
		slices.SortFunc(serving, func(a, b state.Use) int { return cmp.Compare(a.String(), b.String()) })
		x := state.Problem{Problem: state.TwoRoutes, Thing: host, Namespace: serving[0].Namespace,
			Message: fmt.Sprintf("%d routes serve it, %s and %s among them", len(serving), serving[0], serving[1])}
		going := p.unwanted(c, serving)
		if len(going) == 0 {
			x.Lease = serving[0].Lease.String()
			p.add(p.byPruning(x, serving[0].Lease.Group()))
			continue
		}
		var names []string
		reject := &state.Fix{Do: state.Reject}
		for _, u := range going {
			names = append(names, u.String()+p.servesToo(u))
			reject.Objects = append(reject.Objects, state.ObjectRef{Kind: u.Kind, Namespace: u.Namespace, Name: u.Name, UID: string(u.UID)})
		}
		x.Plan, x.Fix = "delete "+strings.Join(names, " and "), reject
		if c.Held() && len(going) < len(serving) {
			x.Plan += ": the other is the holder's"
		}
		p.add(x.ByName())
	}
}

// unwanted returns the competing routes that the holder of the host does not want. If nobody holds the host, the owner
// of the oldest route counts as the holder, as in package admission. It returns nothing if all routes belong to one
// deployment group and to this program: only the definition decides then.
func (p *problems) unwanted(c *state.Claim, serving []state.Use) []state.Use {
	oldest := slices.MinFunc(serving, func(a, b state.Use) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.String(), b.String()))
	})
	without := func(keep func(state.Use) bool) []state.Use { return slices.DeleteFunc(slices.Clone(serving), keep) }
	going := without(func(u state.Use) bool {
		if part := c.Part(state.RouteKey(u.Path)); c.Held() && part != nil {
			return u.Of(part.Lease.Group())
		}
		if c.Held() {
			return u.HasLease && len(c.PartsOf(u.Lease.Group())) > 0
		}
		return u.UID == oldest.UID || u.HasLease && oldest.HasLease && u.Lease.Owner == oldest.Lease.Owner
	})
	ours := func(u state.Use) bool { return p.written[string(u.UID)] }
	switch {
	case len(going) > 0:
		return going
	case slices.ContainsFunc(serving, ours):
		return without(ours)
	}
	return without(func(u state.Use) bool { return u.UID == oldest.UID })
}

// servesToo describes the other hosts that a route serves.
func (p *problems) servesToo(route state.Use) string {
	var hosts []string
	for host, uses := range p.Uses {
		if host != route.Host && slices.ContainsFunc(uses, func(u state.Use) bool { return u.UID == route.UID }) {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) == 0 {
		return ""
	}
	slices.Sort(hosts)
	return " (which serves " + strings.Join(hosts, ", ") + " too)"
}

// addMigration adds routes of one deployment group that differ only in kind: a migration is running or has ended early.
// It returns false for other routes.
func (p *problems) addMigration(host string, serving []state.Use) bool {
	forms := map[string]bool{}
	for _, u := range serving {
		form := u.Kind + " " + u.Path
		if !u.HasLease || u.Lease.Group() != serving[0].Lease.Group() || forms[form] {
			return false
		}
		forms[form] = true
	}
	slices.SortFunc(serving, func(a, b state.Use) int { return cmp.Compare(a.String(), b.String()) })
	g := serving[0].Lease.Group()
	base := state.Problem{Thing: host, Namespace: serving[0].Namespace, Lease: serving[0].Lease.String()}
	p.add(fill(base, state.MigrationUnderWay,
		fmt.Sprintf("%s and %s serve it: a migration is under way, or ended early", serving[0], serving[1]),
		"move the routes of its lease to the configured kind, "+p.Config.Target, &state.Fix{Do: state.MoveRoutes, Group: g}).ByName())
	return true
}

// checkReports finds reports in a route's status from routers that are gone.
func (p *problems) checkReports(base state.Problem, o *state.OwnObject) {
	var stale, by []string
	for _, r := range o.Reports {
		if r.Stale != "" && (o.Labelled || o.Ours) {
			stale, by = append(stale, r.String()), append(by, r.By)
		}
	}
	if len(stale) == 0 {
		return
	}
	p.add(fill(base, state.StaleReport, strings.Join(stale, "; "),
		"take the report of "+strings.Join(by, ", ")+" out of its status", &state.Fix{Do: state.ClearReports, Objects: one(o)}))
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
// gets the address next would get the name's traffic.
func (p *problems) checkRecords() {
	of := recordsByHost(p.Records)
	for _, r := range p.Records {
		o, c := r.Object, p.claims[state.HostName(r.Object.Host)]
		base := state.Problem{Thing: o.Host, Namespace: o.Namespace, Lease: o.Lease.String(), Since: metav1.NewTime(o.Since)}
		switch kind, why := r.trouble(p.Config, c, of[o.Host]); kind {
		case state.StrayRecord:
			p.add(fill(base, kind, r.Ref.String()+" "+why, "delete "+r.Ref.String(), &state.Fix{Do: state.DeleteObjects, Objects: []state.ObjectRef{r.Ref}}))
		case state.RecordDiffers:
			p.addOnce(fill(base, kind, r.Ref.String()+" "+why, "write the DNS records of the host anew",
				&state.Fix{Do: state.WriteRecords, Value: o.Host, Part: c.PartsOf(o.Lease.Group())[0]}))
		}
	}
}

// trouble returns the kind of problem that a record is, and why; "" for none. claim is that on its host, which may be nil, all are the
// records of the host.
func (r OwnRecord) trouble(cfg *config.ProviderConfig, claim *state.Claim, all []OwnRecord) (kind, why string) {
	o, group := r.Object, r.Object.Lease.Group()
	switch {
	case o.Host == "" || !o.HasLease || o.State == view.StateTerminating:
	case view.FormOf(o.Kind) != cfg.DNS.Form:
		return state.StrayRecord, fmt.Sprintf("has a DNS record of a form that the configuration does not have (dns.form: %s)", cfg.DNS.Form)
	case claim != nil && claim.Unreadable != "":
	case claim == nil || len(claim.Parts) == 0:
		return state.StrayRecord, "has a DNS record of a host that nobody has claimed"
	case len(claim.FormerOf(group)) > 0: // its routes still serve the host after a transfer
	case len(claim.PartsOf(group)) == 0:
		return state.StrayRecord, fmt.Sprintf("is of lease %s, and %s holds the host", o.Lease, state.Holders(claim))
	default:
		var has []dns.Record // a host may have its records in several objects
		for _, other := range all {
			if other.Object.HasLease && other.Object.Lease.Group() == group {
				has = append(has, other.Object.Records...)
			}
		}
		if why = cmp.Or(r.differs(), r.lacks(has)); why != "" {
			return state.RecordDiffers, why
		}
	}
	return "", ""
}

func recordsByHost(all []OwnRecord) map[string][]OwnRecord {
	of := map[string][]OwnRecord{}
	for _, r := range all {
		of[r.Object.Host] = append(of[r.Object.Host], r)
	}
	return of
}

// addOnce adds a problem that all records of a host share.
func (p *problems) addOnce(x state.Problem) {
	if !p.has(x.Thing, func(y state.Problem) bool { return y.Problem == x.Problem && y.Lease == x.Lease }) {
		p.add(x)
	}
}

// differs returns how a record differs from the wanted one, or "".
func (r OwnRecord) differs() string {
	if !r.Known {
		return ""
	}
	for _, is := range r.Object.Records {
		i := slices.IndexFunc(r.Want, func(w dns.Record) bool { return w.Name == is.Name && w.Type == is.Type })
		switch {
		case i < 0:
			return fmt.Sprintf("has a record %s %s %s, which is not wanted", is.Name, is.Type, strings.Join(is.Values, ", "))
		case !reflect.DeepEqual(r.Want[i], is):
			return fmt.Sprintf("says %s %s, it is to be %s", is.Type, recordText(is), recordText(r.Want[i]))
		}
	}
	return ""
}

// lacks returns which of the wanted records the objects of the host do not have, or "".
func (r OwnRecord) lacks(has []dns.Record) string {
	if !r.Known {
		return ""
	}
	for _, want := range r.Want {
		if !slices.ContainsFunc(has, func(is dns.Record) bool { return is.Name == want.Name && is.Type == want.Type }) {
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

// findDifferingPools finds pools of this program that do not match the configuration. It ignores a pool that shares no
// address with it, because that pool is in nobody's way.
func (p *problems) findDifferingPools() {
	if p.Config.IP.Mode == config.ModePool {
		return
	}
	used := view.UsedAddresses(p.Claims, p.Contents.Services)
	for _, o := range p.Contents.Pools {
		if o.Ours {
			p.checkMissingRanges(o)
			p.checkExtraRanges(o, used)
		}
	}
}

// checkMissingRanges finds configured addresses that the pool should have and no pool has.
func (p *problems) checkMissingRanges(o state.PoolObject) {
	i := p.rangeOf(o)
	if i < 0 || p.Config.IP.Mode != config.ModeRange {
		return
	}
	var had []config.Range
	for _, other := range p.Contents.Pools {
		had = append(had, other.Ranges...)
	}
	lacks := state.PoolObject{Ranges: p.Config.IP.Ranges.Pieces(p.Config.IP.Ranges.Include[i])}.Without(had)
	if len(lacks) == 0 {
		return
	}
	p.add(fill(state.Problem{Thing: o.Name}, state.PoolDiffers,
		"it lacks "+metalLB(lacks)+" of ip.ranges, which no pool has",
		"add "+metalLB(lacks)+" to it", &state.Fix{Do: state.MakePool, Address: lacks[0].First}))
}

// checkExtraRanges finds addresses of the pool that are neither configured nor in use.
func (p *problems) checkExtraRanges(o state.PoolObject, used []netip.Addr) {
	configured := state.PoolObject{Ranges: p.Config.IP.Ranges.Include}.Without(p.Config.IP.Ranges.Exclude)
	if len(o.Shares(state.PoolObject{Ranges: configured})) == 0 {
		return
	}
	for _, r := range o.Ranges {
		i, _ := slices.BinarySearchFunc(used, r.First, netip.Addr.Compare)
		for ; i < len(used) && r.Contains(used[i]); i++ {
			configured = append(configured, config.Range{First: used[i], Last: used[i]})
		}
		p.pools.Overlapping(r, func(other *state.PoolObject, theirs config.Range) bool {
			if !other.Ours {
				configured = append(configured, theirs) // an overlap is another problem
			}
			return true
		})
	}
	extra := o.Without(configured)
	if len(extra) == 0 {
		return
	}
	p.add(fill(state.Problem{Thing: o.Name}, state.PoolDiffers,
		"it has "+metalLB(extra)+", which ip.ranges does not have and nobody uses",
		"take "+metalLB(extra)+" out of it", &state.Fix{Do: state.NarrowPool, Objects: []state.ObjectRef{o.Ref}, Ranges: extra, Unused: true}))
}

// metalLB formats ranges for MetalLB.
func metalLB(ranges []config.Range) string {
	var texts []string
	for _, r := range ranges {
		texts = append(texts, r.MetalLB())
	}
	return strings.Join(texts, ", ")
}
