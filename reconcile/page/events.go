package page

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

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
