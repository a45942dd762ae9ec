package documents

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
)

// others deletes the files of leases that no definition of the input names, with prune; otherwise it warns of them. They stay
// then, because an input that lacks a lease does not say that the lease is over. A file that has something else than objects of
// its lease is not of this program, and stays.
func (l *leaseFiles) others(c *console.Console, in *folder, prune bool) error {
	written := map[string]bool{}
	for _, file := range l.leases {
		written[l.name(file.group)] = true
	}
	names, err := in.names()
	if err != nil {
		return err
	}
	var warnings lease.Problems
	for _, name := range names {
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
		sort := func(o runtime.Object) error {
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
