package findings

import (
	"net/url"
	"os"
	"path/filepath"
)

// Root is the root of the source code, relative to which files are named; empty to name them as they were given.
type Root string

// workspace is the environment variable with the root of the source code in GitHub Actions, whose steps may run in a folder of it.
const workspace = "GITHUB_WORKSPACE"

// SourceRoot returns the root of the source code: the workspace of GitHub Actions, otherwise the working directory.
func SourceRoot() Root {
	if root := os.Getenv(workspace); root != "" {
		return Root(root)
	}
	root, err := os.Getwd()
	if err != nil {
		return ""
	}
	return Root(root)
}

// relative returns a path relative to the root, with slashes. A file outside of it keeps its path.
func (r Root) relative(file string) string {
	whole, err := filepath.Abs(file)
	if err == nil && r != "" {
		if path, err := filepath.Rel(string(r), whole); err == nil && filepath.IsLocal(path) {
			return filepath.ToSlash(path)
		}
	}
	return filepath.ToSlash(file)
}

// uri returns a reference to a file, relative to the root. Every byte that a URI cannot have is escaped.
func (r Root) uri(file string) string {
	path := r.relative(file)
	if filepath.IsAbs(path) {
		return (&url.URL{Scheme: "file", Path: path}).String()
	}
	return (&url.URL{Path: path}).String()
}
