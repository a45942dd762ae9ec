package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
)

// The ways to run without changing anything.
const (
	// DryRunClient sends no write.
	DryRunClient = "client"
	// DryRunServer lets the API server check each write without persisting it.
	DryRunServer = "server"
)

// DryRun returns a cluster that keeps no writes but reads as if it did. In the mode DryRunServer the API server checks
// the first write to an object; later ones, and all in a namespace that does not exist yet, are computed from what was
// read and sent. In the mode DryRunClient all are computed. Without a mode DryRun returns the cluster itself.
func (c *Cluster) DryRun(mode string) *Cluster {
	if mode == "" || c.drafts != nil {
		return c
	}
	out := *c
	server, _, err := rest.DefaultServerUrlFor(c.config)
	if err != nil {
		panic(err) // Connect has created clients from the same configuration
	}
	out.drafts = &drafts{
		below: strings.TrimSuffix(server.Path, "/"), next: c.http.Transport, files: c.Cache.files, written: newStore(), server: mode == DryRunServer,
	}
	out.Cache.written = out.drafts.written
	client := *c.http
	client.Transport = noteStatus(out.drafts)
	if err := out.connect(&client); err != nil {
		panic(err) // Connect has created clients from the same configuration
	}
	return &out
}

// Waits is false for a dry run: its writes have no effects to wait for, so it assumes them.
func (c *Cluster) Waits() bool { return c.drafts == nil }

// Unchecked reports whether the API server could not check a dry run's writes in a namespace, because only the dry run
// has created it.
func (c *Cluster) Unchecked(namespace string) bool {
	return c.drafts != nil && c.drafts.server && c.drafts.made(namespace)
}

// drafts holds the writes of a dry run. It answers requests as the API server would.
type drafts struct {
	next http.RoundTripper
	// below is the path below which the API server is reached; empty for one that is reached directly.
	below string
	// server is true if the API server checks writes.
	server bool
	// files are what there is instead of an API server, nil if there is one: objects from files may lack a UID.
	files *store
	// written are the objects as the dry run has written them.
	written *store

	mu       sync.Mutex
	versions int
}

// RoundTrip answers a request. An error that the API server would answer becomes the response.
func (d *drafts) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := d.answer(r)
	if refused, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return refuse(r, refused)
	}
	return response, err
}

func (d *drafts) answer(r *http.Request) (*http.Response, error) {
	t := targetOf(strings.TrimPrefix(r.URL.Path, d.below))
	query := r.URL.Query()
	switch {
	case r.Method != http.MethodGet && query.Has("dryRun"), query.Has("watch"):
		return d.next.RoundTrip(r)
	case r.Method != http.MethodGet:
		return d.write(r, t)
	case t.name == "":
		return d.list(r, t)
	}
	if now := d.find(t); now != nil {
		return t.answer(r, http.StatusOK, now)
	}
	return d.next.RoundTrip(r)
}

// find returns the draft of an object, nil if the dry run has not written it.
func (d *drafts) find(t target) *listed.Object {
	return d.written.get(t.GroupResource, d.files.keyOf(t))
}

// made reports whether only the dry run has created a namespace.
func (d *drafts) made(namespace string) bool {
	now := d.find(target{GroupResource: Namespaces.GroupResource(), name: namespace})
	return now != nil && now.Fresh
}

// list answers a LIST: drafts replace the live objects.
func (d *drafts) list(r *http.Request, t target) (*http.Response, error) {
	written := d.written.at(t.GroupResource)
	if len(written.ListKeys()) == 0 {
		return d.next.RoundTrip(r)
	}
	var list struct {
		Kind       string           `json:"kind"`
		APIVersion string           `json:"apiVersion"`
		Metadata   map[string]any   `json:"metadata"`
		Items      []map[string]any `json:"items"`
	}
	asJSON := r.Clone(r.Context())
	asJSON.Header.Set("Accept", "application/json")
	if isBare(r) {
		asJSON.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
	}
	response, err := d.next.RoundTrip(asJSON)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	if err := decode(response.Body, &list); err != nil {
		return nil, err
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	items := []map[string]any{}
	for _, item := range list.Items {
		o := unstructured.Unstructured{Object: item}
		if d.written.get(t.GroupResource, o.GetNamespace()+"/"+o.GetName()) == nil {
			items = append(items, item)
		}
	}
	if last, _ := list.Metadata["continue"].(string); last == "" {
		for _, now := range d.written.list(t.GroupResource, t.namespace, selector, nothing) {
			items = append(items, shownAs(now.Whole(), isBare(r)))
		}
	}
	list.Items = items
	return respond(r, http.StatusOK, list)
}

// write answers a write.
func (d *drafts) write(r *http.Request, t target) (*http.Response, error) {
	w, err := writingOf(r, t)
	if err != nil {
		return nil, err
	}
	known := d.find(w.target)
	if d.server && known == nil && !d.made(w.namespace) {
		return d.judge(r, w)
	}
	var live *unstructured.Unstructured
	if known == nil && (d.files != nil || w.method != http.MethodDelete && !w.makes()) {
		if live, err = d.read(r, w.target); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known = d.find(w.target); known != nil {
		live = known.Whole()
	}
	out, refused := w.result(live)
	if refused != nil {
		return nil, refused
	}
	return d.keep(r, w, live, out)
}

// keep records the result of a write and answers it. The object gets a new resource version if the write changes it.
func (d *drafts) keep(r *http.Request, w *writing, was, out *unstructured.Unstructured) (*http.Response, error) {
	known, code := d.find(w.target), http.StatusOK
	if was == nil && out != nil {
		code = http.StatusCreated
	}
	if out != nil && (was == nil || !reflect.DeepEqual(was.Object, out.Object)) {
		d.versions++
		version(out, was == nil, d.versions)
	}
	now := listed.New(d.files.keyOf(w.target), out)
	now.Fresh = was == nil && (known == nil || known.Fresh)
	d.written.put(w.GroupResource, now)
	if out == nil {
		return respond(r, code, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
	}
	return w.answer(r, code, now)
}

// judge sends a write with dryRun=All and keeps the answer.
func (d *drafts) judge(r *http.Request, w *writing) (*http.Response, error) {
	dry, body := r.Clone(r.Context()), w.body
	query := dry.URL.Query()
	query.Set("dryRun", metav1.DryRunAll)
	dry.URL.RawQuery = query.Encode()
	if r.Method == http.MethodDelete { // the API server ignores query options if there is a body
		var err error
		w.wish["dryRun"] = []string{metav1.DryRunAll}
		if body, err = json.Marshal(w.wish); err != nil {
			return nil, err
		}
	}
	dry.Body, dry.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	dry.Header.Set("Accept", "application/json")
	response, err := d.next.RoundTrip(dry)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		return response, err
	}
	var out, was *unstructured.Unstructured
	if r.Method != http.MethodDelete {
		out = &unstructured.Unstructured{}
		if err := decode(response.Body, &out.Object); err != nil {
			return nil, err
		}
	}
	if out != nil && response.StatusCode != http.StatusCreated {
		if was, err = d.read(r, w.target); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.keep(r, w, was, out)
}

// read returns the live object, or nil if there is none. Any other answer is an error.
func (d *drafts) read(r *http.Request, t target) (*unstructured.Unstructured, error) {
	get := r.Clone(r.Context())
	get.Method, get.Body, get.ContentLength, get.URL.RawQuery = http.MethodGet, nil, 0, ""
	if get.URL.Path = strings.TrimSuffix(get.URL.Path, "/"+t.subresource); r.Method == http.MethodPost {
		get.URL.Path += "/" + t.name
	}
	get.Header.Set("Accept", "application/json")
	get.Header.Del("Content-Type")
	response, err := d.next.RoundTrip(get) //nolint:bodyclose // decode closes it
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		status := metav1.Status{Code: int32(response.StatusCode), Message: http.StatusText(response.StatusCode)}
		_ = decode(response.Body, &status) // the answer for a path that is not served is plain text
		if err = apierrors.FromObject(&status); apierrors.IsNotFound(err) && !IsMissingKind(err) {
			err = nil
		}
		return nil, err
	}
	var o map[string]any
	if err := decode(response.Body, &o); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: o}, nil
}

// decode reads and closes a body.
func decode(body io.ReadCloser, into any) error {
	defer func() { _ = body.Close() }() // reading has reported any error
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if into, ok := into.(*map[string]any); ok {
		return utiljson.Unmarshal(text, into)
	}
	return json.Unmarshal(text, into)
}

// writing is a write that a dry run does not send.
type writing struct {
	target
	method  string
	how     types.PatchType
	manager string
	body    []byte
	// wish is the body without its preconditions, which are in uid and version.
	wish         map[string]any
	uid, version string
}

func writingOf(r *http.Request, t target) (*writing, error) {
	w := &writing{
		target: t, wish: map[string]any{}, method: r.Method,
		how: types.PatchType(r.Header.Get("Content-Type")), manager: r.URL.Query().Get("fieldManager"),
	}
	if r.Body != nil {
		var err error
		if w.body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close() // reading has reported any error
	}
	if len(w.body) > 0 {
		if err := utiljson.Unmarshal(w.body, &w.wish); err != nil {
			return nil, err
		}
	}
	pins, _ := w.wish["metadata"].(map[string]any)
	if r.Method == http.MethodDelete {
		pins, _ = w.wish["preconditions"].(map[string]any)
	} else if pins != nil {
		pins = maps.Clone(pins)
		for _, pin := range []string{"uid", "resourceVersion"} {
			delete(w.wish["metadata"].(map[string]any), pin)
		}
	}
	w.uid, _ = pins["uid"].(string)
	w.version, _ = pins["resourceVersion"].(string)
	if w.name == "" {
		w.name, _ = pins["name"].(string)
	}
	return w, nil
}

// makes reports whether the write requires that the object does not exist.
func (w *writing) makes() bool { return w.version == Unwritten && w.uid == "" }

// Unwritten is a resourceVersion that no object has: etcd's first write is revision 2. An apply with it and without a
// UID creates the object, or fails if there is one.
const Unwritten = "1"

// result returns the object after the write, nil if it is deleted, or the API server's error. It does not report
// conflicts with other field managers: a plan shows them field by field.
func (w *writing) result(live *unstructured.Unstructured) (*unstructured.Unstructured, *apierrors.StatusError) {
	moved := apierrors.NewConflict(w.GroupResource, w.name,
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	switch {
	case live != nil && live.GetUID() != "" &&
		(w.uid != "" && w.uid != string(live.GetUID()) || w.version != "" && w.version != live.GetResourceVersion()):
		return nil, moved
	case w.method == http.MethodDelete:
		return nil, nil
	case live == nil && w.uid+w.version != "" && !w.makes():
		return nil, moved
	case w.method == http.MethodPost && live != nil:
		return nil, apierrors.NewAlreadyExists(w.GroupResource, w.name)
	case w.method == http.MethodPost, w.how == types.ApplyPatchType:
		return w.applied(live), nil
	case live == nil:
		return nil, apierrors.NewNotFound(w.GroupResource, w.name)
	case w.how == types.MergePatchType:
		out, err := w.merged(live)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return out, nil
	}
	return nil, apierrors.NewMethodNotSupported(w.GroupResource, string(w.how))
}

// applied returns the object after a server-side apply.
func (w *writing) applied(live *unstructured.Unstructured) *unstructured.Unstructured {
	wish := (&unstructured.Unstructured{Object: w.wish}).DeepCopy()
	wish.SetNamespace(w.namespace)
	out := wish
	if live != nil {
		out = live.DeepCopy()
		for _, f := range plan.Fields(live, wish.Object, w.manager) {
			f.Set(out.Object)
		}
	}
	fields, err := json.Marshal(fieldsOf(w.wish, nil))
	if err != nil {
		return out
	}
	entry := metav1.ManagedFieldsEntry{
		Manager: w.manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: wish.GetAPIVersion(), FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{},
	}
	entry.FieldsV1.SetRawBytes(fields)
	entries := out.GetManagedFields()
	i := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == w.manager && e.Operation == entry.Operation && e.Subresource == ""
	})
	switch {
	case i < 0:
		i, entries = len(entries), append(entries, entry)
	case entries[i].FieldsV1 != nil && bytes.Equal(entries[i].FieldsV1.GetRawBytes(), fields):
		return out
	}
	entry.Time = &metav1.Time{Time: time.Now()}
	entries[i] = entry
	out.SetManagedFields(entries)
	return out
}

// fieldsOf returns the fields of an applied object in the format of managed fields. A list counts as one field.
func fieldsOf(value map[string]any, path plan.Path) map[string]any {
	out := map[string]any{}
	for name, v := range value {
		at := append(slices.Clone(path), name)
		below, _ := v.(map[string]any)
		if fields := fieldsOf(below, at); !at.Identifies() && (len(fields) > 0 || len(below) == 0) {
			out["f:"+name] = fields
		}
	}
	return out
}

// merged returns the object after a JSON merge patch (RFC 7386).
func (w *writing) merged(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	before, err := json.Marshal(live.Object)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(w.wish)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{}
	return out, utiljson.Unmarshal(after, &out.Object)
}

// drafted is the prefix of the resource versions, and of the UIDs, that a dry run assigns.
const drafted = "dry-run-"

// version assigns a resource version to an object that a dry run has written, and a UID if it has created it. The
// object has no creation timestamp, so that repeated dry runs print the same.
func version(o *unstructured.Unstructured, made bool, n int) {
	o.SetResourceVersion(fmt.Sprint(drafted, n))
	if made {
		o.SetUID(types.UID(o.GetResourceVersion()))
	}
}

// IsDraft reports whether a UID or a resource version was assigned by a dry run.
func IsDraft[T ~string](uid T) bool { return strings.HasPrefix(string(uid), drafted) }
