//go:build linux

package traffic

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// The load while something changes: so many clients, each of which asks again when the answer is
// there and the time between two requests is over. The change comes when each has asked a number
// of times, which takes longer than the two seconds for which Traefik collects changes: it is at
// rest then, and a gap shows at once. A client that has asked too often gives up.
const (
	clients  = 4
	interval = 2 * time.Millisecond
	rest     = 1_250
	most     = 30_000
)

// spell is a number of requests after one another with the same answer.
type spell struct {
	answer      string
	requests    int
	first, last time.Time
}

// history is what one client got to see.
type history []spell

func (h history) String() string {
	var out strings.Builder
	for _, s := range h {
		fmt.Fprintf(&out, " %d × %s (%s)", s.requests, s.answer, s.last.Sub(s.first).Round(time.Millisecond))
	}
	return strings.TrimSpace(out.String())
}

// hammer asks for a URL without a pause while work is done, and returns what each client got to
// see: it asks for a while before the work begins, and once more when it is done.
func hammer(t *testing.T, url string, work func()) []history {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	done := make(chan struct{})
	var histories [clients]history
	var started, ended sync.WaitGroup
	started.Add(clients)
	for i := range clients {
		ended.Go(func() { histories[i] = client(ctx, url, started.Done, done) })
	}
	started.Wait()
	work()
	close(done)
	ended.Wait()
	if ctx.Err() != nil {
		t.Fatal("the work took longer than the clients asked")
	}
	for i, h := range histories {
		t.Logf("client %d: %s", i+1, h)
		if h.requests() == most {
			t.Fatalf("client %d had asked %d times before the work was done", i+1, most)
		}
	}
	return histories[:]
}

// client asks for a URL until something is done, and then once more. It says when it has asked for a
// while. When the context ends it gives up.
func client(ctx context.Context, url string, started func(), done <-chan struct{}) history {
	started = sync.OnceFunc(started)
	defer started()
	pace := time.NewTicker(interval)
	defer pace.Stop()
	var seen history
	for seen.requests() < most {
		over := closed(done)
		asked := time.Now()
		answer := crowd.ask(ctx, url)
		if ctx.Err() != nil {
			break
		}
		seen = seen.with(answer, asked)
		if seen.requests() >= rest {
			started()
		}
		if over {
			break
		}
		select {
		case <-pace.C:
		case <-done:
		case <-ctx.Done():
		}
	}
	return seen
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (h history) with(answer string, at time.Time) history {
	if len(h) == 0 || h[len(h)-1].answer != answer {
		return append(h, spell{answer: answer, requests: 1, first: at, last: at})
	}
	last := &h[len(h)-1]
	last.requests++
	last.last = at
	return h
}

func (h history) requests() int {
	n := 0
	for _, s := range h {
		n += s.requests
	}
	return n
}

// answers are the different answers, one after the other.
func (h history) answers() []string {
	out := make([]string, len(h))
	for i, s := range h {
		out[i] = s.answer
	}
	return out
}
