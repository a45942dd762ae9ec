package document

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// tagged maps YAML's scalar tags to a description of their values.
var tagged = map[string]string{
	"!!int": "a whole number", "!!float": "a number", "!!bool": "true or false", "!!null": "null",
	"!!timestamp": "a time", "!!binary": "base64",
}

// checkTags reports values that contradict their explicit tag, such as !!int "x", because readers trust the tag. secret
// is the key of an enclosing value that messages must not repeat, or "".
func (d *Document) checkTags(n *yaml.Node, secret string) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && isSecret(n.Content[i-1].Value) {
			d.checkTags(child, n.Content[i-1].Value)
		} else {
			d.checkTags(child, secret)
		}
	}
	what := tagged[n.ShortTag()]
	if n.Style&yaml.TaggedStyle == 0 || what == "" {
		return
	}
	at := d.place(n.Line, n.Column, nil)
	var value any
	switch {
	case n.Kind != yaml.ScalarNode:
		d.add(at, false, "the tag %s is for %s", n.ShortTag(), what)
	case parallel.Guard(func() error { return n.Decode(&value) }) == nil:
	case secret != "":
		d.add(at, false, "a value of %q is not what its tag %s says", secret, n.ShortTag())
	default:
		d.add(at, false, "%s is tagged %s and is not %s", quote(n.Value), n.ShortTag(), what)
	}
}

// isSecret reports whether messages must not repeat the values of the key.
func isSecret(key string) bool { return key == "password" || key == "credentials" || key == "env" }
