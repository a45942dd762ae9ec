package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
)

// originDefault is the origin of a value that no document gives.
const originDefault = "default"

// Annotated returns the document of a configuration in YAML, each value with a comment that says where it is from: the file and the line
// of its key, or "default". The text is the one from which the configuration was read, and file its name.
func Annotated(cfg *ProviderConfig, text, file string) ([]byte, error) {
	encoded, err := json.Marshal(Encode(cfg))
	if err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(encoded, &root); err != nil { // JSON is YAML, and keeps the order of the keys
		return nil, err
	}
	plainStyle(&root)
	annotate(valueOf(root.Content[0], "spec"), "", origins(cfg, text, file))
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// plainStyle writes a node as people do: in blocks, and texts without quotes where they need none. An empty list stays [].
func plainStyle(n *yaml.Node) {
	if len(n.Content) > 0 || n.Kind == yaml.ScalarNode {
		n.Style = 0
	}
	for _, inner := range n.Content {
		plainStyle(inner)
	}
}

// annotate adds the origin of each value below a mapping. A list has one origin.
func annotate(mapping *yaml.Node, path string, from map[string][]origin) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		at := path + key.Value
		if value.Kind == yaml.MappingNode {
			annotate(value, at+".", from)
			continue
		}
		var places []string
		for _, o := range from[at] {
			if !o.empty || value.Value == "" {
				places = append(places, fmt.Sprintf("%s:%d", o.at.File, o.at.Line))
			}
		}
		if places == nil {
			places = []string{originDefault}
		}
		commented := value
		if value.Kind == yaml.SequenceNode && len(value.Content) > 0 {
			commented = key
		}
		commented.LineComment = "# " + strings.Join(places, ", ")
	}
}

// origin is where a document gives a value.
type origin struct {
	at lease.Place
	// empty is true for an empty text, which leaves the default of keys that have one.
	empty bool
}

// origins returns which keys of a document gave the values of the configuration that was read from it, by the path below spec.
func origins(cfg *ProviderConfig, text, file string) map[string][]origin {
	from := map[string][]origin{}
	for doc, err := range document.Read(strings.NewReader(text), file) {
		if err != nil {
			break
		}
		root := doc.Root()
		if !root.Has("spec") && !root.Has("kind") {
			for key, value := range root.AnyMapping().Entries() {
				for _, path := range append(chartKeys[key.Raw()], providerKeys[key.Raw()]...) {
					from[path] = append(from[path], origin{key.At(), value.IsNull()})
				}
			}
			if cfg.IP.Mode != ModePool {
				delete(from, "ip.mode") // the keys of Akash's that give it give only this one
			}
			continue
		}
		collect(root.AnyMapping().Get("spec"), "", from)
	}
	return from
}

func collect(c document.Cursor, path string, from map[string][]origin) {
	for key, value := range c.AnyMapping().Entries() {
		at := path + key.Raw()
		switch {
		case value.IsMapping():
			collect(value, at+".", from)
		case !value.IsNull():
			from[at] = append(from[at], origin{key.At(), value.IsScalar() && value.Raw() == ""})
		}
	}
}
