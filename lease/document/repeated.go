package document

import "sigs.k8s.io/kustomize/kyaml/yaml"

// Repeats says which keys of a mapping may be given more than once, because Akash reads the mapping key by key and decodes each
// value into the same variable (chain-sdk: go/sdl, UnmarshalYAML of v2, v2ResourceGPU, v2GPUAttributes). The number is how
// many levels of mappings below the key are joined, as such a decoder joins maps and structs; 0 means that the last value
// counts, and FirstCounts that the first one does.
type Repeats map[string]int

// FirstCounts is for a key of which only the first value is read.
const FirstCounts = -1

// RepeatingMapping is StrictMapping for a mapping in which keys may be given more than once, with a warning.
func (c Cursor) RepeatingMapping(known []string, repeats Repeats) Mapping {
	return c.mapping(known, mappingRules{strict: true, repeats: repeats})
}

// join makes one value of the values of each key that is repeated.
func (m *Mapping) join(repeats Repeats) {
	if len(repeats) == 0 || !m.needsFlatten() {
		return
	}
	var content []*yaml.Node
	at := map[string]int{}
	values := map[string][]*yaml.Node{}
	for i := 0; i+1 < len(m.content); i += 2 {
		k := m.doc.resolve(m.content[i])
		if k == nil {
			return
		}
		if _, may := repeats[k.Value]; !may || k.Kind != yaml.ScalarNode {
			content = append(content, m.content[i], m.content[i+1])
			continue
		}
		if len(values[k.Value]) == 0 {
			at[k.Value] = len(content)
			content = append(content, m.content[i], nil)
		} else {
			m.keyAt(i).Warnf("key %q is given twice (also in line %d); Akash takes both together", k.Value,
				m.doc.before+content[at[k.Value]].Line)
		}
		values[k.Value] = append(values[k.Value], m.content[i+1])
	}
	for key, i := range at {
		content[i+1] = m.doc.joined(values[key], repeats[key])
	}
	m.content = content
}

// joined returns the value that a decoder ends with that decodes the values one after the other into the same variable.
func (d *Document) joined(values []*yaml.Node, levels int) *yaml.Node {
	if levels == FirstCounts {
		return values[0]
	}
	last := values[len(values)-1]
	if levels == 0 || len(values) == 1 {
		return last
	}
	var out yaml.Node
	type entry struct {
		at, from int
		values   []*yaml.Node
	}
	entries := map[string]*entry{}
	for number, value := range values {
		n := d.resolve(value)
		switch {
		case n == nil:
			return last
		case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && levels == 1:
			entries, out.Content = map[string]*entry{}, nil // a map is set to nil, a struct stays
			continue
		case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
			continue
		case n.Kind != yaml.MappingNode:
			return value // an error of its own
		}
		if out.Kind == 0 {
			content := out.Content
			out = *n
			out.Content = content
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			known := entries[k.Value]
			switch {
			case k.Kind != yaml.ScalarNode || k.Tag == "!!merge" || known != nil && known.from == number:
				out.Content = append(out.Content, k, v) // a key given twice in one value stays an error
			case known == nil:
				entries[k.Value] = &entry{at: len(out.Content), from: number, values: []*yaml.Node{v}}
				out.Content = append(out.Content, k, v)
			default:
				known.from, known.values = number, append(known.values, v)
			}
		}
	}
	if out.Kind == 0 {
		return last
	}
	for _, e := range entries {
		out.Content[e.at+1] = d.joined(e.values, levels-1)
	}
	return &out
}
