package document

import (
	"errors"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
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
	case decodeNode(n, &value) == nil:
	case secret != "":
		d.add(at, false, "a value of %q is not what its tag %s says", secret, n.ShortTag())
	default:
		d.add(at, false, "%s is tagged %s and is not %s", quote(n.Value), n.ShortTag(), what)
	}
}

// isSecret is true for a key whose values no message repeats.
func isSecret(key string) bool { return key == "password" || key == "credentials" || key == "env" }

// decodeNode guards against panics of the YAML library, as decode does.
func decodeNode(n *yaml.Node, value any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errNotDecoded
		}
	}()
	return n.Decode(value)
}

var errNotDecoded = errors.New("the value cannot be decoded")

// isPlain is true for what a number or a truth value can look like: it is repeated as it is, all else
// in quotes.
func isPlain(s string) bool {
	return s != "" && len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("+-._:", r)
	}) < 0
}
