package sim

import (
	"encoding/json"
	"net/http"
	"strings"
)

// rule is a rule of the protocol that is left out; empty is none. It is left out on the way to the server, so
// that the code under test is the one that runs.
type rule string

const (
	// noMark: no part carries the mark of its run.
	noMark rule = "the mark"
	// noPin: no write of a claim is pinned.
	noPin rule = "the pin"
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
		q.rewrite(func(o map[string]any) {
			delete(o, "preconditions")
			if meta, ok := o["metadata"].(map[string]any); ok {
				delete(meta, "uid")
				delete(meta, "resourceVersion")
			}
		})
	case broken == noYield && strings.Contains(q.http.URL.RawQuery, "%3Dhost"):
		text := `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`
		return answer{response: w.server.reply(q.http, http.StatusOK, []byte(text))}, true //nolint:bodyclose // the client closes it
	case broken == noSecondRead && q.http.Method == http.MethodGet && strings.Contains(q.http.URL.Path, "/leases/wc--") && !q.of.now.wants("*.example.com"):
		text := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","details":{"name":"x"},"code":404}`
		return answer{response: w.server.reply(q.http, http.StatusNotFound, []byte(text))}, true //nolint:bodyclose // the client closes it
	}
	return answer{}, false
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
