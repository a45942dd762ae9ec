package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// Ledger reads the objects in files that take the place of a cluster (--ledger): files, folders with their subfolders, and "-"
// for standard input. A folder may be empty; a file or a pipe without objects is a problem, because the command that was to fill
// it may have failed. A broken object or file is a problem too, and stops no other. The error is not about what the files contain:
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
	all := Flags{Files: names, Recursive: true}
	for found, err := range all.Walk() {
		count, known := r.found, len(r.problems)
		if err == nil {
			err = found.read(ctx, stdin, func(in io.Reader, name string) error { return r.read(ctx, b.Reader(in, name), name) })
		}
		problems, invalid := errors.AsType[lease.Problems](err)
		isNamed := !found.Folder && slices.Contains(names, found.Path)
		switch {
		case IsEmptyFolder(err):
		case err != nil && !invalid:
			return err
		case err != nil:
			r.problems = append(r.problems, problems...)
		case isNamed && r.found == count && !r.problems[known:].Failed():
			r.problems.Add(lease.Place{File: found.Path}, "there are no Kubernetes objects in it")
		}
		if !isNamed {
			r.problems = append(r.problems[:known], r.problems[known:].Errors()...)
		}
		if b.Spent() {
			return nil
		}
	}
	return nil
}
