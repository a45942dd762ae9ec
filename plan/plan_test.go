package plan

import (
	"strings"
	"testing"

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
