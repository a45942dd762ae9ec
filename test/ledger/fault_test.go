package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
)

// fault is what goes wrong with one request.
type fault struct {
	name string
	// code, reason and causes are an answer in the server's place; without a code the request reaches
	// the server, and then its answer is lost, or cut.
	code   int32
	reason metav1.StatusReason
	cause  metav1.StatusCause
	cut    bool
	// writes is true for what only happens to writes.
	writes bool
}

var faults = []fault{
	{name: "stale resourceVersion", code: 409, reason: metav1.StatusReasonConflict, writes: true},
	{name: "field of another manager", code: 409, reason: metav1.StatusReasonConflict, cause: metav1.StatusCause{
		Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "akash-net/akash1somebody/1/1"`, Field: ".spec.holderIdentity"}, writes: true},
	{name: "wrong uid", code: 422, reason: metav1.StatusReasonInvalid, cause: metav1.StatusCause{Field: "metadata.uid"}, writes: true},
	{name: "too many requests", code: 429, reason: metav1.StatusReasonTooManyRequests},
	{name: "internal error", code: 500, reason: metav1.StatusReasonInternalError},
	{name: "no server behind the gateway", code: 503},
	{name: "answer lost"},
	{name: "answer cut", cut: true},
}

// strike lets one request go wrong.
type strike struct {
	fault
	at int

	mu   sync.Mutex
	seen int
	what string
}

func (s *strike) through(connection *rest.Config) {
	connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return s.roundTrip(next, r) })
	})
}

func (s *strike) roundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	if counts(r) {
		s.seen++
	}
	now := counts(r) && s.seen == s.at && (!s.writes || r.Method != http.MethodGet)
	if now {
		s.what = r.Method + " " + r.URL.Path
	}
	s.mu.Unlock()
	if !now {
		return next.RoundTrip(r)
	}
	if s.code != 0 {
		return s.answer(r)
	}
	response, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if !s.cut {
		_ = response.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	response.Body = &torn{ReadCloser: response.Body}
	return response, nil
}

func (s *strike) answer(r *http.Request) (*http.Response, error) {
	status := metav1.Status{Status: metav1.StatusFailure, Code: s.code, Reason: s.reason, Message: s.name, Details: &metav1.StatusDetails{Name: "x"}}
	status.Kind, status.APIVersion = "Status", "v1"
	if s.cause != (metav1.StatusCause{}) {
		status.Details.Causes = []metav1.StatusCause{s.cause}
	}
	body, err := json.Marshal(status)
	header := http.Header{"Content-Type": {"application/json"}}
	if s.code == 429 {
		header.Set("Retry-After", "0")
	}
	return &http.Response{StatusCode: int(s.code), Header: header, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, err
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

// must is true where one fault must not even make the run fail: claims are read again and decided
// anew. Another object's conflict is another matter: that object is somebody else's.
func (s *strike) must() bool {
	switch {
	case strings.HasPrefix(s.what, "GET") && strings.HasSuffix(s.what, "/leases"):
		return s.code != 500
	case strings.Contains(s.what, "/leases/"):
		return true
	}
	return s.code == 0 || s.code >= 429
}

// Whatever goes wrong with any one request, a run that ends well has done all; one that fails has no
// mark left, takes nobody for the holder who is not, and is completed by one more run.
func TestFaultAtEachRequest(t *testing.T) {
	long := os.Getenv("LEDGER_OPERATIONS") != ""
	for i, w := range works() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, w.addresses)
			cfg.Target = config.TargetIngress
			last, want := again(t, w, cfg)
			tried, failed := 0, 0
			for at := 1; at <= last; at++ {
				for n, f := range faults {
					if !long && (at+n+i)%8 != 0 {
						continue
					}
					s := &strike{fault: f, at: at}
					prepare(t, w, cfg)
					before := written(t, w.name)
					err := w.command(t.Context(), w.client(t, cfg, s.through))
					if s.what == "" {
						continue // a read, for a fault of writes
					}
					tried++
					where := fmt.Sprintf("%s at %d, %s", f.name, at, s.what)
					judge(t, w, s, err, where, before, want)
					if err != nil {
						failed++
						if err := w.command(t.Context(), w.client(t, cfg).hasty()); err != nil {
							t.Errorf("one more run after %s: %v", where, err)
						}
						// Claims that need no write but that of the note stay without it: nothing is decided by its absence.
						if diff := cmp.Diff(unnoted(want), unnoted(written(t, w.name))); diff != "" {
							t.Errorf("after one more run after %s (-want +got):\n%s", where, diff)
						}
					}
					if t.Failed() {
						return
					}
				}
			}
			t.Logf("%d requests, %d faults, %d runs failed", last, tried, failed)
		})
	}
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

func judge(t *testing.T, w work, s *strike, err error, where string, before, want []string) {
	t.Helper()
	invariants(t, w, " after "+where)
	now := written(t, w.name)
	if err == nil {
		if diff := cmp.Diff(want, now); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", where, diff)
		}
		if left := announced(t, w.name); len(left) > 0 {
			t.Errorf("after %s there is still announced: %q", where, left)
		}
		return
	}
	if s.must() {
		t.Errorf("%s: %v", where, err)
	}
	if _, ok := errors.AsType[*report.HeldError](err); ok {
		t.Errorf("%s: nobody holds it, and yet: %v", where, err)
	}
	if slices.ContainsFunc(now, runMark.MatchString) {
		t.Errorf("after %s a mark stays: %v", where, now)
	}
	if left := announced(t, w.name); len(left) > 0 {
		t.Errorf("after %s (%v) there is still announced: %q", where, err, left)
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
