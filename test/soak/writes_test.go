package soak_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// writes knows which command sent which write. It stands before the API server, each command speaks to it
// at a path of its own, and answers are passed on as they are.
type writes struct {
	// server is where the commands find the API server.
	server string

	mu       sync.Mutex
	commands []operation
	// wrote are the commands by the resource version that an answer gave; deleted by the UID of what they
	// deleted, lost by the path of a write whose answer did not come back.
	wrote, deleted, lost map[string][]int
}

// noted is a write that is under way.
type noted struct {
	command      int
	method, path string
}

type notedKey struct{}

func recordWrites(t *testing.T) *writes {
	t.Helper()
	w := &writes{wrote: map[string][]int{}, deleted: map[string][]int{}, lost: map[string][]int{}}
	w.server = harness.Proxy(t, harness.Plane.Config, func(p *httputil.ReverseProxy) {
		pass := p.Rewrite
		p.Rewrite = func(r *httputil.ProxyRequest) {
			number, rest, _ := strings.Cut(strings.TrimPrefix(r.In.URL.Path, "/"), "/")
			r.Out.URL.Path, r.Out.URL.RawPath = "/"+rest, ""
			pass(r)
			n, err := strconv.Atoi(number)
			if r.In.Method == http.MethodGet || r.In.URL.Query().Has("dryRun") || err != nil {
				return
			}
			r.Out.Header.Set("Accept", strings.ReplaceAll(r.In.Header.Get("Accept"), "application/vnd.kubernetes.protobuf", "application/json"))
			r.Out = r.Out.WithContext(context.WithValue(r.Out.Context(), notedKey{}, noted{n, r.In.Method, "/" + rest}))
		}
		p.ModifyResponse = w.answered
		p.ErrorHandler = func(out http.ResponseWriter, r *http.Request, err error) {
			if n, ok := r.Context().Value(notedKey{}).(noted); ok {
				w.note(w.lost, n.path, n.command)
			}
			http.Error(out, err.Error(), http.StatusBadGateway)
		}
	})
	return w
}

// answered keeps what an answer says of what was written.
func (w *writes) answered(r *http.Response) error {
	n, ok := r.Request.Context().Value(notedKey{}).(noted)
	if !ok {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode >= http.StatusInternalServerError {
		w.note(w.lost, n.path, n.command)
		return err
	}
	if err := r.Body.Close(); err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.StatusCode >= http.StatusMultipleChoices {
		return nil
	}
	var answer struct {
		Metadata struct{ UID, ResourceVersion string }
		Details  struct{ UID string }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s %s: %w", n.method, n.path, err)
	}
	if n.method == http.MethodDelete {
		w.note(w.deleted, answer.Metadata.UID+answer.Details.UID, n.command)
		return nil
	}
	w.note(w.wrote, answer.Metadata.ResourceVersion, n.command)
	return nil
}

func (w *writes) note(in map[string][]int, key string, command int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in[key] = append(in[key], command)
}

// admit gives a command a kubeconfig of its own.
func (w *writes) admit(op *operation) (kubeconfig string, err error) {
	w.mu.Lock()
	n := len(w.commands)
	op.number = n
	w.commands = append(w.commands, *op)
	w.mu.Unlock()
	kubeconfig = filepath.Join(harness.Plane.Dir, fmt.Sprintf("command-%d.kubeconfig", n))
	return kubeconfig, os.WriteFile(kubeconfig, fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: soak,
  clusters: [{name: soak, cluster: {server: "%s/%d"}}], contexts: [{name: soak, context: {cluster: soak}}]}`, w.server, n), 0o600)
}

// authors are the commands that may have written a change: those whose answer says so, or else those whose
// answer was lost.
func (w *writes) authors(c change) (out []operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := w.wrote[strconv.FormatUint(c.revision, 10)]
	if c.gone {
		found = w.deleted[c.uid]
	}
	if len(found) == 0 {
		found = w.lost[c.path]
	}
	for _, n := range found {
		out = append(out, w.commands[n])
	}
	return out
}
