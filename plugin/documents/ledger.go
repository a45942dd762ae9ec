package documents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// readLedger reads the claims, Services and pools in files: a Git repository, or the output of "kubectl get -o yaml". All of them
// count, so a broken one is an error.
func readLedger(ctx context.Context, c *console.Console, from *flags.Ledger, cfg *config.ProviderConfig) (*observed.Known, error) {
	found := addressLedger{namespace: cfg.LedgerNamespace}
	problems, err := from.Read(ctx, c.In, cfg.Limits, false, found.add)
	if err != nil {
		return nil, err
	}
	c.Warn(problems)
	if errs := problems.Errors(); len(errs) > 0 {
		return nil, errs
	}
	return found.known(), nil
}

// addressLedger has the objects that decide which addresses are free: claims, Services that use addresses, nodes,
// and pools.
type addressLedger struct {
	// namespace is that of the claims: a Lease of another one is no claim.
	namespace string
	claims    []*state.Claim
	uses      []state.Use
	pools     []state.PoolObject
	// pooled are the names of the pools. Of a pool that several files have, as the cluster's and one that was rendered, the first counts.
	pooled map[string]bool
}

func (l *addressLedger) known() *observed.Known {
	return &observed.Known{Claims: l.claims, Addresses: state.NewAddresses(l.claims, l.uses), Pools: l.pools}
}

func (l *addressLedger) add(o *unstructured.Unstructured, _ func() *unstructured.Unstructured) {
	switch o.GetAPIVersion() + "/" + o.GetKind() {
	case "coordination.k8s.io/v1/Lease":
		meta := metav1.ObjectMeta{
			Name: o.GetName(), Namespace: o.GetNamespace(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
			UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), CreationTimestamp: o.GetCreationTimestamp(),
		}
		if claim, ok := state.ReadClaim(&meta); ok && meta.Namespace == l.namespace { // also one of a run that has not finished: its address is not free
			l.claims = append(l.claims, &claim)
		}
	case "v1/Service":
		l.uses = append(l.uses, state.ServiceUses(o)...)
	case "v1/Node":
		l.uses = append(l.uses, state.NodeUses(o)...)
	case "metallb.io/v1beta1/IPAddressPool":
		if name := o.GetNamespace() + "/" + o.GetName(); !l.pooled[name] {
			if l.pooled == nil {
				l.pooled = map[string]bool{}
			}
			l.pooled[name] = true
			l.pools = append(l.pools, state.PoolObjectOf(o))
		}
	}
}

// ledgerIn returns the ledger among the items of a ResourceList.
func ledgerIn(nodes []*kyaml.RNode, namespace string) (*addressLedger, error) {
	found := &addressLedger{namespace: namespace}
	for _, n := range nodes {
		objects, err := objectsOf(n)
		if err != nil {
			return nil, lease.Problems{{At: lease.Place{File: "-"}, Message: err.Error()}}
		}
		for i := range objects {
			found.add(&objects[i], nil)
		}
	}
	return found, nil
}

// objectsOf returns an object, or the items of a List.
func objectsOf(n *kyaml.RNode) ([]unstructured.Unstructured, error) {
	m, err := n.Map()
	if err != nil {
		return nil, err
	}
	o := unstructured.Unstructured{Object: m}
	if !o.IsList() {
		return []unstructured.Unstructured{o}, nil
	}
	list, err := o.ToList()
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// useLedger makes the renderer propose addresses that are free in a ledger, and render only things that the ledger does not
// have for somebody else. known is nil if there is no ledger.
func (r *renderer) useLedger(known *observed.Known) {
	if known == nil {
		return
	}
	r.known, r.picker = known, state.NewPicker(known.Addresses)
	r.claims, r.hostsBelow = map[string]*state.Claim{}, map[string][]*state.Claim{}
	for _, claim := range known.Claims {
		r.claims[claim.Name()] = claim
		if wildcard := state.WildcardOver(claim.Thing); claim.Kind == state.Host && wildcard != "" {
			r.hostsBelow[wildcard] = append(r.hostsBelow[wildcard], claim)
		}
	}
}

// granted returns the definition without the things that the ledger has for another deployment of the owner; each gets a
// warning. A thing that another owner holds is an error: a pipeline that delivered it would serve another tenant's host name
// or address. Without a ledger it returns the definition.
func (r *renderer) granted(def *lease.Definition, request state.Request, addresses render.Addresses) *lease.Definition {
	if r.known == nil {
		return def
	}
	g := grant{renderer: r, judge: state.Judge{Group: def.Lease.Group()}, hosts: map[string]bool{}, ports: map[string]bool{}}
	for _, hold := range request.HostHolds() {
		for _, part := range hold.Parts {
			if path := lease.HostPath(hold.Thing, part.Path); g.withheld(hold, part.Key, path) {
				g.hosts[path] = true
			}
		}
		for _, claim := range r.covering(hold) {
			if claim.Owner != def.Lease.Owner {
				g.held(hold, state.Holder{Owner: claim.Owner, Since: claim.Created, Reason: claim.Thing + " is that owner's"})
			}
		}
	}
	for _, e := range request.Endpoints {
		holds := []state.Hold{e.EndpointHold(def.Lease)}
		if r.cfg.IP.Mode != config.ModePool {
			holds = nil
			for _, a := range addresses[e.Name] {
				holds = append(holds, e.Hold(def.Lease, a))
			}
		}
		for _, hold := range holds {
			for _, p := range e.Ports {
				if g.withheld(hold, p.Key(), hold.Thing+" "+state.Part{Key: p.Key()}.PortText()) {
					g.ports[lease.LeasedIPName(e.SharingKey, p.Protocol, p.ExternalPort)] = true
				}
			}
		}
	}
	return state.Granted(def, g.hosts, g.ports)
}

// covering returns the claims on the wildcard above a host, or on the hosts below a wildcard.
func (r *renderer) covering(hold state.Hold) []*state.Claim {
	if hold.Kind == state.Wildcard {
		return r.hostsBelow[hold.Thing]
	}
	above := state.WildcardOver(hold.Thing)
	if claim := r.claims[(&state.Claim{Kind: state.Wildcard, Thing: above}).Name()]; above != "" && claim != nil {
		return []*state.Claim{claim}
	}
	return nil
}

// grant collects the things that the ledger has for others.
type grant struct {
	renderer     *renderer
	judge        state.Judge
	hosts, ports map[string]bool
}

// withheld reports whether another deployment of the owner holds the part with the key, and warns of it. If another owner holds
// the claim, it records an error.
func (g *grant) withheld(hold state.Hold, key, text string) bool {
	// Without a clock, an expired hold still counts: rendering gives nobody's thing away.
	finding := g.judge.Decide(hold, key, g.renderer.claims[hold.Name()], nil)
	switch finding.Verdict {
	case state.Held, state.Expired, state.Going:
		g.held(hold, finding.By)
	case state.Withheld:
		g.renderer.omitted.Warn(hold.At, "%s %s is withheld: deployment %s holds it", hold.Kind, text, finding.By.Lease.Group())
		return true
	case state.Free, state.Mine:
	}
	return false
}

func (g *grant) held(hold state.Hold, by state.Holder) {
	message := report.HeldThing{Kind: hold.Kind, Thing: hold.Thing, By: by}.String()
	g.renderer.problems = append(g.renderer.problems, lease.Problem{At: hold.At, Held: true, Message: message})
}

// firstSeen is a hash table with the first claim on each thing of a run. It stores names and entries as bytes without
// pointers, a few bytes more than the name for each, so that it can hold millions of leases.
type firstSeen struct {
	seed maphash.Seed
	// index is an open-addressing table of entry numbers; 0 is a free slot.
	index []uint32
	count int
	// chunks hold the encoded entries. The number of an entry consists of its chunk and its offset in it; this limits the
	// table to 4 GiB, some 80 million leases.
	chunks [][]byte
}

// chunkBits is the number of bits of an entry's number for the offset in its chunk.
const chunkBits = 16

// entry is the first claim on a thing: its place (file is an index of renderer.files), the numbers of its holder and its lease,
// and whether it includes the whole host.
type entry struct {
	file, line, holder, lease uint32
	whole                     bool
}

func newFirstSeen() *firstSeen {
	// The first byte belongs to no entry, because 0 means a free slot.
	return &firstSeen{seed: maphash.MakeSeed(), index: make([]uint32, 1<<8), chunks: [][]byte{make([]byte, 1, 1<<chunkBits)}}
}

// add adds a thing, or returns the entry of one that is known. number identifies the thing.
func (r *firstSeen) add(name []byte, e entry) (number uint32, first entry, known bool) {
	slot := r.slot(name)
	if number = r.index[slot]; number != 0 {
		first, _ = r.read(number)
		return number, first, true
	}
	number = r.write(name, e)
	r.index[slot] = number
	if r.count++; r.count > len(r.index)/8*7 {
		r.grow()
	}
	return number, e, false
}

// slot returns the slot with the name, or the free slot for it.
func (r *firstSeen) slot(name []byte) int {
	mask := len(r.index) - 1
	for i := int(maphash.Bytes(r.seed, name)) & mask; ; i = (i + 1) & mask {
		if r.index[i] == 0 {
			return i
		}
		if _, other := r.read(r.index[i]); bytes.Equal(other, name) {
			return i
		}
	}
}

func (r *firstSeen) grow() {
	old := r.index
	r.index = make([]uint32, 2*len(old))
	for _, number := range old {
		if number != 0 {
			_, name := r.read(number)
			r.index[r.slot(name)] = number
		}
	}
}

// write appends an entry and returns its number. An entry that is longer than a chunk gets its own chunk.
func (r *firstSeen) write(name []byte, e entry) (number uint32) {
	last := len(r.chunks) - 1
	if need := len(name) + 6*binary.MaxVarintLen32; cap(r.chunks[last])-len(r.chunks[last]) < need {
		r.chunks = append(r.chunks, make([]byte, 0, max(need, 1<<chunkBits)))
		last++
	}
	if last >= 1<<(32-chunkBits) {
		panic("a run claims more names than firstSeen has room for")
	}
	chunk := r.chunks[last]
	number = uint32(last<<chunkBits | len(chunk))
	whole := uint32(0)
	if e.whole {
		whole = 1
	}
	for _, n := range []uint32{whole, e.file, e.line, e.holder, e.lease, uint32(len(name))} {
		chunk = binary.AppendUvarint(chunk, uint64(n))
	}
	r.chunks[last] = append(chunk, name...)
	return number
}

func (r *firstSeen) read(number uint32) (e entry, name []byte) {
	text := r.chunks[number>>chunkBits][number&(1<<chunkBits-1):]
	var fields [6]uint32
	for i := range fields {
		n, size := binary.Uvarint(text)
		fields[i], text = uint32(n), text[size:]
	}
	return entry{whole: fields[0] == 1, file: fields[1], line: fields[2], holder: fields[3], lease: fields[4]}, text[:fields[5]]
}

// find returns the first claim on a thing.
func (r *firstSeen) find(name []byte) (first entry, known bool) {
	number := r.index[r.slot(name)]
	if number == 0 {
		return entry{}, false
	}
	first, _ = r.read(number)
	return first, true
}

// sortByPlace sorts problems by line within each file, and keeps the order of files.
func sortByPlace(problems lease.Problems) lease.Problems {
	rank := map[string]int{}
	for _, p := range problems {
		if _, known := rank[p.At.File]; !known {
			rank[p.At.File] = len(rank)
		}
	}
	slices.SortStableFunc(problems, func(a, b lease.Problem) int {
		return cmp.Or(cmp.Compare(rank[a.At.File], rank[b.At.File]), cmp.Compare(a.At.Line, b.At.Line),
			cmp.Compare(a.At.Column, b.At.Column))
	})
	return problems
}

// joinProblems adds the problems found while rendering to the error of reading.
func joinProblems(err error, problems lease.Problems) error {
	if len(problems) == 0 {
		return err
	}
	if read, ok := err.(lease.Problems); ok || err == nil { //nolint:errorlint // Input.Read never wraps them
		return sortByPlace(append(read, problems...))
	}
	return fmt.Errorf("%w (and %s in the input)", err, lease.Count(len(problems), "error"))
}
