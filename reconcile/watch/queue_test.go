package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/reconcile/sources"
	"github.com/akash-net/kubectl-akash-net/state"
)

// What becomes due while batches are worked on is the next one, at most what one announcement can name: no group waits for more than that,
// and each has its own answer. No more than twice as many are worked on at a time. A panic is the error of each group of its batch, and the
// next batches are worked on as before.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var sizes []int
		var under, most int
		var said []error
		goOn, failed, f := make(chan struct{}), errors.New("failed"), failures{}
		q := newQueue(func(_ context.Context, groups []lease.Group) (map[lease.Group]error, error) {
			mu.Lock()
			sizes = append(sizes, len(groups))
			under += len(groups)
			most = max(most, under)
			mu.Unlock()
			<-goOn
			time.Sleep(time.Millisecond)
			mu.Lock()
			under -= len(groups)
			mu.Unlock()
			if slices.Contains(groups, group(1600)) {
				panic("a fault")
			}
			errs := map[lease.Group]error{}
			for _, g := range groups {
				if g.DSeq%2 == 0 {
					errs[g] = fmt.Errorf("%w: %d", failed, g.DSeq)
				}
			}
			return errs, nil
		}, nil, &f, new(complaints{complain: func(err error) { said = append(said, err) }}).note, time.Now)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { q.run(ctx) })
		for n := range batchesAtOnce {
			q.due.Add(group(n))
			synctest.Wait()
		}
		for n := batchesAtOnce; n < 1601; n++ {
			q.due.Add(group(n))
			q.due.Add(group(n)) // what is due twice is worked on once
		}
		synctest.Wait()
		close(goOn)
		time.Sleep(10 * time.Millisecond) // what has failed is worked on again after a second
		all := f.all()
		for n := range 1601 {
			err := all[group(n)].Err
			_, fault := errors.AsType[*parallel.FaultError](err)
			if even := n%2 == 0; fault != (n >= batchesAtOnce+3*state.MaxAnnounced) || !fault && (even != errors.Is(err, failed) || even && err.Error() != fmt.Sprint("failed: ", n)) {
				t.Errorf("%d: %v", n, err)
			}
		}
		slices.Sort(sizes) // two begin at a time
		want := append(slices.Repeat([]int{1}, batchesAtOnce), 1601-batchesAtOnce-3*state.MaxAnnounced, state.MaxAnnounced, state.MaxAnnounced, state.MaxAnnounced)
		if !slices.Equal(sizes, want) || most > leasesAtOnce || len(said) != 1 {
			t.Errorf("batches of %v, want %v, of which %d leases at a time, and it is said: %v", sizes, want, most, said)
		}
		stop()
		running.Wait()
	})
}

// After a command that has crashed one command works on all leases for which it was announced that are due together, and not one on each.
// What waits for one does not wait for another, and keeps nothing else from being worked on.
func TestAfterOthers(t *testing.T) {
	for name, nonce := range map[string]func(n uint64) string{
		"one":  func(uint64) string { return "crashed" },
		"many": func(n uint64) string { return strconv.FormatUint(n, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 400
				var mu sync.Mutex
				commands, running, free, goOn := 0, 0, 0, make(chan struct{})
				count := func(of *int) int {
					mu.Lock()
					defer mu.Unlock()
					return *of
				}
				begun := time.Now()
				q := newQueue(func(_ context.Context, groups []lease.Group) (map[lease.Group]error, error) {
					busy := map[lease.Group]error{}
					for _, g := range groups {
						if g.DSeq < n {
							busy[g] = &busyError{&state.Announcement{Nonce: nonce(g.DSeq), Begun: begun}}
						} else {
							mu.Lock()
							free++
							mu.Unlock()
						}
					}
					return busy, nil
				}, func(_ context.Context, groups []lease.Group) (map[lease.Group]error, error) {
					mu.Lock()
					commands++
					if running++; running > aftersAtOnce {
						t.Errorf("%d commands run at once", running)
					}
					mu.Unlock()
					<-goOn
					mu.Lock()
					defer mu.Unlock()
					for _, g := range groups {
						if nonce(g.DSeq) != nonce(groups[0].DSeq) {
							t.Errorf("%s and %s are in one command", g, groups[0])
						}
					}
					running--
					return nil, nil
				}, &failures{}, new(complaints).note, time.Now)
				for g := range n {
					q.due.Add(group(g))
				}
				ctx, stop := context.WithCancel(t.Context())
				var all sync.WaitGroup
				all.Go(func() { q.run(ctx) })
				synctest.Wait()
				if n := count(&commands); n > 0 {
					t.Errorf("%d commands do not wait for the other one", n)
				}
				time.Sleep(others)
				synctest.Wait()
				q.due.Add(group(n))
				synctest.Wait()
				if n := count(&free); n != 1 {
					t.Errorf("what nobody is announced for was worked on %d times", n)
				}
				close(goOn)
				synctest.Wait()
				if got := count(&commands); name == "one" && got > 2 || name == "many" && got != n { // what is due while the first is under way
					t.Errorf("%d commands", got)
				}
				stop()
				all.Wait()
			})
		})
	}
}

// Nothing is decided before each source has been asked once: a lease may be one that a source names.
func TestSourcesSpeakFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		worked, speaks := 0, make(chan struct{})
		r := &reconciler{opts: reconcile.Watching{Resync: time.Hour}, watched: &watched{}, said: make(chan struct{}), sources: []sources.Source{speaking(speaks)}}
		r.queue = newQueue(func(context.Context, []lease.Group) (map[lease.Group]error, error) {
			worked++
			return nil, nil
		}, nil, &r.failing, new(complaints).note, time.Now)
		r.queue.due.Add(group(1))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := r.reconcile(ctx); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if worked > 0 {
			t.Error("something is decided before the source has been asked")
		}
		close(speaks)
		synctest.Wait()
		if worked != 1 {
			t.Errorf("%d batches are worked on, want 1", worked)
		}
		stop()
		running.Wait()
	})
}

// speaking is a source that says nothing until it ends.
type speaking chan struct{}

func (s speaking) Run(context.Context, func(sources.Set)) error {
	<-s
	return nil
}

// A reconciler does not look again at a lease because of what its own command has written for it. Whatever else becomes of that, and what
// others write, is a reason; so is each write to the ledger, but for the announcement of its own command.
func TestChangedFor(t *testing.T) {
	at := func(version string, of lease.Group) client.Object {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: "shop", UID: "u", ResourceVersion: version, Labels: lease.ID{Owner: of.Owner, DSeq: of.DSeq, GSeq: of.GSeq, OSeq: 1, Provider: "akash1p"}.Labels(),
		}}
		return o
	}
	announced := func(nonce string) client.Object {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: state.AnnouncementName(nonce), Annotations: map[string]string{state.AnnotationGroups: "akash1a/1/1"},
		}}
	}
	memory := (&cluster.Cluster{}).Watching(nil).Cache.Memory
	memory.Own(listed.VersionOf(at("7", group(1))))
	memory.Own("mine")
	r := &reconciler{memory: memory}
	for name, tt := range map[string]struct {
		resource schema.GroupVersionResource
		was, is  client.Object
		want     []lease.Group
	}{
		"made":                        {kinds.Ingress.Resource(), nil, at("7", group(1)), nil},
		"written":                     {kinds.Ingress.Resource(), at("6", group(1)), at("7", group(1)), nil},
		"taken over from another one": {kinds.Ingress.Resource(), at("6", group(2)), at("7", group(1)), []lease.Group{group(2)}},
		"written by others":           {kinds.Ingress.Resource(), at("7", group(1)), at("8", group(1)), []lease.Group{group(1), group(1)}},
		"deleted":                     {kinds.Ingress.Resource(), at("7", group(1)), nil, []lease.Group{group(1)}},
		"announced":                   {cluster.Leases, nil, announced("mine"), nil},
		"ended":                       {cluster.Leases, announced("mine"), nil, nil},
		"another one is announced":    {cluster.Leases, nil, announced("other"), []lease.Group{group(1)}},
	} {
		if got := r.changedFor(tt.resource, tt.was, tt.is); !slices.Equal(got, tt.want) {
			t.Errorf("%s: due are %v, want %v", name, got, tt.want)
		}
	}
}
