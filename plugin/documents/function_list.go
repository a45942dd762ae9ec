package documents

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// resourceListOnStdin is true when standard input is read and holds a ResourceList, as KRM
// functions get it. What was looked at is still there to be read.
func resourceListOnStdin(c *console.Console, files []string) bool {
	if len(files) > 1 || len(files) == 1 && files[0] != "-" || len(files) == 0 && terminal.IsTerminal(c.Stdin) {
		return false
	}
	in := bufio.NewReaderSize(c.In, 1<<16)
	c.In = in
	head, _ := in.Peek(4096) // an error is for whoever reads
	return bytes.Contains(head, []byte("ResourceList")) && bytes.Contains(head, []byte("config.kubernetes.io/v1"))
}

// readResourceList reads the ResourceList of a KRM function, all of it: the answer repeats it.
func readResourceList(in io.Reader, list *kio.ByteReadWriter, limits config.Limits) ([]*kyaml.RNode, error) {
	text, err := io.ReadAll(files.Bound(in, "-", limits.InputSize))
	if err != nil {
		return nil, err
	}
	if err := checkResourceList(text, limits.InputSize); err != nil {
		return nil, err
	}
	list.Reader = bytes.NewReader(text)
	items, err := readNodes(list.Read)
	if err != nil {
		return nil, lease.Problems{{At: lease.Place{File: "-"}, Message: err.Error()}}
	}
	if problems := aliases(items); len(problems) > 0 {
		return nil, problems
	}
	return items, nil
}

// aliases are the places where an alias stands for an object, its metadata or its annotations: the library that writes
// the answer would lose the annotations, or fail.
func aliases(items []*kyaml.RNode) lease.Problems {
	var problems lease.Problems
	for i, item := range items {
		for field, n := range fieldsThrough(item.YNode(), "metadata", "annotations") {
			if n.Kind == kyaml.AliasNode {
				problems.Add(lease.Place{File: "-", Line: n.Line, Column: n.Column},
					"items[%d]%s: an alias cannot stand for an object, its metadata or its annotations; write it out", i, field)
				break
			}
		}
	}
	return problems
}

// fieldsThrough are a node and the nodes below it along a path of keys, each with its path.
func fieldsThrough(n *kyaml.Node, keys ...string) iter.Seq2[string, *kyaml.Node] {
	return func(yield func(string, *kyaml.Node) bool) {
		path := ""
		for n != nil && yield(path, n) && len(keys) > 0 {
			path += "." + keys[0]
			var below *kyaml.Node
			for i := 0; n.Kind == kyaml.MappingNode && i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == keys[0] {
					below = n.Content[i+1]
				}
			}
			n, keys = below, keys[1:]
		}
	}
}

// readNodes guards against panics of the YAML library: an input must never end the program.
func readNodes(read func() ([]*kyaml.RNode, error)) (nodes []*kyaml.RNode, err error) {
	defer func() {
		if r := recover(); r != nil {
			nodes, err = nil, fmt.Errorf("the objects cannot be read: %v", r)
		}
	}()
	return read()
}

// checkResourceList judges what the library that reads it takes for granted: that there is one list, and that objects
// are objects. It would take several lists for objects, of which none is a lease definition.
func checkResourceList(text []byte, size int64) error {
	var problems lease.Problems
	count := 0
	for doc, err := range documents(text, size) {
		if err != nil {
			return err
		}
		if count++; count == 2 {
			doc.Root().Errorf("a KRM function reads one ResourceList, and this is a second document")
		}
		checkResources(doc.Root())
		problems = append(problems, doc.Problems.Errors()...)
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

func documents(text []byte, size int64) func(func(*document.Document, error) bool) {
	return func(yield func(*document.Document, error) bool) {
		for text, err := range document.Texts(bytes.NewReader(text), "-", size) {
			if found, ok := errors.AsType[lease.Problems](err); ok {
				yield(nil, found)
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for doc := range text.Documents() {
				if !yield(doc, nil) {
					return
				}
			}
		}
	}
}

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

// checkResource judges what every object has.
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

// result is what a KRM function says of one problem (KRM functions specification v1: results).
type result struct {
	Message     string       `json:"message"`
	Severity    string       `json:"severity"`
	ResourceRef *resourceRef `json:"resourceRef,omitempty"`
	Field       *resultField `json:"field,omitempty"`
	File        *resultFile  `json:"file,omitempty"`
}

type resourceRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Namespace  string `json:"namespace,omitempty"`
}

type resultField struct {
	Path string `json:"path"`
}

type resultFile struct {
	Path  string `json:"path"`
	Index int    `json:"index"`
}

// origin is the object in which problems were found, and the file from which it came.
type origin struct {
	ref  resourceRef
	file *resultFile
}

// origin notes an object under the name that stands for its file.
func (f *functionCall) origin(name string, o *kyaml.RNode) string {
	from := origin{ref: resourceRef{APIVersion: o.GetApiVersion(), Kind: o.GetKind(), Name: o.GetName(), Namespace: o.GetNamespace()}}
	if path, index, err := kioutil.GetFileAnnotations(o); err == nil && path != "" {
		n, _ := strconv.Atoi(index) // without an index it is the first
		from.file = &resultFile{Path: path, Index: n}
	}
	f.origins[name] = from
	return name
}

// results are what is said of the problems. Lines are left out where the object is named: they are those
// of its text as the function got it, not of its file.
func (f *functionCall) results() (*kyaml.RNode, error) {
	if len(f.problems) == 0 {
		return nil, nil //nolint:nilnil // no results is how a function says that all is well
	}
	var out []result
	for _, p := range f.problems {
		r := result{Message: p.Error(), Severity: "error"}
		if p.Warning {
			r.Severity = "warning"
		}
		if from, known := f.origins[p.At.File]; known {
			r.Message, r.ResourceRef, r.File = p.Message, &from.ref, from.file
			if path := cmp.Or(p.At.Path, p.At.Field.String()); path != "" {
				r.Field = &resultField{path}
			}
		}
		out = append(out, r)
	}
	return toNode(out)
}
