package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
)

// world is a cluster, with processes of which each request waits until it is its turn.
type world struct {
	*rand.Rand
	server *Server
	broken rule
	// quiet is true once nothing goes wrong any more.
	quiet bool
	// writes counts the requests that have changed something or might have.
	writes int
	// arrived has a value when a request came or a process ended since it was last read from.
	arrived chan struct{}
	// faults is how many requests of a hundred go wrong, sticky how often of a hundred a process goes on, lazy
	// how often time passes.
	faults, sticky, lazy int
	// away is until when no request is answered.
	away time.Time
	last *process

	// seed is the history's; version is that of the server when the last of the pasts was kept.
	seed, version int64

	mu        sync.Mutex
	pasts     []past
	pending   []*request
	processes []*process
	commands  []*invocation
	trace     []string
	verdicts  []string
	// announced are the processes by the names of their announcements, where the turn is left out.
	announced map[string]*process
}

// process is a kubectl akash-net of somebody's, which runs commands one after the other.
type process struct {
	*world
	name    string
	cluster *cluster.Cluster
	// watches are what it sees if it is a reconciler, and watching is its connection; else both are nil.
	watches  *watches
	watching *cluster.Cluster
	// skew is how far the clock of the API server that it talks to is ahead of the others'.
	skew time.Duration
	// stands is until when it stands still; dead is true once it was killed.
	stands time.Time
	dead   atomic.Bool
	ended  atomic.Bool
	now    *invocation
	// announced is the path of its announcement.
	announced string
	// read are the objects of the ledger as it last listed the claims, where the look at them is left out.
	read []*unstructured.Unstructured
}

// request is one that waits for its turn. Without an HTTP request it is the begin of a command.
type request struct {
	of     *process
	http   *http.Request
	body   []byte
	answer chan answer
}

type answer struct {
	response *http.Response
	err      error
}

func (w *world) process(name string) *process {
	p := &process{world: w, name: name, skew: time.Duration(w.Intn(5)-2) * time.Second}
	config := &rest.Config{Host: "http://sim", Transport: p}
	var err error
	if p.cluster, err = cluster.Connect(config, 100); err != nil {
		panic(err)
	}
	w.processes = append(w.processes, p)
	return p
}

// RoundTrip waits until it is the request's turn.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := read(r)
	if err != nil {
		return nil, err
	}
	if _, known := p.server.target(r.URL.Path); !known && !p.dead.Load() {
		return p.server.reply(r, http.StatusNotFound, nil), nil
	}
	got := p.wait(&request{of: p, http: r, body: body, answer: make(chan answer, 1)})
	return got.response, got.err
}

// wait queues a request, and waits for its answer.
func (p *process) wait(q *request) answer {
	p.mu.Lock()
	dead := p.dead.Load()
	if !dead {
		p.pending = append(p.pending, q)
	}
	p.mu.Unlock()
	if dead {
		runtime.Goexit()
	}
	p.tell()
	got := <-q.answer
	if errors.Is(got.err, errKilled) {
		runtime.Goexit()
	}
	return got
}

var errKilled = errors.New("killed")

func (w *world) tell() {
	select {
	case w.arrived <- struct{}{}:
	default: // it has been told and not heard yet
	}
}

// run runs commands in a process, and says when they have ended.
func (p *process) run(ctx context.Context, commands ...*invocation) {
	go func() {
		defer func() {
			if r := recover(); r != nil && !p.dead.Load() {
				panic(r)
			}
			p.ended.Store(true)
			p.tell()
		}()
		for _, c := range commands {
			p.wait(&request{of: p, answer: make(chan answer, 1)})
			p.begin(c)
			err := c.do(ctx, p)
			if p.dead.Load() {
				return
			}
			p.end(c, err)
		}
	}()
}

// schedule answers requests until all processes have ended.
func (w *world) schedule() {
	for {
		synctest.Wait()
		ready, next := w.ready()
		switch {
		case len(ready) > 0 && w.Intn(100) >= w.lazy:
			w.serve(w.choose(ready))
		case len(ready) > 0:
			time.Sleep(time.Duration(1+w.Intn(300)) * time.Millisecond)
		case !next.IsZero():
			select {
			case <-w.arrived:
			case <-time.After(time.Until(next)):
			}
		case slices.ContainsFunc(w.processes, func(p *process) bool { return !p.ended.Load() }):
			<-w.arrived
		default:
			return
		}
	}
}

// ready are the requests whose turn it may be, in one order; next is when one more may be.
func (w *world) ready() (out []*request, next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.pending {
		if wakes := q.of.stands; wakes.After(time.Now()) {
			if next.IsZero() || wakes.Before(next) {
				next = wakes
			}
			continue
		}
		out = append(out, q)
	}
	slices.SortStableFunc(out, func(a, b *request) int { return strings.Compare(a.key(), b.key()) })
	return out, next
}

func (q *request) key() string {
	if q.http == nil {
		return q.of.name
	}
	return q.of.name + " " + q.http.Method + " " + q.http.URL.Path + "?" + q.http.URL.RawQuery
}

func (w *world) choose(ready []*request) *request {
	if w.Intn(100) < w.sticky {
		if same := slices.IndexFunc(ready, func(q *request) bool { return q.of == w.last }); same >= 0 {
			return ready[same]
		}
	}
	return ready[w.Intn(len(ready))]
}

// serve gives a request its turn.
func (w *world) serve(q *request) {
	w.last = q.of
	w.mu.Lock()
	w.pending = slices.DeleteFunc(w.pending, func(other *request) bool { return other == q })
	w.mu.Unlock()
	if q.http == nil {
		q.answer <- answer{}
		return
	}
	if q.of.now != nil && q.http.URL.Path != q.of.announced {
		for _, c := range q.of.now.all() {
			c.committed = 0
		}
	}
	got, how := w.faulty(q)
	w.remember()
	code := "no answer"
	if got.response != nil {
		code = fmt.Sprint(got.response.StatusCode)
	}
	w.note("%s: %s %s%s", q.of.name, q.short(), code, how)
	q.answer <- got
	if q.of.dead.Load() {
		w.kill(q.of)
	}
}

// kill ends a process: none of its requests is answered.
func (w *world) kill(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = slices.DeleteFunc(w.pending, func(q *request) bool {
		if q.of == p {
			q.answer <- answer{err: errKilled}
		}
		return q.of == p
	})
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace = append(w.trace, time.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
}

func (q *request) short() string {
	path := q.http.URL.Path
	for _, prefix := range []string{"/api/v1/", "/apis/", "namespaces/akash-net/"} {
		path = strings.Replace(path, prefix, "", 1)
	}
	return q.http.Method + " " + path
}
