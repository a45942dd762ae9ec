package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Problems finds all problems, sorted by thing. It is a pure function.
func Problems(f ProblemFacts) []state.Problem {
	p := newProblems(f)
	p.findDrift()
	p.findCrashedRuns()
	p.findCrashedUninstalls()
	p.checkKept()
	for _, c := range f.Claims {
		p.checkClaim(c)
	}
	for i := range f.Objects {
		p.checkObject(&f.Objects[i])
	}
	for g, hashes := range p.hashes {
		if len(hashes) > 1 {
			p.add(p.byPruning(state.Problem{Problem: state.MixedDefinitions, Thing: g.String(), Lease: g.String(),
				Message: fmt.Sprintf("its objects are of %d different definitions: two were applied at once, or a run crashed", len(hashes)),
			}, g))
		}
	}
	p.findTwoRoutes()
	p.checkRecords()
	p.findOverlaps()
	p.findDifferingPools()
	p.findExhausted()
	p.findNodeAddresses()
	p.checkReservations()
	p.findStrayWorkloads()
	p.findFailing()
	slices.SortFunc(p.found, func(a, b state.Problem) int {
		return cmp.Or(cmp.Compare(a.Thing, b.Thing), cmp.Compare(a.Problem, b.Problem), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Message, b.Message))
	})
	return p.found
}

type problems struct {
	ProblemFacts
	claims map[string]*state.Claim
	// byKey are the claims on addresses by sharing key, sharing those on addresses and endpoints. services are the Services by the sharing
	// key that they ask with.
	byKey    map[string][]*state.Claim
	sharing  map[string][]*state.Claim
	services map[string][]state.ServiceObject
	// ports are the Services by their deployment groups and their ports.
	ports map[groupPort][]*state.ServiceObject
	pools *state.PoolIndex
	// objects are those of each deployment group, entries the groups that have one on a claim, named the Services by namespace and name.
	objects map[lease.Group][]*state.OwnObject
	entries map[lease.Group]bool
	named   map[[2]string]*state.OwnObject
	// written are the UIDs of the objects that this program wrote.
	written map[string]bool
	// hashes are the hashes of the definitions that the objects of a deployment group were rendered from.
	hashes map[lease.Group]map[string]bool
	// lastWritten is when an object of a deployment group was last written. runs are the announcements by nonce.
	lastWritten map[lease.Group]time.Time
	runs        map[string]*state.Announcement
	// kept are the readable definitions that the ledger keeps.
	kept map[lease.Group]*KeptDefinition
	// asks are what those ask for.
	asks map[lease.Group]*asked
	// declarations are the ProviderHosts and ProviderLeasedIPs, by the keys of declaration.
	declarations map[string]*state.OwnObject
	// stands are the parts of things that objects of deployment groups serve or declare.
	stands map[servedPart]bool
	// drifted are the objects that somebody has changed, by kind, namespace and name. What they serve now is nobody's.
	drifted map[string]bool
	found   []state.Problem
	// of are the places in found by thing. rejected are the objects of operators that are deleted when the user names them.
	of       map[string][]int
	rejected map[state.ObjectRef]bool
}

// groupPort is a port of a deployment group.
type groupPort struct {
	group lease.Group
	key   string
}

func newProblems(f ProblemFacts) *problems {
	p := &problems{
		ProblemFacts: f, claims: map[string]*state.Claim{}, byKey: map[string][]*state.Claim{}, sharing: map[string][]*state.Claim{}, of: map[string][]int{}, rejected: map[state.ObjectRef]bool{},
		objects: map[lease.Group][]*state.OwnObject{}, entries: map[lease.Group]bool{}, named: map[[2]string]*state.OwnObject{},
		services: map[string][]state.ServiceObject{}, ports: map[groupPort][]*state.ServiceObject{}, written: map[string]bool{}, hashes: map[lease.Group]map[string]bool{},
		lastWritten: map[lease.Group]time.Time{}, runs: map[string]*state.Announcement{}, kept: map[lease.Group]*KeptDefinition{},
		pools: state.NewPoolIndex(f.Contents.Pools), stands: servedParts(f), drifted: map[string]bool{}, asks: map[lease.Group]*asked{}, declarations: declarations(f.Objects),
	}
	for _, c := range f.Claims {
		if p.claims[c.Name()] = c; c.Kind == state.Address {
			p.byKey[c.SharingKey] = append(p.byKey[c.SharingKey], c)
		}
		for _, g := range c.Writers() {
			p.entries[g] = p.entries[g] || len(c.Entries(g)) > 0
		}
		if c.SharingKey != "" {
			p.sharing[c.SharingKey] = append(p.sharing[c.SharingKey], c)
		}
	}
	p.occupy()
	for i, s := range f.Contents.Services {
		if p.services[s.SharingKey] = append(p.services[s.SharingKey], s); s.HasLease {
			at := groupPort{s.Lease.Group(), state.PortKey(s.Protocol, s.Port)}
			p.ports[at] = append(p.ports[at], &f.Contents.Services[i])
		}
	}
	for _, o := range f.Objects {
		p.written[o.UID] = o.Ours
		if !o.Ours || o.Deleting || o.Definition == "" || p.servesForAnother(&o) {
			continue
		}
		g := o.Lease.Group()
		if p.hashes[g] == nil {
			p.hashes[g] = map[string]bool{}
		}
		p.hashes[g][o.Definition] = true
	}
	for i := range f.Objects {
		o := &f.Objects[i]
		if at := [2]string{o.Namespace, o.Name}; o.Kind == "service" && p.named[at] == nil {
			p.named[at] = o
		}
		if o.HasLease {
			g := o.Lease.Group()
			p.objects[g] = append(p.objects[g], o)
			p.lastWritten[g] = latest(p.lastWritten[g], o.Written)
		}
	}
	for _, a := range f.Runs {
		p.runs[a.Nonce] = a
	}
	for i := range f.Definitions {
		if k := &f.Definitions[i]; k.Def != nil {
			g := k.Def.Lease.Group()
			p.kept[g], p.lastWritten[g] = k, latest(p.lastWritten[g], k.Written)
		}
	}
	return p
}

// occupy notes the names of objects that say they are no claims: one with the name of a claim keeps others from claiming.
func (p *problems) occupy() {
	other := &state.Claim{Unreadable: "an object of another kind has its name"}
	for _, r := range p.Contents.Reservations {
		p.claims[r.ObjectName] = other
	}
	for i := range p.Definitions {
		p.claims[p.Definitions[i].Name] = other
	}
}

// servesForAnother reports whether the object still serves another lease after a transfer. That lease's apply deletes
// it; an apply of its own lease leaves it as it is.
func (p *problems) servesForAnother(o *state.OwnObject) bool {
	g := o.Lease.Group()
	if o.SharingKey != "" {
		return slices.ContainsFunc(p.sharing[o.SharingKey], func(c *state.Claim) bool {
			return c.ServesFor(g, o.Port.Key(), false) != nil
		})
	}
	if len(o.Uses) == 0 { // it belongs to a route with the same name
		host, _, _ := lease.ParseRouteName(o.Name)
		return len(p.claims[state.HostName(host)].FormerOf(g)) > 0
	}
	return slices.ContainsFunc(o.Uses, func(u state.Use) bool {
		return p.claims[claimName(u)].ServesFor(g, u.PartKey(o), u.Redirect) != nil
	})
}

// fill returns base as a problem of the kind, with its message, its plan and its repair.
func fill(base state.Problem, kind, message, plan string, fix *state.Fix) state.Problem {
	base.Problem, base.Message, base.Plan, base.Fix = kind, message, plan, fix
	return base
}

// add adds a problem. If several objects serve the same unclaimed part, they are one problem.
func (p *problems) add(x state.Problem) {
	if x.Fix.Is(state.Take) {
		for _, i := range p.of[x.Thing] {
			same := p.found[i].Fix
			if same.Is(state.Take) && p.found[i].Lease == x.Lease && slices.Equal(same.Hold.Parts, x.Fix.Hold.Parts) {
				same.Objects = append(same.Objects, x.Fix.Objects...)
				return
			}
		}
	}
	p.of[x.Thing] = append(p.of[x.Thing], len(p.found))
	p.found = append(p.found, x)
}

// has reports whether a problem of a thing was found.
func (p *problems) has(thing string, is func(state.Problem) bool) bool {
	return slices.ContainsFunc(p.of[thing], func(i int) bool { return is(p.found[i]) })
}

// checkObject checks one object of a lease.
func (p *problems) checkObject(o *state.OwnObject) {
	base := state.Problem{Thing: o.Kind + "/" + o.Name, Namespace: o.Namespace, Since: metav1.NewTime(o.Since)}
	if o.HasLease {
		base.Lease = o.Lease.String()
	}
	if o.Deleting {
		if o.HasLease && (o.Ours || o.Shared) && len(o.Finalizers) > 0 {
			p.addTerminating(base, o.Finalizers, o.ObjectRef)
		}
		return
	}
	if o.OldVersions {
		p.add(fill(base, state.OldManagedFields,
			"its managed fields are of an API version that is gone: server-side apply fails on it",
			"drop those managed fields", &state.Fix{Do: state.DropManagedFields, Objects: one(o), Value: p.hash(o.Lease)}))
	}
	p.checkReports(base, o)
	p.checkWallets(base, o)
	if o.HasLease {
		p.checkAsks(base, o)
		p.checkManifest(base, o)
	}
	switch {
	case !o.Ours && o.Shared && o.HasLease:
		p.checkOperated(base, o)
		return
	case !o.Ours:
		return
	case (o.Kind == "service" || o.Kind == kinds.ProviderLeasedIP.Singular) && p.Config.IP.Mode == config.ModePool:
		p.checkPooledPort(base, o)
	}
	if o.ByOperators && !p.drifted[o.String()] {
		p.checkDeclared(base, o)
	}
	p.checkMarks(base, o)
	if p.drifted[o.String()] {
		return
	}
	for _, u := range o.Uses {
		if u.Granted && slices.ContainsFunc(o.Uses, func(v state.Use) bool { return !v.Granted && v.Address == u.Address }) {
			continue // the use that asks for the address is checked
		}
		if len(p.claimsElsewhere(o.Lease.Group(), u, u.PartKey(o))) > 0 {
			continue // it asks for another address than the claimed one
		}
		p.checkUse(base, o, u)
	}
	switch o.Kind {
	case kinds.ProviderHost.Singular:
		p.checkHostServed(base, o)
	case kinds.ProviderLeasedIP.Singular:
		p.checkLeasedIP(base, o)
	}
}

// ProblemFacts is the input of Problems.
type ProblemFacts struct {
	*View
	Contents   view.Contents
	Objects    []state.OwnObject
	Records    []OwnRecord
	Namespaces map[string]bool
	// Lacks returns what Akash's hostname operator would not find for a ProviderHost of the lease, or ""; nil if the
	// operator does not run, or if that cannot be seen.
	Lacks func(id lease.ID, service string, port uint16) string
	// Definitions are the definitions that the ledger keeps.
	Definitions []KeptDefinition
	// Manifests say what this program runs, as far as they may be read.
	Manifests []deployed.Manifest
	// ClosedBy is the nonce of the uninstall that has closed the ledger; empty while the ledger is open.
	ClosedBy string
	// Runs are the announcements of commands that are running or have crashed. Own is the nonce of the command that
	// asks.
	Runs []*state.Announcement
	Own  string
	// Lost are the reservations for which the room is gone, by the names of their objects. It is nil if that is unknown.
	Lost map[string]bool
	// Failing are the leases that the reconciler has recorded as failing.
	Failing []state.Failing
	// CrashedAfter is how long a run may go without renewing its announcement before it counts as crashed, and how long
	// nobody may have written for a lease before something missing is a problem.
	CrashedAfter time.Duration
}

// declaration returns the ProviderHost of a host or the ProviderLeasedIP of a port of an endpoint, or nil.
func (p *problems) declaration(kind, host, sharingKey, key string) *state.OwnObject {
	if kind == kinds.ProviderHost.Singular {
		return p.declarations[kind+" "+host]
	}
	return p.declarations[kind+" "+sharingKey+" "+key]
}

// declarations returns the ProviderHosts and ProviderLeasedIPs by the keys of declaration.
func declarations(objects []state.OwnObject) map[string]*state.OwnObject {
	found := map[string]*state.OwnObject{}
	for i := range objects {
		switch o := &objects[i]; o.Kind {
		case kinds.ProviderHost.Singular:
			found[o.Kind+" "+o.Name] = o
		case kinds.ProviderLeasedIP.Singular:
			found[o.Kind+" "+o.SharingKey+" "+o.Port.Key()] = o
		}
	}
	return found
}

// partOf returns one part of a claim with its deployment group.
func partOf(c *state.Claim, part *state.Part) state.ClaimParts {
	return state.ClaimParts{Claim: c, Group: part.Lease.Group(), Keys: []string{part.Key}}
}

// InNamespace returns the problems of the leases of a namespace: those that name the namespace, a lease of it, or a
// thing of which a lease of it holds a part.
func InNamespace(problems []state.Problem, claims []*state.Claim, namespace string) []state.Problem {
	groups, things, tenants := map[lease.Group]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range claims {
		for _, p := range c.Parts {
			if tenants[p.Lease.Namespace()] = true; p.Lease.Namespace() == namespace {
				groups[p.Lease.Group()], things[c.Thing] = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p state.Problem) bool {
		if p.Namespace == namespace || tenants[p.Namespace] {
			return p.Namespace != namespace
		}
		if id, err := lease.ParseID(p.Lease); err == nil { // also of a ProviderHost, which is in the namespace of all
			return id.Namespace() != namespace
		}
		if g, err := lease.ParseGroup(p.Lease); err == nil {
			return !groups[g]
		}
		return p.Namespace != "" || !things[p.Thing]
	})
}

// OfLeases returns the problems of deployment groups: those that name one, and those of things that one holds which name no lease.
func OfLeases(problems []state.Problem, claims []*state.Claim, groups []lease.Group) []state.Problem {
	things := map[string]bool{}
	for _, c := range claims {
		for _, p := range c.Parts {
			if slices.Contains(groups, p.Lease.Group()) {
				things[c.Thing] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p state.Problem) bool {
		if id, err := lease.ParseID(p.Lease); err == nil {
			return !slices.Contains(groups, id.Group())
		}
		if g, err := lease.ParseGroup(p.Lease); err == nil {
			return !slices.Contains(groups, g)
		}
		return !things[p.Thing]
	})
}

// OfThing returns the problems of a host or an address, and those of objects that are named after it.
func OfThing(problems []state.Problem, name string) []state.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p state.Problem) bool { return p.Thing != name && !strings.HasSuffix(p.Thing, "/"+name) })
}
