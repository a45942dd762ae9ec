package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/filters"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// runFunction runs render as a KRM function (KRM Functions Specification v1): it adds the objects of the lease definitions
// among the items of a ResourceList to the items. Errors and warnings are in the results; errors end it with exit code 3.
func runFunction(ctx context.Context, c *session.Session, f *renderFlags) error {
	switch {
	case f.ledger.IsCluster():
		return usage.Errorf("a KRM function reads no cluster: put the claims among the items, or name a folder with --ledger")
	case f.ledger.IsInput():
		return usage.Errorf("--ledger: standard input has the ResourceList of a KRM function; name a file or a folder")
	}
	cfg, err := c.Configuration(ctx, nil)
	if err != nil {
		return err
	}
	list := &kio.ByteReadWriter{Writer: c.Out, KeepReaderAnnotations: true}
	items, err := parallel.Abandonable(ctx, func() ([]*kyaml.RNode, error) { return readResourceList(c.In, list, cfg.Limits) })
	if err != nil {
		return err
	}
	call := &functionCall{origins: map[string]origin{}}
	out, err := parallel.Abandonable(ctx, func() ([]*kyaml.RNode, error) { return call.run(ctx, &c.Console, cfg, list, items, f) })
	if problems, ok := errors.AsType[lease.Problems](err); ok {
		call.problems = append(call.problems, problems...)
	} else if err != nil {
		return err
	}
	if list.Results, err = call.results(); err != nil {
		return err
	}
	if err := list.Write(out); err != nil {
		return err
	}
	c.Warn(call.problems)
	if failed := call.problems.Errors(); len(failed) > 0 {
		return failed
	}
	return nil
}

// functionCall is one call of the function.
type functionCall struct {
	// problems are errors and warnings.
	problems lease.Problems
	// origins are the objects that problems refer to, by the file name in the place of a problem.
	origins map[string]origin
}

// run returns the items with the objects of the lease definitions among them. If there is an error, it adds no objects.
func (f *functionCall) run(
	ctx context.Context, c *console.Console, cfg *config.ProviderConfig, list *kio.ByteReadWriter, items []*kyaml.RNode,
	flags *renderFlags,
) ([]*kyaml.RNode, error) {
	cfg, err := f.config(cfg, list.FunctionConfig, flags.target)
	if err != nil {
		return nil, err
	}
	r := newRenderer(cfg)
	if r.workloads, err = flags.workloads.RenderOptions(ctx, cfg); err != nil {
		return nil, err
	}
	known, err := functionLedger(ctx, c, items, flags, cfg)
	if err != nil {
		return nil, err
	}
	r.useLedger(known)
	objects, err := f.render(r, f.definitions(ctx, list.FunctionConfig, items, cfg.Limits, r.workloads != nil))
	if err == nil && len(objects) == 0 && !f.problems.Failed() && !flags.allowEmpty {
		err = emptyInput("objects")
	}
	if err != nil || f.problems.Failed() {
		objects = nil
	}
	out, failed := withObjects(items, objects, cfg.LedgerNamespace)
	return out, cmp.Or(err, failed)
}

// definitions returns the lease definitions among the items, and functionConfig if it is one, as for a generator.
func (f *functionCall) definitions(
	ctx context.Context, functionConfig *kyaml.RNode, items []*kyaml.RNode, limits config.Limits, workloads bool,
) []*lease.Definition {
	var defs []*lease.Definition
	read := func(n *kyaml.RNode, name string) {
		if !isDefinition(n) {
			return
		}
		name = f.addOrigin(name, n)
		text, err := n.String()
		if err != nil {
			f.problems.Add(lease.Place{File: name}, "%v", err)
			return
		}
		opts := input.Options{DocumentSize: int64(limits.DocumentSize), Workloads: workloads}
		found, problems, err := input.All(ctx, strings.NewReader(text), name, opts)
		defs, f.problems = append(defs, found...), append(f.problems, problems...)
		if err != nil {
			f.problems.Add(lease.Place{File: name}, "%v", err)
		}
	}
	read(functionConfig, "functionConfig")
	for i, item := range items {
		if isDefinition(functionConfig) && sameDefinition(functionConfig, item) {
			continue
		}
		read(item, fmt.Sprintf("items[%d] (%s)", i, item.GetName()))
	}
	return defs
}

// sameDefinition reports whether an item is the function's configuration: kustomize also hands a generator its configuration as an
// item, with other annotations.
func sameDefinition(functionConfig, item *kyaml.RNode) bool {
	return keyOf(functionConfig) == keyOf(item) && specOf(functionConfig) == specOf(item)
}

func specOf(n *kyaml.RNode) string {
	spec, err := n.Pipe(kyaml.Get("spec"))
	if err != nil {
		return ""
	}
	text, _ := spec.String() // a spec that cannot be written cannot be read either
	return text
}

func isDefinition(n *kyaml.RNode) bool {
	return n != nil && n.GetKind() == input.Kind && n.GetApiVersion() == input.APIVersion
}

// render renders the definitions. It never proposes an address that any of the definitions names.
func (f *functionCall) render(r *renderer, defs []*lease.Definition) ([]render.Object, error) {
	for _, def := range defs {
		r.keepNamedAddresses(def)
	}
	var objects []render.Object
	for _, def := range defs {
		rendered, err := r.lease(def)
		if exhausted, ok := errors.AsType[*report.ExhaustedError](err); ok {
			f.problems.Add(exhausted.At, "%v", err)
		} else if err != nil {
			return nil, err
		}
		objects = append(objects, rendered...)
		f.problems = append(append(f.problems, r.problems...), r.warnings(def)...)
		r.problems = nil
	}
	return objects, nil
}

// functionLedger returns the ledger in the files of --ledger or, without the flag, among the items. It returns nil if the items
// include no claims, because leased addresses would look free.
func functionLedger(ctx context.Context, c *console.Console, items []*kyaml.RNode, f *renderFlags, cfg *config.ProviderConfig) (*observed.Known, error) {
	if f.ledger.IsFiles() {
		return readLedger(ctx, c, &f.ledger, cfg)
	}
	found, err := ledgerIn(items, cfg.LedgerNamespace)
	if err != nil || len(found.claims) == 0 {
		return nil, err
	}
	return found.known(), nil
}

// config returns the provider's configuration: functionConfig if it is a ProviderConfig, otherwise cfg. It refuses a functionConfig that
// it does not understand. Without arguments, kpt and kustomize send a ConfigMap without data.
func (f *functionCall) config(cfg *config.ProviderConfig, given *kyaml.RNode, target string) (*config.ProviderConfig, error) {
	switch {
	case given.IsNilOrEmpty() || isDefinition(given) || given.GetKind() == "ConfigMap" && given.Field("data").IsNilOrEmpty() && given.Field("binaryData").IsNilOrEmpty():
	case given.GetKind() != "ProviderConfig":
		var problems lease.Problems
		problems.Add(lease.Place{File: f.addOrigin("functionConfig", given)}, "apiVersion %q, kind %q is not understood: use a ProviderConfig or a %s of %s",
			given.GetApiVersion(), given.GetKind(), input.Kind, input.APIVersion)
		return nil, problems
	default:
		text, err := given.String()
		if err != nil {
			return nil, err
		}
		read, problems, err := config.Read(strings.NewReader(text), f.addOrigin("functionConfig", given))
		if err == nil && problems.Failed() {
			err = problems
		}
		if err != nil {
			return nil, err
		}
		f.problems, cfg = append(f.problems, problems...), read
	}
	if target != "" {
		cfg.Target = target
	}
	return cfg, nil
}

func toNode(o any) (*kyaml.RNode, error) {
	var text strings.Builder
	if err := emit.WriteYAML(&text, o); err != nil { // kyaml would parse large numbers in JSON as floats
		return nil, err
	}
	return kyaml.Parse(text.String())
}

// withObjects returns the items of a ResourceList with the rendered objects. An object takes the place, the file and the index
// of an item that is the same object. Items that were read as the ledger are marked as local configuration: whoever applied
// them would take the claims of all tenants, and prune them later.
func withObjects(items []*kyaml.RNode, objects []render.Object, ledgerNamespace string) ([]*kyaml.RNode, error) {
	rendered := map[objectKey]*kyaml.RNode{}
	var order []objectKey
	for _, o := range objects {
		n, err := toNode(o)
		if err != nil {
			return nil, err
		}
		rendered[keyOf(n)] = n
		order = append(order, keyOf(n))
	}
	var out []*kyaml.RNode
	for _, item := range items {
		if n, same := rendered[keyOf(item)]; same {
			if err := kioutil.CopyInternalAnnotations(item, n); err != nil {
				return nil, err
			}
			delete(rendered, keyOf(item))
			out = append(out, n)
			continue
		}
		keep, err := markLedger(item, ledgerNamespace, func(n *kyaml.RNode) bool { return rendered[keyOf(n)] != nil })
		if err != nil {
			return nil, err
		}
		if keep {
			out = append(out, item)
		}
	}
	for _, key := range order {
		if n, left := rendered[key]; left {
			out = append(out, n)
		}
	}
	return out, nil
}

// objectKey identifies an object. The version of its API does not count.
type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

func keyOf(n *kyaml.RNode) objectKey {
	return objectKey{schema.FromAPIVersionAndKind(n.GetApiVersion(), n.GetKind()).GroupKind(), n.GetNamespace(), n.GetName()}
}

// markLedger marks an item as local configuration if it was read as the ledger, and reports whether to keep it. In a List it
// marks the objects, and the List if all of them are marked; it removes the objects that are rendered too.
func markLedger(item *kyaml.RNode, namespace string, isRendered func(*kyaml.RNode) bool) (keep bool, err error) {
	mark := kyaml.SetAnnotation(filters.LocalConfigAnnotation, "true")
	list := item.Field("items")
	if list == nil || list.Value.YNode().Kind != kyaml.SequenceNode {
		if is, err := isLedger(item, namespace); err != nil || !is {
			return true, err
		}
		return true, item.PipeE(mark)
	}
	all := true
	var left []*kyaml.Node
	for _, content := range list.Value.YNode().Content {
		n := kyaml.NewRNode(content)
		if isRendered(n) {
			continue
		}
		left = append(left, content)
		is, err := isLedger(n, namespace)
		if err == nil && is {
			err = n.PipeE(mark)
		}
		if err != nil {
			return true, err
		}
		all = all && is
	}
	if len(left) == 0 {
		return len(list.Value.YNode().Content) == 0, nil
	}
	list.Value.YNode().Content = left
	if !all {
		return true, nil
	}
	return true, item.PipeE(mark)
}

// isLedger reports whether an object is a part of the ledger as it was read: a Lease of its namespace, or a Service that uses
// an address and comes from a cluster (it has a UID) or belongs to a lease. Other Services are somebody's own, to be applied.
func isLedger(n *kyaml.RNode, namespace string) (bool, error) {
	switch keyOf(n).kind {
	case schema.GroupKind{Group: coordinationv1.GroupName, Kind: "Lease"}:
		return n.GetNamespace() == namespace, nil
	case schema.GroupKind{Kind: "Service"}:
		m, err := n.Map()
		o := &unstructured.Unstructured{Object: m}
		return err == nil && len(state.ServiceUses(o)) > 0 && (o.GetUID() != "" || o.GetLabels()[lease.LabelManaged] == "true"), err
	}
	return false, nil
}
