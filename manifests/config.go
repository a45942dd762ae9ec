package manifests

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

const (
	// ConfigMapName is the name of the ConfigMap with a cluster's configuration, in the ledger's namespace.
	ConfigMapName = "config"
	// ConfigMapKey is the ConfigMap's key with the ProviderConfig document.
	ConfigMapKey = "config.yaml"
)

// Config returns the ConfigMap that all clients of a cluster read. It contains document, the text from which cfg was read,
// unchanged. If document is empty, it contains the default document, which has a comment for each key, with the namespaces
// and the prefix of MetalLB's annotations of cfg.
func Config(cfg *config.ProviderConfig, document string) (*unstructured.Unstructured, error) {
	objects, err := read("config.yaml")
	if err != nil {
		return nil, err
	}
	object := objects[0]
	object.SetNamespace(cfg.LedgerNamespace)
	if document == "" {
		text, _, err := unstructured.NestedString(object.Object, "data", ConfigMapKey)
		if err != nil {
			return nil, err
		}
		if document, err = withValues(text, cfg); err != nil {
			return nil, err
		}
	}
	return object, unstructured.SetNestedField(object.Object, document, "data", ConfigMapKey)
}

// withValues sets in the default document what Config takes from cfg, and keeps its comments.
func withValues(text string, cfg *config.ProviderConfig) (string, error) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		return "", fmt.Errorf("embedded config.yaml: %w", err)
	}
	spec := field(root.Content[0], "spec")
	changed := false
	for _, of := range []struct {
		in         *yaml.Node
		key, value string
	}{
		{spec, "manifestNamespace", cfg.ManifestNamespace},
		{spec, "ledgerNamespace", cfg.LedgerNamespace},
		{field(spec, "ip"), "annotationPrefix", cfg.IP.AnnotationPrefix},
	} {
		node := field(of.in, of.key)
		if node == nil {
			return "", fmt.Errorf("embedded config.yaml: no %s", of.key)
		}
		changed = changed || node.Value != of.value
		node.SetString(of.value)
	}
	if !changed {
		return text, nil
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return "", err
	}
	return out.String(), encoder.Close()
}

// field returns the value of a key in a mapping, or nil.
func field(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
