package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// The LISTs of a command are not of one moment. Here each of them in turn is answered from another moment
// than the others: from before, between and after the writes of other commands.

// tearer answers the first LIST of each resource as it was recorded, and sends all else to the server.
type tearer struct {
	mu      sync.Mutex
	lists   []string
	answers map[string][]byte
}

func isList(r *http.Request) bool {
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	return r.Method == http.MethodGet && r.URL.Query().Get("watch") == "" && slices.Contains([]string{
		"leases", "namespaces", "ingresses", "providerhosts", "providerleasedips", "services",
	}, last)
}

func (tr *tearer) through(connection *rest.Config) {
	connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if !isList(r) {
				return next.RoundTrip(r)
			}
			at := r.URL.RequestURI() + " " + r.Header.Get("Accept")
			tr.mu.Lock()
			body, recorded := tr.answers[at]
			delete(tr.answers, at)
			if !slices.Contains(tr.lists, at) {
				tr.lists = append(tr.lists, at)
			}
			tr.mu.Unlock()
			if !recorded {
				return next.RoundTrip(r)
			}
			header := http.Header{"Content-Type": {"application/json"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}}
			return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
		})
	})
}

// record reads what each LIST says at this moment.
func record(t *testing.T, lists []string) map[string][]byte {
	t.Helper()
	transport, err := rest.TransportFor(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, at := range lists {
		uri, accept, _ := strings.Cut(at, " ")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(plane.Config.Host, "/")+uri, nil)
		if err != nil {
			t.Fatal(err)
		}
		// Metadata is asked for as JSON, so that what is recorded can be read by anybody.
		r.Header.Set("Accept", strings.ReplaceAll(strings.ReplaceAll(accept, "application/vnd.kubernetes.protobuf", "application/json"), ";;", ";"))
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		switch {
		case err != nil:
			t.Fatal(err)
		case response.StatusCode == http.StatusOK: // else the cluster does not serve the kind
			out[at] = body
		}
	}
	return out
}

// tearing is a command whose reads are torn, and what other commands do meanwhile.
type tearing struct {
	name          string
	before        []tornStep
	meanwhile     []tornStep
	torn          tornStep
	routed, empty string
}

// tornStep is a command of a tenant: "a" or "b", of whom both want one host.
type tornStep struct{ verb, tenant string }

func (s tornStep) run(ctx context.Context, c *client, name string) error {
	id, host := leaseOf(name+s.tenant, 1), "torn."+name+".example.com"
	switch s.verb {
	case "apply":
		return c.apply(ctx, definition(id, "", host))
	case "release":
		return c.release(ctx, id)
	default:
		return c.applier().Repair(ctx, apply.RepairOptions{CrashedAfter: time.Hour})
	}
}

func tearings() []tearing {
	a, b := tornStep{"apply", "a"}, tornStep{"apply", "b"}
	gone, repair := tornStep{"release", "a"}, tornStep{"repair", ""}
	return []tearing{
		{name: "handover", before: []tornStep{a}, meanwhile: []tornStep{gone, b}, torn: repair, routed: "b", empty: "a"},
		{name: "pruned", before: []tornStep{a}, meanwhile: []tornStep{gone, b}, torn: a, routed: "b", empty: "a"},
		{name: "released", before: []tornStep{a}, meanwhile: []tornStep{gone}, torn: repair, empty: "a"},
		{name: "fresh", meanwhile: []tornStep{a}, torn: repair, routed: "a"},
		{name: "beside", meanwhile: []tornStep{a}, torn: gone},
	}
}

// Whatever moments a command has read, it deletes nothing of a live claim, takes nothing for a lease that
// was released, and leaves nothing that serves without a claim.
func TestTornReads(t *testing.T) {
	for _, w := range tearings() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, "10.231.0.0/29")
			cfg.Target = config.TargetIngress
			solo := &tearer{}
			w.prepare(t, cfg)
			_ = w.torn.run(t.Context(), w.client(t, cfg, solo.through), w.name)
			n := 0
			for _, one := range solo.lists {
				for _, late := range []bool{true, false} {
					w.try(t, cfg, solo.lists, one, late)
					if n++; t.Failed() {
						return
					}
				}
			}
			t.Logf("%d interleavings", n)
		})
	}
}

func (w tearing) client(t *testing.T, cfg *config.ProviderConfig, through ...func(*rest.Config)) *client {
	t.Helper()
	c := newClient(t, cfg, through...)
	c.opts.Prune = true
	return c
}

func (w tearing) prepare(t *testing.T, cfg *config.ProviderConfig) {
	t.Helper()
	c := w.client(t, cfg)
	groups := []lease.Group{leaseOf(w.name+"a", 1).Group(), leaseOf(w.name+"b", 1).Group()}
	if err := c.applier().Release(t.Context(), groups); err != nil {
		t.Fatal(err)
	}
	for _, s := range w.before {
		if err := s.run(t.Context(), c, w.name); err != nil {
			t.Fatal(err)
		}
	}
}

// try lets one LIST be of another moment than the others: the last where late, else the first. At each
// write of the others it is taken anew where all combinations are tried.
func (w tearing) try(t *testing.T, cfg *config.ProviderConfig, lists []string, one string, late bool) {
	t.Helper()
	w.prepare(t, cfg)
	moments := []map[string][]byte{record(t, lists)}
	var through []func(*rest.Config)
	if os.Getenv("LEDGER_OPERATIONS") != "" {
		through = append(through, spoil(func(*http.Request) { moments = append(moments, record(t, lists)) }))
	}
	other := w.client(t, cfg, through...)
	for _, s := range w.meanwhile {
		if err := s.run(t.Context(), other, w.name); err != nil {
			t.Fatal(err)
		}
		moments = append(moments, record(t, lists))
	}
	for at := range moments {
		if at > 0 && os.Getenv("LEDGER_OPERATIONS") == "" && at < len(moments)-1 {
			continue
		}
		rest, torn := moments[len(moments)-1], moments[at]
		if late {
			rest, torn = torn, rest
		}
		answers := map[string][]byte{}
		maps.Copy(answers, rest)
		if answers[one] = torn[one]; answers[one] == nil {
			if !strings.Contains(one, "openshift") {
				t.Fatalf("%s was not recorded", one)
			}
			return
		}
		err := w.torn.run(t.Context(), w.client(t, cfg, (&tearer{answers: answers}).through), w.name)
		w.judge(t, fmt.Sprintf(" after %s of moment %d of %d, the others late: %v (%v)", one, at, len(moments), !late, err))
		if t.Failed() {
			return
		}
		if at < len(moments)-1 { // what the torn command has done is not what the next is to begin with
			w.again(t, cfg)
		}
	}
}

// again brings about what the other commands had.
func (w tearing) again(t *testing.T, cfg *config.ProviderConfig) {
	t.Helper()
	w.prepare(t, cfg)
	for _, s := range w.meanwhile {
		if err := s.run(t.Context(), w.client(t, cfg), w.name); err != nil {
			t.Fatal(err)
		}
	}
}

func (w tearing) judge(t *testing.T, where string) {
	t.Helper()
	count := func(tenant string, kind string) (n int) {
		for _, o := range written(t, w.name+tenant) {
			if strings.HasPrefix(o, `["`+kind+`"`) {
				n++
			}
		}
		return n
	}
	for _, tenant := range []string{"a", "b"} {
		claims, routes, hosts := count(tenant, "leases"), count(tenant, "ingresses"), count(tenant, "providerhosts")
		if claims != routes || claims != hosts {
			t.Errorf("tenant %s has %d claims, %d Ingresses, %d ProviderHosts%s", tenant, claims, routes, hosts, where)
		}
		if tenant == w.routed && claims == 0 {
			t.Errorf("tenant %s has lost its host%s", tenant, where)
		}
		if tenant == w.empty && claims > 0 {
			t.Errorf("tenant %s holds what it has released%s", tenant, where)
		}
	}
}
