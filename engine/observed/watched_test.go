package observed_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
)

// there is what a cluster has, by name.
type there struct {
	claims     map[string]*state.Claim
	namespaces map[string]*metav1.ObjectMeta
	objects    map[string]map[string]*unstructured.Unstructured
	gateways   admission.Gateways
}

const ledgerNamespace = "akash-net"

// anew is the snapshot of a cluster that is read as a whole.
func (c *there) anew() *observed.Snapshot {
	s := observed.NewSnapshot()
	s.Gateways = c.gateways
	s.AddNamespaces(slices.Collect(maps.Values(c.namespaces)), ledgerNamespace)
	s.AddClaims(slices.Collect(maps.Values(c.claims)))
	lists := map[string][]*listed.Object{}
	for plural, objects := range c.objects {
		lists[plural] = listed.Of(slices.Collect(maps.Values(objects)))
	}
	s.Index(lists)
	return s
}

// says is all that a snapshot answers about what the traces name.
func says(s *observed.Snapshot) string {
	var out strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	objects := func(of []observed.Object) (names []string) {
		for _, o := range of {
			names = append(names, fmt.Sprint(o, o.Group, o.Lease, o.Ours, o.Stays, o.Near, o.Live.GetResourceVersion()))
		}
		return names
	}
	claims := func(of []*state.Claim) (names []string) {
		for _, c := range of {
			names = append(names, c.Name()+" "+c.ResourceVersion)
		}
		return names
	}
	all := claims(s.List())
	slices.Sort(all)
	p("closed by %q, claims %q, hosts %d of %v", s.ClosedBy, all, s.HostUses.Len(), slices.Sorted(maps.Keys(s.HostUses.Map())))
	for _, id := range traced {
		g := id.Group()
		p("%s: %v, held %v, live %v, others %d", g, s.NamespacesOf(g), claims(s.Claims.Held(g)), s.LiveOf(g), s.WrittenByOthers(g))
		p("written %q, theirs %q, shared %q", objects(s.Written.Of(g)), objects(s.Theirs.Of(g)), objects(s.Shared.Of(g)))
		n, is := s.Namespace(id.Namespace())
		p("namespace %v %t, claims of the endpoint %v", n, is, claims(s.Claims.Of(ot.Key(id))))
	}
	for _, host := range hosts {
		p("%s: used by %v, records %q, on it %v, serving %q", host, s.HostUses.At(host), objects(s.Records.Of(host)), claims(s.Claims.On(host)), objects(s.Serving(state.HostName(host))))
	}
	for _, a := range addresses {
		c := ot.Address(ot.Shop, a, 80)
		p("%s: used by %v, foreign %v, serving %q", a, s.Addresses.Uses(c.Addr()), s.Addresses.Foreign(c.Addr(), ot.Key(ot.Shop)), objects(s.Serving(c.Name())))
	}
	p("in use %v", s.Addresses.InUse())
	for _, kind := range slices.Concat(kinds.OfLease, kinds.Others, kinds.Records) {
		for o := range s.Of(kind) {
			p("%s %s/%s %s %t", kind.Plural, o.GetNamespace(), o.GetName(), o.GetResourceVersion(), s.At(kind, o.GetNamespace(), o.GetName()) != nil)
		}
	}
	return out.String()
}

var (
	traced    = []lease.ID{ot.Shop, ot.Next, ot.Blog}
	hosts     = []string{"shop.example.com", "blog.example.com", "a.example.com"}
	addresses = []string{"203.0.113.7", "203.0.113.8"}
)

// change changes something, there and as watches tell of it.
func (c *there) change(r *rand.Rand, n int, w *observed.Watched) {
	id, host, address := traced[r.IntN(len(traced))], hosts[r.IntN(len(hosts))], addresses[r.IntN(len(addresses))]
	gone, version := r.IntN(3) == 0, fmt.Sprint(n)
	put := func(o *unstructured.Unstructured) {
		kind := kinds.Of(o.GetKind())
		if r.IntN(3) == 0 {
			o = ot.Ours(o)
		}
		if r.IntN(4) == 0 {
			o.SetLabels(nil)
		}
		o.SetResourceVersion(version)
		if c.objects[kind.Plural] == nil {
			c.objects[kind.Plural] = map[string]*unstructured.Unstructured{}
		}
		key := o.GetNamespace() + "/" + o.GetName()
		if gone {
			delete(c.objects[kind.Plural], key)
			w.Put(kind, o.GetNamespace(), o.GetName(), nil)
			return
		}
		c.objects[kind.Plural][key] = o
		w.Put(kind, o.GetNamespace(), o.GetName(), o)
	}
	switch r.IntN(10) {
	case 0:
		claim := ot.Host(id, host)
		if r.IntN(2) == 0 {
			claim = ot.Address(id, address, 80)
		}
		name := claim.Name()
		if claim.ResourceVersion = version; gone {
			delete(c.claims, name)
			w.PutClaim(name, nil)
			return
		}
		c.claims[name] = claim
		w.PutClaim(name, claim)
	case 1:
		name, meta := id.Namespace(), &metav1.ObjectMeta{Labels: traced[r.IntN(len(traced))].Labels()}
		switch r.IntN(4) {
		case 0:
			name, meta = ledgerNamespace, &metav1.ObjectMeta{Annotations: map[string]string{lease.AnnotationClosing: version}}
		case 1:
			meta = &metav1.ObjectMeta{Labels: map[string]string{"l": "x"}, DeletionTimestamp: &metav1.Time{}}
		}
		if meta.Name = name; gone {
			delete(c.namespaces, name)
			w.PutNamespace(name, nil, name == ledgerNamespace)
			return
		}
		c.namespaces[name] = meta
		w.PutNamespace(name, meta, name == ledgerNamespace)
	case 2:
		put(ot.ProviderHost(id, host))
	case 3:
		put(ot.ProviderLeasedIP(id, uint16(80+r.IntN(2))))
	case 4:
		put(ot.Service(id, uint16(80+r.IntN(2)), address, address))
	case 5:
		put(ot.DNSRecord(id, host))
	case 6:
		o := ot.Object(kinds.HTTPRoute, id, host, map[string]any{"hostnames": []any{host}, "parentRefs": []any{map[string]any{"name": "g", "namespace": "g"}}})
		if r.IntN(2) == 0 {
			unstructured.RemoveNestedField(o.Object, "spec", "hostnames")
		}
		put(o)
	case 7:
		c.gateways = admission.Gateways{}
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"listeners": []any{map[string]any{
			"name": "http", "port": int64(80), "hostname": host, "allowedRoutes": map[string]any{"namespaces": map[string]any{"from": "All"}},
		}}}}}
		o.SetGroupVersionKind(kinds.Gateway.GroupVersionKind)
		o.SetNamespace("g")
		if o.SetName("g"); r.IntN(3) == 0 {
			c.gateways = nil
		} else {
			c.gateways.Add(o)
		}
		w.SetGateways(c.gateways)
	default:
		put(ot.Ingress(id, host, "/"))
	}
}

// Whatever watches tell in whichever order, what is watched is what a reading as a whole would be; each snapshot stays as it was when it was
// taken, also when the command to which it belongs lays something over it.
func TestWatchedIsWhatIsThere(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		c, w := &there{map[string]*state.Claim{}, map[string]*metav1.ObjectMeta{}, map[string]map[string]*unstructured.Unstructured{}, nil}, observed.NewWatched()
		type moment struct {
			is    *observed.Snapshot
			saids string
		}
		var moments []moment
		for n := range 200 {
			c.change(r, n, w)
			if r.IntN(4) > 0 {
				continue
			}
			is := w.Snapshot()
			got, want := says(is), says(c.anew())
			if got != want {
				t.Fatalf("seed %d, change %d: what is watched says\n%s\nand what is there\n%s", seed, n, got, want)
			}
			moments = append(moments, moment{is, got})
			over := ot.Host(ot.Blog, hosts[0])
			over.ResourceVersion = "over"
			laid := is.WithClaim(over.Name(), over).With(kinds.Ingress, ot.Shop.Namespace(), hosts[0], nil)
			if laid.Claim(over.Name()) != over || laid.At(kinds.Ingress, ot.Shop.Namespace(), hosts[0]) != nil {
				t.Fatalf("seed %d, change %d: what a command lays over is not seen", seed, n)
			}
			w.Snapshot().AddClaims([]*state.Claim{over}) // the runs on claims are as each command knows them
		}
		for i, m := range moments {
			if now := says(m.is); now != m.saids {
				t.Fatalf("seed %d: moment %d said\n%s\nand now\n%s", seed, i, m.saids, now)
			}
		}
	}
}

// Commands that run at once do not see one another's overlays, nor what watches tell meanwhile.
func TestSnapshotsAtOnce(t *testing.T) {
	t.Parallel()
	w := observed.NewWatched()
	for n, id := range traced {
		w.PutClaim(hosts[n], ot.Host(id, hosts[n]))
	}
	var all sync.WaitGroup
	for n := range 8 {
		s, mine := w.Snapshot(), ot.Host(traced[n%3], hosts[n%3])
		mine.ResourceVersion = fmt.Sprint(n)
		all.Go(func() {
			for range 100 {
				s.AddClaims([]*state.Claim{mine})
				if got := s.Claim(hosts[n%3]); !reflect.DeepEqual(got, mine) || len(s.Claims.Held(traced[n%3].Group())) != 1 {
					t.Errorf("command %d sees %v", n, got)
				}
			}
		})
		w.PutClaim(hosts[n%3], ot.Host(traced[n%3], hosts[n%3]))
	}
	all.Wait()
}

// What a change of one lease costs grows with the square root of the number of leases: by 3.2 where that number grows by ten.
func TestAChangeIsCheap(t *testing.T) {
	cost := func(n int) uint64 {
		w := observed.NewWatched()
		id := ot.Shop
		put := func(i int) {
			id.DSeq = uint64(i + 1)
			host := fmt.Sprintf("shop-%d.example.com", i)
			claim := ot.Host(id, host)
			w.PutClaim(claim.Name(), claim)
			w.Put(kinds.Ingress, id.Namespace(), host, ot.Ours(ot.Ingress(id, host, "/")))
		}
		for i := range n {
			put(i)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range n {
			put(i)
			if len(w.Snapshot().Written.Of(id.Group())) != 1 {
				t.Fatal("it is not found")
			}
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / uint64(n)
	}
	few, many := cost(200), cost(2000)
	if many > 4*few {
		t.Errorf("%d bytes for a change of 200 leases, %d for one of 2,000", few, many)
	}
}
