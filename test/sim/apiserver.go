// Package sim is an API server in memory, with the semantics of the real one where the ledger rests on
// them, and histories of many runs against it, driven by a seed.
package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// Server is an API server that is called and not connected to, so that it works in a bubble of
// testing/synctest. It has no watches, and no controllers beside it.
type Server struct {
	// Skew is how far its clock is ahead of that of this machine.
	Skew time.Duration

	mu      sync.Mutex
	kinds   map[string]*kind
	objects map[string]*stored // by path
	version int64
	// pages are lists that are read page by page, by the token with which they go on.
	pages map[string][]*stored
}

// stored is an object as it was written; it is never changed.
type stored struct {
	kind       *kind
	path       string
	object     *unstructured.Unstructured
	text, meta json.RawMessage
	// inList is the object as lists have it: without its kind, where the server knows the type.
	inList json.RawMessage
}

// New is an API server without any objects. It serves no routes but Ingresses.
func New() (*Server, error) {
	all, err := served()
	kinds := maps.Clone(all)
	maps.DeleteFunc(kinds, func(_ string, k *kind) bool { return k.further })
	return &Server{kinds: kinds, objects: map[string]*stored{}, pages: map[string][]*stored{}, version: 1}, err
}

// ServeAll makes it serve the routes of the Gateway API and of OpenShift too, and what leases run.
func (s *Server) ServeAll() (err error) {
	s.kinds, err = served()
	return err
}

// Now is the time by the server's clock.
func (s *Server) Now() time.Time { return time.Now().Add(s.Skew) }

// Objects are all objects of a resource, in the order of their paths.
func (s *Server) Objects(plural string) (out []*unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		if o := s.objects[path]; o.kind.plural == plural {
			out = append(out, o.object)
		}
	}
	return out
}

// RoundTrip answers a request.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := read(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	code, answer := s.answer(r, body)
	return s.reply(r, code, answer), nil
}

// read is the body of a request, nil where it has none.
func read(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer func() { _ = r.Body.Close() }() // it is read
	return io.ReadAll(r.Body)
}

func (s *Server) reply(r *http.Request, code int, answer []byte) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}, "Date": {s.Now().UTC().Format(http.TimeFormat)}}
	if answer == nil {
		header.Set("Content-Type", "text/plain; charset=utf-8")
		answer = []byte("404 page not found\n")
	}
	return &http.Response{
		StatusCode: code, Status: strconv.Itoa(code) + " " + http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(answer)), ContentLength: int64(len(answer)), Request: r,
	}
}

// target is what a request is about.
type target struct {
	kind            *kind
	namespace, name string
}

func (t target) path() string {
	if t.kind.namespaced {
		return t.kind.path() + "/namespaces/" + t.namespace + "/" + t.kind.plural + "/" + t.name
	}
	return t.kind.path() + "/" + t.kind.plural + "/" + t.name
}

// target understands a path; false is for one that is not served.
func (s *Server) target(path string) (t target, ok bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	base := 2
	if parts[0] == "apis" {
		base = 3
	}
	if len(parts) < base+1 {
		return t, false
	}
	root, rest := "/"+strings.Join(parts[:base], "/"), parts[base:]
	if len(rest) > 2 && rest[0] == "namespaces" {
		t.namespace, rest = rest[1], rest[2:]
	}
	if t.kind = s.kinds[root+"/"+rest[0]]; t.kind == nil || len(rest) > 2 {
		return t, false
	}
	if len(rest) == 2 {
		t.name = rest[1]
	}
	return t, true
}

// answer is the status and the body; without a body the path is not served.
func (s *Server) answer(r *http.Request, body []byte) (int, []byte) {
	t, ok := s.target(r.URL.Path)
	if !ok {
		return http.StatusNotFound, nil
	}
	var o *stored
	var err error
	code := http.StatusOK
	switch {
	case r.Method == http.MethodGet && t.name == "":
		return s.list(t, r)
	case r.Method == http.MethodGet:
		if o = s.objects[t.path()]; o == nil {
			err = apierrors.NewNotFound(t.kind.resource(), t.name)
		}
	case r.Method == http.MethodDelete:
		return s.delete(t, r, body)
	default:
		w := writing{target: t, manager: r.URL.Query().Get("fieldManager"), force: r.URL.Query().Get("force") == "true", dry: r.URL.Query().Has("dryRun")}
		if w.manager == "" {
			w.manager, _, _ = strings.Cut(r.UserAgent(), "/")
		}
		var made bool
		if o, made, err = s.write(&w, r, body); made {
			code = http.StatusCreated
		}
	}
	if err != nil {
		return refusal(err)
	}
	return code, o.as(r)
}

// onlyMeta is true for a request that wants no more of objects than their metadata.
func onlyMeta(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

// as is the object as the request wants it.
func (o *stored) as(r *http.Request) []byte {
	if !onlyMeta(r) {
		return o.text
	}
	return o.metaText()
}

func (o *stored) metaText() []byte {
	return []byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":` + string(o.meta) + "}")
}

func refusal(err error) (int, []byte) {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
		if strings.Contains(err.Error(), "typed patch object") || strings.Contains(err.Error(), "field not declared") {
			known = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: err.Error()}}
		}
	}
	status := known.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	text, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	return int(status.Code), text
}

// list answers a LIST, page by page where the request has a limit. All pages are of one moment.
func (s *Server) list(t target, r *http.Request) (int, []byte) {
	q := r.URL.Query()
	selector, err := labels.Parse(q.Get("labelSelector"))
	if err != nil {
		return refusal(apierrors.NewBadRequest(err.Error()))
	}
	limit, _ := strconv.Atoi(q.Get("limit"))
	items, version := []*stored(nil), s.version
	if token := q.Get("continue"); token != "" {
		if items = s.pages[token]; items == nil {
			return refusal(apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result."))
		}
		version, _ = strconv.ParseInt(strings.SplitN(token, ".", 2)[0], 10, 64)
	} else {
		items = s.matching(t, selector)
	}
	meta := map[string]any{"resourceVersion": strconv.FormatInt(version, 10)}
	if limit > 0 && len(items) > limit {
		token := fmt.Sprintf("%d.%d.%d", version, len(items), len(s.pages))
		meta["continue"] = token
		if selector.Empty() {
			meta["remainingItemCount"] = len(items) - limit
		}
		s.pages[token], items = items[limit:], items[:limit]
	}
	return http.StatusOK, listText(t.kind, meta, items, onlyMeta(r))
}

func (s *Server) matching(t target, selector labels.Selector) (out []*stored) {
	for _, o := range s.objects {
		if o.kind == t.kind && (t.namespace == "" || o.object.GetNamespace() == t.namespace) && selector.Matches(labels.Set(o.object.GetLabels())) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *stored) int { return strings.Compare(a.path, b.path) })
	return out
}

func listText(k *kind, meta map[string]any, items []*stored, metaOnly bool) []byte {
	of, version := k.Kind+"List", k.GroupVersion().String()
	if metaOnly {
		of, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	head, err := json.Marshal(meta)
	if err != nil {
		panic(err)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, of, version, head)
	for i, o := range items {
		if i > 0 {
			text.WriteByte(',')
		}
		if metaOnly {
			text.Write(o.metaText())
		} else {
			text.Write(o.inList)
		}
	}
	text.WriteString("]}")
	return text.Bytes()
}
