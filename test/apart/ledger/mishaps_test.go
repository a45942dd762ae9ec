package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// long reports whether the tests have all the time that they need.
func long() bool { return os.Getenv("LONG") != "" }

// today draws the same all day, and something else tomorrow.
func today() *rand.Rand {
	day := uint64(time.Now().Unix() / 86400)
	return rand.New(rand.NewPCG(day, day))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// nth lets something happen to one of the requests that count, from 1 on; at 0 it only counts them. Of says which count, nil stands for
// the function counts.
type nth struct {
	at int
	of func(*http.Request) bool
	do func(next http.RoundTripper, r *http.Request) (*http.Response, error)
	// dies is true if no later request reaches the server, and none is answered: the run stands still for good, as a killed one does.
	dies bool

	mu   sync.Mutex
	seen int
	what string
}

func (n *nth) through(connection *rest.Config) {
	of := n.of
	if of == nil {
		of = counts
	}
	connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			n.mu.Lock()
			over, now := n.dies && n.what != "", false
			if of(r) && !over {
				n.seen++
				if now = n.seen == n.at; now {
					n.what = r.Method + " " + r.URL.Path
				}
			}
			n.mu.Unlock()
			switch {
			case over:
				select {}
			case now:
				return n.do(next, r)
			}
			return next.RoundTrip(r)
		})
	})
}

// counts is true for the writes, the reads of one object, and the list of the claims, or of announcements. The other lists come before
// any write, or between two of these.
func counts(r *http.Request) bool {
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	return r.Method != http.MethodGet || last == "leases" || strings.Contains(r.URL.Path, "/leases/")
}

// mishap is what goes wrong with one request.
type mishap struct {
	name string
	// code, reason and cause are an answer in the server's place. Without a code the request reaches the server, and then its answer is
	// lost, or cut; or the process is killed, before the request reaches the server or after.
	code          int32
	reason        metav1.StatusReason
	cause         metav1.StatusCause
	cut           bool
	killed, after bool
	// writes is true for what only happens to writes.
	writes bool
}

var mishaps = []mishap{
	{name: "stale resourceVersion", code: 409, reason: metav1.StatusReasonConflict, writes: true},
	{name: "field of another manager", code: 409, reason: metav1.StatusReasonConflict, cause: metav1.StatusCause{
		Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "akash-net/akash1somebody/1/1"`, Field: ".spec.holderIdentity"}, writes: true},
	{name: "wrong uid", code: 422, reason: metav1.StatusReasonInvalid, cause: metav1.StatusCause{Field: "metadata.uid"}, writes: true},
	{name: "too many requests", code: 429, reason: metav1.StatusReasonTooManyRequests},
	{name: "internal error", code: 500, reason: metav1.StatusReasonInternalError},
	{name: "no server behind the gateway", code: 503},
	{name: "answer lost"},
	{name: "answer cut", cut: true},
	{name: "killed before it", killed: true},
	{name: "killed after it", killed: true, after: true},
}

// meet answers the request that meets the mishap. dead is closed once the process is killed.
func (m mishap) meet(next http.RoundTripper, r *http.Request, dead chan struct{}) (*http.Response, error) {
	switch {
	case m.writes && r.Method == http.MethodGet:
		return next.RoundTrip(r)
	case m.code != 0:
		return m.answer(r)
	case m.killed && !m.after:
		close(dead)
		select {}
	}
	response, err := next.RoundTrip(r)
	switch {
	case m.killed:
		close(dead)
		select {}
	case err != nil:
		return nil, err
	case m.cut:
		response.Body = &torn{ReadCloser: response.Body}
		return response, nil
	}
	_ = response.Body.Close()
	return nil, io.ErrUnexpectedEOF
}

func (m mishap) answer(r *http.Request) (*http.Response, error) {
	status := metav1.Status{Status: metav1.StatusFailure, Code: m.code, Reason: m.reason, Message: m.name, Details: &metav1.StatusDetails{Name: "x"}}
	status.Kind, status.APIVersion = "Status", "v1"
	if m.cause != (metav1.StatusCause{}) {
		status.Details.Causes = []metav1.StatusCause{m.cause}
	}
	body, err := json.Marshal(status)
	header := http.Header{"Content-Type": {"application/json"}}
	if m.code == http.StatusTooManyRequests {
		header.Set("Retry-After", "0")
	}
	return &http.Response{StatusCode: int(m.code), Header: header, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, err
}

// torn is a body that ends in the middle.
type torn struct {
	io.ReadCloser
	begun bool
}

func (b *torn) Read(p []byte) (int, error) {
	if b.begun {
		return 0, io.ErrUnexpectedEOF
	}
	b.begun = true
	return b.ReadCloser.Read(p[:min(len(p), 100)])
}

// Whatever goes wrong with any one request, a run that ends well has done all; one that fails has no mark left and takes nobody for the
// holder who is not; and one more run completes one that has failed, or was killed. Nothing of this harms another owner.
//
// The simulation tries each at each request (test/sim). Here some are drawn each day, and with LONG all.
func TestMishapAtARequest(t *testing.T) {
	for _, w := range works() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, w.addresses)
			cfg.Target = config.TargetIngress
			others := bystander(t, w, cfg)
			last, want := again(t, w, cfg)
			all := today().Perm(last * len(mishaps))
			if !long() {
				all = all[:4]
			}
			for _, i := range all {
				if w.meets(t, cfg, mishaps[i%len(mishaps)], 1+i/len(mishaps), want); t.Failed() {
					return
				}
			}
			if got := claims(t, w.name+"x"); got != others {
				t.Errorf("another owner's claims have changed:\n%s", cmp.Diff(others, got))
			}
		})
	}
}

// meets runs a work that meets a mishap at a request.
func (w work) meets(t *testing.T, cfg *config.ProviderConfig, m mishap, at int, want []string) {
	t.Helper()
	prepare(t, w, cfg)
	before, dead, ended := written(t, w.name), make(chan struct{}), make(chan error, 1)
	n := &nth{at: at, dies: m.killed}
	n.do = func(next http.RoundTripper, r *http.Request) (*http.Response, error) { return m.meet(next, r, dead) }
	go func() { ended <- w.command(context.WithoutCancel(t.Context()), w.client(t, cfg, n.through)) }() // a killed process cleans nothing up
	var err error
	select {
	case <-dead:
		err = errors.New("killed")
	case err = <-ended:
	}
	where := fmt.Sprintf("%s at %d, %s", m.name, at, n.what)
	t.Logf("%s: %v", where, err)
	if invariants(t, w, " after "+where); !m.killed {
		w.judge(t, m, n.what, err, where, before, want)
	}
	if err == nil {
		return
	}
	if err := w.command(t.Context(), w.client(t, cfg)); err != nil {
		t.Errorf("one more run after %s: %v", where, err)
	}
	// Claims that need no write but that of the note stay without it: nothing is decided by its absence.
	if diff := cmp.Diff(unnoted(want), unnoted(written(t, w.name))); diff != "" {
		t.Errorf("after one more run after %s (-want +got):\n%s", where, diff)
	}
}

// must is true where one mishap must not even make the run fail: claims are read again and decided anew. Another object's conflict is
// another matter: that object is somebody else's.
func (m mishap) must(what string) bool {
	switch {
	case strings.HasPrefix(what, "GET") && strings.HasSuffix(what, "/leases"):
		return m.code != 500
	case strings.Contains(what, "/leases/"):
		return true
	}
	return m.code == 0 || m.code >= 429
}

// whoServes is what a claim's part notes of its objects: the lease that serves it since a transfer, and that its
// own lease was applied.
var whoServes = regexp.MustCompile(`,\\"from\\":\\"[^"]*\\"|,\\"applied\\":true`)

// unnoted are objects without those notes.
func unnoted(objects []string) []string {
	out := make([]string, len(objects))
	for i, o := range objects {
		out[i] = whoServes.ReplaceAllString(o, "")
	}
	return out
}

func (w work) judge(t *testing.T, m mishap, what string, err error, where string, before, want []string) {
	t.Helper()
	now := written(t, w.name)
	if left := announced(t, w.name); len(left) > 0 {
		t.Errorf("after %s (%v) there is still announced: %q", where, err, left)
	}
	if err == nil {
		if diff := cmp.Diff(want, now); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", where, diff)
		}
		return
	}
	if _, ok := errors.AsType[*report.HeldError](err); ok || m.must(what) {
		t.Errorf("%s: %v", where, err)
	}
	if slices.ContainsFunc(now, runMark.MatchString) {
		t.Errorf("after %s a mark stays: %v", where, now)
	}
	// After a transfer whose routes could not be written the claims say who serves until then.
	now = unnoted(now)
	has := func(all []string) bool {
		return !slices.ContainsFunc(unnoted(all), func(o string) bool { return strings.HasPrefix(o, `["leases"`) && !slices.Contains(now, o) })
	}
	if w.name != "release" && !has(before) && !has(want) {
		t.Errorf("after %s (%v) the lease has neither what it had nor what it wants:\n%v", where, err, now)
	}
}

// The LISTs of a command are not of one moment. One of them, drawn each day, is answered before another command releases the lease, and
// those that follow after that. Whatever the command does then, nothing serves without a claim, and the next release leaves nothing. The
// simulation tears each of them (test/sim).
func TestTornReads(t *testing.T) {
	const lists = 8
	for _, w := range works() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, w.addresses)
			cfg.Target = config.TargetIngress
			one := 1 + today().IntN(lists)
			for at := 1; at <= lists; at++ {
				if at != one && !long() {
					continue
				}
				prepare(t, w, cfg)
				n := &nth{at: at, of: isList, do: func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
					response, err := next.RoundTrip(r)
					if err := newClient(t, cfg).hasty().release(t.Context(), leaseOf(w.name, 1)); err != nil {
						t.Error(err)
					}
					return response, err
				}}
				err := w.command(t.Context(), w.client(t, cfg, n.through))
				t.Logf("a release after LIST %d, %s: %v", at, n.what, err)
				invariants(t, w, " after a release after "+n.what)
				prepare(t, w, cfg)
			}
		})
	}
}

func isList(r *http.Request) bool {
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	return r.Method == http.MethodGet && !r.URL.Query().Has("watch") && strings.HasSuffix(last, "s") && !strings.Contains(r.URL.Path, "/leases/")
}
