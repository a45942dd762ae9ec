package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// OfFolder reads the objects in a folder that replaces a cluster (--ledger), and in its subfolders. The folder may be empty.
func OfFolder(ctx context.Context, folder string, limits config.Limits, once bool, take func(*unstructured.Unstructured)) error {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return usage.Errorf("--ledger must be 'cluster' or a folder; there is no folder %q", folder)
	}
	all := Flags{Files: []string{folder}, Recursive: true}
	_, err := all.Objects(ctx, nil, limits, once, take)
	if IsEmptyFolder(err) {
		return nil
	}
	return err
}

// Objects reads the Kubernetes objects in the files and returns warnings. If once is set, a duplicate object is an error.
func (f *Flags) Objects(
	ctx context.Context, stdin io.Reader, limits config.Limits, once bool, take func(*unstructured.Unstructured),
) (lease.Problems, error) {
	reader := objectReader{size: limits.DocumentSize, take: take}
	if once {
		reader.seen = map[string]lease.Place{}
	}
	_, err := parallel.Abandonable(ctx, func() (any, error) {
		return nil, f.Each(ctx, stdin, limits.InputSize, func(r io.Reader, name string) error { return reader.read(ctx, r, name) })
	})
	missing, invalid := errors.AsType[lease.Problems](err)
	if err != nil && !invalid {
		return nil, err
	}
	if wrong := append(reader.problems.Errors(), missing...); len(wrong) > len(missing) {
		err = wrong
	}
	return reader.problems.Warnings(), err
}

// objectReader reads the objects in files.
type objectReader struct {
	// take is called with each object.
	take func(*unstructured.Unstructured)
	// size is the maximum size of a document in bytes.
	size     int64
	problems lease.Problems
	// seen is the place where each object was found first; nil accepts duplicates.
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

// add takes an object, or the items of a List.
func (r *objectReader) add(value any, at lease.Place) {
	fields, ok := value.(map[string]any)
	o := &unstructured.Unstructured{Object: fields}
	switch {
	case value == nil:
	case !ok || o.GetAPIVersion() == "" || o.GetKind() == "":
		r.problems.Warn(at, "this is not a Kubernetes object, and is ignored")
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
	key := o.GroupVersionKind().GroupKind().String() + " " + o.GetNamespace() + "/" + o.GetName()
	if first, isDuplicate := r.seen[key]; isDuplicate {
		r.problems.Add(at, "duplicate object %s (first in %s)", key, first)
		return
	}
	if r.seen != nil {
		r.seen[key] = at
	}
	r.take(o)
}
