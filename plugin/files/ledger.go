package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// Ledger reads the objects in files that take the place of a cluster (--ledger): files, folders with their subfolders, and "-"
// for standard input. A folder may be empty; a file or a pipe without objects is a problem, because the command that was to fill
// it may have failed, and so is a folder that has definitions and no object: nothing would seem to be held. A broken object or file is a problem too, and stops no other. The error is not about what the files contain:
// a path that does not exist, or the end of the context.
func Ledger(
	ctx context.Context, stdin io.Reader, names []string, limits config.Limits, once bool, take func(*unstructured.Unstructured),
) (lease.Problems, error) {
	for _, name := range names {
		if _, err := os.Stat(name); name != "-" && errors.Is(err, fs.ErrNotExist) {
			return nil, usage.Errorf("--ledger must be 'cluster', a file or a folder; there is no file or folder %q", name)
		}
	}
	reader := newObjectReader(limits, once, take)
	reader.whole = true
	_, err := parallel.Abandonable(ctx, func() (any, error) { return nil, reader.readLedger(ctx, stdin, names, limits.InputSize) })
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
		named := Flags{Files: []string{name}, Recursive: true}
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
