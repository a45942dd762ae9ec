package sim

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin"
)

// outside runs the program against a simulated API server, as a user does.
type outside struct {
	*Server
	kubeconfig string
	before     atomic.Pointer[func(request string) (code int)]
}

// lost is the code of a request that is carried out, and whose answer is lost.
const lost = -1

func fromOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{Server: furnished(t)}
	listener := httptest.NewServer(o)
	t.Cleanup(listener.Close)
	o.kubeconfig = inFile(t, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: test,
  clusters: [{name: test, cluster: {server: %q}}], contexts: [{name: test, context: {cluster: test}}]}`, listener.URL))
	return o
}

// ServeHTTP answers a request.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	if before := o.before.Load(); before != nil {
		switch code := (*before)(r.Method + " " + strings.Join(parts[max(0, len(parts)-2):], "/")); code {
		case 0:
		case lost:
			response, err := o.RoundTrip(r)
			if err == nil {
				_ = response.Body.Close() // nobody reads it
			}
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"refused by the test"}`, strings.ReplaceAll(http.StatusText(code), " ", ""), code)
			return
		}
	}
	if parts[len(parts)-1] == "deployments" { // Akash's operators do not run
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		return
	}
	response, err := o.RoundTrip(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // the client may have gone
	_ = response.Body.Close()        // it is in memory
}

// each calls before for each request from now on, as "PATCH ingresses/a"; a code that is not 0 is the answer. nil calls nothing.
func (o *outside) each(before func(request string) (code int)) {
	if before == nil {
		o.before.Store(nil)
		return
	}
	o.before.Store(&before)
}

// run runs the program and returns its exit code and all its output.
func (o *outside) run(ctx context.Context, args ...string) (code int, out string) {
	var text bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &text, ErrOut: &text}
	code = plugin.Main(ctx, append([]string{"kubectl-akash_net", "--kubeconfig", o.kubeconfig}, args...), streams)
	return code, text.String()
}

// must runs the program, and fails the test unless it ends with the exit code and says each text.
func (o *outside) must(t *testing.T, code int, args []string, says ...string) string {
	t.Helper()
	got, out := o.run(t.Context(), args...)
	if got != code {
		t.Fatalf("%v: exit code %d, want %d:\n%s", args, got, code, out)
	}
	for _, text := range says {
		if !strings.Contains(out, text) {
			t.Errorf("%v does not say %q:\n%s", args, text, out)
		}
	}
	return out
}

// send sends a request with a body to the server.
func (o *outside) send(t *testing.T, method, path, kind, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://sim"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	response, err := o.RoundTrip(r) //nolint:bodyclose // it is in memory
	if err != nil || response.StatusCode >= http.StatusMultipleChoices {
		t.Fatal(err, response)
	}
}

func inFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
