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
// value would take its tag's word for it.
func (d *Document) checkTags(n *yaml.Node) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && isSecret(n.Content[i-1].Value) {
			d.checkSecretTag(n.Content[i-1].Value, child)
			continue
		}
		d.checkTags(child)
	}
	what := tagged[n.ShortTag()]
	if n.Style&yaml.TaggedStyle == 0 || what == "" {
		return
	}
	at := d.place(n.Line, n.Column, nil)
	if n.Kind != yaml.ScalarNode {
		d.add(at, false, "the tag %s is for %s", n.ShortTag(), what)
		return
	}
	var value any
	if err := decodeNode(n, &value); err != nil {
		d.add(at, false, "%s is tagged %s and is not %s", quote(n.Value), n.ShortTag(), what)
	}
}

// checkSecretTag is checkTags for a value that no message repeats.
func (d *Document) checkSecretTag(key string, n *yaml.Node) {
	var value any
	if n.Style&yaml.TaggedStyle != 0 && tagged[n.ShortTag()] != "" && decodeNode(n, &value) != nil {
		d.add(d.place(n.Line, n.Column, nil), false, "the %s is not what its tag %s says", key, n.ShortTag())
	}
}

// isSecret is true for a key whose value no message repeats.
func isSecret(key string) bool { return key == "password" }

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
