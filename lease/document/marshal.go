package document

import (
	"encoding/json"

	"sigs.k8s.io/yaml"
)

// Marshal writes a value as YAML for people: long texts as blocks, keys sorted. sigs.k8s.io/yaml, which does the same,
// reads the JSON of the value as YAML, and so loses or refuses characters.
func Marshal(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return convert(text, yaml.JSONToYAML)
}

// JSON returns a text of YAML or JSON as JSON.
func JSON(text []byte) ([]byte, error) { return convert(text, yaml.YAMLToJSON) }

// Unmarshal reads a text of YAML or JSON into a value, and refuses keys that the value does not have.
func Unmarshal(text []byte, value any) error {
	text, err := YAML(text)
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(text, value)
}

func convert(text []byte, to func([]byte) ([]byte, error)) ([]byte, error) {
	text, err := YAML(text)
	if err != nil {
		return nil, err
	}
	return to(text)
}
