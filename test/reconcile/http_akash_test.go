package reconcile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var providerHosts = kinds.ProviderHost.Resource()

// providerHost is a ProviderHost as Akash's provider writes it.
func providerHost(id lease.ID, host string) string {
	labels, _ := json.Marshal(id.Labels())
	return fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: ProviderHost, metadata: {name: %s, namespace: lease, labels: %s},
		spec: {owner: %s, provider: %s, hostname: %s, dseq: %d, gseq: %d, oseq: %d, service_name: web, external_port: 80}}`,
		host, labels, id.Owner, id.Provider, host, id.DSeq, id.GSeq, id.OSeq)
}

// managed is a host as Akash's hostname operator shows it.
type managed struct {
	LeaseID struct {
		Owner    string `json:"owner"`
		DSeq     uint64 `json:"dseq"`
		GSeq     uint32 `json:"gseq"`
		OSeq     uint32 `json:"oseq"`
		Provider string `json:"provider"`
	}
	Namespace    string
	ExternalPort uint32
	ServiceName  string
	LastUpdate   string
}

// manages waits until a host is managed for a lease; the zero lease for none.
func manages(t *testing.T, s *server, host string, id lease.ID) managed {
	t.Helper()
	var one managed
	harness.Eventually(t, fmt.Sprintf("%s is to be managed for lease %s", host, id), func(context.Context) (bool, error) {
		one = gets[map[string]managed](t, s, "/managed-hostnames")[host]
		of := lease.ID{Owner: one.LeaseID.Owner, DSeq: one.LeaseID.DSeq, GSeq: one.LeaseID.GSeq, OSeq: one.LeaseID.OSeq, Provider: one.LeaseID.Provider}
		return of == id, nil
	})
	return one
}

// ignoring is a lease as Akash's operators show one that fails.
type ignoring struct {
	Hostnames     []string `json:"hostnames"`
	LastError     string   `json:"last-error"`
	LastErrorType string   `json:"last-error-type"`
	FailedAt      string   `json:"failed-at"`
	FailureCount  uint     `json:"failure-count"`
	Namespace     string   `json:"namespace"`
	Flagged       bool     `json:"flagged"`
	NextTry       string   `json:"next-try"`
}

// fails waits until a lease has failed so often.
func fails(t *testing.T, s *server, id lease.ID, often uint) (one ignoring) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("lease %s is to fail %d times", id, often), func(context.Context) (bool, error) {
		one = gets[map[string]ignoring](t, s, "/ignore-list")[id.String()]
		return one.FailureCount >= often, nil
	})
	return one
}

// failsNot waits until no lease fails.
func failsNot(t *testing.T, s *server) {
	t.Helper()
	harness.Eventually(t, "no lease is to fail", func(context.Context) (bool, error) {
		return len(gets[map[string]ignoring](t, s, "/ignore-list")) == 0, nil
	})
}

// A host that is removed is not managed any more (HO-4).
func TestHO4(t *testing.T) {
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(), 1), harness.NewHost("ho4")
	dir.define(t, id, host)
	s := serve(t, "-f", dir.path, "--source", "ho4", "--allow-empty", "--max-deletes=1")
	manages(t, s, host, id)
	dir.remove(t, id)
	manages(t, s, host, lease.ID{})
	failsNot(t, s)
	s.Stops(t)
}

// A lease that fails is listed with its reason and when it is tried again, and its host is not managed for it (HO-6).
func TestHO6(t *testing.T) {
	dir, id, other := newFolder(t), harness.LeaseOf(harness.NewOwner(), 1), harness.LeaseOf(harness.NewOwner(), 1)
	host := harness.NewHost("ho6")
	harness.Run(t.Context(), "reserve", host, "--lease", other.String()).Exits(t, 0)
	dir.define(t, id, host)
	s := serve(t, "-f", dir.path)
	one := fails(t, s, id, 1)
	if !strings.Contains(one.LastError, "host "+host+" is held by lease "+other.String()) || one.LastErrorType != "*report.HeldError" ||
		fmt.Sprint(one.Hostnames) != "["+host+"]" || one.Namespace != id.Namespace() || one.FailedAt == "" || one.NextTry == "" {
		t.Errorf("%+v", one)
	}
	manages(t, s, host, lease.ID{})
	s.Stops(t)
}

// That requests end without an answer is no failure of a lease: it is never listed (HO-7).
func TestHO7(t *testing.T) {
	var cut atomic.Bool
	url := cutting(t, &cut, func(r *http.Request) bool { return r.URL.Query().Get("watch") == "" })
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(), 1), harness.NewHost("ho7")
	s := serveAs(t, harness.Kubeconfig(t, url), "http", "", "-f", dir.path, "--leader-elect=false", "--request-timeout=1s").ready(t)
	cut.Store(true)
	dir.define(t, id, host)
	s.Says(t, "got no answer")
	if list := gets[map[string]ignoring](t, s, "/ignore-list"); len(list) > 0 {
		t.Errorf("%+v", list)
	}
	cut.Store(false)
	manages(t, s, host, id)
	failsNot(t, s)
	s.Stops(t)
}

// cutting is a proxy that ends chosen requests without an answer while it is told to. It returns its URL.
func cutting(t *testing.T, cut *atomic.Bool, chosen func(*http.Request) bool) string {
	t.Helper()
	return harness.Proxy(t, rights(t), func(p *httputil.ReverseProxy) {
		next := p.Transport
		p.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if cut.Load() && chosen(r) {
				panic(http.ErrAbortHandler)
			}
			return next.RoundTrip(r)
		})
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A lease that fails again and again is flagged, and no other lease waits for it. Unlike with Akash's operator it is still tried, and gets
// its host when that is free (HO-8).
func TestHO8(t *testing.T) {
	dir, owner, other := newFolder(t), harness.NewOwner(), harness.LeaseOf(harness.NewOwner(), 1)
	bad, good := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2)
	theirs, ours := harness.NewHost("theirs"), harness.NewHost("ours")
	harness.Run(t.Context(), "reserve", theirs, "--lease", other.String()).Exits(t, 0)
	dir.define(t, bad, theirs)
	s := serve(t, "-f", dir.path)
	if one := fails(t, s, bad, 1); one.Flagged != (one.FailureCount >= 3) {
		t.Errorf("%+v", one)
	}
	if one := fails(t, s, bad, 3); !one.Flagged {
		t.Errorf("%+v", one)
	}
	dir.define(t, good, ours)
	manages(t, s, ours, good)
	harness.Run(t.Context(), "release", other.Group().String()).Exits(t, 0)
	manages(t, s, theirs, bad)
	failsNot(t, s)
	s.Stops(t)
}

// A host that is connected is managed, and nothing fails (HO-9).
func TestHO9(t *testing.T) {
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(), 1), harness.NewHost("ho9")
	dir.define(t, id, host)
	s := serve(t, "-f", dir.path)
	one := manages(t, s, host, id)
	if one.Namespace != id.Namespace() || one.ServiceName != "web" || one.ExternalPort != 80 || !strings.HasSuffix(one.LastUpdate, " +0000 UTC") {
		t.Errorf("%+v", one)
	}
	failsNot(t, s)
	if book := gets[map[string]any](t, s, "/state"); book["kind"] != "Book" || book["hosts"] == nil || book["pools"] == nil {
		t.Errorf("%v", book)
	}
	s.Stops(t)
}

// Before all that is watched has been read, the operator's client is told that it is not alive, and why (IP-9, IP-10).
func TestIP9(t *testing.T) {
	hold := make(chan struct{})
	url := harness.Proxy(t, rights(t), func(p *httputil.ReverseProxy) {
		next := p.Transport
		p.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/services") {
				select {
				case <-hold:
				case <-r.Context().Done():
				}
			}
			return next.RoundTrip(r)
		})
	})
	s := serveAs(t, harness.Kubeconfig(t, url), "http", "", "--heal", "--leader-elect=false")
	s.answers(t, http.StatusServiceUnavailable, "/health")
	s.answers(t, http.StatusOK, "/healthz")
	s.answers(t, http.StatusInternalServerError, "/readyz")
	status, text := s.asks(t, http.MethodGet, "/ip-lease-status/"+harness.NewOwner()+"/1/1/1", "")
	var remote struct {
		Error string
		Code  int
	}
	if err := json.Unmarshal([]byte(text), &remote); err != nil || status != http.StatusServiceUnavailable || remote.Error == "" || remote.Code != -1 {
		t.Errorf("%d %s: %v", status, text, err)
	}
	close(hold)
	s.answers(t, http.StatusOK, "/health")
	s.ready(t)
	s.Stops(t)
}

// The addresses of a lease are told as far as they are granted: one that waits hides no other (IP-11). Of all that can be leased so many
// are in use, that what the provider computes is what is left (IP-12).
func TestIP11AndIP12(t *testing.T) {
	id := harness.LeaseOf(harness.NewOwner(), 1)
	path := harness.Define(t, id, []string{
		"{name: web, expose: [{port: 8080, as: 8080, global: true, ip: public}, {port: 8443, as: 443, global: true, ip: public}]}",
		"{name: dns, expose: [{port: 5353, as: 53, protocol: UDP, global: true, ip: second}]}",
	}, []string{"{name: public}", "{name: second}"})
	s := serve(t, "-f", path, "--config", harness.Configure(t, "ip: {ranges: [203.0.113.16/28]}"))
	status := fmt.Sprintf("/ip-lease-status/%s/%d/%d/%d", id.Owner, id.DSeq, id.GSeq, id.OSeq)
	if code, text := s.asks(t, http.MethodGet, status, ""); code != http.StatusNoContent || text != "" {
		t.Errorf("before anything is granted: %d %s", code, text)
	}
	services := kinds.Service.Resource()
	for _, name := range []string{"web-ip-8080-tcp", "dns-ip-53-udp"} {
		harness.Eventually(t, name+" is to be written", func(context.Context) (bool, error) {
			return harness.Find(t, services, id.Namespace(), name) != nil, nil
		})
	}
	granted := grant(t, id, "web-ip-8080-tcp")
	var got []struct {
		Port, ExternalPort        int
		ServiceName, IP, Protocol string
	}
	harness.Eventually(t, "the granted address is to be told", func(context.Context) (bool, error) {
		code, text := s.asks(t, http.MethodGet, status, "")
		if code != http.StatusOK {
			return false, nil
		}
		return true, json.Unmarshal([]byte(text), &got)
	})
	if len(got) != 1 || got[0].Port != 8080 || got[0].ExternalPort != 8080 || got[0].ServiceName != "web" || got[0].IP != granted || got[0].Protocol != "TCP" {
		t.Errorf("%+v", got)
	}
	usage := gets[struct{ Available, InUse, Free uint }](t, s, "/usage")
	if usage.Available != 16 || usage.InUse != 2 || usage.Free != 14 {
		t.Errorf("%+v", usage)
	}
	s.Stops(t)
}

// grant grants a Service the address that it asks for, as MetalLB does.
func grant(t *testing.T, id lease.ID, name string) (address string) {
	t.Helper()
	o := harness.Need(t, kinds.Service.Resource(), id.Namespace(), name)
	for key, value := range o.GetAnnotations() {
		if strings.HasSuffix(key, "/loadBalancerIPs") {
			address = value
		}
	}
	if err := unstructured.SetNestedSlice(o.Object, []any{map[string]any{"ip": address}}, "status", "loadBalancer", "ingress"); err != nil {
		t.Fatal(err)
	}
	if _, err := harness.Objects.Resource(kinds.Service.Resource()).Namespace(id.Namespace()).UpdateStatus(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return address
}
