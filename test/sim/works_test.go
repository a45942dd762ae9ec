package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// long reports whether the tests have all the time that they need.
func long() bool { return os.Getenv("LONG") != "" }

// drawn are some of n, other ones each day; all of them if the tests have the time.
func drawn(n, some int) []int {
	all := rand.New(rand.NewSource(time.Now().Unix() / 86400)).Perm(n)
	if long() {
		return all
	}
	return all[:min(some, n)]
}

// work is a command with what comes before it.
type work struct {
	name       string
	before, do doing
}

type doing func(context.Context, *cluster.Cluster) error

// applied does something with an applier.
func applied(do func(context.Context, *apply.Applier) error, change ...func(*command.Options)) doing {
	return func(ctx context.Context, c *cluster.Cluster) error {
		opts := command.Options{Config: settings(), Prune: true, Concurrency: 1, AssumeServing: true}
		for _, f := range change {
			f(&opts)
		}
		return do(ctx, apply.New(c, opts))
	}
}

func nothing(context.Context, *cluster.Cluster) error { return nil }

// appliesOf applies a definition: its hosts, and an address if the last word says so.
func appliesOf(id lease.ID, words ...string) doing {
	return applied(func(ctx context.Context, a *apply.Applier) error {
		return a.Apply(ctx, []*lease.Definition{definitionOf(id, words...)})
	})
}

func definitionOf(id lease.ID, words ...string) *lease.Definition {
	n := len(words) - 1
	if words[n] == "address" {
		return (&invocation{id: id, hosts: words[:n], endpoint: true}).definition()
	}
	return (&invocation{id: id, hosts: words}).definition()
}

func reservesFor(id lease.ID, words ...string) doing {
	return applied(func(ctx context.Context, a *apply.Applier) error {
		c := &invocation{id: id, hosts: slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "address" }), endpoint: slices.Contains(words, "address")}
		req, problems := c.request(settings())
		if problems.Failed() {
			return problems.Errors()
		}
		return a.Reserve(ctx, []state.Request{req})
	}, func(o *command.Options) { o.Prune = false })
}

func releases(id lease.ID, things ...string) doing {
	return applied(func(ctx context.Context, a *apply.Applier) error {
		return a.Release(ctx, []lease.Group{id.Group()}, things...)
	})
}

func transfers(to lease.ID, def *lease.Definition, things ...string) doing {
	return applied(func(ctx context.Context, a *apply.Applier) error { return a.Transfer(ctx, to, things, def) })
}

func repairs(ctx context.Context, c *cluster.Cluster) error {
	return applied(func(ctx context.Context, a *apply.Applier) error {
		return repair.Repair(ctx, a, repair.Options{CrashedAfter: crash})
	})(ctx, c)
}

func first(do ...doing) doing {
	return func(ctx context.Context, c *cluster.Cluster) error {
		for _, one := range do {
			if err := one(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}
}

// works are the commands that write the ledger, for the first lease of an owner.
func works(t *testing.T) []work {
	t.Helper()
	id, to := leaseOf("a", 1), leaseOf("a", 2)
	defs := running(t, id)
	group := inventory.GroupOf(defs[0].ResourceGroup())
	runs := applied(func(ctx context.Context, a *apply.Applier) error { return a.Apply(ctx, defs) }, func(o *command.Options) { o.Workloads = &command.Workloads{} })
	order := func(ctx context.Context, c *cluster.Cluster) error {
		_, _, err := reservation.New(c, settings()).Reserve(ctx, id.Order(), group, reservation.Options{})
		return err
	}
	return []work{
		{"apply", appliesOf(id, "a.example.com", "c.example.net"), appliesOf(id, "a.example.com", "b.example.com", "address")},
		{"apply what runs", appliesOf(id, "a.example.com"), runs},
		{"reserve", reservesFor(id, "a.example.com/path"), reservesFor(id, "a.example.com", "b.example.com", "*.b.example.com", "address")},
		{"reserve for an order", nothing, order},
		{"give up what an order has", order, func(ctx context.Context, c *cluster.Cluster) error {
			_, err := reservation.New(c, settings()).UnreserveIf(ctx, id.Order(), func(*reserved.Claim) bool { return true })
			return err
		}},
		{
			"transfer", appliesOf(id, "a.example.com", "b.example.com", "address"),
			transfers(to, definitionOf(to, "a.example.com", "b.example.com", "address"), "a.example.com", "b.example.com", "public"),
		},
		{"release", first(reservesFor(to, "a.example.com/path"), appliesOf(id, "a.example.com", "b.example.com", "address")), releases(id)},
	}
}

// noCapacity are lists of what the server does not serve, and a node on which there is room.
var noCapacity = map[string]string{
	"pods": "PodList", "persistentvolumes": "PersistentVolumeList", "storageclasses": "StorageClassList", "csistoragecapacities": "CSIStorageCapacityList",
}

// beside lets a server have a node with room, and nothing that uses it.
func beside(s *Server) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		plural := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		switch kind, empty := noCapacity[plural]; {
		case r.Method == http.MethodGet && empty:
			return s.reply(r, http.StatusOK, fmt.Appendf(nil, `{"kind":%q,"apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`, kind)), nil
		case r.Method == http.MethodGet && plural == "nodes":
			return s.reply(r, http.StatusOK, []byte(`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"one"},
"status":{"allocatable":{"cpu":"4","memory":"8Gi","ephemeral-storage":"100Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}}]}`)), nil
		}
		return s.RoundTrip(r)
	}
}

// meeting lets something happen to one of the requests that count, from 1 on; at 0 it only counts them.
type meeting struct {
	of func(*http.Request) bool
	at int
	do func(r *http.Request) (*http.Response, error)
	// dead is closed once the process is killed: none of its requests reaches the server, and none is answered before the test ends.
	dead chan struct{}

	mu   sync.Mutex
	seen int
	what string
}

func (m *meeting) through(t *testing.T, next roundTripper) *cluster.Cluster {
	t.Helper()
	return connected(t, func(r *http.Request) (*http.Response, error) {
		select {
		case <-m.dead:
			<-t.Context().Done()
			return nil, errKilled
		default:
		}
		m.mu.Lock()
		now := false
		if m.of(r) {
			if m.seen++; m.seen == m.at {
				now, m.what = true, r.Method+" "+r.URL.Path
			}
		}
		m.mu.Unlock()
		if now {
			return m.do(r)
		}
		return next(r)
	})
}

// counts is true for the writes, the reads of one object, and the list of the claims, or of announcements. The other lists come before
// any write, or between two of these.
func counts(r *http.Request) bool {
	return r.Method != http.MethodGet || strings.Contains(r.URL.Path, "/leases")
}

// mishap is what goes wrong with a request: a status in the server's place, or its answer is lost, or the process is killed.
type mishap struct {
	code           int
	reason         string
	answers, kills bool
}

var mishaps = map[string]mishap{
	"stale":             {code: http.StatusConflict, reason: "Conflict"},
	"wrong uid":         {code: http.StatusUnprocessableEntity, reason: "Invalid"},
	"too many requests": {code: http.StatusTooManyRequests, reason: "TooManyRequests"},
	"internal error":    {code: http.StatusInternalServerError, reason: "InternalError"},
	"no server":         {code: http.StatusServiceUnavailable},
	"request lost":      {},
	"answer lost":       {answers: true},
	"killed before it":  {kills: true},
	"killed after it":   {kills: true, answers: true},
}

// mishapNames are the names of the mishaps, in one order.
var mishapNames = slices.Sorted(maps.Keys(mishaps))

// text is what is on a server, without what differs from one run to the next, and what is announced.
func (s *Server) text() (out []string) {
	for path, o := range s.state() {
		text, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		if !strings.Contains(path, "/leases/run--") {
			out = append(out, path+" "+moments.ReplaceAllString(string(text), "T"))
		}
	}
	slices.Sort(out)
	return out
}

var (
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	// notes are what a claim's part notes of its objects: who serves it since a transfer, and that its own lease was applied.
	notes = regexp.MustCompile(`,\\"from\\":\\"[^"]*\\"|,\\"applied\\":true`)
)

func unnoted(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = notes.ReplaceAllString(text, "")
	}
	return out
}

// baseless fails the test if something serves without a claim, or a mark says that somebody works who has ended.
func (s *Server) baseless(t *testing.T, where string) {
	t.Helper()
	w := &world{server: s}
	w.judgeEnd(&invocation{})
	for _, v := range w.verdicts {
		t.Errorf("%s: %s", where, v)
	}
}

// Whatever goes wrong with one of the requests of a command, a command that ends well has done all. One that fails leaves nothing that
// serves without a claim, and holds nobody for a holder who is not; and the same command, run again, brings about what it would have,
// also after a kill. Of requests and mishaps some are drawn each day. With LONG all are tried.
func TestMishapAtEachRequest(t *testing.T) {
	t.Parallel()
	for _, w := range works(t) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			empty := furnished(t)
			if err := empty.ServeAll(); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				if err := w.before(t.Context(), connected(t, beside(empty))); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				whole := empty.copied()
				count := &meeting{of: counts}
				if err := w.do(t.Context(), count.through(t, beside(whole))); err != nil {
					t.Fatal(err)
				}
				want := whole.text()
				for _, i := range drawn(count.seen*len(mishaps), 8) {
					w.meets(t, empty.copied(), mishapNames[i%len(mishaps)], 1+i/len(mishaps), want)
				}
			})
		})
	}
}

// meets lets a command meet a mishap at one of its requests.
func (w work) meets(t *testing.T, s *Server, name string, at int, want []string) {
	t.Helper()
	m, on := mishaps[name], beside(s)
	met := &meeting{of: counts, at: at, dead: make(chan struct{})}
	met.do = func(r *http.Request) (*http.Response, error) {
		if m.code != 0 {
			return (&world{server: s}).refuse(&request{http: r}, m.code, m.reason).response, nil
		}
		if m.answers {
			if response, err := on(r); err == nil {
				_ = response.Body.Close()
			}
		}
		if m.kills {
			close(met.dead)
			<-t.Context().Done()
			return nil, errKilled
		}
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}
	}
	ended, c := make(chan error, 1), met.through(t, on)
	go func() { ended <- w.do(t.Context(), c) }()
	var err error
	select {
	case err = <-ended:
	case <-met.dead:
		err = errKilled
		t.Cleanup(func() { <-ended }) //nolint:errcheck // it was killed
	}
	where := fmt.Sprintf("%s at %d, %s", name, at, met.what)
	s.baseless(t, where)
	if err == nil {
		if diff := cmp.Diff(want, s.text()); diff != "" {
			t.Errorf("%s: it is done (-want +got):\n%s", where, diff)
		}
		return
	}
	if held := (*report.HeldError)(nil); errors.As(err, &held) {
		t.Errorf("%s: nobody holds it, and yet: %v", where, err)
	}
	time.Sleep(10 * time.Minute)
	if again := w.do(t.Context(), connected(t, on)); again != nil {
		t.Errorf("%s: one more run after %v: %v", where, err, again)
	}
	if diff := cmp.Diff(unnoted(want), unnoted(s.text())); diff != "" {
		t.Errorf("%s: one more run after %v (-want +got):\n%s", where, err, diff)
	}
}

// torn answers the LISTs of a command from two moments: until the command writes, the first one of a path comes from the other server
// where it is that of the tear, or where it is not and the tear is late.
type torn struct {
	old  *Server
	one  int
	late bool
	// lists are the paths in the order in which they were first listed.
	lists   []string
	written bool
	mu      sync.Mutex
}

func (x *torn) through(t *testing.T, now *Server) *cluster.Cluster {
	t.Helper()
	return connected(t, func(r *http.Request) (*http.Response, error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		_, known := now.target(r.URL.Path)
		x.written = x.written || r.Method != http.MethodGet
		if at := r.URL.RequestURI() + r.Header.Get("Accept"); known && !x.written && isList(r) && !slices.Contains(x.lists, at) {
			if x.lists = append(x.lists, at); (len(x.lists)-1 == x.one) != x.late && x.old != nil {
				return beside(x.old)(r)
			}
		}
		return beside(now)(r)
	})
}

func isList(r *http.Request) bool {
	return r.Method == http.MethodGet && !strings.Contains(r.URL.Path, "/leases/") && strings.HasSuffix(r.URL.Path, "s")
}

// pair is a command whose LISTs are torn by another one.
type pair struct{ before, torn, other work }

func pairs() (out []pair) {
	id, to, rival := leaseOf("a", 1), leaseOf("a", 2), leaseOf("c", 1)
	const a, b = "a.example.com", "b.example.com"
	for _, before := range []work{{"nothing", nil, nothing}, {"a lease is applied", nil, appliesOf(id, a, "address")}, {"a transfer has left routes", nil, first(appliesOf(id, a), transfers(to, nil, a))}} {
		for _, torn := range []work{
			{"apply", nil, appliesOf(id, a, b)}, {"reserve", nil, reservesFor(id, a, b)}, {"release", nil, releases(id)},
			{"release a host", nil, releases(id, a)}, {"transfer", nil, transfers(to, nil, a)}, {"repair", nil, repairs},
		} {
			for _, other := range []work{
				{"apply", nil, appliesOf(id, a)}, {"release", nil, releases(id)}, {"transfer", nil, transfers(to, nil, a)},
				{"release and a rival", nil, first(releases(id), releases(to), appliesOf(rival, a))}, {"apply otherwise", nil, appliesOf(id, b)},
			} {
				out = append(out, pair{before, torn, other})
			}
		}
	}
	return out
}

// The LISTs of a command are not of one moment. Each of them in turn is from before another command, and the others are from after it; or
// the other way round, but for the claims, which are read first. Nothing serves without a claim then; and when the command has been run again, and repair, no problem is left, and
// there is what one of the two commands after the other leaves. Some pairs are drawn each day. With LONG all are tried.
func TestTornReads(t *testing.T) {
	t.Parallel()
	all := pairs()
	for _, i := range drawn(len(all), 10) {
		p := all[i]
		t.Run(fmt.Sprintf("%s beside %s, %s", p.torn.name, p.other.name, p.before.name), func(t *testing.T) {
			t.Parallel()
			empty := furnished(t)
			synctest.Test(t, func(t *testing.T) { p.tear(t, empty) })
		})
	}
}

func (p pair) tear(t *testing.T, old *Server) {
	t.Helper()
	ctx := t.Context()
	settle := func(s *Server) []string {
		for range 3 { // what one repair mends may show another problem
			time.Sleep(time.Hour)
			_ = repairs(ctx, connected(t, s.RoundTrip)) // of what is left it makes an error
		}
		x := &scene{T: t, server: s}
		x.opts.Config = settings()
		if left := x.problems(); len(left) > 0 {
			t.Errorf("problems are left: %q", left)
		}
		return s.text()
	}
	if err := p.before.do(ctx, connected(t, old.RoundTrip)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Hour)
	one, two := old.copied(), old.copied()
	count := &torn{}
	_ = p.torn.do(ctx, count.through(t, one)) // any of them may be refused for what the other has done
	_ = p.other.do(ctx, connected(t, one.RoundTrip))
	_ = p.torn.do(ctx, connected(t, one.RoundTrip))
	_ = p.other.do(ctx, connected(t, two.RoundTrip))
	now := two.copied()
	_ = p.torn.do(ctx, connected(t, two.RoundTrip))
	wants := [][]string{settle(one), settle(two)}
	for i := range 2 * len(count.lists) {
		x := &torn{old: old, one: i / 2, late: i%2 == 1}
		if x.late && strings.Contains(count.lists[x.one], "/leases") {
			continue // claims are read before objects
		}
		s := now.copied()
		err := p.torn.do(ctx, x.through(t, s))
		where := fmt.Sprintf("LIST %d, %s, late: %v (%v)", x.one, strings.SplitN(count.lists[x.one], "?", 2)[0], x.late, err)
		s.baseless(t, where)
		again := p.torn.do(ctx, connected(t, s.RoundTrip))
		if got := settle(s); !slices.ContainsFunc(wants, func(want []string) bool { return slices.Equal(want, got) }) {
			t.Errorf("%s, run again: %v: it ends as neither order does (-the torn command first +got)\n%s", where, again, cmp.Diff(wants[0], got))
		}
	}
}
