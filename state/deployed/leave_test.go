package deployed

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pod is a Deployment with one container.
func pod(t *testing.T, container string) map[string]any {
	t.Helper()
	return object(t, "{kind: Deployment, spec: {template: {spec: {containers: [{name: web, "+container+"}]}}}}").Object
}

// Lists that repeat entries and mean what is wanted are left alone; all others are sent.
func TestLeaveRepeated(t *testing.T) {
	for name, tt := range map[string]struct{ want, live, sent string }{
		"nothing is repeated":     {"ports: [{containerPort: 80}]", "ports: [{containerPort: 80, protocol: TCP}]", "ports: [{containerPort: 80}]"},
		"a port":                  {"image: a, ports: [{containerPort: 53}]", "image: a, ports: [{containerPort: 53, protocol: TCP}, {containerPort: 53, protocol: TCP}]", "image: a"},
		"a port of two":           {"ports: [{containerPort: 80}, {containerPort: 53}]", "ports: [{containerPort: 53, protocol: TCP}, {containerPort: 80, protocol: TCP}, {containerPort: 53, protocol: TCP}]", "tty: true"},
		"a port more is wanted":   {"ports: [{containerPort: 53}, {containerPort: 80}]", "ports: [{containerPort: 53}, {containerPort: 53}]", "ports: [{containerPort: 53}, {containerPort: 80}]"},
		"a port less is wanted":   {"ports: [{containerPort: 53}]", "ports: [{containerPort: 53}, {containerPort: 53}, {containerPort: 80}]", "ports: [{containerPort: 53}]"},
		"another protocol":        {"ports: [{containerPort: 53, protocol: UDP}]", "ports: [{containerPort: 53, protocol: TCP}, {containerPort: 53, protocol: TCP}]", "ports: [{containerPort: 53, protocol: UDP}]"},
		"a variable, the last":    {"env: [{name: A, value: '2'}]", "env: [{name: A, value: '1'}, {name: A, value: '2'}]", "tty: true"},
		"a variable, the first":   {"env: [{name: A, value: '1'}]", "env: [{name: A, value: '1'}, {name: A, value: '2'}]", "env: [{name: A, value: '1'}]"},
		"a variable without one":  {"env: [{name: A}]", "env: [{name: A, value: '1'}, {name: A}]", "tty: true"},
		"a value is to go":        {"env: [{name: A}]", "env: [{name: A}, {name: A, value: '1'}]", "env: [{name: A}]"},
		"both lists":              {"env: [{name: A}], ports: [{containerPort: 1}]", "env: [{name: A}, {name: A}], ports: [{containerPort: 1}, {containerPort: 1}]", "tty: true"},
		"one of both lists":       {"env: [{name: A}], ports: [{containerPort: 2}]", "env: [{name: A}, {name: A}], ports: [{containerPort: 1}, {containerPort: 1}]", "ports: [{containerPort: 2}]"},
		"none are wanted":         {"image: a", "env: [{name: A}, {name: A}]", "image: a"},
		"of another shape":        {"env: [{name: A}]", "env: [a, a]", "env: [{name: A}]"},
		"wanted of another shape": {"env: [a]", "env: [{name: A}, {name: A}]", "env: [a]"},
		// a Secret's value must not stay if the definition sets none
		"wanted without a value": {"env: [{name: A}]", "env: [{name: A}, {name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]", "env: [{name: A}]"},
		"wanted with a value":    {"env: [{name: A, value: x}]", "env: [{name: A}, {name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]", "env: [{name: A, value: x}]"},
		"wanted as it is":        {"env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]", "env: [{name: A}, {name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]", "tty: true"},
		"outweighed by a value":  {"env: [{name: A, value: x}]", "env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: A, value: x}]", "tty: true"},
		"no list":                {"env: {a: b}", "env: {a: b}", "env: {a: b}"},
	} {
		t.Run(name, func(t *testing.T) {
			want := pod(t, tt.want)
			before := pod(t, tt.want)
			got := LeaveRepeated(want, pod(t, tt.live))
			sent := pod(t, tt.sent)
			delete(containers(sent)[0], "tty")
			if diff := cmp.Diff(sent, got); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, want); diff != "" {
				t.Errorf("what was given has changed:\n%s", diff)
			}
		})
	}
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
