package documents

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// neverPruned keeps Flux and Argo CD from deleting a namespace with everything in it when its file is deleted
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#prune, https://argo-cd.readthedocs.io, Sync Options).
var neverPruned = map[string]string{
	"kustomize.toolkit.fluxcd.io/prune": "disabled",
	"argocd.argoproj.io/sync-options":   "Prune=false,Delete=false",
}

// leaseFiles writes a file for each lease into a folder. Nothing is written before the whole input was read, because a later
// lease may want what an earlier one does, and then neither file changes.
type leaseFiles struct {
	format string
	// spool holds the contents of the files, one after the other.
	spool  spool
	size   int64
	leases []leaseFile
}

// leaseFile is the content of a lease's file.
type leaseFile struct {
	group lease.Group
	// from and to delimit the content in the spool.
	from, to int64
	// objects is the number of objects in the content.
	objects int
	// failed is true if the lease has an error: its file stays as it is.
	failed bool
}

// renderFiles writes a file for each lease. A lease with an error keeps the file that it has, and the others are written. With
// --prune it deletes the files of leases that the input does not name, if there is no error in the input.
func (f *renderFlags) renderFiles(ctx context.Context, c *session.Session, r *renderer) error {
	files := &leaseFiles{format: f.output}
	defer files.spool.close()
	var problems lease.Problems
	read := f.each(ctx, c, r, func(def *lease.Definition) error {
		rendered, err := r.lease(def)
		if exhausted, ok := errors.AsType[*report.ExhaustedError](err); ok {
			r.problems = append(r.problems, lease.Problem{At: exhausted.At, Held: true, Message: err.Error()})
		} else if err != nil {
			return err
		}
		c.Warn(r.warnings(def))
		if f.withNamespace && len(rendered) > 0 && r.workloads == nil {
			rendered = slices.Insert(rendered, 0, namespaceOf(def.Lease))
		}
		failed := len(r.problems) > 0
		problems, r.problems = append(problems, r.problems...), nil
		return files.add(def.Lease.Group(), rendered, failed)
	})
	if found, ok := errors.AsType[lease.Problems](read); read != nil && !ok {
		return read
	} else if len(files.leases) == 0 && (read != nil || !f.allowEmpty) {
		return cmp.Or(read, emptyInput("objects"))
	} else if ok {
		problems = append(problems, found...)
	}
	for _, number := range r.wantedByOthers {
		files.leases[number].failed = true
	}
	in, err := openFolder(f.outputDir)
	if err != nil {
		return err
	}
	defer in.close()
	unwritten, err := files.write(&c.Console, in, f.allowEmpty)
	if err != nil {
		return err
	}
	if problems = sortByPlace(append(problems, unwritten...)); len(problems) > 0 {
		return problems
	}
	return files.others(&c.Console, in, f.prune)
}

// namespaceOf returns the namespace of a lease, with the labels that Akash's provider gives it.
func namespaceOf(id lease.ID) render.Object {
	name := id.Namespace()
	return render.Object{Kind: kinds.Namespace, Name: name, Config: corev1.Namespace(name).WithLabels(state.LeaseNamespaceLabels(id))}
}

// add appends the objects of a lease to the spool.
func (l *leaseFiles) add(group lease.Group, rendered []render.Object, failed bool) error {
	file := leaseFile{group: group, from: l.size, objects: len(rendered), failed: failed}
	encoder, err := emit.NewEncoder(l, l.format)
	if err != nil {
		return err
	}
	for _, object := range rendered {
		if namespace, ok := object.Config.(*corev1.NamespaceApplyConfiguration); ok {
			namespace.WithAnnotations(neverPruned)
		}
		if err := encoder.Encode(object.Config); err != nil {
			return err
		}
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	file.to = l.size
	l.leases = append(l.leases, file)
	return nil
}

// Write appends to the spool.
func (l *leaseFiles) Write(p []byte) (int, error) {
	n, err := l.spool.Write(p)
	l.size += int64(n)
	return n, err
}

// name returns the name of a lease's file. It has the deployment group, so a new order of the group replaces the file.
func (l *leaseFiles) name(g lease.Group) string { return fileName(g) + "." + extension(l.format) }

func fileName(g lease.Group) string { return fmt.Sprintf("%s-%d-%d", g.Owner, g.DSeq, g.GSeq) }

func extension(format string) string {
	if format == emit.JSON {
		return "json"
	}
	return "yaml" // KYAML is YAML
}

// groupOfFile returns the deployment group that a file is named after.
func groupOfFile(name string) (lease.Group, bool) {
	base, isYAML := strings.CutSuffix(name, ".yaml")
	base, isJSON := strings.CutSuffix(base, ".json")
	if isYAML == isJSON {
		return lease.Group{}, false
	}
	group, err := lease.ParseGroup(strings.ReplaceAll(base, "-", "/"))
	return group, err == nil && base == fileName(group)
}

// write writes the files that differ, and prints what it did with each. It returns an error for each lease that has a file
// and needs no objects, because an empty file makes a pipeline that prunes delete the lease, and for each lease whose file cannot
// be replaced.
func (l *leaseFiles) write(c *console.Console, in *folder, allowEmpty bool) (lease.Problems, error) {
	var problems lease.Problems
	for _, file := range l.leases {
		name := l.name(file.group)
		path := in.pathOf(name)
		was, err := in.read(name)
		if special, ok := errors.AsType[*specialFileError](err); ok {
			problems.Add(lease.Place{File: path}, "%v", special)
			file.failed, err = true, nil
		}
		exists := !errors.Is(err, fs.ErrNotExist)
		if err != nil && exists {
			return nil, err
		}
		done := ""
		switch {
		case file.failed && !exists:
			continue
		case file.failed:
			done = "kept"
		case file.objects == 0 && !allowEmpty && !exists:
			continue
		case file.objects == 0 && !allowEmpty:
			problems.Add(lease.Place{File: path}, "lease %s needs no objects any more; whoever applies an empty file with pruning "+
				"deletes the lease (--allow-empty writes it all the same)", file.group)
			done = "kept"
		default:
			content := make([]byte, file.to-file.from)
			if err := l.spool.readAt(content, file.from); err != nil {
				return nil, err
			}
			switch {
			case exists && bytes.Equal(content, was):
				done = "unchanged"
			case exists:
				done = "configured"
			default:
				done = "created"
			}
			if done != "unchanged" {
				if err := in.replace(name, content); err != nil {
					return nil, err
				}
			}
		}
		fmt.Fprintln(c.Out, path, done)
	}
	return problems, in.sync()
}

// readAt reads a part of what was written.
func (s *spool) readAt(p []byte, from int64) error {
	if s.file == nil {
		copy(p, s.buffer.Bytes()[from:])
		return nil
	}
	_, err := s.file.ReadAt(p, from)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

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

// others deletes the files of leases that no definition of the input names, with prune; otherwise it warns of them. They stay
// then, because an input that lacks a lease does not say that the lease is over. A file that has something else than objects of
// its lease is not of this program, and stays.
func (l *leaseFiles) others(c *console.Console, in *folder, prune bool) error {
	written := map[string]bool{}
	for _, file := range l.leases {
		written[l.name(file.group)] = true
	}
	entries, err := fs.ReadDir(in.root.FS(), ".")
	if err != nil {
		return err
	}
	var warnings lease.Problems
	for _, entry := range entries {
		name := entry.Name()
		group, ok := groupOfFile(name)
		if !ok || written[name] {
			continue
		}
		at := lease.Place{File: in.pathOf(name)}
		if !prune {
			if slices.ContainsFunc(l.leases, func(f leaseFile) bool { return f.group == group }) {
				warnings.Warn(at, "the lease has the file %s now; delete this one (--prune does)", in.pathOf(l.name(group)))
			} else {
				warnings.Warn(at, "no definition of the input is of this lease; when the lease is over, delete the file (--prune does), and "+
					"release the lease after its objects are gone (kubectl akash-net release %s)", group)
			}
			continue
		}
		content, err := in.read(name)
		if _, special := errors.AsType[*specialFileError](err); err != nil && !special {
			return err
		}
		if err != nil || !onlyOf(content, group) {
			warnings.Warn(at, "no definition of the input is of this lease, but this command has not written the file; delete it if it is not needed")
			continue
		}
		if err := in.root.Remove(name); err != nil {
			return err
		}
		fmt.Fprintln(c.Out, in.pathOf(name), "pruned")
	}
	c.Warn(warnings)
	return in.sync()
}

// onlyOf reports whether a file has only objects of a deployment group: its labels are on them, or they are in the namespace of
// a lease that the labels of others name.
func onlyOf(content []byte, group lease.Group) bool {
	var others []string
	namespaces := map[string]bool{}
	objects := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := objects.Decode(&o.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return false
		}
		if len(o.Object) == 0 {
			continue
		}
		sort := func(o kruntime.Object) error {
			one, _ := o.(*unstructured.Unstructured)
			if id, ok := lease.IDFromLabels(one.GetLabels()); ok && id.Group() == group {
				namespaces[id.Namespace()] = true
			} else {
				others = append(others, one.GetNamespace())
			}
			return nil
		}
		if !o.IsList() {
			_ = sort(o)
		} else if o.EachListItem(sort) != nil {
			return false
		}
	}
	return !slices.ContainsFunc(others, func(namespace string) bool { return !namespaces[namespace] })
}
