package reading

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Watched is what a process that watches knows of a cluster. Its commands share it: each takes over what watches have told since another
// one did, and reads a snapshot.
type Watched struct {
	mu  sync.Mutex
	now *observed.Watched
	// marked are the names of the claims that have marks of runs, announced the announcements by nonce, definitions the kept ones by the
	// names of their objects, and version how often these have changed.
	marked      map[string]bool
	announced   map[string]*metav1.ObjectMeta
	definitions map[string]*kept.Definition
	version     int
}

// WatchedBy returns what the connection's process knows by watches, nil if what the context reads is not to be answered by that.
func WatchedBy(ctx context.Context, c *cluster.Cluster) *Watched {
	if !c.IsEarly(ctx) {
		return nil
	}
	return c.Memory().Keep(func() any {
		return &Watched{
			now:    observed.NewWatched(),
			marked: map[string]bool{}, announced: map[string]*metav1.ObjectMeta{}, definitions: map[string]*kept.Definition{},
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
	changes, err := c.Changes(ctx)
	if err != nil {
		return err
	}
	for _, change := range changes {
		if change.Resource == cluster.Namespaces {
			w.now.PutNamespace(change.Name, change.Meta, change.Name == l.Namespace)
		}
	}
	for _, change := range changes {
		if kind, is := byResource[change.Resource]; is {
			w.now.Put(kind, change.Namespace, change.Name, change.Object)
		} else if change.Resource == cluster.Leases && change.Namespace == l.Namespace {
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
	delete(w.marked, name)
	nonce, isAnnouncement := state.AnnouncedNonce(name)
	switch {
	case isAnnouncement && meta == nil:
		delete(w.announced, nonce)
	case isAnnouncement:
		w.announced[nonce] = meta
	case kept.IsName(name):
		if delete(w.definitions, name); meta != nil {
			if d, ok := kept.Read(meta); ok {
				w.definitions[name] = d
			}
		}
		w.version++
	case meta == nil || !isClaim.Matches(labels.Set(meta.Labels)):
		w.now.PutClaim(name, nil)
	default:
		c, ok := l.Parse(meta)
		if !ok {
			c = nil
		}
		if w.now.PutClaim(name, c); ok && c.Marked() {
			w.marked[name] = true
		}
	}
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
		switch err := c.IsWatched(kind.Resource()); {
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
	var marked []*state.Claim
	for name := range w.marked { // the runs on a claim are as this command knows them
		claim := *s.Claim(name)
		claim.Parts = slices.Clone(claim.Parts)
		marked = append(marked, &claim)
	}
	if err := l.Settle(ctx, marked, w.announced); err != nil {
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
