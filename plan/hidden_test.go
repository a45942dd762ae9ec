package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
