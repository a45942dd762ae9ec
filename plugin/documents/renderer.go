package documents

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/render/workload"
	"github.com/akash-net/kubectl-akash-net/state"
)

// renderer renders leases one after the other. It stores only a few bytes for each: the things it claims, to refuse a second
// claim, and the addresses that need a pool.
type renderer struct {
	cfg     *config.ProviderConfig
	cluster *cluster.Cluster
	// picker proposes addresses; nil if there is no ledger.
	picker *state.Picker
	// known are the addresses and pools in the ledger; nil if there is none.
	known *observed.Known
	// claims are the claims in the ledger by their names, and hostsBelow those on hosts by the wildcard that covers them.
	claims     map[string]*state.Claim
	hostsBelow map[string][]*state.Claim
	problems   lease.Problems
	// manifests are what Akash's hostname operator looks ProviderHosts up in; nil if it does not run in the ledger's cluster.
	manifests observed.Manifests
	// workloads are the options for rendering workloads; nil to render none.
	workloads *workload.Options
	// leasesWithWorkloads counts the leases rendered with workloads.
	leasesWithWorkloads int
	// omitted are warnings for what the last lease has and is not printed: Secrets, and things that are withheld from it.
	omitted lease.Problems
	// number is that of the next lease, and wantedByOthers those of leases that want what a later lease wants too.
	number         uint32
	wantedByOthers []uint32
	// claimed are the leases, hosts, paths, addresses and ports so far, with their holders. Its entries are indexes of files.
	claimed *firstSeen
	files   []string
	// used are addresses that need a pool: at least one for each pool in poolNames.
	used      map[netip.Addr]bool
	poolNames map[string]bool
}

func newRenderer(cfg *config.ProviderConfig) *renderer {
	return &renderer{cfg: cfg, claimed: newFirstSeen(), used: map[netip.Addr]bool{}, poolNames: map[string]bool{}}
}

// keepNamedAddresses keeps the addresses that a definition names from being proposed to another lease.
func (r *renderer) keepNamedAddresses(def *lease.Definition) {
	if r.picker != nil {
		request, _ := state.NewRequest(def, r.cfg) // lease reports its problems
		r.picker.Name(request)
	}
}

// lease renders a lease. It adds errors in the definition to r.problems.
func (r *renderer) lease(def *lease.Definition) ([]render.Object, error) {
	request, problems := state.NewRequest(def, r.cfg)
	r.problems = append(r.problems, problems.Errors()...)
	defer func() { r.number++ }()
	r.claimGroup(def.Lease.Group(), def.At)
	for _, h := range request.Hosts {
		r.claimHost(h, def.Lease.Owner)
	}
	addresses := render.Addresses{}
	for _, e := range request.Endpoints {
		for _, p := range e.Ports {
			r.claimThing("IP port "+lease.LeasedIPName(e.SharingKey, p.Protocol, p.ExternalPort), p.At)
		}
		if r.cfg.IP.Mode == config.ModePool {
			continue
		}
		as, err := r.addresses(request.Lease.Owner, e)
		if err != nil {
			return nil, err
		}
		addresses[e.Name] = as
		for _, a := range as {
			r.claimAddress(a, e, def.Lease.Owner)
			r.usePool(a)
		}
	}
	if problems.Failed() {
		return nil, nil
	}
	def = r.granted(def, request, addresses)
	objects, err := render.Lease(def, r.cfg, addresses)
	if err == nil {
		objects, err = r.withRecords(objects, def, addresses)
	}
	if err == nil {
		objects, err = r.withWorkloads(objects, def)
	}
	if found, ok := errors.AsType[lease.Problems](err); ok {
		r.problems = append(r.problems, found...)
		return nil, nil
	}
	return objects, err
}

// withRecords appends the DNS records of a lease. A record whose value only the cluster knows is an error, because clients
// could not resolve the host without it.
func (r *renderer) withRecords(objects []render.Object, def *lease.Definition, addresses render.Addresses) ([]render.Object, error) {
	records, err := render.Records(def, r.cfg, addresses, nil)
	if err != nil {
		return nil, err
	}
	var problems lease.Problems
	for _, h := range records.Unknown {
		problems.Add(h.At, "the DNS record of %s takes its value from the cluster's status (dns.sources: %s), "+
			"which render does not read: configure dns.targets or the source %s, or use \"apply\"", h.Name, h.Source, config.FromDomain)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return append(objects, records.Objects...), nil
}

// addresses returns the addresses of an endpoint: those in the definition, otherwise those it holds in the ledger or a free
// one of each family.
func (r *renderer) addresses(owner string, e state.EndpointWant) ([]netip.Addr, error) {
	if len(e.Addresses) > 0 || r.picker == nil || len(r.cfg.IP.Ranges.Include) == 0 { // NewRequest reports the lack of ranges
		return e.Addresses, nil
	}
	var out []netip.Addr
	for _, family := range e.Families {
		a, _, ok := r.picker.Next(owner, e.SharingKey, family, r.cfg.IP.Ranges, nil)
		if !ok {
			return nil, &report.ExhaustedError{Endpoint: e.Name, Ranges: r.cfg.IP.Ranges.Texts(family), At: e.At}
		}
		out = append(out, a)
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out, nil
}

// claimThing claims a thing, and reports one that an earlier lease has claimed.
func (r *renderer) claimThing(thing string, at lease.Place) { r.claimNamed([]byte(thing), thing, at) }

// claimNamed is claimThing for a thing with a shorter name in the table.
func (r *renderer) claimNamed(name []byte, thing string, at lease.Place) {
	if _, first, isDuplicate := r.claimed.add(name, r.entry(at, 0)); isDuplicate {
		r.reportDuplicate(thing, at, first)
	}
}

// reportDuplicate reports a second claim on a thing.
func (r *renderer) reportDuplicate(thing string, at lease.Place, first entry) {
	r.wantedByOthers = append(r.wantedByOthers, first.lease)
	r.problems.Add(at, "%s is claimed twice in one run (first near %s)", thing, r.place(first))
}

func (r *renderer) place(e entry) lease.Place {
	return lease.Place{File: r.files[e.file], Line: int(e.line), Column: 1}
}

// claimGroup claims a deployment group. Its name in the table has the number of the owner, because owners have many groups.
func (r *renderer) claimGroup(g lease.Group, at lease.Place) {
	name := binary.AppendUvarint([]byte{'g'}, uint64(r.holderNumber(g.Owner)))
	name = binary.AppendUvarint(binary.AppendUvarint(name, g.DSeq), uint64(g.GSeq))
	r.claimNamed(name, "lease "+g.String(), at)
}

// claimHost claims a host or a path. It reports a host of another owner, and a path of an earlier lease.
func (r *renderer) claimHost(h state.HostWant, owner string) {
	path := lease.HostPath(h.Host, h.Path)
	e := r.entry(h.At, r.holderNumber(owner))
	e.whole = path == h.Host
	_, first, known := r.claimed.add([]byte("host "+h.Host), e)
	switch {
	case known && first.holder != e.holder:
		r.reportRival("host "+h.Host, h.At, first)
	case known && e.whole && first.whole:
		r.reportDuplicate("host "+h.Host, h.At, first)
	case e.whole && known:
		r.claimNamed([]byte("path "+path), "host "+path, h.At)
	case !e.whole:
		r.claimThing("path "+path, h.At)
	}
	if r.cfg.Hosts.Wildcards && !known {
		r.checkWildcard(h, e)
	}
}

// checkWildcard reports a host below another owner's wildcard, and a wildcard above another owner's host. The table has the
// first two owners of hosts below each wildcard: one of them is not the wildcard's owner.
func (r *renderer) checkWildcard(h state.HostWant, e entry) {
	if strings.HasPrefix(h.Host, "*.") {
		for _, prefix := range []string{"below ", "below too "} {
			if first, known := r.claimed.find([]byte(prefix + h.Host)); known && first.holder != e.holder {
				r.reportRival("a host below "+h.Host, h.At, first)
				return
			}
		}
		return
	}
	wildcard := state.WildcardOver(h.Host)
	if wildcard == "" {
		return
	}
	if first, known := r.claimed.find([]byte("host " + wildcard)); known && first.holder != e.holder {
		r.reportRival(wildcard+", which covers "+h.Host+",", h.At, first)
	}
	if _, first, known := r.claimed.add([]byte("below "+wildcard), e); known && first.holder != e.holder {
		r.claimed.add([]byte("below too "+wildcard), e)
	}
}

// claimAddress claims an address. It reports an address of another owner, and one of an endpoint with another sharing key,
// because MetalLB would grant it to only one of the two.
func (r *renderer) claimAddress(a netip.Addr, e state.EndpointWant, owner string) {
	thing := "address " + a.String()
	by := r.entry(e.At, r.holderNumber(owner))
	if _, first, known := r.claimed.add([]byte("owner of "+a.String()), by); known && first.holder != by.holder {
		r.reportRival(thing, e.At, first)
		return
	}
	by.holder = r.holderNumber(e.SharingKey)
	if _, first, known := r.claimed.add([]byte(thing), by); known && first.holder != by.holder {
		r.reportDuplicate(thing, e.At, first)
	}
}

// reportRival reports a thing that two owners want. apply would refuse it to the second one.
func (r *renderer) reportRival(thing string, at lease.Place, first entry) {
	r.wantedByOthers = append(r.wantedByOthers, first.lease)
	message := lease.Message("%s is wanted by two owners of this input, first near %s", thing, r.place(first))
	r.problems = append(r.problems, lease.Problem{At: at, Held: true, Message: message})
}

// holderNumber returns a number that identifies an owner or a sharing key.
func (r *renderer) holderNumber(holder string) uint32 {
	number, _, _ := r.claimed.add([]byte("holder "+holder), entry{})
	return number
}

func (r *renderer) entry(at lease.Place, holder uint32) entry {
	if len(r.files) == 0 || r.files[len(r.files)-1] != at.File {
		r.files = append(r.files, at.File)
	}
	return entry{file: uint32(len(r.files) - 1), line: uint32(at.Line), holder: holder, lease: r.number}
}

// withWorkloads returns a lease's workloads followed by its routes. It adds warnings for omitted Secrets to r.omitted.
func (r *renderer) withWorkloads(routes []render.Object, def *lease.Definition) ([]render.Object, error) {
	if r.workloads == nil {
		return routes, nil
	}
	if r.leasesWithWorkloads++; r.leasesWithWorkloads > 1 && r.workloads.Scheduler != nil {
		r.problems.Add(def.At, "--scheduler-params is for one lease, and this is another")
		return nil, nil
	}
	rendered, err := workload.Lease(def, r.cfg, *r.workloads)
	for _, left := range rendered.Left {
		why := ", and the password in its Manifest: --show-secrets prints them"
		if left.NoPassword {
			why = ": the definition has no password for it"
		}
		message := fmt.Sprintf("secret/%s of namespace %s is omitted%s", left.Name, def.Lease.Namespace(), why)
		r.omitted = append(r.omitted, lease.Problem{At: left.At, Message: message, Warning: true})
	}
	if err != nil {
		return nil, err
	}
	objects := append(rendered.Objects, routes...)
	return objects, render.CheckNames(objects, def.At)
}

// warnings returns the warnings about a rendered lease, and clears r.omitted.
func (r *renderer) warnings(def *lease.Definition) lease.Problems {
	omitted := r.omitted
	r.omitted = nil
	request, _ := state.NewRequest(def, r.cfg) // lease has reported its problems
	return slices.Concat(render.Warnings(def, r.cfg), omitted, r.manifests.Warnings(request))
}
