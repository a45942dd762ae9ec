package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// The answers in the forms of Akash's operators (provider: operator/hostname, operator/ip, operator/common/ignore_list.go).

// leaseID is a lease in JSON.
type leaseID struct {
	Owner    string `json:"owner"`
	DSeq     uint64 `json:"dseq"`
	GSeq     uint32 `json:"gseq"`
	OSeq     uint32 `json:"oseq"`
	Provider string `json:"provider"`
	BSeq     uint32 `json:"bseq"` // that of the bid, which nothing in a cluster says
}

// leaseIDOf is the lease of a row.
func leaseIDOf(t *view.Tenant) leaseID {
	return leaseID{Owner: t.Owner, DSeq: t.DSeq, GSeq: t.GSeq, OSeq: t.OSeq, Provider: t.Provider}
}

// managedHostname is a host in the answer to /managed-hostnames.
type managedHostname struct {
	LeaseID      leaseID
	Namespace    string
	ExternalPort uint16
	ServiceName  string
	LastUpdate   string
}

// managedHostnames returns the hosts that are routed, those too that the former holder's route still serves, by name. Of a host whose paths have holders of their own it shows the holder of
// the root path, else of the first.
func managedHostnames(rows []view.HostRow) map[string]managedHostname {
	out := map[string]managedHostname{}
	for _, r := range rows { // sorted by host and path
		if _, known := out[r.Host]; known || !r.Routed && r.State != view.StateTransferring {
			continue
		}
		out[r.Host] = managedHostname{
			LeaseID:   leaseIDOf(r.Tenant),
			Namespace: r.Namespace, ExternalPort: r.Port, ServiceName: r.Service, LastUpdate: r.Since.UTC().String(),
		}
	}
	return out
}

// failureLimit is how often a lease has to fail in a row to be flagged (provider: event-failure-limit).
const failureLimit = 3

// ignored is a lease in the answer to /ignore-list. Nothing is ignored: Flagged says that Akash's operator would, and NextTry when the
// lease is tried again.
type ignored struct {
	Hostnames     []string `json:"hostnames"`
	LastError     string   `json:"last-error"`
	LastErrorType string   `json:"last-error-type"`
	FailedAt      string   `json:"failed-at"`
	FailureCount  int      `json:"failure-count"`
	Namespace     string   `json:"namespace"`
	Flagged       bool     `json:"flagged"`
	NextTry       string   `json:"next-try"`
}

// ignoreList returns the leases that fail: by lease, or by deployment group if it is unknown which lease it has.
func ignoreList(failing []reconcile.Failing) map[string]ignored {
	out := map[string]ignored{}
	for _, f := range failing {
		err := f.Err
		if of, ok := errors.AsType[*report.LeaseError](err); ok {
			err = of.Err
		}
		one := ignored{
			LastError: clip(err.Error()), LastErrorType: fmt.Sprintf("%T", err), FailedAt: f.Last.UTC().String(),
			FailureCount: f.Count, Flagged: f.Count >= failureLimit, NextTry: f.Next.UTC().Format(time.RFC3339), Hostnames: []string{},
		}
		key := f.Group.String()
		if f.Definition != nil {
			key, one.Namespace, one.Hostnames = f.Definition.Lease.String(), f.Definition.Lease.Namespace(), hostsOf(f.Definition)
		}
		out[key] = one
	}
	return out
}

// hostsOf returns the hosts that a definition names, each once, sorted.
func hostsOf(def *lease.Definition) []string {
	hosts := []string{}
	for _, s := range def.Services {
		for _, e := range s.Expose {
			for _, h := range e.Hosts {
				hosts = append(hosts, h.Name)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// usage is the answer to /usage. Available is the number of all addresses that leases can get: Akash's provider computes what is left as
// Available - InUse. Free says it.
type usage struct {
	Available, InUse, Free uint64
}

func usageOf(a *inventory.Addresses) usage {
	if a == nil {
		return usage{}
	}
	return usage{Available: a.Total, InUse: min(a.InUse, a.Total), Free: a.Free(0)}
}

// leaseIP is a port of a lease in the answer to /ip-lease-status. Port is that of the container.
type leaseIP struct {
	Port, ExternalPort uint16
	ServiceName        string
	IP                 string
	Protocol           string
}

// leaseIPs returns the ports of an order's lease whose address has been granted. One that waits for its address hides no other.
func leaseIPs(rows []view.IPRow, of lease.Order) (out []leaseIP) {
	for _, r := range rows {
		if r.Tenant == nil || r.State != view.StateActive || !r.Address.IsValid() || (r.ID().Order() != of) {
			continue
		}
		out = append(out, leaseIP{r.ContainerPort, r.Port, r.Service, r.Address.String(), strings.ToUpper(string(r.Protocol))})
	}
	slices.SortFunc(out, func(a, b leaseIP) int {
		return cmp.Or(cmp.Compare(a.ServiceName, b.ServiceName), cmp.Compare(a.ExternalPort, b.ExternalPort), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.IP, b.IP))
	})
	return out
}

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
