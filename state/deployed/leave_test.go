package deployed

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// pod is a Deployment with one container.
func pod(t *testing.T, container string) map[string]any {
	t.Helper()
	return object(t, "{kind: Deployment, spec: {template: {spec: {containers: [{name: web, "+container+"}]}}}}").Object
}

// Lists that repeat entries and mean what is wanted are left alone; all others are sent: testdata/repeated.txt has what is wanted and what is
// there, and what is sent of it.
func TestLeaveRepeated(t *testing.T) {
	golden.Rules{"sent": func(line string) string {
		wanted, live, _ := strings.Cut(line, " | ")
		want, before := pod(t, wanted), pod(t, wanted)
		sent := containers(LeaveRepeated(want, pod(t, live)))[0]
		if diff := cmp.Diff(before, want); diff != "" {
			t.Errorf("%s: what was given has changed:\n%s", line, diff)
		}
		delete(sent, "name")
		text, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}}.Check(t, "testdata/repeated.txt")
}

// Other objects and containers, and lists of another shape, are left alone.
func TestLeaveRepeatedOfOthers(t *testing.T) {
	live := pod(t, "env: [{name: A}, {name: A}]")
	for _, text := range []string{
		"{kind: Service, spec: {ports: [{port: 1}, {port: 1}]}}", "{kind: Secret}", "{spec: a}", "{spec: {template: {spec: {containers: [a, {name: other, env: [{name: A}]}]}}}}",
	} {
		want := object(t, text).Object
		if diff := cmp.Diff(object(t, text).Object, LeaveRepeated(want, live)); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

func TestLeaveDropped(t *testing.T) {
	of := func(kind, update string) map[string]any {
		return object(t, "{kind: "+kind+", spec: {replicas: 1, updateStrategy: {rollingUpdate: "+update+"}}}").Object
	}
	for _, tt := range []struct{ kind, update, want string }{
		{"StatefulSet", "{partition: 0, maxUnavailable: 1}", "{partition: 0}"},
		{"StatefulSet", "{partition: 0, maxUnavailable: 2}", "{partition: 0, maxUnavailable: 2}"},
		{"StatefulSet", "{partition: 0}", "{partition: 0}"},
		{"DaemonSet", "{maxUnavailable: 1}", "{maxUnavailable: 1}"},
	} {
		given := integers(of(tt.kind, tt.update)).(map[string]any)
		if diff := cmp.Diff(integers(of(tt.kind, tt.want)), LeaveDropped(given)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.kind, tt.update, diff)
		}
		if diff := cmp.Diff(integers(of(tt.kind, tt.update)), any(given)); diff != "" {
			t.Errorf("what was given has changed:\n%s", diff)
		}
	}
}

// integers converts values to those of the API's reader.
func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = integers(v[k])
		}
	case float64:
		return int64(v)
	}
	return v
}
