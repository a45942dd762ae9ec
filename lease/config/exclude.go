package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/akash-net/kubectl-akash-net/lease/document"
)

// Exclude adds excluded ranges to the text of a ProviderConfig and keeps its comments. It does not add ranges that are
// already excluded.
func Exclude(text []byte, ranges []Range) ([]byte, error) {
	cfg, problems, err := Read(bytes.NewReader(text), "")
	switch {
	case err != nil:
		return nil, err
	case cfg == nil:
		return nil, problems
	}
	ranges = slices.DeleteFunc(slices.Clone(ranges), func(r Range) bool {
		return slices.ContainsFunc(cfg.IP.Ranges.Exclude, func(x Range) bool { return x.Contains(r.First) && x.Contains(r.Last) })
	})
	if len(ranges) == 0 {
		return text, nil
	}
	if text, err = document.YAML(text); err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	if len(root.Content) == 0 {
		return nil, errors.New("it is empty")
	}
	list := root.Content[0]
	for _, key := range []string{"spec", "ip", "ranges"} {
		if list = valueOf(list, key); list == nil {
			return nil, fmt.Errorf("it has no %s", key)
		}
	}
	if list.Kind != yaml.SequenceNode {
		return nil, errors.New("ranges is not a plain list")
	}
	for _, r := range ranges {
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "!" + r.MetalLB(), Style: yaml.DoubleQuotedStyle})
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// valueOf returns the value of a key of a mapping, or nil.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
