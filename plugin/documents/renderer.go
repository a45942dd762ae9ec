package documents

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/render/workload"
	"github.com/akash-net/kubectl-akash-net/state"
)

// renderer renders one lease after the other. What it remembers of each is a few bytes: which
// things were claimed, to refuse a second claim, and which addresses need a pool.
type renderer struct {
	cfg     *config.ProviderConfig
	cluster *cluster.Cluster
	picker  *state.Picker
	// known is what the ledger says, nil where there is none.
	known    *pools.Known
	problems lease.Problems
	// workloads say how what the leases run is rendered; nil where it is not. ran counts the leases of which
	// it was, left are the Secrets that were left out of the last.
	workloads *workload.Options
	ran       int
	left      lease.Problems
	// claimed are the leases, hosts, paths, addresses and ports so far, with their holders; files are
	// those that its entries name.
	claimed *firstSeen
	files   []string
	used    map[netip.Addr]bool
	// poolNames are the pools for which an address stands in used.
	poolNames map[string]bool
}

func newRenderer(cfg *config.ProviderConfig) *renderer {
	return &renderer{cfg: cfg, claimed: newFirstSeen(), used: map[netip.Addr]bool{}, poolNames: map[string]bool{}}
}

// lease renders a lease; what is wrong with its definition is added to the problems.
func (r *renderer) lease(def *lease.Definition) ([]render.Object, error) {
	request, problems := state.NewRequest(def, r.cfg)
	r.problems = append(r.problems, problems.Errors()...)
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
			// In range mode the pool is that of the range: one address of it is enough.
			if name, ok := r.cfg.PoolFor(a); ok {
				r.usePool(name, a)
			}
		}
	}
	if problems.Failed() {
		return nil, nil
	}
	objects, err := render.Lease(def, r.cfg, addresses)
	if err == nil {
		objects, err = r.withRecords(objects, def, addresses)
	}
	if err == nil {
		objects, err = r.withWorkloads(objects, def)
	}
	if wrong, ok := errors.AsType[lease.Problems](err); ok {
		r.problems = append(r.problems, wrong...)
		return nil, nil
	}
	return objects, err
}

// withRecords adds the DNS records of a lease. A value that only the cluster knows is a problem:
// without its record the host would look finished and not be found.
func (r *renderer) withRecords(objects []render.Object, def *lease.Definition, addresses render.Addresses) ([]render.Object, error) {
	records, err := render.Records(def, r.cfg, addresses, nil)
	if err != nil {
		return nil, err
	}
	var problems lease.Problems
	for _, h := range records.Unknown {
		problems.Add(h.At, "the DNS record of %s takes its value from the cluster's status (dns.sources: %s), which render does not read: "+
			"configure dns.targets or the source %s, or use \"apply\"", h.Name, h.Source, config.FromDomain)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return append(objects, records.Objects...), nil
}

// addresses are those of the definition, or those that the ledger has or proposes.
func (r *renderer) addresses(owner string, e state.EndpointWant) ([]netip.Addr, error) {
	if len(e.Addresses) > 0 || r.picker == nil {
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

// claimThing refuses a thing that an earlier lease of the same run has claimed.
func (r *renderer) claimThing(thing string, at lease.Place) { r.claimNamed([]byte(thing), thing, at) }

// claimNamed is claimThing for a thing that is remembered by a shorter name.
func (r *renderer) claimNamed(name []byte, thing string, at lease.Place) {
	if _, first, twice := r.claimed.add(name, r.entry(at, 0)); twice {
		r.reportDuplicate(thing, at, first)
	}
}

// reportDuplicate reports a thing that is claimed twice.
func (r *renderer) reportDuplicate(thing string, at lease.Place, first entry) {
	r.problems.Add(at, "%s is claimed twice in one run (first near %s)", thing, r.place(first))
}

func (r *renderer) place(e entry) lease.Place {
	return lease.Place{File: r.files[e.file], Line: int(e.line), Column: 1}
}

// claimGroup refuses a deployment group that an earlier lease has. Owners have many of them: here
// each is a number.
func (r *renderer) claimGroup(g lease.Group, at lease.Place) {
	name := binary.AppendUvarint([]byte{'g'}, uint64(r.number(g.Owner)))
	name = binary.AppendUvarint(binary.AppendUvarint(name, g.DSeq), uint64(g.GSeq))
	r.claimNamed(name, "lease "+g.String(), at)
}

// claimHost refuses a host of another owner, and a path of it that an earlier lease has.
func (r *renderer) claimHost(h state.HostWant, owner string) {
	e := r.entry(h.At, r.number(owner))
	e.whole = lease.HostPath(h.Host, h.Path) == h.Host
	_, first, known := r.claimed.add([]byte("host "+h.Host), e)
	switch path := lease.HostPath(h.Host, h.Path); {
	case known && first.holder != e.holder:
		r.rivals("host "+h.Host, h.At, first)
	case known && e.whole && first.whole:
		r.reportDuplicate("host "+h.Host, h.At, first)
	case e.whole && known:
		r.claimNamed([]byte("path "+path), "host "+path, h.At)
	case !e.whole:
		r.claimThing("path "+path, h.At)
	}
	if r.cfg.Hosts.Wildcards && !known {
		r.covered(h, e)
	}
}

// covered refuses a host below another owner's wildcard, and a wildcard above another owner's host.
func (r *renderer) covered(h state.HostWant, e entry) {
	if strings.HasPrefix(h.Host, "*.") {
		for _, nth := range []string{"below ", "below too "} {
			if first, known := r.claimed.find([]byte(nth + h.Host)); known && first.holder != e.holder {
				r.rivals("a host below "+h.Host, h.At, first)
				return
			}
		}
		return
	}
	over := state.WildcardOver(h.Host)
	if over == "" {
		return
	}
	if first, known := r.claimed.find([]byte("host " + over)); known && first.holder != e.holder {
		r.rivals(over+", which covers "+h.Host+",", h.At, first)
	}
	if _, first, known := r.claimed.add([]byte("below "+over), e); known && first.holder != e.holder {
		r.claimed.add([]byte("below too "+over), e)
	}
}

// claimAddress refuses an address that an IP endpoint with another sharing key has: MetalLB would
// let only one of the two have it.
func (r *renderer) claimAddress(a netip.Addr, e state.EndpointWant, owner string) {
	by := r.entry(e.At, r.number(owner))
	if _, first, known := r.claimed.add([]byte("owner of "+a.String()), by); known && first.holder != by.holder {
		r.rivals("address "+a.String(), e.At, first)
		return
	}
	thing, by := "address "+a.String(), r.entry(e.At, r.number(e.SharingKey))
	if _, first, known := r.claimed.add([]byte(thing), by); known && first.holder != by.holder {
		r.reportDuplicate(thing, e.At, first)
	}
}

// rivals reports a thing that two owners want: an apply refuses it to one of them.
func (r *renderer) rivals(thing string, at lease.Place, first entry) {
	r.problems = append(r.problems, lease.Problem{At: at, Held: true, Message: lease.Message("%s is wanted by two owners of this input, first near %s", thing, r.place(first))})
}

// number tells an owner or a sharing key from all others.
func (r *renderer) number(holder string) uint32 {
	number, _, _ := r.claimed.add([]byte("holder "+holder), entry{})
	return number
}

func (r *renderer) entry(at lease.Place, holder uint32) entry {
	if len(r.files) == 0 || r.files[len(r.files)-1] != at.File {
		r.files = append(r.files, at.File)
	}
	return entry{file: uint32(len(r.files) - 1), line: uint32(at.Line), holder: holder}
}

func (r *renderer) usePool(name string, a netip.Addr) {
	if r.known != nil || !r.poolNames[name] { // known pools may have some addresses of a range
		r.poolNames[name] = true
		r.used[a] = true
	}
}

// pools are the pools that the rendered leases need.
func (r *renderer) pools() ([]render.Object, error) {
	addresses := make([]netip.Addr, 0, len(r.used))
	for a := range r.used {
		addresses = append(addresses, a)
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	if r.known != nil {
		return pools.Beside(r.cfg, addresses, r.known)
	}
	return render.Pools(r.cfg, addresses)
}

// withWorkloads puts what a lease runs before its routes, and notes the Secrets that are left out.
func (r *renderer) withWorkloads(routes []render.Object, def *lease.Definition) ([]render.Object, error) {
	if r.workloads == nil {
		return routes, nil
	}
	if r.ran++; r.ran > 1 && r.workloads.Scheduler != nil {
		r.problems.Add(def.At, "--scheduler-params is for one lease, and this is another")
		return nil, nil
	}
	rendered, err := workload.Lease(def, r.cfg, *r.workloads)
	for _, left := range rendered.Left {
		message := fmt.Sprintf("secret/%s of namespace %s is left out, and the password in its Manifest: --show-secrets prints them", left.Name, def.Lease.Namespace())
		if left.NoPassword {
			message = fmt.Sprintf("secret/%s of namespace %s is left out: the definition has no password for it", left.Name, def.Lease.Namespace())
		}
		r.left = append(r.left, lease.Problem{At: left.At, Message: message, Warning: true})
	}
	if err != nil {
		return nil, err
	}
	objects := append(rendered.Objects, routes...)
	return objects, render.CheckNames(objects, def.At)
}

// warnings are what a user should know of what was rendered for the lease.
func (r *renderer) warnings(def *lease.Definition) lease.Problems {
	left := r.left
	r.left = nil
	return append(render.Warnings(def, r.cfg), left...)
}
