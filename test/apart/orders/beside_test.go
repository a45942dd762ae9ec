package orders

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// ranged is a configuration with a range of addresses, and its file.
func ranged(t *testing.T, pool string) (file string, cfg *config.ProviderConfig) {
	t.Helper()
	r, err := config.ParseRange(pool)
	if err != nil {
		t.Fatal(err)
	}
	cfg = config.Default()
	cfg.IP.Ranges.Include = []config.Range{r}
	return harness.Configure(t, `ip: {ranges: ["`+pool+`"]}`), cfg
}

// wanting is what a lease asks for that wants an address. The lease is released after the test.
func wanting(t *testing.T, id lease.ID, address, file string, cfg *config.ProviderConfig) state.Request {
	t.Helper()
	releases(t, id, file)
	request, problems := state.NamedRequest(id, nil, []string{address}, "e0", cfg)
	if problems.Failed() {
		t.Fatal(problems)
	}
	return request
}

// reservesFor reserves what leases ask for.
func reservesFor(ctx context.Context, to *cluster.Cluster, cfg *config.ProviderConfig, requests ...state.Request) error {
	opts := command.Options{Config: cfg, Operators: observed.OperatorsOff, Concurrency: 2, Version: "v0.0.0", AssumeCrashed: true}
	return apply.New(to, opts).Reserve(ctx, requests)
}

// looks is true for a request that reads what is reserved beside a claim.
func looks(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Query().Get("labelSelector"), "in (resources,run)")
}

// A lease that takes the last address after an order has looked, and before it looks again, has it: the order is refused and
// leaves nothing. One that takes it after that has to give it back: it waits for the order, and the order binds. Where the
// lease is the order's own it is no rival.
func TestAnAddressGoesBeforeTheBind(t *testing.T) {
	for name, tt := range map[string]struct {
		own, looked, late bool
	}{
		"to another lease": {}, "to the order's lease": {own: true}, "too late": {looked: true, late: true}, "too late, to the order's lease": {own: true, looked: true},
	} {
		t.Run(name, func(t *testing.T) {
			free(t)
			harness.Node(t, "before-1", nil, harness.Amounts("4", "8Gi"))
			cfgFile, cfg := ranged(t, "203.0.113.64/32")
			order, id := newOrder(t), harness.LeaseOf(harness.NewOwner(t), 7)
			if tt.own {
				id = leaseOf(order)
			}
			request := wanting(t, id, "auto", cfgFile, cfg)
			taken, looked := make(chan error, 1), make(chan struct{})
			var once sync.Once
			takes := func() { // goes on when the lease is through, or has looked what is reserved
				to := connect(t, through(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
					answer, err := next.RoundTrip(r)
					if query := r.URL.Query().Get("labelSelector"); r.Method == http.MethodGet && strings.Contains(query, "resources") && strings.Contains(query, "address") {
						once.Do(func() { close(looked) })
					}
					return answer, err
				}))
				go func() {
					taken <- reservesFor(t.Context(), to, cfg, request)
					once.Do(func() { close(looked) })
				}()
				<-looked
			}
			file, at := sdl(t, group{resources: small, addresses: 1}), atWrite(1, true, takes)
			if tt.looked {
				at = atWrite(2, false, takes)
			}
			_, _, err := reservation.New(connect(t, at), cfg).Reserve(t.Context(), order, groupOf(t, file, order), reservation.Options{})
			refused, ok := errors.AsType[*reservation.RefusedError](err)
			now := claimOf(t, order)
			switch binds := tt.own || tt.looked; {
			case binds && (err != nil || now == nil || now.Bound == nil):
				t.Errorf("%v, and it has reserved %+v", err, now)
			case !binds && (!ok || now != nil || !strings.Contains(refused.Error(), "1 leased address wanted, none is free")):
				t.Errorf("%v, and it has reserved %+v", err, now)
			}
			var rival *reservation.AddressesError
			if err := <-taken; errors.As(err, &rival) != tt.late || !tt.late && err != nil {
				t.Errorf("the lease: %v", err)
			}
		})
	}
}

// Two leases of two commands have claimed the last address that is free beside what an order has reserved, and look when both have: one keeps
// it, and the other gives it back.
func TestOfTwoLeasesOneLeavesTheAddress(t *testing.T) {
	free(t)
	harness.Node(t, "two-1", nil, harness.Amounts("4", "8Gi"))
	cfgFile, cfg := ranged(t, "203.0.113.66/31")
	reserve(t, 0, newOrder(t), sdl(t, group{resources: small, addresses: 1}), "--config", cfgFile)
	var claimed, both sync.WaitGroup
	claimed.Add(2)
	var counted atomic.Int64
	waits := through(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if looks(r) && counted.Add(1) <= 2 {
			claimed.Done()
			claimed.Wait()
		}
		return next.RoundTrip(r)
	})
	errs := make([]error, 2)
	for i := range errs {
		request := wanting(t, harness.LeaseOf(harness.NewOwner(t), uint64(i+1)), fmt.Sprintf("203.0.113.%d", 66+i), cfgFile, cfg)
		both.Go(func() { errs[i] = reservesFor(t.Context(), connect(t, waits), cfg, request) })
	}
	both.Wait()
	var refused *reservation.AddressesError
	if (errs[0] == nil) == (errs[1] == nil) || !errors.As(errors.Join(errs...), &refused) {
		t.Errorf("one is to be refused: %v", errs)
	}
}

// A lease's run that has claimed the last address and crashed before it looked has taken nothing from an order: the next command
// of the lease looks in its place.
func TestWhoTakesOverACrashedRunLooks(t *testing.T) {
	free(t)
	harness.Node(t, "crashed-1", nil, harness.Amounts("4", "8Gi"))
	cfgFile, cfg := ranged(t, "203.0.113.68/32")
	reserve(t, 0, newOrder(t), sdl(t, group{resources: small, addresses: 1}), "--config", cfgFile)
	id := harness.LeaseOf(harness.NewOwner(t), 1)
	request := wanting(t, id, "auto", cfgFile, cfg)
	ctx, dies := context.WithCancel(t.Context())
	crashing := connect(t, through(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if looks(r) {
			dies()
		}
		if ctx.Err() != nil {
			return nil, errors.New("the machine is off")
		}
		return next.RoundTrip(r)
	}))
	go func() { _ = reservesFor(context.WithoutCancel(t.Context()), crashing, cfg, request) }()
	<-ctx.Done()
	if left := harness.List(t, leases, "net.akash.network/owner="+id.Owner); len(left) != 1 {
		t.Fatalf("the crashed run has left %d claims", len(left))
	}
	var refused *reservation.AddressesError
	if err := reservesFor(t.Context(), connect(t), cfg, request); !errors.As(err, &refused) {
		t.Errorf("want a refusal, got %v", err)
	}
	if left := harness.List(t, leases, "net.akash.network/owner="+id.Owner); len(left) > 0 {
		t.Errorf("the address is still claimed: %d claims", len(left))
	}
}

// While an uninstall removes the ledger nothing is reserved, also where that began between a run's announcement and its
// second look: of the two one sees the other.
func TestNothingIsReservedOfALedgerThatGoes(t *testing.T) {
	free(t)
	harness.Node(t, "closing-1", nil, harness.Amounts("4", "8Gi"))
	now := harness.ServerTime(t)
	uninstall := &state.Announcement{Nonce: "uninstallrun0", By: "a@b", Version: "v1", Begun: now, Renewed: now, Lasts: time.Minute, Phase: state.Closing}
	mark := func(value string) { // an uninstall also marks the ledger's namespace
		harness.Merge(t, cluster.Namespaces, "", "akash-net", fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, lease.AnnotationClosing, value))
	}
	begins := func() {
		harness.Create(t, lease.FieldManager, leases, encoded(t, uninstall.Configuration("akash-net")))
		mark(`"uninstallrun0"`)
	}
	ends := sync.OnceFunc(func() {
		mark("null")
		harness.Remove(t, leases, "akash-net", uninstall.Name())
	})
	defer ends()
	order, file := newOrder(t), sdl(t, group{resources: small})
	_, _, err := reservation.New(connect(t, atWrite(1, true, begins)), config.Default()).Reserve(t.Context(), order, groupOf(t, file, order), reservation.Options{})
	if _, closing := errors.AsType[*reservation.ClosingError](err); !closing || claimOf(t, order) != nil {
		t.Errorf("%v, and it has reserved %+v", err, claimOf(t, order))
	}
	reserve(t, 1, order, file).Says(t, "is being uninstalled, and takes no reservations")
	ends()
	reserve(t, 0, order, file)
}
