package documents

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// folder is the folder of --output-dir. What is read and written stays in it: names and symbolic links do not lead out.
type folder struct {
	path string
	root *os.Root
}

// specialFileError is the error for something in the folder that is no regular file, such as a symbolic link.
type specialFileError struct{ mode fs.FileMode }

func (e *specialFileError) Error() string {
	what := "this is no regular file"
	switch {
	case e.mode&fs.ModeSymlink != 0:
		what = "this is a symbolic link"
	case e.mode.IsDir():
		what = "this is a folder"
	}
	return what + ", and the objects of a lease go into a regular file; remove it"
}

// openFolder opens the folder, and makes it if it does not exist.
func openFolder(path string) (*folder, error) {
	if err := os.MkdirAll(path, 0o755); err != nil { //nolint:gosec // as mkdir makes it: others apply the files
		return nil, err
	}
	root, err := os.OpenRoot(path)
	return &folder{path: path, root: root}, err
}

func (f *folder) close() { _ = f.root.Close() }

// pathOf returns the path of a file as people type it.
func (f *folder) pathOf(name string) string { return filepath.Join(f.path, name) }

// read returns the content of a file. It does not follow a symbolic link: the error is a *specialFileError.
func (f *folder) read(name string) ([]byte, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &specialFileError{info.Mode()}
	}
	return f.root.ReadFile(name)
}

// replace makes a file have the content, by a temporary file and a rename: a reader sees the former file or the new one, also
// after a crash. The name of the temporary file is none that kubectl, Flux or Argo CD read from a folder.
func (f *folder) replace(name string, content []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := f.root.Lstat(name); err == nil {
		mode = info.Mode().Perm()
	}
	temporary := fmt.Sprintf(".%s-%s", name, rand.Text())
	file, err := f.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.root.Remove(temporary) //nolint:errcheck // it is gone after the rename
	_, err = file.Write(content)
	err = cmp.Or(err, file.Chmod(mode), file.Sync())
	if err = cmp.Or(err, file.Close()); err != nil {
		return err
	}
	return f.root.Rename(temporary, name)
}

// sync makes the system keep the names of the files that were written. Windows cannot, and need not, be asked to.
func (f *folder) sync() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := f.root.Open(".")
	if err != nil {
		return err
	}
	return cmp.Or(folder.Sync(), folder.Close())
}

// names returns the names of what is in the folder, sorted.
func (f *folder) names() ([]string, error) {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, nil
}
