package cluster

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/yaml"
)

// The body of an apply is valid YAML with the same content, whatever characters its strings have.
func TestAsYAML(t *testing.T) {
	text := "a\u009bb\u007f\u0085\ufeff\ufffe\uffff é \U0001f600"
	body, err := json.Marshal(map[string]string{"a": text})
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(body, &map[string]string{}); err == nil {
		t.Error("the body needs no escape")
	}
	var got map[string]string
	if err := yaml.Unmarshal(AsYAML(body), &got); err != nil || got["a"] != text {
		t.Errorf("%q, %v", got["a"], err)
	}
}
