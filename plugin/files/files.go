// Package files reads the inputs that -f names: files, folders and standard input. Reading ends when the context does. The
// package sends no requests to a cluster.
package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// extensions are the extensions of the files that -f reads from a folder, as in kubectl.
var extensions = []string{".json", ".yaml", ".yml"}

// Flags are the flags that name input files; - is standard input.
type Flags struct {
	Files     []string
	Recursive bool
}

// Add adds the flags to a command. what describes the contents of the files.
func (f *Flags) Add(cmd *cobra.Command, what string) {
	cmd.Flags().StringSliceVarP(&f.Files, "filename", "f", nil, what)
	cmd.Flags().BoolVarP(&f.Recursive, "recursive", "R", false, "Also read the subfolders of the folders of --filename")
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.Recursive && len(f.Files) == 0:
			return usage.Errorf("-R requires -f")
		case check == nil:
			return nil
		}
		return check(cmd, args)
	}
	cobra.CheckErr(cmd.MarkFlagFilename("filename", "json", "yaml", "yml"))
}

// Each opens the files in the given order, and those of a folder by name. Together they may have limit bytes; 0 means no
// limit, for a caller that holds only one document at a time.
func (f *Flags) Each(ctx context.Context, stdin io.Reader, limit int64, read func(r io.Reader, name string) error) error {
	b := newBudget(limit)
	for _, name := range f.Files {
		err := f.readPath(ctx, stdin, name, func(r io.Reader, name string) error { return read(b.reader(r, name), name) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Flags) readPath(ctx context.Context, stdin io.Reader, name string, read func(io.Reader, string) error) error {
	if name == "-" {
		return read(bufio.NewReaderSize(stdin, 1<<16), name)
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return lease.Problems{{Message: fmt.Sprintf("the path %q does not exist", name)}}
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return Read(ctx, name, read)
	}
	count := 0
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != name && !f.Recursive:
			return filepath.SkipDir
		case entry.IsDir() || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		// The entry may be a link, as in the folder of a mounted ConfigMap.
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return lease.Problems{{Message: fmt.Sprintf("the path %q is no file and is not opened; if it is to be read, name it itself", path)}}
		}
		count++
		return Read(ctx, path, read)
	})
	if err == nil && count == 0 {
		message := fmt.Sprintf("the folder %q has no %s files", name, strings.Join(extensions, ", "))
		return &emptyFolder{lease.Problems{{Message: message}}}
	}
	return err
}

// emptyFolder is the error for a folder without files to read.
type emptyFolder struct{ lease.Problems }

// Unwrap returns the problem for errors.As.
func (e *emptyFolder) Unwrap() error { return e.Problems }

// Open opens a file. The end of the context also ends the wait for the writer of a FIFO.
func Open(ctx context.Context, name string) (*os.File, error) {
	return parallel.Abandonable(ctx, func() (*os.File, error) { return os.Open(name) })
}

// Read opens and reads one file.
func Read(ctx context.Context, name string, read func(io.Reader, string) error) error {
	f, err := Open(ctx, name)
	if refused, ok := errors.AsType[*fs.PathError](err); ok {
		return lease.Problems{{Message: fmt.Sprintf("the path %q cannot be read: %v", name, refused.Err)}}
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	return read(Interruptible(ctx, f), name)
}
