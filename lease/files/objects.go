package files

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// Objects reads the Kubernetes objects in the files and returns warnings. If once is set, a duplicate object is an error.
func (f *Names) Objects(
	ctx context.Context, stdin io.Reader, limits config.Limits, once bool, take func(*unstructured.Unstructured),
) (lease.Problems, error) {
	reader := newObjectReader(limits, once, func(o *unstructured.Unstructured, _ func() *unstructured.Unstructured) { take(o) })
	_, err := parallel.Abandonable(ctx, func() (any, error) {
		return nil, f.Each(ctx, stdin, int64(limits.InputSize), func(r io.Reader, name string) error { return reader.read(ctx, r, name) })
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
	// take is called with each object, as Take says. documents counts what was read, found the objects of a cluster and Lists among it: a
	// definition says what is wanted, and is in no cluster.
	take             Take
	documents, found int
	// whole reports objects that a client cannot read, and does not take them.
	whole bool
	// size is the maximum size of a document in bytes.
	size     int64
	problems lease.Problems
	// seen is the place where each object was found first; nil accepts duplicates.
	seen map[string]lease.Place
}

func newObjectReader(limits config.Limits, once bool, take Take) *objectReader {
	r := &objectReader{size: int64(limits.DocumentSize), take: take}
	if once {
		r.seen = map[string]lease.Place{}
	}
	return r
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
			r.add(value, lease.Place{File: name}, nil)
			continue
		}
		if value, at, ok := text.Plain(); ok {
			r.add(value, at, func() *unstructured.Unstructured {
				value, _, _ := text.Plain()
				return &unstructured.Unstructured{Object: value}
			})
			continue
		}
		for doc := range text.Documents() {
			root := doc.Root()
			value := root.Value()
			r.problems = append(r.problems, doc.Problems.Sorted()...)
			if !doc.Problems.Failed() {
				r.add(value, root.At(), nil)
			}
		}
	}
	return nil
}

// add takes an object, or the items of a List.
func (r *objectReader) add(value any, at lease.Place, again func() *unstructured.Unstructured) {
	fields, ok := value.(map[string]any)
	o := &unstructured.Unstructured{Object: fields}
	if value != nil {
		r.documents++
	}
	switch {
	case value == nil:
	case !ok || o.GetAPIVersion() == "" || o.GetKind() == "":
		r.problems.Warn(at, "this is not a Kubernetes object, and is ignored")
	case o.IsList():
		r.found++
		items, _ := fields["items"].([]any)
		for _, item := range items {
			r.add(item, at, nil)
		}
	default:
		if o.GroupVersionKind().Group != lease.Domain {
			r.found++
		}
		r.addObject(o, at, again)
	}
}

func (r *objectReader) addObject(o *unstructured.Unstructured, at lease.Place, again func() *unstructured.Unstructured) {
	key := o.GroupVersionKind().GroupKind().String() + " " + o.GetNamespace() + "/" + o.GetName()
	if first, isDuplicate := r.seen[key]; isDuplicate {
		r.problems.Add(at, "duplicate object %s (first in %s)", key, first)
		return
	}
	if r.seen != nil {
		r.seen[key] = at
	}
	if r.whole {
		if err := kinds.CheckMetadata(o); err != nil {
			r.problems.Add(at, "%v", err)
			return
		}
	}
	r.take(o, again)
}

// Take takes an object. again decodes it once more, which takes less time than to keep thousands in memory; it is nil where it does not.
type Take func(o *unstructured.Unstructured, again func() *unstructured.Unstructured)

// Ledger reads the objects in files that take the place of a cluster (--ledger): files, folders with their subfolders, and "-"
// for standard input. A folder may be empty; a file or a pipe without objects is a problem, because the command that was to fill
// it may have failed, and so is a folder that has definitions and no object: nothing would seem to be held. A broken object or file is a problem too, and stops no other. The error is not about what the files contain:
// it is the end of the context.
func Ledger(
	ctx context.Context, stdin io.Reader, names []string, limits config.Limits, once bool, take Take,
) (lease.Problems, error) {
	reader := newObjectReader(limits, once, take)
	reader.whole = true
	_, err := parallel.Abandonable(ctx, func() (any, error) { return nil, reader.readLedger(ctx, stdin, names, int64(limits.InputSize)) })
	if err != nil {
		return nil, err
	}
	return reader.problems, nil
}

// readLedger reads files with objects. It keeps warnings only about files that are named: a folder may also have files of other
// programs.
func (r *objectReader) readLedger(ctx context.Context, stdin io.Reader, names []string, limit int64) error {
	b := NewBudget(limit)
	for _, name := range names {
		documents, objects, known := r.documents, r.found, len(r.problems)
		isFolder := false
		named := Names{Files: []string{name}, Recursive: true}
		for found, err := range named.Walk() {
			isFolder = isFolder || found.Folder
			if err := r.readFound(ctx, stdin, b, found, err); err != nil {
				return err
			}
			if b.Spent() {
				return nil
			}
		}
		if isFolder {
			r.problems = append(r.problems[:known], r.problems[known:].Errors()...)
		}
		if r.found == objects && (!isFolder || r.documents > documents) && !r.problems[known:].Failed() {
			r.problems.Add(lease.Place{File: name}, "there are no objects of a cluster in it")
		}
	}
	return nil
}

// readFound reads what was found at a named path. It returns errors that are not about what the files contain.
func (r *objectReader) readFound(ctx context.Context, stdin io.Reader, b *Budget, found Found, err error) error {
	if err == nil {
		err = found.read(ctx, stdin, func(in io.Reader, name string) error { return r.read(ctx, b.Reader(in, name), name) })
	}
	problems, invalid := errors.AsType[lease.Problems](err)
	switch {
	case IsEmptyFolder(err):
		return nil
	case err != nil && !invalid:
		return err
	}
	r.problems = append(r.problems, problems...)
	return nil
}
