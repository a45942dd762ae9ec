package sim

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// rule is a rule of the protocol that is left out; empty is none. It is left out on the way to the server, so
// that the code under test is the one that runs.
type rule string

const (
	// noMark: no part carries the mark of its run.
	noMark rule = "the mark"
	// noPin: no write of a claim is pinned.
	noPin rule = "the pin"
	// noFence: a command passes over the announcements of commands that count as dead, and does not fence them.
	noFence rule = "the fence"
	// noTurn: a command sees no other's announcement.
	noTurn rule = "the turn"
	// noLook: a command sees the claims, when its turn comes, as it read them before.
	noLook rule = "the look at the claims"
	// noYield: a wildcard sees no host below it.
	noYield rule = "the wildcard's yielding"
	// noSecondRead: a host sees no wildcard above it.
	noSecondRead rule = "the host's second read"
)

// instead changes a request as the left-out rule would, or answers it.
func (broken rule) instead(w *world, q *request) (answer, bool) {
	leases := strings.Contains(q.http.URL.Path, "/akash-net/leases")
	switch {
	case w.quiet || !leases:
	case broken == noMark && q.http.Method == http.MethodPatch:
		q.rewrite(unmark)
	case broken == noPin && q.http.Method != http.MethodGet:
		q.rewrite(unpin)
	case broken == noTurn && q.http.Method == http.MethodPatch && strings.Contains(q.http.URL.Path, "/leases/run--"):
		w.announced[path.Base(q.http.URL.Path)] = q.of
	case broken == noLook && strings.Contains(q.http.URL.RawQuery, "kind%21%3Dresources") && !q.listsAnnounced():
		q.of.read = w.server.Objects("leases")
	case (broken == noTurn || broken == noFence || broken == noLook) && q.listsAnnounced():
		seen := func(a *state.Announcement) bool {
			return broken == noLook || broken == noTurn && w.announced[a.Name()] == q.of || broken == noFence && !a.Over(w.server.Now())
		}
		claims := w.server.Objects("leases")
		if broken == noLook {
			claims = q.of.read
		}
		return answer{response: w.server.reply(q.http, http.StatusOK, w.announcements(seen, claims))}, true //nolint:bodyclose // the client closes it
	case broken == noYield && strings.Contains(q.http.URL.RawQuery, "%28host"):
		text := `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`
		return answer{response: w.server.reply(q.http, http.StatusOK, []byte(text))}, true //nolint:bodyclose // the client closes it
	case broken == noSecondRead && strings.Contains(q.http.URL.RawQuery, "%28wildcard"):
		text := `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`
		return answer{response: w.server.reply(q.http, http.StatusOK, []byte(text))}, true //nolint:bodyclose // the client closes it
	case broken == noSecondRead && q.http.Method == http.MethodGet && strings.Contains(q.http.URL.Path, "/leases/wc--") && !q.of.now.wants("*.example.com"):
		text := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","details":{"name":"x"},"code":404}`
		return answer{response: w.server.reply(q.http, http.StatusNotFound, []byte(text))}, true //nolint:bodyclose // the client closes it
	}
	return answer{}, false
}

// listsAnnounced is true for the LIST of announcements, and of the claims of the owners that it is for.
func (q *request) listsAnnounced() bool {
	return q.http.Method == http.MethodGet && strings.Contains(q.http.URL.RawQuery, "owner+in+%28") && strings.Contains(q.http.URL.RawQuery, state.OwnerRun)
}

// announcements is a LIST of those that are seen, and of claims.
func (w *world) announcements(seen func(*state.Announcement) bool, claims []*unstructured.Unstructured) []byte {
	items := []any{}
	for _, o := range claims {
		if !state.IsAnnouncement(o.GetName()) && !kept.IsName(o.GetName()) {
			items = append(items, o.Object)
		}
	}
	for _, o := range w.server.Objects("leases") {
		if a, err := state.ReadAnnouncement(o); err == nil && seen(a) {
			items = append(items, o.Object)
		}
	}
	return []byte(textOf(map[string]any{"kind": "LeaseList", "apiVersion": "coordination.k8s.io/v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": items}))
}

func unpin(o map[string]any) {
	delete(o, "preconditions")
	if meta, ok := o["metadata"].(map[string]any); ok {
		delete(meta, "uid")
		delete(meta, "resourceVersion")
	}
}

// rewrite changes the body of a request.
func (q *request) rewrite(change func(map[string]any)) {
	if o := object(string(q.body)); o != nil {
		change(o)
		q.body = []byte(textOf(o))
		q.http.ContentLength = int64(len(q.body))
	}
}

func unmark(o map[string]any) {
	meta, _ := o["metadata"].(map[string]any)
	parts, _ := meta["annotations"].(map[string]any)
	for key, value := range parts {
		if text, _ := value.(string); object(text)["run"] != nil {
			part := object(text)
			delete(part, "run")
			parts[key] = textOf(part)
		}
	}
}

// object is JSON as a map; nil where it is none.
func object(text string) (o map[string]any) {
	if json.Unmarshal([]byte(text), &o) != nil {
		return nil
	}
	return o
}

func textOf(o map[string]any) string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(text)
}
