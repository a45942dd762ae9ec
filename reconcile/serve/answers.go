package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// handler returns what answers all paths but /metrics. Whoever gets there is authorised.
func handler(o Options) http.Handler {
	mux := http.NewServeMux()
	s := o.Shown
	ready := healthz.Handler{Checks: map[string]healthz.Checker{"watches": func(*http.Request) error { _, err := s.World(); return err }}}
	mux.Handle("GET /healthz", http.StripPrefix("/healthz", &healthz.Handler{}))
	mux.Handle("GET /readyz", http.StripPrefix("/readyz", &ready))
	mux.HandleFunc("GET /state", s.ofBook(func(b *view.Book) any { return b }))
	operated(mux, o)
	mux.HandleFunc("POST /hostname/migrate", s.migrate(hostsIn))
	mux.HandleFunc("POST /endpoint/migrate", s.migrate(endpointsIn))
	if o.Page != nil {
		mux.Handle("/", o.Page)
	}
	return mux
}

// asOperators returns what answers Akash's provider in the place of its operators, and nothing else. Where the hostname operator has
// prepared no answer yet, it is 204.
func asOperators(o Options) http.Handler {
	mux := http.NewServeMux()
	operated(mux, o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := o.Shown.World(); err != nil && (r.URL.Path == "/managed-hostnames" || r.URL.Path == "/ignore-list") {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// operated adds what Akash's operators answer.
func operated(mux *http.ServeMux, o Options) {
	s := o.Shown
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := s.World(); err != nil {
			fail(w, err)
			return
		}
		_, _ = io.WriteString(w, "OK")
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		write(w, map[string]string{"name": "akash-net", "server_name": "akash-net-reconciler", "version": o.Version, "go": runtime.Version()})
	})
	mux.HandleFunc("GET /managed-hostnames", s.ofBook(func(b *view.Book) any { return managedHostnames(b.Hosts) }))
	mux.HandleFunc("GET /usage", s.ofBook(func(b *view.Book) any { return usageOf(b.Addresses) }))
	ignored := func(w http.ResponseWriter, r *http.Request) {
		failing, err := s.Failing(r.Context())
		if err != nil {
			fail(w, err)
			return
		}
		write(w, ignoreList(failing))
	}
	mux.HandleFunc("GET /ignore-list", ignored)    // of the hostname operator
	mux.HandleFunc("GET /ignored-leases", ignored) // of the IP operator
	mux.HandleFunc("GET /ip-lease-status/{owner}/{dseq}/{gseq}/{oseq}", s.leaseIPs)
}

// ofBook answers with what is made of the book.
func (s *Shown) ofBook(answer func(*view.Book) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		book, err := s.Book(r.Context())
		if err != nil {
			fail(w, err)
			return
		}
		write(w, answer(book))
	}
}

// leaseIPs answers with the granted ports of a lease; 204 if there are none, 404 if the path names no order.
func (s *Shown) leaseIPs(w http.ResponseWriter, r *http.Request) {
	order, err := lease.ParseOrder(strings.Join([]string{r.PathValue("owner"), r.PathValue("dseq"), r.PathValue("gseq"), r.PathValue("oseq")}, "/"))
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	book, err := s.Book(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	if ips := leaseIPs(book.IPs, order); len(ips) > 0 {
		write(w, ips)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// write answers with JSON.
func write(w http.ResponseWriter, answer any) {
	var text bytes.Buffer
	if err := emit.WriteJSON(&text, answer); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text.Bytes())
}

// fail answers with an error, in the form of Akash's IP operator (provider: operator/ip).
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, ErrNotReady) {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"Error": clip(err.Error()), "Code": -1})
}

// maxText bounds the text of an error in an answer, in bytes.
const maxText = 4096

func clip(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// refuse answers with a text; none if it is empty.
func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	if format == "" {
		w.WriteHeader(status)
		return
	}
	http.Error(w, clip(fmt.Sprintf(format, args...)), status)
}
