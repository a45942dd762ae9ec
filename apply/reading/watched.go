package reading

import (
	"context"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/layered"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Watched is what a process that watches knows of a cluster. Its commands share it: each takes over what watches have told since another
// one did, and reads a snapshot.
type Watched struct {
	mu  sync.Mutex
	now *observed.Watched
	// marked are the claims that have marks of runs, with these, marks their names by the nonces of the runs. announced are the announcements by
	// nonce, definitions the kept ones by the names of their objects, and version how often these have changed.
	marked      map[string]*state.Claim
	marks       layered.Map[string, sets.Set[string]]
	announced   map[string]*metav1.ObjectMeta
	definitions map[string]*kept.Definition
	version     int
}

// WatchedBy returns what the connection's process knows by watches, nil if what the context reads is not to be answered by that.
func WatchedBy(ctx context.Context, c *cluster.Cluster) *Watched {
	if !c.Cache.IsEarly(ctx) {
		return nil
	}
	return c.Cache.Memory.Keep(func() any {
		return &Watched{
			now:    observed.NewWatched(),
			marked: map[string]*state.Claim{}, announced: map[string]*metav1.ObjectMeta{}, definitions: map[string]*kept.Definition{},
		}
	}).(*Watched)
}

var byResource = func() map[schema.GroupVersionResource]kinds.Kind {
	out := map[schema.GroupVersionResource]kinds.Kind{}
	for _, k := range slices.Concat(kinds.OfLease, kinds.Others, kinds.Pools, kinds.Records) {
		out[k.Resource()] = k
	}
	return out
}()

// follow takes over what has changed. The caller holds mu.
func (w *Watched) follow(ctx context.Context, c *cluster.Cluster, l ledger.Ledger) error {
	changes, err := c.Cache.Changes(ctx)
	if err != nil {
		return err
	}
	for _, change := range changes {
		if change.Resource == cluster.Namespaces {
			w.now.PutNamespace(change.Name, change.Meta, change.Name == l.Objects.Namespace)
		}
	}
	for _, change := range changes {
		if kind, is := byResource[change.Resource]; is {
			w.now.Put(kind, change.Namespace, change.Name, change.Object)
		} else if change.Resource == cluster.Leases && change.Namespace == l.Objects.Namespace {
			w.put(l, change.Name, change.Meta)
		}
	}
	return nil
}

var isClaim = func() labels.Selector {
	selector, err := labels.Parse(ledger.ClaimsOnly)
	if err != nil {
		panic(err)
	}
	return selector
}()

// put puts an object of the ledger in the place of the one of its name; nil for none.
func (w *Watched) put(l ledger.Ledger, name string, meta *metav1.ObjectMeta) {
	nonce, isAnnouncement := state.AnnouncedNonce(name)
	switch {
	case isAnnouncement:
		if w.announced[nonce] = meta; meta == nil {
			delete(w.announced, nonce)
		}
		for name := range w.marks.At(nonce) {
			w.now.PutClaim(name, w.settled(w.marked[name]))
		}
	case kept.IsName(name):
		if delete(w.definitions, name); meta != nil {
			if d, ok := kept.Read(meta); ok {
				w.definitions[name] = d
			}
		}
		w.version++
	default:
		var c *state.Claim
		if meta != nil && isClaim.Matches(labels.Set(meta.Labels)) {
			if read, ok := l.Parse(meta); ok {
				c = read
			}
		}
		w.mark(name, c)
		w.now.PutClaim(name, w.settled(c))
	}
}

// mark records the marks of runs that a claim has; nil for one that is gone.
func (w *Watched) mark(name string, now *state.Claim) {
	if was := w.marked[name]; was != nil {
		for _, nonce := range was.Nonces() {
			if names := w.marks.At(nonce).Delete(name); names.Len() == 0 {
				w.marks.Drop(nonce)
			}
		}
	}
	if delete(w.marked, name); now == nil || !now.Marked() {
		return
	}
	w.marked[name] = now
	for _, nonce := range now.Nonces() {
		names := w.marks.At(nonce)
		if names == nil {
			names = sets.New[string]()
			w.marks.Put(nonce, names)
		}
		names.Insert(name)
	}
}

// settled returns a claim without the marks of runs whose commands have ended: nobody announces them any more.
func (w *Watched) settled(c *state.Claim) *state.Claim {
	if c == nil || !c.Marked() {
		return c
	}
	out := *c
	out.Parts = slices.Clone(c.Parts)
	out.Settle(func(p state.Part) bool { return w.announced[state.NonceOf(p.Run)] == nil })
	return &out
}

// readWatched is Read by what is watched; the error is cluster.ErrUnwatched where that is not asked for, or not enough.
func readWatched(ctx context.Context, c *cluster.Cluster, l ledger.Ledger, how Reading) (*observed.Snapshot, error) {
	w := WatchedBy(ctx, c)
	if w == nil || how.owner != "" || how.Ledger {
		return nil, cluster.ErrUnwatched
	}
	s, err := w.read(ctx, c, l, how)
	if err == nil && how.Addresses {
		var nodes []state.Use
		nodes, err = NodeUses(ctx, c)
		s.SetNodes(nodes)
	}
	return s, err
}

// read returns a snapshot of what is watched, with the runs on claims as the ledger knows them. No request is sent while others wait.
func (w *Watched) read(ctx context.Context, c *cluster.Cluster, l ledger.Ledger, how Reading) (*observed.Snapshot, error) {
	lacks, reads := map[kinds.Kind]bool{}, []kinds.Kind(nil)
	for _, kind := range how.kinds() { // before the changes are taken over: all that there was of it is among them
		switch err := c.Cache.Has(kind.Resource()); {
		case err == nil:
			reads = append(reads, kind)
		case cluster.IsMissingKind(err) && kinds.Optional(kind):
			lacks[kind] = true
		default:
			return nil, err
		}
	}
	s, err := w.take(ctx, c, l, how, reads, nil)
	if err == nil && s == nil {
		var gateways admission.Gateways
		if gateways, err = Gateways(ctx, c); err == nil {
			s, err = w.take(ctx, c, l, how, reads, &gateways)
		}
	}
	if err != nil {
		return nil, err
	}
	s.Lacks = lacks
	return s, nil
}

// take takes over what has changed, and returns what is there of kinds; nothing if Gateways count, and were not read.
func (w *Watched) take(
	ctx context.Context, c *cluster.Cluster, l ledger.Ledger, how Reading, reads []kinds.Kind, gateways *admission.Gateways,
) (*observed.Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch err := w.follow(ctx, c, l); {
	case err != nil:
		return nil, err
	case !w.now.NeedsGateways():
		w.now.SetGateways(nil)
	case gateways == nil:
		return nil, nil //nolint:nilnil // they are to be read
	default:
		w.now.SetGateways(*gateways)
	}
	for _, kind := range reads {
		w.now.Reads(kind)
	}
	s := w.now.Snapshot()
	s.HoldersOnly, s.Definitions = how.Holders, map[string]*kept.Definition{}
	for _, g := range how.Definitions {
		if d := w.definitions[kept.Name(g)]; d != nil && (!how.Holders || len(s.Claims.Held(g)) > 0) {
			s.Definitions[d.Name] = d
		}
	}
	// The runs on a claim are as this command knows them: those of commands that are announced, and its own.
	names := sets.New[string]()
	for _, nonce := range slices.AppendSeq(l.Runs.Nonces(), maps.Keys(w.announced)) {
		maps.Copy(names, w.marks.At(nonce))
	}
	var marked []*state.Claim
	for name := range names {
		claim := *w.marked[name]
		claim.Parts = slices.Clone(claim.Parts)
		marked = append(marked, &claim)
	}
	moment, there := w.marks.Share(), maps.Clone(w.announced)
	over := func(nonce string) bool {
		_, seen := moment.Get(nonce)
		return seen && there[nonce] == nil
	}
	if err := l.Settle(ctx, marked, there, over); err != nil {
		return nil, err
	}
	s.AddClaims(marked)
	return s, nil
}

// Announced returns the metadata of the announcements of commands.
func (w *Watched) Announced(ctx context.Context, c *cluster.Cluster, l ledger.Ledger) (all []*metav1.ObjectMeta, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	err = w.follow(ctx, c, l)
	for _, meta := range w.announced {
		all = append(all, meta)
	}
	return all, err
}

// Definitions returns the kept definitions if they are others than those of a version, and their version. Nobody changes them.
func (w *Watched) Definitions(ctx context.Context, c *cluster.Cluster, l ledger.Ledger, known int) (all []*kept.Definition, version int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err = w.follow(ctx, c, l); err != nil || w.version == known {
		return nil, w.version, err
	}
	for _, d := range w.definitions {
		all = append(all, d)
	}
	return all, w.version, nil
}
