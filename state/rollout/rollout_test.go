package rollout_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/state/rollout"
)

// What is told of a lease: testdata/rollout.txt has a block for each rule, and `go test ./state/rollout -rewrite` writes
// what it makes. It is unsettled if its pods may tell more, and lacks pods if nothing but events tells why these
// are missing. A block has a line for each object, its kind, its name, and its fields as YAML:
//
//	manifest SERVICE=COUNT...
//	namespace [closing]
//	deployment|statefulset NAME [alien] {spec: …, status: …}    with "rolled=N" one that is rolled out with N replicas
//	pod NAME of=SERVICE [leaving] [minute=N] {status: …}
//	warning KIND/NAME REASON minute=N: MESSAGE
func TestRules(t *testing.T) {
	datadriven.RunTest(t, "testdata/rollout.txt", func(t *testing.T, d *datadriven.TestData) string {
		var l rollout.Lease
		for _, line := range strings.Split(d.Input, "\n") {
			if line == "" {
				continue
			}
			if err := l.Add(wordObject(t, line)); err != nil {
				return "error: " + err.Error()
			}
		}
		r, runs := l.Of()
		if !runs {
			return "runs nothing"
		}
		out := fmt.Sprintf("%s %d/%d", r.State, r.Ready, r.Total)
		if l.Unsettled() {
			out += ", unsettled"
		}
		if l.LacksPods() {
			out += ", lacks pods"
		}
		if r.Reason != "" {
			out += ": " + r.Reason
		}
		for _, s := range r.Services {
			out += fmt.Sprintf("\n  %s %s %d/%d", s.Name, s.State, s.Ready, s.Total)
			if s.Reason != "" {
				out += ": " + s.Reason
			}
		}
		return out
	})
}

// wordObject returns the object of a line.
func wordObject(t *testing.T, line string) *unstructured.Unstructured {
	t.Helper()
	head, fields, hasFields := strings.Cut(line, "{")
	o := map[string]any{}
	if hasFields {
		text, err := yaml.YAMLToJSON([]byte("{" + fields))
		if err == nil {
			err = utiljson.Unmarshal(text, &o) // whole numbers stay whole, as in what clients read
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	u := &unstructured.Unstructured{Object: o}
	words := strings.Fields(head)
	u.SetNamespace("ns")
	labels := map[string]string{"akash.network": "true"}
	switch kind, words := words[0], words[1:]; kind {
	case "manifest":
		wordManifest(u, words)
	case "namespace":
		u.SetAPIVersion("v1")
		u.SetKind("Namespace")
		wordMeta(t, u, labels, words)
	case "deployment", "statefulset":
		u.SetAPIVersion("apps/v1")
		u.SetKind(map[string]string{"deployment": "Deployment", "statefulset": "StatefulSet"}[kind])
		u.SetName(words[0])
		wordMeta(t, u, labels, words[1:])
	case "pod":
		u.SetAPIVersion("v1")
		u.SetKind("Pod")
		u.SetName(words[0])
		wordMeta(t, u, labels, words[1:])
	case "warning", "normal":
		wordEvent(t, u, kind, line)
		return u
	default: // any other kind, as it is written
		u.SetAPIVersion("v1")
		u.SetKind(kind)
		u.SetName("x")
	}
	u.SetLabels(labels)
	return u
}

func wordManifest(u *unstructured.Unstructured, words []string) {
	u.SetAPIVersion("akash.network/v2beta2")
	u.SetKind("Manifest")
	services := []any{}
	for _, w := range words {
		name, count, _ := strings.Cut(w, "=")
		n, _ := strconv.ParseInt(count, 10, 64)
		services = append(services, map[string]any{"name": name, "count": n})
	}
	if len(words) > 0 {
		u.Object["spec"] = map[string]any{"group": map[string]any{"services": services}}
	}
}

func wordMeta(t *testing.T, u *unstructured.Unstructured, labels map[string]string, words []string) {
	t.Helper()
	set := func(value any, path ...string) {
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "alien":
			labels["akash.network"] = "false"
		case "closing", "leaving":
			set("2026-01-01T00:09:00Z", "metadata", "deletionTimestamp")
		case "of":
			labels["akash.network/manifest-service"] = value
		case "minute":
			set("2026-01-01T00:0"+value+":00Z", "metadata", "creationTimestamp")
		case "generation":
			set(int64(2), "metadata", "generation")
			set(int64(1), "status", "observedGeneration")
		case "rolled":
			n, _ := strconv.ParseInt(value, 10, 64)
			set(n, "spec", "replicas")
			for _, field := range []string{"replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "currentReplicas"} {
				set(n, "status", field)
			}
			set([]any{map[string]any{"type": "Available", "status": "True"}}, "status", "conditions")
		default:
			t.Fatalf("what is %q?", w)
		}
	}
}

func wordEvent(t *testing.T, u *unstructured.Unstructured, kind, line string) {
	t.Helper()
	head, message, _ := strings.Cut(line, ": ")
	words := strings.Fields(head)
	about, name, _ := strings.Cut(words[1], "/")
	u.Object = map[string]any{
		"type": strings.ToUpper(kind[:1]) + kind[1:], "reason": words[2], "message": message,
		"involvedObject": map[string]any{"kind": about, "name": name},
	}
	at := strings.TrimPrefix(words[3], "minute=")
	switch field, at, _ := strings.Cut(at, "@"); at {
	case "":
		u.Object["lastTimestamp"] = "2026-01-01T00:0" + field + ":00Z"
	default: // the newer API
		u.Object["eventTime"] = "2026-01-01T00:00:00.000000Z"
		u.Object["series"] = map[string]any{"count": int64(2), "lastObservedTime": "2026-01-01T00:0" + field + ":00.000000Z"}
	}
	u.SetAPIVersion("v1")
	u.SetKind("Event")
	u.SetNamespace("ns")
}

// Reasons quote texts from the cluster and stay one short line.
func TestReasonsAreShort(t *testing.T) {
	var l rollout.Lease
	waiting := map[string]any{"reason": "CrashLoopBackOff", "message": strings.Repeat("é\n", 1<<20)}
	for _, o := range []*unstructured.Unstructured{
		wordObject(t, "manifest web=1"), wordObject(t, "deployment web {spec: {replicas: 1}}"), wordObject(t, "pod web-1 of=web"),
	} {
		if o.GetKind() == "Pod" {
			o.Object["status"] = map[string]any{"containerStatuses": []any{map[string]any{"name": "web", "state": map[string]any{"waiting": waiting}}}}
		}
		if err := l.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	r, _ := l.Of()
	if r.State != rollout.Error || len(r.Reason) > 600 || strings.Contains(r.Reason, "\n") || !strings.HasSuffix(r.Reason, "…)") {
		t.Errorf("%s, %d bytes: %.400q", r.State, len(r.Reason), r.Reason)
	}
}

// The numbers of a lease are sums of 32-bit numbers that others may have written.
func TestSumsDoNotWrap(t *testing.T) {
	var l rollout.Lease
	if err := l.Add(wordObject(t, "manifest a=2147483647 b=2147483647 c=-5")); err != nil {
		t.Fatal(err)
	}
	if r, _ := l.Of(); r.Total != 2*2147483647 || r.Services[2].Total != 0 {
		t.Errorf("%+v", r)
	}
}

// A later version of an object replaces the earlier one, as in a repeated list or a watch.
func TestAddedAgain(t *testing.T) {
	var l rollout.Lease
	add := func(lines ...string) string {
		for _, line := range lines {
			if err := l.Add(wordObject(t, line)); err != nil {
				t.Fatal(err)
			}
		}
		r, _ := l.Of()
		return string(r.State)
	}
	const sts = "statefulset db {spec: {replicas: 1}, status: {replicas: 1}}"
	got := []string{
		add("statefulset db rolled=1"),
		add(sts),
		add(sts, "pod db-0 of=db {status: {containerStatuses: [{state: {waiting: {reason: ErrImagePull}}}]}}"),
		add(`pod db-0 of=db {status: {conditions: [{type: Ready, status: "True"}]}}`),
		add("statefulset db rolled=1"),
	}
	if diff := cmp.Diff([]string{"complete", "active", "error", "active", "complete"}, got); diff != "" {
		t.Error(diff)
	}
}
