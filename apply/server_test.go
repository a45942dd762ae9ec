package apply

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
)

// server is as much of an API server as it takes to let things go wrong: it keeps objects, checks
// preconditions, and knows one manager. What an API server really does is for the end-to-end tests.
type server struct {
	mu       sync.Mutex
	objects  map[string]*unstructured.Unstructured // by path
	versions int
	writes   []string
	// before is called for each write before it is done, after when it is done and not answered. It
	// may answer in the server's place; a code of 0 ends the connection without an answer. The method
	// of a dry run is dryRun.
	before, after func(s *server, method, path string) (code int, done bool)
	// listed is called for each LIST, with its label selector.
	listed func(path, selector string)
	// silent is true while reads get a gateway's answer.
	silent func() bool
	url    string
}

// dryRun is the method with which before and after are called for a dry run.
const dryRun = "DRY RUN"

func newServer(t *testing.T, concurrency int) (*server, *cluster.Cluster) {
	t.Helper()
	s := &server{objects: map[string]*unstructured.Unstructured{}}
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	s.url = listener.URL
	c, err := cluster.Connect(&rest.Config{Host: s.url}, concurrency)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if r.Method == http.MethodGet {
		if s.silent != nil && s.silent() {
			reply(w, http.StatusServiceUnavailable, nil)
			return
		}
		if s.listed != nil {
			s.listed(r.URL.Path, r.URL.Query().Get("labelSelector"))
		}
		s.read(w, r.URL.Path)
		return
	}
	method, dry := r.Method, r.URL.Query().Has("dryRun")
	if dry {
		method = dryRun
	} else {
		s.writes = append(s.writes, method+" "+short(r.URL.Path))
	}
	if s.interferes(w, s.before, method, r.URL.Path) {
		return
	}
	objects, versions := s.objects, s.versions
	if dry {
		s.objects = maps.Clone(objects)
	}
	code, object := s.write(r.Method, r.URL.Path, body)
	if dry {
		s.objects, s.versions = objects, versions
	}
	if s.interferes(w, s.after, method, r.URL.Path) {
		return
	}
	reply(w, code, object)
}

func (s *server) interferes(w http.ResponseWriter, f func(*server, string, string) (int, bool), method, path string) bool {
	if f == nil {
		return false
	}
	code, done := f(s, method, path)
	if done && code == 0 {
		panic(http.ErrAbortHandler)
	}
	if done {
		reply(w, code, nil)
	}
	return done
}

// short is the end of a path: resource/name.
func short(path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

func (s *server) read(w http.ResponseWriter, path string) {
	if o := s.objects[path]; o != nil {
		reply(w, http.StatusOK, o.Object)
		return
	}
	if path == "/api/v1/namespaces/akash-net" { // the ledger's, as install makes it
		reply(w, http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "akash-net"}})
		return
	}
	parts := strings.Split(path, "/")
	plurals := []string{"leases", "namespaces", "nodes", kinds.Manifest.Plural, kinds.Deployment.Plural, kinds.StatefulSet.Plural}
	for _, kind := range slices.Concat(kinds.OfLease, kinds.Others, kinds.Pools) {
		plurals = append(plurals, kind.Plural)
	}
	for _, plural := range plurals {
		if parts[len(parts)-1] == plural {
			reply(w, http.StatusOK, s.list(path, plural))
			return
		}
	}
	reply(w, http.StatusNotFound, nil)
}

func (s *server) list(path, plural string) map[string]any {
	items := []any{}
	for _, at := range slices.Sorted(maps.Keys(s.objects)) {
		parts := strings.Split(at, "/")
		if parts[len(parts)-2] == plural && (strings.HasPrefix(at, path+"/") || !strings.Contains(path, "/namespaces/")) {
			items = append(items, s.objects[at].Object)
		}
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": fmt.Sprint(s.versions)}, "items": items}
}

// write applies or deletes an object.
func (s *server) write(method, path string, body []byte) (int, map[string]any) {
	live := s.objects[path]
	if method == http.MethodDelete {
		var opts metav1.DeleteOptions
		if err := json.Unmarshal(body, &opts); err != nil {
			return http.StatusBadRequest, nil
		}
		switch p := opts.Preconditions; {
		case live == nil:
			return http.StatusNotFound, nil
		case p == nil || *p.UID != live.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != live.GetResourceVersion():
			return http.StatusConflict, nil
		}
		delete(s.objects, path)
		return http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"}
	}
	o := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(body, &o.Object); err != nil {
		return http.StatusBadRequest, nil
	}
	if method == http.MethodPost {
		path += "/" + o.GetName()
		if live = s.objects[path]; live != nil {
			return http.StatusConflict, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": http.StatusConflict, "reason": metav1.StatusReasonAlreadyExists}
		}
	}
	if uid := o.GetUID(); uid != "" && (live == nil || uid != live.GetUID()) {
		return http.StatusConflict, nil
	}
	if version := o.GetResourceVersion(); version != "" && live != nil && version != live.GetResourceVersion() {
		return http.StatusConflict, nil
	}
	code := http.StatusOK
	if live == nil {
		code = http.StatusCreated
	}
	return code, s.put(path, o, live).Object
}

// put stores an object under a new version.
func (s *server) put(path string, o, live *unstructured.Unstructured) *unstructured.Unstructured {
	s.versions++
	o.SetResourceVersion(fmt.Sprint(s.versions))
	if live == nil {
		o.SetUID(types.UID(fmt.Sprint("uid-", s.versions)))
		o.SetCreationTimestamp(metav1.NewTime(time.Unix(1_700_000_000, 0)))
	} else {
		o.SetUID(live.GetUID())
		o.SetCreationTimestamp(live.GetCreationTimestamp())
	}
	s.objects[path] = o
	return o
}

func reply(w http.ResponseWriter, code int, object map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if object == nil {
		reasons := map[int]metav1.StatusReason{404: metav1.StatusReasonNotFound, 409: metav1.StatusReasonConflict, 403: metav1.StatusReasonForbidden}
		object = map[string]any{
			"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reasons[code], "message": http.StatusText(code),
			"details": map[string]any{"name": "x"},
		}
	}
	_ = json.NewEncoder(w).Encode(object) // the client may have gone
}

// names are the objects that the server has, as resource/name.
func (s *server) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for path := range s.objects {
		out = append(out, short(path))
	}
	slices.Sort(out)
	return out
}

// asMap is an object as JSON has it.
func asMap(t *testing.T, object any) map[string]any {
	t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := utiljson.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
