package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/state"
)

// contents are what the book is about in the objects of files: a Git repository, or what kubectl get
// -o yaml wrote. Objects that it is not about are passed over.
func (f *fileFlags) contents(ctx context.Context, c *cli, cfg *config.ProviderConfig) (state.Contents, error) {
	var contents state.Contents
	reader := objectReader{
		seen: map[string]lease.Place{}, size: cfg.Limits.DocumentSize,
		take: func(o *unstructured.Unstructured) { contents.Add(o, cfg.LedgerNamespace) },
	}
	_, err := abandonable(ctx, func() (any, error) {
		return nil, f.eachFile(ctx, c, cfg.Limits.InputSize, func(r io.Reader, name string) error { return reader.read(ctx, r, name) })
	})
	if missing, ok := errors.AsType[lease.Problems](err); ok {
		reader.problems, err = append(reader.problems, missing...), nil
	}
	if err != nil {
		return state.Contents{}, err
	}
	c.warn(reader.problems)
	if wrong := reader.problems.Errors(); len(wrong) > 0 {
		return state.Contents{}, wrong
	}
	return contents, nil
}

// objectReader collects the objects of files.
type objectReader struct {
	// take is given each object.
	take func(*unstructured.Unstructured)
	// size is the largest document that is read, in bytes.
	size     int64
	problems lease.Problems
	// seen is where an object was given first; nil where it does not matter.
	seen map[string]lease.Place
}

func (r *objectReader) read(ctx context.Context, in io.Reader, name string) error {
	for text, err := range document.Texts(in, name, r.size) {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if value, ok := text.JSON(); ok {
			r.add(value, lease.Place{File: name})
			continue
		}
		for doc := range text.Documents() {
			root := doc.Root()
			value := root.Value()
			r.problems = append(r.problems, doc.Problems.Sorted()...)
			if !doc.Problems.Failed() {
				r.add(value, root.At())
			}
		}
	}
	return nil
}

// add adds an object, or those of a List.
func (r *objectReader) add(value any, at lease.Place) {
	fields, ok := value.(map[string]any)
	o := &unstructured.Unstructured{Object: fields}
	switch {
	case value == nil:
	case !ok || o.GetAPIVersion() == "" || o.GetKind() == "":
		r.problems = append(r.problems, lease.Problem{At: at, Warning: true, Message: "this is no Kubernetes object, and is passed over"})
	case o.IsList():
		items, _ := fields["items"].([]any)
		for _, item := range items {
			r.add(item, at)
		}
	default:
		r.addObject(o, at)
	}
}

func (r *objectReader) addObject(o *unstructured.Unstructured, at lease.Place) {
	kind := o.GroupVersionKind().GroupKind().String()
	key := kind + " " + o.GetNamespace() + "/" + o.GetName()
	if first, twice := r.seen[key]; twice {
		r.problems.Add(at, "%s is given twice (first in %s); which of the two counts cannot be told", key, first)
		return
	}
	if r.seen != nil {
		r.seen[key] = at
	}
	r.take(o)
}
