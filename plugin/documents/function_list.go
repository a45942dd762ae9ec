package documents

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// resourceListOnStdin reports whether the input is standard input and contains the ResourceList of a KRM function. It buffers
// what it reads.
func resourceListOnStdin(c *console.Console, files []string) bool {
	if len(files) > 1 || len(files) == 1 && files[0] != "-" || len(files) == 0 && terminal.IsTerminal(c.Stdin) {
		return false
	}
	in := bufio.NewReaderSize(c.In, 1<<16)
	c.In = in
	head, _ := in.Peek(4096)                                 // the next read returns the error
	head = bytes.ReplaceAll(head, []byte(`\/`), []byte("/")) // JSON may write it so
	return bytes.Contains(head, []byte("ResourceList")) && bytes.Contains(head, []byte("config.kubernetes.io/v1"))
}

// readResourceList reads the whole ResourceList of a KRM function, because the output includes it.
func readResourceList(in io.Reader, list *kio.ByteReadWriter, limits config.Limits) ([]*kyaml.RNode, error) {
	text, err := io.ReadAll(files.Bound(in, "-", int64(limits.InputSize)))
	if err != nil {
		return nil, err
	}
	if err := checkResourceList(text, int64(limits.InputSize)); err != nil {
		return nil, err
	}
	if text, err = document.YAML(text); err != nil {
		return nil, err
	}
	list.Reader = bytes.NewReader(text)
	items, err := readNodes(list.Read)
	if err != nil {
		return nil, lease.Problems{{At: lease.Place{File: "-"}, Message: err.Error()}}
	}
	if problems := checkAliases(items); len(problems) > 0 {
		return nil, problems
	}
	return items, nil
}

// checkAliases returns an error for each alias that stands for an object, its metadata or its annotations. kyaml would fail,
// or lose the annotations.
func checkAliases(items []*kyaml.RNode) lease.Problems {
	var problems lease.Problems
	for i, item := range items {
		metadata := below(item.YNode(), "metadata")
		for _, at := range []struct {
			path string
			node *kyaml.Node
		}{{"", item.YNode()}, {".metadata", metadata}, {".metadata.annotations", below(metadata, "annotations")}} {
			if n := at.node; n != nil && n.Kind == kyaml.AliasNode {
				problems.Add(lease.Place{File: "-", Line: n.Line, Column: n.Column},
					"items[%d]%s: an alias cannot stand for an object, its metadata or its annotations; write it out", i, at.path)
				break
			}
		}
	}
	return problems
}

// below returns the value of a key of a mapping, nil if there is none.
func below(n *kyaml.Node, key string) (value *kyaml.Node) {
	for i := 0; n != nil && n.Kind == kyaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			value = n.Content[i+1]
		}
	}
	return value
}

// readNodes calls read and returns a panic of the YAML library as an error.
func readNodes(read func() ([]*kyaml.RNode, error)) (nodes []*kyaml.RNode, err error) {
	defer func() {
		if r := recover(); r != nil {
			nodes, err = nil, fmt.Errorf("the objects cannot be read: %v", r)
		}
	}()
	return read()
}

// checkResourceList validates what kyaml does not: that there is only one list, and that objects are objects, with strings as
// names, labels and annotations.
func checkResourceList(text []byte, size int64) error {
	var problems lease.Problems
	count := 0
	for text, err := range document.Texts(bytes.NewReader(text), "-", size) {
		if err != nil {
			return err
		}
		for doc := range text.Documents() {
			if count++; count == 2 {
				doc.Root().Errorf("a KRM function reads one ResourceList, and this is a second document")
			}
			checkResources(doc.Root())
			problems = append(problems, doc.Problems.Errors()...)
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// checkResources validates a ResourceList.
func checkResources(c document.Cursor) {
	root := c.AnyMapping()
	if !root.Present() {
		return
	}
	root.Get("metadata").AnyMapping()
	if given := root.Get("functionConfig"); !given.IsNull() {
		checkResource(given)
	}
	for item := range root.Get("items").List() {
		if item.IsNull() {
			item.Errorf("expected an object, found nothing")
			continue
		}
		checkResource(item)
	}
	for item := range root.Get("results").List() {
		item.AnyMapping()
	}
}

// checkResource validates the metadata of an object.
func checkResource(c document.Cursor) {
	o := c.AnyMapping()
	if !o.Present() {
		return
	}
	o.Get("apiVersion").Word()
	o.Get("kind").Word()
	metadata := o.Get("metadata").AnyMapping()
	metadata.Get("name").Word()
	metadata.Get("namespace").Word()
	for _, key := range []string{"labels", "annotations"} {
		for _, value := range metadata.Get(key).AnyMapping().Entries() {
			value.Word()
		}
	}
}

// origin is an object that problems refer to, and its file, if known, as the results of a KRM function have them (KRM Functions
// Specification v1).
type origin struct{ ref, file map[string]any }

// addOrigin records an object under a name, which problems have as their file, and returns the name.
func (f *functionCall) addOrigin(name string, o *kyaml.RNode) string {
	from := origin{ref: map[string]any{"apiVersion": o.GetApiVersion(), "kind": o.GetKind(), "name": o.GetName()}}
	if namespace := o.GetNamespace(); namespace != "" {
		from.ref["namespace"] = namespace
	}
	if path, index, err := kioutil.GetFileAnnotations(o); err == nil && path != "" {
		n, _ := strconv.Atoi(index) // 0 without an index
		from.file = map[string]any{"path": path, "index": n}
	}
	f.origins[name] = from
	return name
}

// results returns the problems as the results of the function, or nil if there are none. A result with an object has no line,
// because the line would be that in the function's input and not in the object's file.
func (f *functionCall) results() (*kyaml.RNode, error) {
	if len(f.problems) == 0 {
		return nil, nil //nolint:nilnil // no problems, no results
	}
	var out []map[string]any
	for _, p := range f.problems {
		r := map[string]any{"message": p.Error(), "severity": "error"}
		if p.Warning {
			r["severity"] = "warning"
		}
		if from, known := f.origins[p.At.File]; known {
			r["message"], r["resourceRef"] = p.Message, from.ref
			if from.file != nil {
				r["file"] = from.file
			}
			if path := cmp.Or(p.At.Path, p.At.Field.String()); path != "" {
				r["field"] = map[string]any{"path": path}
			}
		}
		out = append(out, r)
	}
	return toNode(out)
}
