package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
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
		opts := input.Options{DocumentSize: limits.DocumentSize, Workloads: workloads}
		problems, err := input.Read(ctx, strings.NewReader(text), name, opts, func(def *lease.Definition) error {
			defs = append(defs, def)
			return nil
		})
		f.problems = append(f.problems, problems...)
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
func functionLedger(
	ctx context.Context, c *console.Console, items []*kyaml.RNode, f *renderFlags, cfg *config.ProviderConfig,
) (*pools.Known, error) {
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
