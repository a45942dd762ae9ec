package document

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// tagged are the tags of YAML that say how a text is to be read, with what such a text is.
var tagged = map[string]string{
	"!!int": "a whole number", "!!float": "a number", "!!bool": "true or false", "!!null": "null",
	"!!timestamp": "a time", "!!binary": "base64",
}

// checkTags notes the texts that are not what their own tag says, such as !!int "x": those who read the
// value would take its tag's word for it. Below a key whose values no message repeats, secret is that key.
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

// isSecret is true for a key whose values no message repeats.
func isSecret(key string) bool { return key == "password" || key == "credentials" || key == "env" }
