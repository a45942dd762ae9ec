// Package files reads what -f names: files, folders with files, and standard input; an interrupt ends each wait. It asks no
// cluster.
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
)

// extensions are those of the files that -f takes from a folder, as kubectl does.
var extensions = []string{".json", ".yaml", ".yml"}

// Flags name files to read; - is standard input.
type Flags struct {
	Files     []string
	Recursive bool
}

// Add adds the flags to a command; what says what the files hold.
func (f *Flags) Add(cmd *cobra.Command, what string) {
	cmd.Flags().StringSliceVarP(&f.Files, "filename", "f", nil, what)
	cmd.Flags().BoolVarP(&f.Recursive, "recursive", "R", false, "Also read the subfolders of the folders of --filename")
	for _, extension := range extensions {
		extension = strings.TrimPrefix(extension, ".")
		cobra.CheckErr(cmd.Flags().SetAnnotation("filename", cobra.BashCompFilenameExt, append(cmd.Flags().Lookup("filename").Annotations[cobra.BashCompFilenameExt], extension)))
	}
}

// Each opens the files in their order, those of a folder by name. Together they may have limit
// bytes; 0 sets no bound, for those who hold one document at a time.
func (f *Flags) Each(ctx context.Context, stdin io.Reader, limit int64, read func(r io.Reader, name string) error) error {
	b := newBounded(limit)
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
		count++
		return Read(ctx, path, read)
	})
	if err == nil && count == 0 {
		return &emptyFolder{lease.Problems{{Message: fmt.Sprintf("the folder %q has no %s files", name, strings.Join(extensions, ", "))}}}
	}
	return err
}

// emptyFolder says that a folder has no files to read.
type emptyFolder struct{ lease.Problems }

// Unwrap gives the problem to errors.As.
func (e *emptyFolder) Unwrap() error { return e.Problems }

// Read reads one file, which is no folder. To open a FIFO waits for its writer, and an interrupt ends that.
func Read(ctx context.Context, name string, read func(io.Reader, string) error) error {
	f, err := parallel.Abandonable(ctx, func() (*os.File, error) { return os.Open(name) })
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	return read(Interruptible(ctx, f), name)
}
