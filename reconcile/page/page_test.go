package page_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/akash-net/kubectl-akash-net/reconcile/page"
	"github.com/akash-net/kubectl-akash-net/reconcile/page/pagetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

var lease0 = statetest.Shop

// shows returns a page that shows the same all the time.
func shows(t *testing.T, s *page.Seen) *page.Page {
	t.Helper()
	return page.New(t.Context(), page.Options{Look: func(context.Context) (*page.Seen, error) { return s, nil }, Every: time.Minute})
}

// counts returns a page that reads what look returns, and how often it has read.
func counts(ctx context.Context, look func() *page.Seen) (*page.Page, *atomic.Int64) {
	looks := &atomic.Int64{}
	return page.New(ctx, page.Options{Every: time.Hour, Look: func(context.Context) (*page.Seen, error) {
		looks.Add(1)
		return look(), nil
	}}), looks
}

// Nothing from elsewhere is loaded, nothing inline is run, and what is shown stays in no cache.
func TestHeaders(t *testing.T) {
	p := shows(t, pagetest.Seen(t))
	page := get(t, p, "/")
	for key, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
			"base-uri 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
		"Content-Type": "text/html; charset=utf-8", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := page.Header().Get(key); got != want {
			t.Errorf("%s is %q, not %q", key, got, want)
		}
	}
	paths := regexp.MustCompile(`(?:src|href)="\.(/assets/[^"]+)"`).FindAllStringSubmatch(page.Body.String(), -1)
	if len(paths) != 3 {
		t.Errorf("it loads %v", paths)
	}
	for _, m := range paths {
		a := get(t, p, m[1])
		if a.Code != 200 || !strings.Contains(a.Header().Get("Cache-Control"), "immutable") || a.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d, %v", m[1], a.Code, a.Header())
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	p := shows(t, pagetest.Seen(t))
	for request, want := range map[string]int{
		"GET /": 200, "HEAD /": 200, "POST /": 405, "DELETE /": 405, "GET /x": 404, "GET /assets/": 404, "GET /assets/page.js": 404, "GET /assets/../page.go": 307,
		"POST /events": 405, "GET /?q=%ff%00&hosts=99999999999999999999": 200, "HEAD /events": 200, // which ends
	} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != want || request == "HEAD /events" && w.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: %d, not %d, %v", request, w.Code, want, w.Header())
		}
	}
}

func TestPacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the page says how old it is
		p := shows(t, pagetest.Seen(t))
		plain := get(t, p, "/").Body.Bytes()
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", "br, gzip")
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		unpacked, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(got, plain) || w.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("it is another page: %v", err)
		}
	})
}

// A cluster that cannot be read: the page says so, and shows what it has seen before.
func TestUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := true
		p := page.New(t.Context(), page.Options{Every: time.Minute, Look: func(context.Context) (*page.Seen, error) {
			if failing {
				return nil, errors.New("connection <b>refused</b>")
			}
			return pagetest.Seen(t), nil
		}})
		answer := get(t, p, "/")
		if text := answer.Body.String(); answer.Code != 503 || !strings.Contains(text, "cannot be read") || !strings.Contains(text, "connection &lt;b&gt;refused") {
			t.Errorf("%d: %s", answer.Code, text)
		}
		failing = false
		time.Sleep(time.Minute)
		if answer = get(t, p, "/"); answer.Code != 200 || strings.Contains(answer.Body.String(), "cannot be read") {
			t.Errorf("it is not read again: %d", answer.Code)
		}
		failing = true
		time.Sleep(2 * time.Minute)
		answer = get(t, p, "/")
		if text := answer.Body.String(); answer.Code != 200 || !strings.Contains(text, "connection") || !strings.Contains(text, "shop.example.com") {
			t.Errorf("%d: what was seen is gone", answer.Code)
		}
	})
}

// follower is somebody who follows changes.
type follower struct {
	mu     sync.Mutex
	text   strings.Builder
	status int
	header http.Header
	ended  chan struct{}
	stop   context.CancelFunc
	broken bool
}

func follow(p *page.Page) *follower {
	ctx, stop := context.WithCancel(context.Background())
	f := &follower{header: http.Header{}, ended: make(chan struct{}), stop: stop, status: 200}
	go func() {
		defer close(f.ended)
		p.ServeHTTP(f, httptest.NewRequest("GET", "/events", nil).WithContext(ctx))
	}()
	return f
}

func (f *follower) Header() http.Header    { return f.header }
func (f *follower) WriteHeader(status int) { f.status = status }
func (f *follower) Flush()                 {}
func (f *follower) Write(text []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return 0, io.ErrClosedPipe
	}
	return f.text.Write(text)
}

// told returns the text that was told. A follower may be writing: synctest lets goroutines that wake at one moment run at once.
func (f *follower) told() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.String()
}

// versions returns the versions that were told.
func (f *follower) versions() (all []string) {
	for _, m := range regexp.MustCompile(`event: board\ndata: (\S*)\n\n`).FindAllStringSubmatch(f.told(), -1) {
		all = append(all, m[1])
	}
	return all
}

// sees is what has so many hosts.
func sees(hosts int64) *page.Seen {
	s := &page.Seen{At: pagetest.Now}
	for range hosts {
		s.Book.Hosts = append(s.Book.Hosts, pagetest.Host("a.example.com", lease0, view.StateActive, 1))
	}
	return s
}

// Changes are told, at most one a second however many there are; while nobody looks, nothing is read; a beat tells nothing new.
func TestFollowing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var hosts atomic.Int64
		p, looks := counts(ctx, func() *page.Seen { return sees(hosts.Load()) })
		for range 1000 {
			p.Changed()
		}
		time.Sleep(10 * time.Minute)
		if n := looks.Load(); n != 0 {
			t.Fatalf("nobody looks, and it is read %d times", n)
		}
		f, g := follow(p), follow(p)
		time.Sleep(10 * time.Minute)
		if n := looks.Load(); n != 1 || len(f.versions()) != 1 || len(g.versions()) != 1 {
			t.Errorf("in quiet it is read %d times, and told %v", n, f.versions())
		}
		if !strings.Contains(f.told(), ":\n\n") {
			t.Error("there is no beat")
		}
		for range 1000 { // ten seconds, a hundred changes each
			hosts.Add(1)
			p.Changed()
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		if n := looks.Load(); n < 8 || n > 14 {
			t.Errorf("in ten busy seconds it is read %d times", n-1)
		}
		if a, b := len(f.versions()), len(g.versions()); a != b || int64(a) != looks.Load() {
			t.Errorf("of %d looks one is told %d, another one %d", looks.Load(), a, b)
		}
		told := f.versions()
		shown := regexp.MustCompile(`data-version="([^"]+)"`).FindStringSubmatch(get(t, p, "/").Body.String())[1]
		if want := sees(1000).Version(); told[len(told)-1] != want || shown != want {
			t.Errorf("the last that is told is %s, and shown %s, not %s", told[len(told)-1], shown, want)
		}
		g.mu.Lock()
		g.broken = true
		g.mu.Unlock()
		hosts.Add(1)
		p.Changed()
		<-g.ended
		cancel()
		<-f.ended
	})
}

// One look serves all who wait for it. Who goes away waits no longer, also who has begun it; a look that panics is one that fails.
func TestWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ends := make(chan error)
		p, looks := counts(ctx, func() *page.Seen {
			if err := <-ends; err != nil {
				panic(err)
			}
			return pagetest.Many(1)
		})
		first, stop := context.WithCancel(ctx)
		var gone, stays sync.WaitGroup
		gone.Go(func() { p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(first)) })
		synctest.Wait()
		gone.Go(func() { p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(first)) })
		f := follow(p)
		for range 3 {
			stays.Go(func() {
				if answer := get(t, p, "/"); answer.Code != 200 {
					t.Errorf("who waits is answered with %d", answer.Code)
				}
			})
		}
		synctest.Wait()
		stop()
		gone.Wait()
		f.stop()
		<-f.ended
		ends <- nil
		stays.Wait()
		if n := looks.Load(); n != 1 {
			t.Errorf("it is read %d times", n)
		}
		time.Sleep(2 * time.Hour)
		stays.Go(func() {
			if answer := get(t, p, "/"); answer.Code != 200 || !strings.Contains(answer.Body.String(), "a fault of the program: broken") {
				t.Errorf("a panic is answered with %d", answer.Code)
			}
		})
		ends <- errors.New("broken")
		stays.Wait()
		cancel()
	})
}

// When those who followed have left, nothing is read for them, whatever changes at that moment.
func TestNobodyFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, looks := counts(t.Context(), func() *page.Seen { return sees(0) })
		for want := range int64(100) {
			f := follow(p)
			time.Sleep(time.Minute)
			f.stop()
			p.Changed()
			<-f.ended
			time.Sleep(time.Hour)
			if n := looks.Load(); n != want+1 {
				t.Fatalf("nobody looks, and it is read %d times", n-want)
			}
		}
	})
}

// Only so many follow at a time; who leaves makes room.
func TestFollowersAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, _ := counts(ctx, func() *page.Seen { return pagetest.Many(1) })
		var all []*follower
		for range 64 {
			all = append(all, follow(p))
		}
		synctest.Wait()
		one := follow(p)
		<-one.ended
		if one.status != 503 || one.header.Get("Retry-After") == "" {
			t.Errorf("one too many gets %d", one.status)
		}
		all[7].stop()
		<-all[7].ended
		two := follow(p)
		synctest.Wait()
		if len(two.versions()) != 1 {
			t.Error("there is no room, though one has left")
		}
		cancel()
		for _, f := range append(all, two) {
			<-f.ended
		}
	})
}

// A look that takes long is not repeated at once: at most a fifth of the time is spent on looks.
func TestSlowLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, looks := counts(ctx, func() *page.Seen {
			time.Sleep(3 * time.Second)
			return pagetest.Many(1)
		})
		f := follow(p)
		for range 600 {
			p.Changed()
			time.Sleep(100 * time.Millisecond)
		}
		if n := looks.Load(); n > 5 {
			t.Errorf("a minute has %d looks of three seconds", n)
		}
		cancel()
		<-f.ended
		time.Sleep(3 * time.Second) // a look ends by itself
	})
}
