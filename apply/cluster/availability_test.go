package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// A list whose line is cut in the middle is read again, and so is one that a gateway or a busy server
// did not answer; none of it is taken for an empty list.
func TestListIsReadAgain(t *testing.T) {
	page := `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[{"metadata":{"name":"a"}}]}`
	for name, fail := range map[string]func(http.ResponseWriter){
		"cut": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(len(page)))
			_, _ = io.WriteString(w, page[:40])
			panic(http.ErrAbortHandler)
		},
		"no answer": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"a gateway": func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		"busy": func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"starting": func(w http.ResponseWriter) { http.Error(w, "server is starting", http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if requests.Add(1) == 2 {
					fail(w)
					return
				}
				_, _ = io.WriteString(w, page)
			}))
			defer server.Close()
			c, err := Connect(&rest.Config{Host: server.URL}, 1)
			if err != nil {
				t.Fatal(err)
			}
			c.availability.backoff = wait.Backoff{Duration: time.Microsecond}
			for range 2 {
				metas, err := c.Metas(t.Context(), Leases, "akash-net")
				if err != nil || len(metas) != 1 {
					t.Fatalf("%d claims, error %v, after %d requests", len(metas), err, requests.Load())
				}
			}
			if n := requests.Load(); n < 3 {
				t.Errorf("%d requests: nothing went wrong", n)
			}
		})
	}
}

// A server that has never answered is not waited for: a wrong address fails at once.
func TestNoServerIsNotWaitedFor(t *testing.T) {
	c, err := Connect(&rest.Config{Host: "http://127.0.0.1:1"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	c.availability.patience, c.availability.backoff = time.Millisecond, wait.Backoff{Duration: time.Microsecond}
	sent := 0
	err = c.Read(t.Context(), func() error {
		sent++
		return syscall.ECONNREFUSED
	})
	if err = c.Explain(err, "list", Leases); sent != 1 || IsAway(err) || !strings.Contains(err.Error(), "no answer from the cluster") {
		t.Errorf("%d requests, error %v", sent, err)
	}
}

// A request that is cancelled is not sent again, and says nothing of the server. A write that has begun goes on to its end, one
// that has not is not sent.
func TestCancelledRequests(t *testing.T) {
	c, err := Connect(&rest.Config{Host: "http://127.0.0.1:1"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	c.availability.answered.Store(true)
	c.availability.backoff = wait.Backoff{Duration: time.Microsecond}
	sent := 0
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Read(ctx, func() error { sent++; cancel(); return ctx.Err() }); !errors.Is(err, context.Canceled) || IsAway(err) || sent != 1 {
		t.Errorf("a read: %v, sent %d times", err, sent)
	}
	if err := c.Write(ctx, func(context.Context) error { sent++; return nil }); !errors.Is(err, context.Canceled) || sent != 1 {
		t.Errorf("a write that has not begun: %v, sent %d times", err, sent-1)
	}
	ctx, cancel = context.WithCancel(t.Context())
	if err := c.Write(ctx, func(write context.Context) error { sent++; cancel(); return write.Err() }); err != nil || sent != 2 {
		t.Errorf("a write that has begun: %v, sent %d times", err, sent-1)
	}
	if err := c.Read(t.Context(), func() error { sent++; return nil }); err != nil || sent != 3 {
		t.Errorf("afterwards: %v", err)
	}
}

// A request that takes long holds up the others where few may be under way, and not those that are apart.
func TestApartNeedsNoPlace(t *testing.T) {
	slow := make(chan struct{})
	c, err := Connect(&rest.Config{Host: "http://127.0.0.1:1"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	under, ended := make(chan struct{}), make(chan error)
	go func() {
		ended <- c.Write(t.Context(), func(context.Context) error {
			close(under)
			<-slow
			return nil
		})
	}()
	<-under
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.Write(Apart(ctx), func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	close(slow)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// After the command has given up on a server, its other requests fail at once: with a server that accepts requests and does
// not answer them, each would take the whole time limit. Later requests are sent again.
func TestGivenUpOnce(t *testing.T) {
	c, err := Connect(&rest.Config{Host: "http://127.0.0.1:1", Timeout: time.Nanosecond}, 1)
	if err != nil {
		t.Fatal(err)
	}
	c.availability.answered.Store(true)
	c.availability.backoff = wait.Backoff{Duration: time.Microsecond, Cap: time.Hour}
	sent := 0
	hang := func() error {
		sent++
		return context.DeadlineExceeded
	}
	if err := c.Read(t.Context(), hang); !IsAway(err) {
		t.Fatal(err)
	}
	before := sent
	for range 100 {
		if err := c.Read(t.Context(), hang); !IsAway(err) {
			t.Fatal(err)
		}
		if err := c.Write(t.Context(), func(context.Context) error { return hang() }); !IsAway(err) {
			t.Fatal(err)
		}
	}
	if sent != before {
		t.Errorf("%d requests after the command had given up", sent-before)
	}
	c.availability.lostAt = time.Now().Add(-2 * time.Hour)
	answer := func() error {
		sent++
		return nil
	}
	for range 2 {
		if err := c.Read(t.Context(), answer); err != nil {
			t.Error(err)
		}
	}
	if sent != before+2 {
		t.Errorf("%d requests after the server was back, want 2", sent-before)
	}
}

// stalled is the body of an answer that stops.
type stalled struct{ ctx context.Context }

func (s stalled) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (stalled) Close() error { return nil }

// A write that is taken and never answered ends after its time, and its effect is unclear; so does one whose answer stops, and a list.
// After a second write in a row the server counts as away. An interrupt shortens the time.
func TestRequestsWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := false
		c, err := Connect(&rest.Config{Host: "http://none", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			switch {
			case answers:
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
			case r.URL.Path == "/stops":
				return &http.Response{StatusCode: http.StatusOK, Body: stalled{r.Context()}}, nil
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}, 1)
		if err != nil {
			t.Fatal(err)
		}
		send := func(ctx context.Context, method, path string) error {
			request, err := http.NewRequestWithContext(ctx, method, "http://none"+path, http.NoBody)
			if err != nil {
				return err
			}
			response, err := c.http.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close() //nolint:errcheck // it is read to its end
			_, err = io.ReadAll(response.Body)
			return err
		}
		write := func(ctx context.Context, path string) error {
			return c.Write(ctx, func(ctx context.Context) error { return send(ctx, http.MethodPatch, path) })
		}
		c.Within(time.Hour)
		for _, path := range []string{"/", "/stops"} {
			if err := write(t.Context(), path); !IsUnclear(err) || !strings.Contains(err.Error(), "has not answered within 30s") {
				t.Errorf("%s: %v", path, err)
			}
			answers = true
			if err := write(t.Context(), path); err != nil {
				t.Errorf("%s, the next one: %v", path, err)
			}
			answers = false
		}
		c.Within(time.Second)
		_ = write(t.Context(), "/")
		if err := write(t.Context(), "/"); !IsAway(err) || !strings.Contains(err.Error(), "has not answered within 5s") {
			t.Errorf("the second one in a row: %v", err)
		}
		time.Sleep(time.Minute)
		if err := c.Read(t.Context(), func() error { return send(t.Context(), http.MethodGet, "/") }); !IsAway(err) {
			t.Errorf("a read: %v", err)
		}
		time.Sleep(time.Minute)
		c.availability.silent = time.Time{}
		c.availability.writes.Store(int64(time.Hour))
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		if began, err := time.Now(), write(ctx, "/"); time.Since(began) != time.Second+shortest || !IsUnclear(err) {
			t.Errorf("an interrupted one, after %s: %v", time.Since(began), err)
		}
	})
}
