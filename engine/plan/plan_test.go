package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	ours   = "akash-net/akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/1/1"
	former = "akash-net/akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/2/1"
	rival  = "akash-net/akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn/1/1"
)

// object reads YAML; owners are the fields (fieldsV1, as YAML) that each manager has applied.
func object(t *testing.T, text string, owners map[string]string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	var entries []any
	for manager, fields := range owners {
		owned, operation := map[string]any{}, "Apply"
		if text, updates := strings.CutPrefix(fields, "updates "); updates {
			fields, operation = text, "Update"
		}
		if err := yaml.Unmarshal([]byte(fields), &owned); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, map[string]any{"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": owned})
	}
	if entries != nil {
		if err := unstructured.SetNestedSlice(u.Object, entries, "metadata", "managedFields"); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

func TestWriteOfANewObject(t *testing.T) {
	want := object(t, `{kind: A, metadata: {name: a, namespace: ns}, status: {x: 1}, spec: {b: 1}}`, nil)
	c := Write("a", want.Object, nil, ours)
	if c.Action != Create || c.Name != "a" || c.Namespace != "ns" || c.Before != nil || c.After["status"] != nil || c.After["spec"] == nil {
		t.Errorf("change %+v", c)
	}
}

// A manager conflicts with those of other owners, not with itself or another deployment of its owner. A manager that
// belongs to no deployment conflicts with every other one.
func TestWhoIsInConflict(t *testing.T) {
	for manager, conflicts := range map[string][]string{
		ours: {rival, "kubectl", "akash-net"}, rival: {ours, former, "kubectl", "akash-net"}, "akash-net": {ours, former, rival, "kubectl"}, "kubectl": {ours, former, rival, "akash-net"},
	} {
		for _, owner := range []string{ours, former, rival, "kubectl", "akash-net"} {
			live := object(t, "{kind: A, metadata: {name: a}, spec: {x: 1}}", map[string]string{owner: `{"f:spec": {"f:x": {}}}`})
			fields := Fields(live, object(t, "{spec: {x: 2}}", nil).Object, manager)
			if len(fields) != 1 || fields[0].Conflict != slices.Contains(conflicts, owner) {
				t.Errorf("%s writes what %s owns: %+v", manager, owner, fields)
			}
		}
	}
}

// No part of a change has the data of a Secret, whether it is created, updated or deleted; an update marks changed data.
func TestSecretsAreHidden(t *testing.T) {
	const old, now = "b2xk", "bm93"
	secret := func(data string) *unstructured.Unstructured {
		return object(t, `{kind: Secret, metadata: {name: s, uid: u, annotations: {kubectl.kubernetes.io/last-applied-configuration: "`+data+`"}}, type: t, data: {a: `+data+`, same: c2FtZQ==}, stringData: {b: `+data+`}}`, nil)
	}
	for name, tt := range map[string]struct {
		change        Change
		before, after any
	}{
		"made":      {Write("secret", secret(now).Object, nil, ours), nil, "***"},
		"changed":   {Write("secret", secret(now).Object, secret(old), ours), "*** (before)", "*** (after)"},
		"unchanged": {Write("secret", secret(now).Object, secret(now), ours), "***", "***"},
		"deleted":   {Remove("secret", secret(old), ""), "***", nil},
	} {
		text, err := json.Marshal(tt.change)
		if err != nil || strings.Contains(string(text), old) || strings.Contains(string(text), now) || strings.Contains(string(text), "c2FtZQ") {
			t.Errorf("%s: %v %s", name, err, text)
		}
		for side, want := range map[string]any{"before": tt.before, "after": tt.after} {
			object := tt.change.Before
			if side == "after" {
				object = tt.change.After
			}
			if got, _ := get(object, Path{"data", "a"}); got != want {
				t.Errorf("%s, %s: %v, want %v", name, side, got, want)
			}
		}
		if tt.change.Kind != "secret" || tt.change.Name != "s" {
			t.Errorf("%s: %s", name, tt.change.ID())
		}
	}
	fields := Write("secret", secret(now).Object, secret(old), ours).Fields
	var got []string
	for _, f := range fields {
		got = append(got, fmt.Sprint(f.Path, " ", f.Before, " -> ", f.After))
	}
	want := []string{
		"data.a *** (before) -> *** (after)", "metadata.annotations.kubectl.kubernetes.io/last-applied-configuration *** (before) -> *** (after)", "stringData.b *** (before) -> *** (after)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// Plans that write different passwords are the same: neither has the password.
func TestHiddenChangesAreAlike(t *testing.T) {
	secret := func(data string) *unstructured.Unstructured {
		return object(t, `{kind: Secret, metadata: {name: s, uid: u}, data: {a: `+data+`}}`, nil)
	}
	one, two := Write("secret", secret("b25l").Object, secret("b2xk"), ours), Write("secret", secret("dHdv").Object, secret("b2xk"), ours)
	if !one.Same(two) {
		t.Error("they differ")
	}
	if one.Same(Write("secret", secret("b2xk").Object, secret("b2xk"), ours)) {
		t.Error("a change is the same as none")
	}
}

// A plan shows other kinds unchanged, even if they have keys with the same names.
func TestOthersAreShown(t *testing.T) {
	c := Write("configmap", object(t, `{kind: ConfigMap, metadata: {name: c}, data: {password: open}, credentials: {password: open}}`, nil).Object, nil, ours)
	if text, err := json.Marshal(c); err != nil || strings.Contains(string(text), Hidden) {
		t.Errorf("%v %s", err, text)
	}
}
