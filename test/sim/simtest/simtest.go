// Package simtest lets a test interfere with the requests of a client to the API server in memory (package sim).
package simtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/test/sim"
)

// DryRun is the method with which a test is told of a dry run.
const DryRun = "DRY RUN"

// Server is an API server whose requests a test sees, and may answer in its place.
type Server struct {
	*sim.Server
	// Before is called for each request before it is carried out, After for each write when that is done and not answered. Where
	// done is true the code is the answer; 0 is for a connection that ends without one.
	Before, After func(method, path string) (code int, done bool)
	// Listed is called for each read, with its label selector.
	Listed func(path, selector string)

	t      *testing.T
	mu     sync.Mutex
	writes []string
}

// New is a server of all kinds, with namespaces.
func New(t *testing.T, namespaces ...string) *Server {
	t.Helper()
	server, err := sim.New()
	if err == nil {
		err = server.ServeAll()
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Server: server, t: t}
	for _, name := range namespaces {
		s.Put("test", "/api/v1/namespaces/"+name, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}})
	}
	return s
}

// Connect is a connection to the server that sends one request at a time.
func (s *Server) Connect() *cluster.Cluster {
	s.t.Helper()
	c, err := cluster.Connect(&rest.Config{Host: "http://sim", Transport: s}, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// RoundTrip answers a request.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	method := r.Method
	body, err := []byte(nil), error(nil)
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	switch {
	case method == http.MethodGet:
		if s.Listed != nil {
			s.Listed(r.URL.Path, r.URL.Query().Get("labelSelector"))
		}
	case r.URL.Query().Has("dryRun") || bytes.Contains(body, []byte(`"dryRun":["All"]`)):
		method = DryRun
	default:
		s.writes = append(s.writes, method+" "+Short(r.URL.Path))
	}
	if answer, done, err := s.interferes(s.Before, method, r); done {
		return answer, err
	}
	answer, err := s.Server.RoundTrip(r)
	if method == http.MethodGet {
		return answer, err
	}
	if instead, done, err := s.interferes(s.After, method, r); done {
		return instead, err
	}
	return answer, err
}

// interferes asks the test for an answer.
func (s *Server) interferes(f func(method, path string) (int, bool), method string, r *http.Request) (response *http.Response, done bool, err error) {
	if f == nil {
		return nil, false, nil
	}
	code, done := f(method, r.URL.Path)
	if !done {
		return nil, false, nil
	}
	if code == 0 {
		return nil, true, errors.New("connection reset by peer")
	}
	text, err := json.Marshal(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": strings.ReplaceAll(http.StatusText(code), " ", ""),
		"message": http.StatusText(code), "details": map[string]any{"name": "x"},
	})
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Request: r,
	}, true, err
}

// Short is the end of a path: resource/name.
func Short(path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

// Writes are the writes since it was last called, as "METHOD resource/name".
func (s *Server) Writes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.writes = nil }()
	return s.writes
}

// Put stores an object at a path, in the place of what is there, as a manager would that the test sees nothing of.
func (s *Server) Put(manager, path string, object any) {
	s.t.Helper()
	s.Delete(path)
	s.send(http.MethodPatch, path+"?fieldManager="+manager, object)
}

// Take applies the object that is at a path, as it is, for another field manager, with annotations.
func (s *Server) Take(manager, path string, annotations map[string]string) {
	s.t.Helper()
	o := s.Get(path)
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	o.SetAnnotations(annotations)
	s.send(http.MethodPatch, path+"?force=true&fieldManager="+manager, o.Object)
}

// Merge changes an object by a merge patch.
func (s *Server) Merge(path, patch string) {
	s.t.Helper()
	s.send(http.MethodPatch, path+"?fieldManager=test", json.RawMessage(patch))
}

// Delete deletes what is at a path, if there is something.
func (s *Server) Delete(path string) {
	s.t.Helper()
	if s.Get(path) != nil {
		s.send(http.MethodDelete, path, map[string]any{})
	}
}

// Get is the object at a path, nil if there is none.
func (s *Server) Get(path string) *unstructured.Unstructured {
	s.t.Helper()
	body := s.send(http.MethodGet, path, nil)
	if body == nil {
		return nil
	}
	o := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(body, &o.Object); err != nil {
		s.t.Fatal(err)
	}
	return o
}

// send sends a request to the server, and returns its answer; nil if there is no such object.
func (s *Server) send(method, path string, object any) []byte {
	s.t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://sim"+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	content := types.ApplyPatchType
	if _, merges := object.(json.RawMessage); merges {
		content = types.MergePatchType
	}
	r.Header.Set("Content-Type", string(content))
	answer, err := s.Server.RoundTrip(r) //nolint:bodyclose // it is in memory
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		s.t.Fatal(err)
	case answer.StatusCode == http.StatusNotFound && method == http.MethodGet:
		return nil
	case answer.StatusCode >= http.StatusMultipleChoices:
		s.t.Fatalf("%s %s: %s", method, path, text)
	}
	return text
}

// Names are the objects that the server has of some resources, as resource/name.
func (s *Server) Names(plurals ...string) (names []string) {
	for _, plural := range plurals {
		for _, o := range s.Objects(plural) {
			names = append(names, plural+"/"+o.GetName())
		}
	}
	slices.Sort(names)
	return names
}
