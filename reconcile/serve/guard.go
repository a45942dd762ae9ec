package serve

import (
	"bytes"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// maxBody bounds the body of a request, in bytes, and reading how long a client may take to send it.
	maxBody = 64 << 10
	reading = 10 * time.Second
	// writing bounds how long an answer may take, with the time that its client takes to read it.
	writing = 2 * time.Minute
)

// open are the paths that tell nothing but whether the reconciler is well. Anybody may get them: kubelets do, without a token.
var open = map[string]bool{"/healthz": true, "/readyz": true, "/health": true}

// seldom passes on what a filter says of requests, at most once a minute: whoever can send a request would fill the log.
type seldom struct {
	to   logr.LogSink
	when *rate.Sometimes
}

func newSeldom(log logr.Logger) logr.Logger {
	return logr.New(seldom{log.GetSink(), &rate.Sometimes{Interval: time.Minute}})
}

// Init implements logr.LogSink.
func (seldom) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (s seldom) Enabled(level int) bool { return s.to != nil && s.to.Enabled(level) }

// Info implements logr.LogSink.
func (s seldom) Info(level int, text string, values ...any) {
	s.when.Do(func() { s.to.Info(level, text, values...) })
}

// Error implements logr.LogSink.
func (s seldom) Error(err error, text string, values ...any) {
	s.when.Do(func() { s.to.Error(err, text, values...) })
}

// WithValues implements logr.LogSink.
func (s seldom) WithValues(values ...any) logr.LogSink {
	return seldom{s.to.WithValues(values...), s.when}
}

// WithName implements logr.LogSink.
func (s seldom) WithName(name string) logr.LogSink { return seldom{s.to.WithName(name), s.when} }

// guarded returns what stands in front of each handler. Requests are authenticated by TokenReview and authorised by SubjectAccessReview of
// their path and method, except for open paths, and for reading on the loopback address.
func guarded(loopback bool) func(*rest.Config, *http.Client) (metrics.Filter, error) {
	return func(config *rest.Config, client *http.Client) (metrics.Filter, error) {
		authorised, err := filters.WithAuthenticationAndAuthorization(config, client)
		if err != nil {
			return nil, err
		}
		return func(log logr.Logger, next http.Handler) (http.Handler, error) {
			reviewed, err := authorised(newSeldom(log), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w.(*refusal).to, r)
			}))
			if err != nil {
				return nil, err
			}
			return guard(loopback, next, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				reviewed.ServeHTTP(&refusal{to: w}, r)
			})), nil
		}, nil
	}
}

// refusal is what controller-runtime's filter answers by itself. Of a token that the API server does not know it says 500, where the API
// server says 401.
type refusal struct {
	to     http.ResponseWriter
	status int
}

// unauthenticated is how the answer begins.
const unauthenticated = "Authentication failed"

// Header returns the header of the answer (http.ResponseWriter).
func (r *refusal) Header() http.Header { return r.to.Header() }

// WriteHeader keeps the status until the text is known (http.ResponseWriter).
func (r *refusal) WriteHeader(status int) { r.status = status }

// Write answers (http.ResponseWriter).
func (r *refusal) Write(text []byte) (int, error) {
	if r.status == http.StatusInternalServerError && bytes.HasPrefix(text, []byte(unauthenticated)) {
		r.status = http.StatusUnauthorized
	}
	if r.status == http.StatusUnauthorized {
		r.to.Header().Set("WWW-Authenticate", "Bearer")
	}
	r.to.WriteHeader(r.status)
	return r.to.Write(text)
}

// guard bounds requests, and passes them to next, or to reviewed if it has to be asked whether they may be made.
func guard(loopback bool, next, reviewed http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		within := http.NewResponseController(w)
		_ = within.SetWriteDeadline(time.Now().Add(writing))
		if r.ContentLength != 0 {
			_ = within.SetReadDeadline(time.Now().Add(reading))
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case loopback && !ofLoopback(r.Host): // a page from elsewhere, whose name leads here
			refuse(w, http.StatusMisdirectedRequest, "this is not %q: name localhost, or the address", r.Host)
		case reads && (loopback || open[r.URL.Path]):
			next.ServeHTTP(w, r)
		default:
			reviewed.ServeHTTP(w, r)
		}
	})
}

// ofLoopback reports whether the host of a request is this machine by its name or address.
func ofLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}
