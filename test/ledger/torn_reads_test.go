package ledger_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// tearer answers the first LIST of each resource as it was recorded, and sends all else to the server. It
// notes which LISTs there were.
type tearer struct {
	mu      sync.Mutex
	lists   []string
	answers map[string][]byte
}

// listed are the resources whose LISTs are torn: all that a lease has, its namespaces, and the claims.
var listed = []string{"leases", "namespaces", "ingresses", "httproutes", "providerhosts", "providerleasedips", "services"}

// isList says which resource a LIST is of.
func isList(r *http.Request) (resource string, ok bool) {
	resource = r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	return resource, r.Method == http.MethodGet && r.URL.Query().Get("watch") == "" && slices.Contains(listed, resource)
}

func (tr *tearer) through(connection *rest.Config) {
	connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if _, ok := isList(r); !ok {
				if r.Method != http.MethodGet { // a LIST after a write is not older than the write
					tr.mu.Lock()
					tr.answers = nil
					tr.mu.Unlock()
				}
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

// moment is what each LIST says at one time.
type moment map[string][]byte

// record reads what each LIST says now. One of a kind that the cluster does not serve is left out.
func (w *world) record(t *testing.T, lists []string) moment {
	t.Helper()
	connection := rest.CopyConfig(harness.Plane.Config)
	w.within(connection)
	transport, err := rest.TransportFor(connection)
	if err != nil {
		t.Fatal(err)
	}
	out := moment{}
	for _, at := range lists {
		uri, accept, _ := strings.Cut(at, " ")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(harness.Plane.Config.Host, "/")+uri, nil)
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
		case response.StatusCode == http.StatusOK:
			out[at] = body
		}
	}
	return out
}

// beforeRequest does something before a request, the first being 0, and counts them: all, or the writes only.
func beforeRequest(which int, writes bool, do func()) (n *int, through func(*rest.Config)) {
	var mu sync.Mutex
	n = new(int)
	return n, func(connection *rest.Config) {
		connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				mu.Lock()
				if !writes || r.Method != http.MethodGet {
					if *n++; *n == which+1 {
						do()
					}
				}
				mu.Unlock()
				return next.RoundTrip(r)
			})
		})
	}
}

// beforeClaims does something before the first write of a claim that a client sends.
func beforeClaims(do func()) func(*rest.Config) {
	var once sync.Once
	return func(connection *rest.Config) {
		connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodGet && ofClaim(r) {
					once.Do(do)
				}
				return next.RoundTrip(r)
			})
		})
	}
}

// afterWrites does something after each write that a client sends.
func afterWrites(do func()) func(*rest.Config) {
	var mu sync.Mutex
	return func(connection *rest.Config) {
		connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(r)
				if r.Method != http.MethodGet {
					mu.Lock()
					defer mu.Unlock()
					do()
				}
				return response, err
			})
		})
	}
}

// tear is one LIST that is of another moment than the others: it is of the last moment where late, and the
// others of the moment at; else the other way round.
type tear struct {
	one  string
	at   int
	late bool
}

// of are the answers that a command gets.
func (x tear) of(moments []moment) moment {
	torn, rest := moments[min(x.at, len(moments)-2)], moments[len(moments)-1]
	if x.late {
		torn, rest = rest, torn
	}
	out := moment{}
	for list, body := range rest {
		out[list] = body
	}
	out[x.one] = torn[x.one]
	return out
}

// tears are those that show a command something else than its predecessors do, and than what is there when
// the other command has ended.
func tears(moments []moment) []tear {
	versions := map[string][]string{} // of each LIST, as they come
	version := func(list string, body []byte) byte {
		var items struct{ Items json.RawMessage }
		_ = json.Unmarshal(body, &items)
		i := slices.Index(versions[list], string(items.Items))
		if i < 0 {
			i = len(versions[list])
			versions[list] = append(versions[list], string(items.Items))
		}
		return byte('0' + i)
	}
	last := moments[len(moments)-1]
	lists := slices.Sorted(func(yield func(string) bool) {
		for list := range last {
			if !yield(list) {
				return
			}
		}
	})
	view := func(m moment) string {
		var out []byte
		for _, list := range lists {
			out = append(out, version(list, m[list]))
		}
		return string(out)
	}
	seen := map[string]bool{view(last): true}
	var out []tear
	for at := range len(moments) - 1 {
		for _, list := range lists {
			for _, late := range []bool{true, false} {
				x := tear{list, at, late}
				if v := view(x.of(moments)); !seen[v] {
					seen[v] = true
					out = append(out, x)
				}
			}
		}
	}
	return out
}
