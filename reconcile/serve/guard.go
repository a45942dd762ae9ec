package serve

import (
	"net"
	"net/http"
	"net/netip"
	"time"
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

// bound bounds requests, and passes them to next.
func bound(next http.Handler) http.Handler {
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
		next.ServeHTTP(w, r)
	})
}

// guard bounds requests, and passes them to next, or to reviewed if it has to be asked whether they may be made.
func guard(loopback bool, next, reviewed http.Handler) http.Handler {
	return bound(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case loopback && !ofLoopback(r.Host): // a page from elsewhere, whose name leads here
			refuse(w, http.StatusMisdirectedRequest, "this is not %q: name localhost, or the address", r.Host)
		case reads && (loopback || open[r.URL.Path]):
			next.ServeHTTP(w, r)
		default:
			reviewed.ServeHTTP(w, r)
		}
	}))
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
