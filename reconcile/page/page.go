// Package page shows the ledger and the reconciler's work as a page for people: who holds what, what is wrong and which command mends
// it, and what is under way. The page follows changes. What it shows is a pure function of what was read (New).
package page

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

const (
	// pause is the least time between two looks. It is longer if a look takes long, and after one that has failed.
	pause, pauseFailed = time.Second, 5 * time.Second
	// lookTime is how long a look may take.
	lookTime = time.Minute
	// maxFollowers is how many pages may follow changes at a time.
	maxFollowers = 64
)

// Options configure a page.
type Options struct {
	// Look reads what the page shows. It is called only while somebody looks at the page, and not twice at a time.
	Look func(context.Context) (*Seen, error)
	// Every is how old a look gets at most while somebody looks at the page, though nothing is said to have changed.
	Every time.Duration
}

// Page serves the page at /, what it loads, and at /events the news that it is to be read again.
type Page struct {
	opts    Options
	ctx     context.Context //nolint:containedctx // ends what is followed
	mux     *http.ServeMux
	looking singleflight.Group

	mu sync.Mutex
	// last is what was seen last, nil if nothing was. err is why the last look has failed.
	last *Seen
	err  error
	// began and ended are when the last look did, changed is true if something has changed since it began.
	began, ended time.Time
	changed      bool
	// wake is closed when something has changed, and when a look has ended.
	wake      chan struct{}
	followers int
}

// New returns a page. When ctx ends, so do the requests of those who follow changes.
func New(ctx context.Context, opts Options) *Page {
	p := &Page{opts: opts, ctx: ctx, mux: http.NewServeMux(), wake: make(chan struct{})}
	p.mux.HandleFunc("GET /{$}", p.board)
	p.mux.HandleFunc("GET /events", p.events)
	for _, a := range []asset{style, script, icon} {
		p.mux.HandleFunc("GET /"+a.path, a.serve)
	}
	return p
}

// Changed says that something has changed that the page may show. It returns at once, and may be called as often as one likes.
func (p *Page) Changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.changed {
		p.changed = true
		p.tell()
	}
}

// tell wakes those who follow changes. The caller holds mu.
func (p *Page) tell() {
	close(p.wake)
	p.wake = make(chan struct{})
}

// policy lets the page load only what this program serves, run only its script, and be shown in no other page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP serves GET and HEAD.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	p.mux.ServeHTTP(w, r)
}

func (a asset) serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.content)
}

// board serves the page.
func (p *Page) board(w http.ResponseWriter, r *http.Request) {
	seen, err := p.look(r.Context())
	q := ParseQuery(r.URL.Query())
	status, failed, now := http.StatusOK, "", time.Now()
	if err != nil {
		failed = err.Error()
	}
	var b *Board
	if seen != nil {
		b, now = NewBoard(seen, q), seen.At.Add(time.Since(seen.read))
	} else {
		status = http.StatusServiceUnavailable
	}
	html, err := render(b, q, failed, version(seen, err), now)
	if err != nil {
		http.Error(w, "the page cannot be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Vary", "Accept-Encoding")
	if !acceptsGzip(r.Header.Values("Accept-Encoding")) {
		w.Header().Set("Content-Length", strconv.Itoa(len(html)))
		w.WriteHeader(status)
		_, _ = w.Write(html) //nolint:gosec // html/template has escaped it
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	packed, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
	_, _ = packed.Write(html)
	_ = packed.Close()
}

func acceptsGzip(accepted []string) bool {
	for _, one := range strings.Split(strings.Join(accepted, ","), ",") {
		if strings.TrimSpace(one) == "gzip" {
			return true
		}
	}
	return false
}

// version names what a page shows: what was seen, and why nothing newer was.
func version(seen *Seen, err error) string {
	text := ""
	if seen != nil {
		text = seen.Version()
	}
	if err != nil {
		sum := sha256.Sum256([]byte(err.Error()))
		text += "-" + hex.EncodeToString(sum[:4])
	}
	return text
}

// look returns what was seen last, after a new look if one is due. If that fails it returns the error too. One look serves all who wait
// for it; who goes away does not wait for its end, and begins none.
func (p *Page) look(ctx context.Context) (*Seen, error) {
	if seen, err, due := p.state(); due > 0 {
		return seen, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case got := <-p.looking.DoChan("", func() (any, error) { return p.lookAnew(context.WithoutCancel(ctx)) }):
		seen, _ := got.Val.(*Seen)
		return seen, got.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lookAnew looks, unless somebody else has looked meanwhile.
func (p *Page) lookAnew(ctx context.Context) (*Seen, error) {
	if seen, err, due := p.state(); due > 0 {
		return seen, err
	}
	p.mu.Lock()
	p.began, p.changed = time.Now(), false
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var seen *Seen
	err := parallel.Guard(func() (err error) {
		if seen, err = p.opts.Look(ctx); err == nil {
			seen.Version() // before others see it
			seen.read = time.Now()
		}
		return err
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended, p.err = time.Now(), err; err == nil {
		p.last = seen
	}
	p.tell()
	return p.last, err
}

// state returns what was seen last, and in how long the next look is due.
func (p *Page) state() (seen *Seen, err error, due time.Duration) { //nolint:staticcheck // the error is that of the last look
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.err, p.due(time.Now())
}

// due returns in how long the next look is due. While one is under way it is due: whoever asks waits for that. The caller holds mu.
func (p *Page) due(now time.Time) time.Duration {
	if p.ended.IsZero() || p.ended.Before(p.began) {
		return 0
	}
	least, wait := max(pause, 4*p.ended.Sub(p.began)), p.opts.Every
	switch {
	case p.err != nil:
		least, wait = max(least, pauseFailed), 0
	case p.changed:
		wait = 0
	default:
		if end := p.last.NextEnd(); !end.IsZero() {
			wait = min(wait, end.Sub(p.last.At))
		}
	}
	return max(p.ended.Add(least).Sub(now), p.began.Add(wait).Sub(now))
}

const (
	// beat is how often somebody who follows changes is told that the connection is alive.
	beat = 15 * time.Second
	// writeTime is how long a write to somebody who follows changes may take.
	writeTime = 10 * time.Second
)

// events tells, as server-sent events, the version of what the page would show, whenever that has changed.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	if !p.follow(1) {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many pages follow changes", http.StatusServiceUnavailable)
		return
	}
	defer p.follow(-1)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return
	}
	to := http.NewResponseController(w)
	send := func(text string) bool {
		_ = to.SetWriteDeadline(time.Now().Add(writeTime)) // a server without deadlines has none
		if _, err := fmt.Fprint(w, text); err != nil {
			return false
		}
		return to.Flush() == nil
	}
	ctx, end := context.WithCancel(r.Context())
	defer end()
	defer context.AfterFunc(p.ctx, end)()
	sent := ""
	for open := send("retry: 2000\n\n"); open; {
		seen, err := p.look(ctx)
		if now := version(seen, err); now != sent && ctx.Err() == nil {
			sent = now
			open = send("event: board\ndata: " + now + "\n\n")
		} else {
			open = send(":\n\n")
		}
		open = open && p.await(ctx, sent)
	}
}

// await waits until a look is due or another version was seen than the one that was sent, or for the time of a beat. It returns false when
// nobody follows any more.
func (p *Page) await(ctx context.Context, sent string) bool {
	end := time.NewTimer(beat)
	defer end.Stop()
	for ctx.Err() == nil {
		p.mu.Lock()
		wake, due, now := p.wake, p.due(time.Now()), version(p.last, p.err)
		p.mu.Unlock()
		if due <= 0 || now != sent {
			return true
		}
		next := time.NewTimer(due)
		select {
		case <-wake:
		case <-next.C:
		case <-end.C:
			return true
		case <-ctx.Done():
		}
		next.Stop()
	}
	return false
}

// follow counts those who follow changes. It returns false if there are too many.
func (p *Page) follow(more int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.followers+more > maxFollowers {
		return false
	}
	p.followers += more
	return true
}
