package leaselogs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leaselogs"
	"github.com/akash-net/kubectl-akash-net/lease"
)

var id = lease.ID{
	Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0",
}

// world is an API server with pods and what they print.
type world struct {
	t *testing.T
	// pods are listed, and later ones told to watches.
	pods    []map[string]any
	changes chan map[string]any
	// logs answer a request for the log of a pod: what it prints, and whether it ends then. The number is that of the request.
	logs func(pod string, n int) (code int, text string, ends bool)

	mu    sync.Mutex
	asked map[string]int
	// gone is true once lists have no pods any more. Left are how many workloads lists have yet, by their resource, one fewer
	// each time; nil where nobody may look.
	gone bool
	left map[string]int
}

func pod(name string, restarts int, state string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "namespace": id.Namespace(), "uid": "uid-" + name},
		"spec":     map[string]any{"nodeName": "n", "containers": []any{map[string]any{"name": "web"}}},
		"status":   map[string]any{"containerStatuses": []any{map[string]any{"name": "web", "restartCount": restarts, "state": map[string]any{state: map[string]any{}}}}},
	}
}

func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	pods := "/api/v1/namespaces/" + id.Namespace() + "/pods"
	out.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasPrefix(r.URL.Path, "/apis/apps/v1/"), r.URL.Path == pods && strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"):
		w.metas(out, r)
	case r.URL.Path == pods && r.URL.Query().Get("watch") == "":
		_ = json.NewEncoder(out).Encode(map[string]any{"apiVersion": "v1", "kind": "PodList", "metadata": map[string]any{"resourceVersion": "1"}, "items": w.pods})
	case r.URL.Path == pods:
		out.(http.Flusher).Flush()
		for {
			select {
			case p := <-w.changes:
				_ = json.NewEncoder(out).Encode(map[string]any{"type": "MODIFIED", "object": p})
				out.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	default:
		name := strings.Split(strings.TrimPrefix(r.URL.Path, pods+"/"), "/")[0]
		w.mu.Lock()
		w.asked[name]++
		n := w.asked[name]
		w.mu.Unlock()
		code, text, ends := w.logs(name, n)
		if code != http.StatusOK {
			out.WriteHeader(code)
			_, _ = io.WriteString(out, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":%d,"message":%q}`, code, text))
			return
		}
		out.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(out, text)
		out.(http.Flusher).Flush()
		if !ends {
			<-r.Context().Done()
		}
	}
}

// metas answers a list of metadata.
func (w *world) metas(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	resource, items := path.Base(r.URL.Path), []map[string]any{{"metadata": map[string]any{"name": "a"}}}
	switch {
	case resource == "pods":
		if w.gone {
			items = nil
		}
	case w.left == nil:
		out.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(out, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not you"}`)
		return
	default:
		items = items[:min(max(w.left[resource], 0), 1)]
		w.left[resource]--
	}
	_ = json.NewEncoder(out).Encode(map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]any{"resourceVersion": "1"}, "items": items})
}

// awaits waits until the log of a pod was asked for.
func (w *world) awaits(pod string) {
	w.t.Helper()
	if err := wait.PollUntilContextTimeout(w.t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.asked[pod] > 0, nil
	}); err != nil {
		w.t.Fatalf("nobody asks for the log of %s", pod)
	}
}

// output is what is printed and noted, which a test waits for.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) awaits(t *testing.T, texts ...string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		all := o.String()
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(all, text) }), nil
	})
	if err != nil {
		t.Fatalf("no %q in %q", texts, o)
	}
}

// follows begins to follow; what it returns ends that.
func follows(t *testing.T, w *world, opts leaselogs.Options) (printed, noted *output, end func() error) {
	t.Helper()
	printed, noted, _, end = begins(t, w, opts)
	return printed, noted, end
}

// begins begins to follow; done tells how that has ended, end ends it.
func begins(t *testing.T, w *world, opts leaselogs.Options) (printed, noted *output, done chan error, end func() error) {
	t.Helper()
	w.t, w.changes, w.asked = t, make(chan map[string]any), map[string]int{}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	c, err := cluster.Connect(&rest.Config{Host: server.URL}, 4)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	printed, noted = &output{}, &output{}
	done = make(chan error, 1)
	opts.Pod.Follow = true
	go func() {
		done <- leaselogs.Stream(ctx, c, id, opts, printed, func(s string) { fmt.Fprintln(noted, s) })
	}()
	t.Cleanup(cancel)
	return printed, noted, done, func() error {
		cancel()
		return <-done
	}
}

// A container that starts again is followed again, with all that it prints; what was followed is not printed twice.
func TestRestartsAreFollowed(t *testing.T) {
	tail := int64(1)
	w := &world{pods: []map[string]any{pod("a", 0, "running")}, logs: func(_ string, n int) (int, string, bool) {
		return http.StatusOK, fmt.Sprintf("run %d\n", n), true
	}}
	printed, _, end := follows(t, w, leaselogs.Options{Streams: 5, Pod: corev1.PodLogOptions{TailLines: &tail}})
	printed.awaits(t, "run 1")
	w.changes <- pod("a", 0, "terminated")
	w.changes <- pod("a", 1, "running")
	printed.awaits(t, "run 2")
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if w.asked["a"] != 2 {
		t.Errorf("asked %d times", w.asked["a"])
	}
}

// What cannot be read yet is asked for again when its pod changes, and ends nothing else.
func TestNotReadyYet(t *testing.T) {
	w := &world{pods: []map[string]any{pod("a", 0, "running"), pod("b", 0, "running"), pod("c", 0, "waiting")}, logs: func(pod string, n int) (int, string, bool) {
		if pod == "b" && n == 1 {
			return http.StatusBadRequest, "container is waiting to start", false
		}
		return http.StatusOK, "hello from " + pod + "\n", false
	}}
	printed, noted, end := follows(t, w, leaselogs.Options{Streams: 5})
	printed.awaits(t, "[pod/a/web] hello from a")
	noted.awaits(t, "pod/b/web: ", "container is waiting to start", "pod/c/web has no logs yet: it has not started yet")
	w.changes <- pod("b", 0, "running")
	w.changes <- pod("c", 0, "running")
	printed.awaits(t, "[pod/b/web] hello from b", "[pod/c/web] hello from c")
	_ = end()
}

// No more are followed at a time than are allowed: what starts later waits for its turn.
func TestPlaces(t *testing.T) {
	release := make(chan struct{})
	w := &world{pods: []map[string]any{pod("a", 0, "running")}, logs: func(pod string, _ int) (int, string, bool) {
		if pod == "b" {
			return http.StatusOK, "from b\n", false
		}
		<-release
		return http.StatusOK, "from a\n", true
	}}
	printed, noted, end := follows(t, w, leaselogs.Options{Streams: 1})
	w.awaits("a")
	w.changes <- pod("b", 0, "running")
	noted.awaits(t, "pod/b/web waits: this command follows 1 container at a time; --max-log-requests allows more")
	close(release)
	printed.awaits(t, "from a", "from b")
	_ = end()
}

// More than are allowed at the beginning are refused.
func TestTooMany(t *testing.T) {
	err := stream(t, []map[string]any{pod("a", 0, "running"), pod("b", 0, "running"), pod("c", 0, "waiting")}, &output{}, 1)
	if too, ok := errors.AsType[*leaselogs.TooManyError](err); !ok || too.Containers != 2 || too.Streams != 1 {
		t.Errorf("it ended with %v", err)
	}
}

// stream follows until something ends it.
func stream(t *testing.T, pods []map[string]any, out io.Writer, streams int) error {
	t.Helper()
	w := &world{t: t, asked: map[string]int{}, pods: pods, logs: func(string, int) (int, string, bool) { return http.StatusOK, "hello\n", false }}
	server := httptest.NewServer(w)
	defer server.Close()
	c, err := cluster.Connect(&rest.Config{Host: server.URL}, 4)
	if err != nil {
		t.Fatal(err)
	}
	return leaselogs.Stream(t.Context(), c, id, leaselogs.Options{Pod: corev1.PodLogOptions{Follow: true}, Streams: streams}, out, func(string) {})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// An output that cannot be written ends all.
func TestFullOutputEndsAll(t *testing.T) {
	err := stream(t, []map[string]any{pod("a", 0, "running"), pod("b", 0, "running")}, full{}, 5)
	if err == nil || !strings.Contains(err.Error(), "the output cannot be written: disk full") {
		t.Errorf("it ended with %v", err)
	}
}

// It ends when neither pods nor workloads are left, and not before.
func TestEndOfALease(t *testing.T) {
	ended := make(chan struct{})
	w := &world{pods: []map[string]any{pod("a", 0, "running")}, left: map[string]int{"deployments": 2, "statefulsets": 1}, logs: func(string, int) (int, string, bool) {
		<-ended
		return http.StatusOK, "bye\n", true
	}}
	_, noted, done, _ := begins(t, w, leaselogs.Options{Streams: 5})
	w.awaits("a")
	w.mu.Lock()
	w.gone = true
	w.mu.Unlock()
	close(ended)
	if err := <-done; err != nil || !strings.Contains(noted.String(), "The logs have ended") {
		t.Errorf("it ended with %v, and noted %q", err, noted)
	}
	if w.left["deployments"] >= 0 || w.left["statefulsets"] >= 0 {
		t.Errorf("it ended while there were workloads: %v", w.left)
	}
}

// Who may not look for workloads is told that no end is noticed, once, and follows on.
func TestEndThatIsNotNoticed(t *testing.T) {
	w := &world{gone: true, logs: func(string, int) (int, string, bool) { return http.StatusOK, "hello\n", true }}
	printed, noted, _, end := begins(t, w, leaselogs.Options{Streams: 5})
	w.changes <- pod("a", 0, "running")
	printed.awaits(t, "hello")
	noted.awaits(t, "Cannot see whether the lease ends: ", "--clusterrole=akash-net-logs")
	w.changes <- pod("b", 0, "running")
	printed.awaits(t, "[pod/b/web] hello")
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
