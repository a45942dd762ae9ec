package plugin

import (
	"bufio"
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
)

// extensions are those of the files that -f takes from a folder, as kubectl does.
var extensions = []string{".json", ".yaml", ".yml"}

// fileFlags name files to read.
type fileFlags struct {
	files     []string
	recursive bool
}

func (f *fileFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().StringSliceVarP(&f.files, "filename", "f", nil, what)
	cmd.Flags().BoolVarP(&f.recursive, "recursive", "R", false, "Read the folders below the folders of --filename too")
	for _, extension := range extensions {
		extension = strings.TrimPrefix(extension, ".")
		cobra.CheckErr(cmd.Flags().SetAnnotation("filename", cobra.BashCompFilenameExt, append(cmd.Flags().Lookup("filename").Annotations[cobra.BashCompFilenameExt], extension)))
	}
}

// eachFile opens the files in their order, those of a folder by name.
func (f *fileFlags) eachFile(c *cli, read func(r io.Reader, name string) error) error {
	for _, name := range f.files {
		if err := f.readPath(c, name, read); err != nil {
			return err
		}
	}
	return nil
}

func (f *fileFlags) readPath(c *cli, name string, read func(io.Reader, string) error) error {
	if name == "-" {
		return read(bufio.NewReaderSize(c.In, 1<<16), name)
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return lease.Problems{{Message: fmt.Sprintf("the path %q does not exist", name)}}
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return readFile(name, read)
	}
	count := 0
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != name && !f.recursive:
			return filepath.SkipDir
		case entry.IsDir() || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		count++
		return readFile(path, read)
	})
	if err == nil && count == 0 {
		return lease.Problems{{Message: fmt.Sprintf("the folder %q has no %s files", name, strings.Join(extensions, ", "))}}
	}
	return err
}

func readFile(name string, read func(io.Reader, string) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	return read(f, name)
}
