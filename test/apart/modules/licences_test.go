// Package modules holds the tests of the modules that programs and tests are made of.
package modules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/licensecheck"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/test/golden"
	"github.com/akash-net/kubectl-akash-net/test/release"
)

// allowed are the licences of what the programs may be linked with, by their SPDX identifiers: all of them ask for their text and
// notices, which THIRD_PARTY_LICENSES brings, and for nothing that an Apache-2.0 program would have to grant.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// standardLibrary stands for Go's own packages, which are of no module. Its version is that of whoever builds.
const standardLibrary = "Go's standard library"

// licenceFile is the name of a file that the licence of a package asks to be passed on.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)

// pkg is what `go list` tells of a package.
type pkg struct {
	Dir, Root string
	Standard  bool
	Module    *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// linked returns the folders of all packages that a release's programs are linked with, by module and version.
func linked(t *testing.T) map[string][]pkg {
	t.Helper()
	found := map[string][]pkg{}
	for _, p := range release.Read(t).Platforms() {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Dir,Root,Standard,Module", "./cmd/...")
		list.Dir, list.Stderr = root(t), os.Stderr
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch)
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
			var one pkg
			if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			switch {
			case one.Standard:
				one.Dir = one.Root // what lies beside BoringCrypto is of builds with it
				found[standardLibrary] = append(found[standardLibrary], one)
			case !one.Module.Main:
				name := one.Module.Path + " " + one.Module.Version
				found[name] = append(found[name], one)
			}
		}
	}
	return found
}

// texts returns the licences and notices of the packages: the files beside a package's code, and in the folders above it.
func texts(t *testing.T, packages []pkg) map[string]string {
	t.Helper()
	read, seen := map[string]string{}, map[string]bool{}
	for _, p := range packages {
		top := p.Root
		if p.Module != nil {
			top = p.Module.Dir
		}
		for dir := p.Dir; strings.HasPrefix(dir, top) && !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.IsDir() || !licenceFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
					continue
				}
				text, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				name, err := filepath.Rel(top, filepath.Join(dir, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				read[filepath.ToSlash(name)] = strings.Trim(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n") + "\n"
			}
		}
	}
	return read
}

// licences returns the identifiers of the licences in the files. A file whose words are no known licence's is an error.
func licences(files map[string]string) ([]string, error) {
	found := map[string]bool{}
	var errs []error
	for name, text := range files {
		scanned := licensecheck.Scan([]byte(text))
		for _, match := range scanned.Match {
			found[match.ID] = true
		}
		if !strings.HasPrefix(strings.ToLower(filepath.Base(name)), "notice") && scanned.Percent < 75 {
			errs = append(errs, fmt.Errorf("%s: only %.0f%% of the words are those of a known licence", name, scanned.Percent))
		}
	}
	if len(found) == 0 {
		errs = append(errs, errors.New("there is no licence"))
	}
	return slices.Sorted(maps.Keys(found)), errors.Join(errs...)
}

// A release brings the licences of all that it is linked with, and is linked with nothing whose licence it cannot keep.
func TestLicences(t *testing.T) {
	var list, all strings.Builder
	users := map[string][]string{} // who has a text
	var order []string
	modules := linked(t)
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		files := texts(t, modules[module])
		ids, err := licences(files)
		if err != nil {
			t.Errorf("%s: %v", module, err)
		}
		for _, id := range ids {
			if !slices.Contains(allowed, id) {
				t.Errorf("%s has the licence %s, which is none of %s", module, id, strings.Join(allowed, ", "))
			}
		}
		fmt.Fprintf(&list, "%s  %s\n", module, strings.Join(ids, ", "))
		for _, name := range slices.Sorted(maps.Keys(files)) {
			text := files[name]
			if users[text] == nil {
				order = append(order, text)
			}
			users[text] = append(users[text], module+" "+name)
		}
	}
	fmt.Fprintf(&all, "What the programs of kubectl-akash-net are linked with, the licences, and below their texts.\n"+
		"Written by: make generate\n\n%s", &list)
	for _, text := range order {
		fmt.Fprintf(&all, "\n%s\n%s\n\n%s", strings.Repeat("=", 80), strings.Join(users[text], "\n"), text)
	}

	golden.Check(t, filepath.Join(root(t), "THIRD_PARTY_LICENSES"), all.String())
}

// A file that is no known licence, and a module without one, are seen.
func TestUnknownLicences(t *testing.T) {
	for _, files := range []map[string]string{{"LICENSE": "You may look at it.\n"}, {"NOTICE": "Made by us.\n"}, {}} {
		if ids, err := licences(files); err == nil {
			t.Errorf("%v has the licences %v", files, ids)
		}
	}
}

func root(t *testing.T) string {
	t.Helper()
	root, err := programs.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}
